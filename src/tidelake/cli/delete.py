"""Rows that go: `delete`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.cli.row_options import all_of
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option(
    "--where",
    "conditions",
    metavar="SQL",
    required=True,
    multiple=True,
    help="Which rows; `true` for all. Given again, all conditions must hold.",
)
@click.option("--dry-run", is_flag=True, help="Count the rows, and delete none.")
@commit_options
@global_options
@pass_options
def delete(
    options: Options,
    table: str,
    conditions: tuple[str, ...],
    dry_run: bool,
    terms: CommitTerms,
) -> None:
    """Delete the rows of TABLE that meet a condition. They stay readable with --known-at.

    \b
    Example:
        tidelake delete prices --where "ts < DATE '2024-01-01'" --dry-run
        tidelake delete prices --where "symbol = 'CRUX'" \\
            --message "CRUX is delisted"
    """
    where = all_of(conditions)
    assert where is not None
    if dry_run:
        with options.lake() as lake:
            count = lake.table(table).scan(where=where).count()
        if options.as_json:
            render.document({"dry_run": True, "deleted": count})
        else:
            render.line(f"{count:,} {'row' if count == 1 else 'rows'} would be deleted")
        return
    options.write(lambda lake: lake.table(table).delete(where, **terms))
