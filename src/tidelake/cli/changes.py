"""What happened to the rows of a table: `changes`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import (
    all_of,
    columns_option,
    limit_option,
    listed_columns,
    where_option,
)


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.option(
    "--since",
    metavar="N|TIME|TAG",
    help="Changes after this snapshot [default: all, from the oldest that is left].",
)
@click.option("--until", metavar="N|TIME|TAG", help="Up to this snapshot [default: the newest].")
@columns_option
@where_option
@limit_option
@global_options
@pass_options
def changes(
    options: Options,
    table: str,
    since: str | None,
    until: str | None,
    lists: tuple[str, ...],
    conditions: tuple[str, ...],
    limit: int | None,
) -> None:
    """Print what happened to the rows of a table.

    Print what happened to the rows of TABLE: inserts, deletes, and updates as the row before
    and the row after, each with its snapshot and row id.

    \b
    Example:
        tidelake changes prices --since 12
        tidelake changes prices --since eod-friday \\
            --where "change_type = 'delete'" --json
    """
    with options.lake(until) as lake:
        found = lake.table(table).changes(
            since, columns=listed_columns(lists), where=all_of(conditions)
        )
        print_rows(found, limit, options.as_json)
