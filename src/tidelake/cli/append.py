"""Rows that come: `append`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli.file_options import csv_options, files_argument, source_of
from tidelake.cli.program import Commit, Options, commit_options, global_options, pass_options
from tidelake.cli.render import result

if TYPE_CHECKING:
    from tidelake.lake.browsable import Browsable
    from tidelake.model.change import WriteResult
    from tidelake.model.source_files import SourceFiles


@click.command()
@click.argument("table")
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
    author: str | None,
    message: str | None,
    **form: Any,
) -> None:
    """Add rows to TABLE from Parquet, CSV or JSON FILES, or patterns of them; - reads JSON
    objects, one on a line, from standard input. Columns are matched by name.

    \b
    Example:
        tidelake append prices march.parquet april.parquet
        tidelake append prices "exports/*.csv" --create --author ann
        echo '{"symbol": "ACME", "price": 10.5}' | tidelake append prices -
    """
    with source_of(files, **form) as source:

        def add(lake: Browsable) -> WriteResult:
            known = _create_if_missing(lake, table, source) if create else source
            return lake.table(table).append(known)

        done = options.write(Commit(author, message, whole=create), add)
    result.show(done, options.as_json)


def _create_if_missing(lake: Browsable, table: str, source: SourceFiles) -> SourceFiles:
    """The files as they are read if the table is made of them."""
    from tidelake.errors import NotFound
    from tidelake.lake.columns import columns_in

    try:
        lake.table(table)
    except NotFound:
        columns, source = columns_in(lake, source)
        lake.create_table(table, columns)
    return source
