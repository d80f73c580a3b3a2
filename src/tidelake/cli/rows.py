"""Rows: `scan` and `sql`."""

from __future__ import annotations

import sys
from typing import Any

import click

from tidelake.cli import render, stream, written
from tidelake.cli.program import (
    Commit,
    Options,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)

_SHOWN = 50
_BATCH_ROWS = 122_880

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Stop after N rows, 0 for all of them [default: {_SHOWN}; all with --json].",
)


@click.command()
@click.argument("table")
@click.option("--columns", metavar="A,B", help="Read only these columns, in this order.")
@click.option("--where", metavar="SQL", help="Keep the rows for which this condition is true.")
@limit_option
@click.option("--explain", is_flag=True, help="Show which files would be read, not the rows.")
@known_at_option
@global_options
@pass_options
def scan(
    options: Options,
    table: str,
    columns: str | None,
    where: str | None,
    limit: int | None,
    explain: bool,
    known_at: str | None,
) -> None:
    """Print the rows of TABLE.

    \b
    Example:
        tidelake scan prices --columns symbol,price --where "price > 100"
        tidelake scan prices --known-at 3 --limit 10
        tidelake scan prices --where "day = DATE '2024-03-15'" --explain
    """
    with options.lake(known_at) as lake:
        wanted = None if columns is None else split_columns(columns)
        chosen = lake.table(table).scan(columns=wanted, where=where)
        if explain:
            _print_explanation(chosen.explain(), options.as_json)
        else:
            print_rows(chosen, limit, options.as_json)


@click.command()
@click.argument("query")
@limit_option
@known_at_option
@commit_options
@global_options
@pass_options
def sql(
    options: Options,
    query: str,
    limit: int | None,
    known_at: str | None,
    author: str | None,
    message: str | None,
) -> None:
    """Run one statement: a SELECT over tables and views, or a write such as INSERT, UPDATE,
    DELETE, MERGE, CREATE TABLE or ALTER TABLE. QUERY may be - for standard input.

    In a SELECT a table may be followed by AT (VERSION => n) or AT (TIMESTAMP => t).

    \b
    Example:
        tidelake sql "SELECT symbol, max(price) FROM prices GROUP BY symbol"
        tidelake sql "SELECT count(*) FROM prices AT (VERSION => 3)"
        tidelake sql "UPDATE prices SET price = 11.5 WHERE symbol = 'ACME'" --message "late news"
        tidelake sql - --json < report.sql
    """
    from tidelake.session.sql import is_query

    text = sys.stdin.read() if query == "-" else query
    if known_at is None and not is_query(text):
        done = options.write(Commit(author, message), lambda lake: lake.sql(text))
        written.show(done, options.as_json)
        return
    with options.lake(known_at) as lake:
        print_rows(lake.sql(text), limit, options.as_json)


def split_columns(text: str) -> list[str]:
    """`a,"b,c"` as its names; quoted as in SQL where a name holds a comma."""
    import csv

    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names]


def print_rows(source: Any, limit: int | None, as_json: bool) -> None:
    wanted = limit if limit is not None else (0 if as_json else _SHOWN)
    # One row more than wanted tells whether there are more.
    size = min(wanted + 1, _BATCH_ROWS) if wanted else _BATCH_ROWS
    batches = source.to_batches(size)
    if as_json:
        stream.print_json(batches, wanted)
    else:
        stream.print_text(batches, wanted)


def _print_explanation(explanation: Any, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        render.document({**asdict(explanation), "table": str(explanation.table)})
    else:
        render.line(str(explanation))
