"""The right to be forgotten: `erase`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.cli.row_options import all_of


@click.command()
@click.argument("table", required=False, shell_complete=lake_names.tables)
@click.option(
    "--where",
    "conditions",
    metavar="SQL",
    multiple=True,
    help="Which rows; `true` for all. Given again, all conditions must hold.",
)
@click.option("--reason", help="Why; kept with the note.")
@click.option("--author", help="Who does it [default: who runs this].")
@click.option(
    "--data-set",
    "data_sets",
    metavar="NAME",
    multiple=True,
    help="A data set made of TABLE; you checked that it holds none of the rows.",
)
@click.option("--dry-run", is_flag=True, help="Count the rows and files, and change nothing.")
@click.option("--finish", is_flag=True, help="Finish erasures that broke off.")
@global_options
@pass_options
def erase(
    options: Options,
    table: str | None,
    conditions: tuple[str, ...],
    reason: str | None,
    author: str | None,
    data_sets: tuple[str, ...],
    dry_run: bool,
    finish: bool,
) -> None:
    """Erase rows from every snapshot, for good.

    Erase the rows of TABLE that meet a condition from every snapshot, from all files and from
    what was made of them. It cannot be undone. Without TABLE, list what has been erased.

    \b
    Example:
        tidelake erase users --where "email = 'kim@example.org'" --dry-run
        tidelake erase users --where "email = 'kim@example.org'" \\
            --reason "request 4711"
        tidelake erase
    """
    if table is not None:
        if not conditions or finish:
            raise click.UsageError("TABLE goes with --where")
        with options.lake() if dry_run else options.writable() as lake:
            result = lake.erase(
                table,
                all_of(conditions),
                reason=reason,
                author=author,
                data_sets=data_sets,
                dry_run=dry_run,
            )
        _told(options, asdict(result), str(result))
        return
    if conditions or reason or author or data_sets or dry_run:
        raise click.UsageError(
            "--where, --reason, --author, --data-set and --dry-run go with TABLE"
        )
    with options.writable() if finish else options.lake() as lake:
        found = lake.finish_erasures() if finish else lake.erasures()
    told = [asdict(each) for each in found]
    _told(options, {"erasures": told}, "\n".join(map(str, found)) or "no erasures")


def _told(options: Options, document: dict[str, object], text: str) -> None:
    if options.as_json:
        render.document(document)
    else:
        render.line(text)
