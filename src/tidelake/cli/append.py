"""Rows that come: `append`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names
from tidelake.cli.file_options import csv_options, files_argument, source_of
from tidelake.cli.program import Options, commit_options, global_options, pass_options

if TYPE_CHECKING:
    from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@files_argument
@click.option("--create", is_flag=True, help="Create the table from the data if it is not there.")
@csv_options
@commit_options
@global_options
@pass_options
def append(
    options: Options,
    /,
    table: str,
    files: tuple[str, ...],
    create: bool,
    terms: CommitTerms,
    **form: Any,
) -> None:
    """Add rows from files to a table.

    Add rows to TABLE from Parquet, CSV or JSON FILES, or patterns of them; - reads JSON
    objects, one on a line, from standard input. Columns are matched by name.

    \b
    Example:
        tidelake append prices march.parquet april.parquet
        tidelake append prices "exports/*.csv" --author ann
        echo '{"symbol": "ACME", "ts": "2024-03-15T09:30:00"}' \\
            | tidelake append prices -
    """
    with source_of(files, **form) as source:
        options.write(lambda lake: lake.append(table, source, create=create, **terms))
