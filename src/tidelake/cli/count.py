"""How many rows there are: `count`."""

from __future__ import annotations

import sys

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.row_options import all_of, where_option


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
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
        tidelake count prices --where "price > 100" --as-of 2024-03-15 \\
            --known-at eod-friday
    """
    with options.table(table, known_at) as found:
        rows = found.scan(where=all_of(conditions), as_of=as_of).count()
    if options.as_json:
        render.document({"table": table, "rows": rows})
    else:
        render.line(f"{rows:,}" if sys.stdout.isatty() else str(rows))
