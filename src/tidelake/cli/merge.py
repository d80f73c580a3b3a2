"""Rows that come in place of others: `merge`."""

from __future__ import annotations

from typing import Any

import click

from tidelake.cli import lake_names
from tidelake.cli.file_options import csv_options, files_argument, source_of
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.cli.row_options import split_columns
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@files_argument
@click.option(
    "--on", metavar="A,B", help="The columns by which rows match [default: the table's key]."
)
@csv_options
@commit_options
@global_options
@pass_options
def merge(
    options: Options,
    /,
    table: str,
    files: tuple[str, ...],
    on: str | None,
    terms: CommitTerms,
    **form: Any,
) -> None:
    """Update and add rows by key, from files.

    Bring rows of FILES into TABLE: a row that matches one there updates the columns that the
    files have, the others are added. FILES and their options are as for append.

    \b
    Example:
        tidelake merge prices corrections.csv --on symbol,ts
        tidelake merge customers - --on id < customers.ndjson
    """
    keys = None if on is None else split_columns(on)
    with source_of(files, **form) as source:
        options.write(lambda lake: lake.table(table).merge(source, on=keys, **terms))
