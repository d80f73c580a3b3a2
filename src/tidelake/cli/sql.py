"""One statement, read or written: `sql`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli.program import (
    Options,
    as_of_option,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render.result import show_any
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import limit_option

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.model.terms import CommitTerms


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
    terms: CommitTerms,
) -> None:
    """Run one statement: a SELECT over tables and views, or a write such as INSERT, UPDATE,
    DELETE, MERGE, CREATE TABLE or ALTER TABLE, or a CALL of what the lake can do. QUERY may be -
    for standard input.

    A table that is read may be followed by FOR VALID_TIME AS OF t, and by FOR SYSTEM_TIME
    AS OF, VERSION AS OF or AT (VERSION => n). --as-of and --known-at hold for the others.

    \b
    Example:
        tidelake sql "SELECT symbol, max(price) FROM prices GROUP BY symbol"
        tidelake sql 'SELECT * FROM prices WHERE symbol = $s' --param s=ACME --as-of 2024-03-15
        tidelake sql "SELECT count(*) FROM prices AT (VERSION => 3)"
        tidelake sql "UPDATE prices SET price = 11.5 WHERE symbol = 'ACME'" --message "late news"
        tidelake sql "CALL compact('prices', dry_run => true)"
        tidelake sql - --json < report.sql
    """
    from tidelake.sql.run import is_query

    text = sys.stdin.read() if query == "-" else query
    given = dict(map(_pair, parameters)) or None

    def run(lake: Lake, terms: CommitTerms) -> Any:
        return lake.sql(text, given, as_of=as_of, known_at=known_at, **terms)

    if is_query(text):
        with options.lake() as lake:
            print_rows(run(lake, {}), limit, options.as_json)
    else:
        with options.writable() as lake:
            show_any(run(lake, terms), options.as_json)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise click.UsageError(f"--param {text} is not NAME=VALUE")
    return name, value
