"""A second table with the same rows: `clone`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    as_of_option,
    commit_options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.drawing.amounts import quantity
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.argument("name")
@as_of_option
@known_at_option
@commit_options
@global_options
@pass_options
def clone(
    options: Options,
    table: str,
    name: str,
    as_of: str | None,
    known_at: str | None,
    terms: CommitTerms,
) -> None:
    """Make the table NAME from TABLE. It has the same rows, columns and settings, as they are or
    were, and no history. From then on each goes its own way.

    \b
    Example:
        tidelake clone prices prices_test
        tidelake clone prices prices_of_march --known-at 3
    """
    with options.writable() as lake:
        made = lake.table(table).clone(name, as_of=as_of, known_at=known_at, **terms)
        rows = made.count()
    if options.as_json:
        render.document({"name": made.name, "rows": rows})
    else:
        render.line(f"{made.name}: {quantity(rows, 'row')}")
