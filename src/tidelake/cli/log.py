"""What happened to the lake: `log`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, known_at_option, pass_options
from tidelake.cli.render.log import entries, print_log

_SHOWN = 20


@click.command()
@click.argument("table", required=False, shell_complete=lake_names.tables)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Show the newest N snapshots, 0 for all [default: {_SHOWN}; all with --json].",
)
@known_at_option
@global_options
@pass_options
def log(options: Options, table: str | None, limit: int | None, known_at: str | None) -> None:
    """Show what every snapshot did, newest first.

    Show what every snapshot did, newest first; with TABLE only those that changed it.

    Rows are inserted (+), updated (~) and deleted (-); ? is what DuckDB has not written
    down, and its files no longer show.

    \b
    Example:
        tidelake log
        tidelake log prices --limit 5 --json
    """
    wanted = limit if limit is not None else (0 if options.as_json else _SHOWN)
    with options.lake(known_at) as lake:
        source = lake if table is None else lake.table(table)
        found = source.log(limit=wanted + 1 if wanted else None)
        shown = found[-wanted:][::-1]
        told = entries(lake, shown)
    if options.as_json:
        render.document({"snapshots": told})
    else:
        print_log(told, more=len(found) > len(shown))
