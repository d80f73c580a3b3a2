"""A query with a name: `view`."""

from __future__ import annotations

import click

from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.cli.row_options import listed_columns
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("name")
@click.argument("query")
@click.option("--columns", "lists", metavar="A,B", multiple=True, help="Names for its columns.")
@click.option("--replace", is_flag=True, help="Replace a view of this name.")
@commit_options
@global_options
@pass_options
def view(
    options: Options,
    name: str,
    query: str,
    lists: tuple[str, ...],
    replace: bool,
    terms: CommitTerms,
) -> None:
    """Create the view NAME. QUERY is a SELECT in DuckDB's SQL over tables of the lake.

    \b
    Example:
        tidelake view cheap "SELECT * FROM prices WHERE price < 10"
        tidelake view cheap "SELECT symbol FROM prices WHERE price < 5" --replace
    """
    columns = listed_columns(lists) or ()
    options.write(
        lambda lake: lake.create_view(name, query, columns=columns, replace=replace, **terms)
    )
