"""Rows: `scan`, `count` and `sql`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import render
from tidelake.cli.program import (
    Commit,
    Options,
    as_of_option,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render import result, stream

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_SHOWN = 50
_BATCH_ROWS = 122_880

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Stop after N rows, 0 for all of them [default: {_SHOWN}; all with --json].",
)

where_option = click.option(
    "--where",
    "conditions",
    metavar="SQL",
    multiple=True,
    help="Keep the rows for which this condition is true; given again, all of them.",
)

columns_option = click.option(
    "--columns",
    "lists",
    metavar="A,B",
    multiple=True,
    help="Only these columns; given again, these too.",
)


@click.command()
@click.argument("table")
@columns_option
@where_option
@limit_option
@click.option("--explain", is_flag=True, help="Show which files would be read, not the rows.")
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
    as_of: str | None,
    known_at: str | None,
) -> None:
    """Print the rows of TABLE; with --as-of, its state at a moment of event time.

    \b
    Example:
        tidelake scan prices --columns symbol,price --where "price > 100"
        tidelake scan prices --as-of 2024-03-15T14:30:00 --known-at 3 --limit 10
        tidelake scan prices --where "day = DATE '2024-03-15'" --explain
    """
    with options.lake(known_at) as lake:
        chosen = lake.table(table).scan(
            columns=listed_columns(lists), where=all_of(conditions), as_of=as_of
        )
        if explain:
            _print_explanation(chosen.explain(), options.as_json)
        else:
            print_rows(chosen, limit, options.as_json)


@click.command()
@click.argument("table")
@where_option
@as_of_option
@known_at_option
@global_options
@pass_options
def count(
    options: Options,
    table: str,
    conditions: tuple[str, ...],
    as_of: str | None,
    known_at: str | None,
) -> None:
    """Print how many rows TABLE has.

    \b
    Example:
        tidelake count prices
        tidelake count prices --where "price > 100" --as-of 2024-03-15 --known-at eod-friday
    """
    with options.lake(known_at) as lake:
        rows = lake.table(table).scan(where=all_of(conditions), as_of=as_of).count()
    if options.as_json:
        render.document({"table": table, "rows": rows})
    else:
        render.line(f"{rows:,}" if sys.stdout.isatty() else str(rows))


@click.command()
@click.argument("query")
@click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="The value of $NAME in the query, as text; again for others.",
)
@limit_option
@as_of_option
@known_at_option
@commit_options
@global_options
@pass_options
def sql(
    options: Options,
    query: str,
    parameters: tuple[str, ...],
    limit: int | None,
    as_of: str | None,
    known_at: str | None,
    author: str | None,
    message: str | None,
) -> None:
    """Run one statement: a SELECT over tables and views, or a write such as INSERT, UPDATE,
    DELETE, MERGE, CREATE TABLE or ALTER TABLE. QUERY may be - for standard input.

    A table that is read may be followed by FOR VALID_TIME AS OF t, and by FOR SYSTEM_TIME
    AS OF, VERSION AS OF or AT (VERSION => n). --as-of and --known-at hold for the others.

    \b
    Example:
        tidelake sql "SELECT symbol, max(price) FROM prices GROUP BY symbol"
        tidelake sql 'SELECT * FROM prices WHERE symbol = $s' --param s=ACME --as-of 2024-03-15
        tidelake sql "SELECT count(*) FROM prices AT (VERSION => 3)"
        tidelake sql "UPDATE prices SET price = 11.5 WHERE symbol = 'ACME'" --message "late news"
        tidelake sql - --json < report.sql
    """
    from tidelake.sql.query import is_query

    text = sys.stdin.read() if query == "-" else query
    given = dict(map(_pair, parameters)) or None

    def run(lake: Lake) -> Any:
        return lake.sql(text, given, as_of=as_of, known_at=known_at)

    if is_query(text):
        with options.lake() as lake:
            print_rows(run(lake), limit, options.as_json)
    else:
        result.show(options.write(Commit(author, message), run), options.as_json)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise click.UsageError(f"--param {text} is not NAME=VALUE")
    return name, value


def all_of(conditions: Sequence[str]) -> str | None:
    """One condition that is true where all of them are."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return " AND ".join(f"({condition}\n)" for condition in conditions)


def listed_columns(lists: Sequence[str]) -> list[str] | None:
    """The columns that one or more options name; None if there is no such option."""
    return [name for text in lists for name in split_columns(text)] if lists else None


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
