"""What changed: `changes` and `diff`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.cli.rows import limit_option, print_rows, split_columns
from tidelake.errors import NotFound
from tidelake.model.names import TableName

if TYPE_CHECKING:
    from tidelake.session.diff import TableDiff
    from tidelake.session.lake import Lake


@click.command()
@click.argument("table")
@click.option(
    "--since",
    metavar="N|TIME|TAG",
    help="Changes after this snapshot [default: all, from the oldest that is left].",
)
@click.option("--until", metavar="N|TIME|TAG", help="Up to this snapshot [default: the newest].")
@click.option("--columns", metavar="A,B", help="Show only these columns of the table.")
@click.option("--where", metavar="SQL", help="Keep the changes for which this is true.")
@limit_option
@global_options
@pass_options
def changes(
    options: Options,
    table: str,
    since: str | None,
    until: str | None,
    columns: str | None,
    where: str | None,
    limit: int | None,
) -> None:
    """Print what happened to the rows of TABLE: inserts, deletes, and updates as the row before
    and the row after, each with its snapshot and row id.

    \b
    Example:
        tidelake changes prices --since 12
        tidelake changes prices --since eod-friday --where "change_type = 'delete'" --json
    """
    with options.lake(until) as lake:
        wanted = None if columns is None else split_columns(columns)
        found = lake.table(table).changes(since, columns=wanted, where=where)
        print_rows(found, limit, options.as_json)


@click.command()
@click.argument("a")
@click.argument("b")
@click.argument("table", required=False)
@click.option("--rows", is_flag=True, help="Print the rows of TABLE that differ.")
@limit_option
@global_options
@pass_options
def diff(
    options: Options, a: str, b: str, table: str | None, rows: bool, limit: int | None
) -> None:
    """Show what differs from snapshot A to snapshot B, in all tables or in TABLE: what is
    declared, how many rows, which files. A and B are numbers, times or tags; B may be older.

    \b
    Example:
        tidelake diff 12 15
        tidelake diff eod-thursday eod-friday prices
        tidelake diff 12 15 prices --rows --json
    """
    if rows and table is None:
        raise click.UsageError("--rows wants a TABLE")
    with options.lake() as lake:
        if table is not None:
            found = _of_table(lake, table, a, b)
            if rows:
                print_rows(found.rows, limit, options.as_json)
            elif options.as_json:
                render.document(_told(found))
            else:
                render.line(str(found))
        elif options.as_json:
            whole = lake.diff(a, b)
            render.document(
                {
                    "before": whole.before,
                    "after": whole.after,
                    "schema": [asdict(difference) for difference in whole.schema],
                    "tables": [_told(each) for each in whole],
                }
            )
        else:
            render.line(str(lake.diff(a, b)))


def _of_table(lake: Lake, name: str, a: str, b: str) -> TableDiff:
    """Of a table that may have been dropped by now."""
    try:
        return lake.table(name).diff(a, b)
    except NotFound:
        wanted = str(TableName.parse(name))
        found = [each for each in lake.diff(a, b) if each.table == wanted]
        if not found:
            raise
        return found[0]


def _told(found: TableDiff) -> dict[str, Any]:
    return {
        "table": found.table,
        "before": found.before,
        "after": found.after,
        "schema": [asdict(difference) for difference in found.schema],
        "rows": asdict(found.counts),
        "files": asdict(found.files),
    }
