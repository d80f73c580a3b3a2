"""The rows of a table: `scan`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
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
@columns_option
@where_option
@limit_option
@click.option("--explain", is_flag=True, help="Show which files would be read, not the rows.")
@click.option(
    "--require",
    type=float,
    metavar="RATIO",
    help="End with 2 if less than this share of what is expected is there (0 to 1).",
)
@as_of_option
@known_at_option
@global_options
@pass_options
def scan(
    options: Options,
    table: str,
    lists: tuple[str, ...],
    conditions: tuple[str, ...],
    limit: int | None,
    explain: bool,
    require: float | None,
    as_of: str | None,
    known_at: str | None,
) -> None:
    """Print the rows of a table.

    Print the rows of TABLE; with --as-of, its state at a moment of event time.

    \b
    Example:
        tidelake scan prices --columns symbol,price --where "price > 100"
        tidelake scan prices --as-of 2024-03-15T14:30:00 --known-at 3 --limit 10
        tidelake scan prices --where "ts >= DATE '2024-03-15'" --explain
        tidelake scan prices --as-of 2024-03-15T14:30:00 --require 0.99
    """
    with options.table(table, known_at) as found:
        chosen = found.scan(
            columns=listed_columns(lists), where=all_of(conditions), as_of=as_of, require=require
        )
        if explain:
            _print_explanation(chosen.explain(), options.as_json)
        else:
            print_rows(chosen, limit, options.as_json)


def _print_explanation(explanation: Any, as_json: bool) -> None:
    if as_json:
        render.document({**asdict(explanation), "table": str(explanation.table)})
    else:
        render.line(str(explanation))
