"""Whether the lake is whole: `verify`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, pass_options

_BROKEN = 1


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE]…", shell_complete=lake_names.tables)
@click.option("--deep", is_flag=True, help="Read all rows too, not only the ends of files.")
@click.option(
    "--fingerprint",
    is_flag=True,
    help="Keep a hash of every past state, and compare with those kept before.",
)
@global_options
@click.pass_context
@pass_options
def verify(
    options: Options,
    context: click.Context,
    tables: tuple[str, ...],
    deep: bool,
    fingerprint: bool,
) -> None:
    """Check that the lake is whole.

    Check that the lake is whole: catalog, files and statistics, of all tables or of some.

    Says what is wrong, where, and how to fix it. Ends with 1 if anything is wrong. Changes
    nothing, except that --fingerprint keeps hashes.

    \b
    Example:
        tidelake verify
        tidelake verify prices --deep --json
    """
    from tidelake.drawing.hints import in_commands

    opened = options.writable() if fingerprint else options.lake()
    with opened as lake:
        report = lake.verify(deep=deep, fingerprint=fingerprint, tables=tables or None)
    if options.as_json:
        render.document(report.as_dict())
    else:
        render.line(in_commands(str(report)))
    if not report.ok:
        context.exit(_BROKEN)
