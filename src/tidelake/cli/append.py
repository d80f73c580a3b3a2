"""Rows that come and go: `append`, `merge` and `delete`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import render
from tidelake.cli.program import (
    Commit,
    Function,
    Options,
    commit_options,
    global_options,
    pass_options,
)
from tidelake.cli.render import result
from tidelake.cli.row_options import all_of, split_columns
from tidelake.errors import TidelakeError
from tidelake.model.source_files import CsvFormat, SourceFiles
from tidelake.scratch import Scratch

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.model.change import WriteResult

files_argument = click.argument("files", nargs=-1, required=True)


def _csv_options(function: Function) -> Function:
    """How CSV files are written, if not as usual."""
    for option in (
        click.option("--null", metavar="TEXT", help="CSV: a text that stands for null, as NA."),
        click.option("--encoding", metavar="NAME", help="CSV: utf-8, utf-16 or latin-1."),
        click.option(
            "--header/--no-header",
            default=None,
            help="CSV: the first line names the columns, or is a row: fields go by position then"
            " [default: --header; with --create, whatever it looks like].",
        ),
        click.option(
            "--delimiter",
            metavar="SIGN",
            help="CSV: what separates fields, \\t for tabs [default: found out].",
        ),
    ):
        function = option(function)
    return function


@contextmanager
def _source(
    files: Sequence[str],
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    null: str | None,
) -> Iterator[SourceFiles]:
    """The files; standard input becomes one, so that it can be read more than once."""
    sign = "\t" if delimiter == "\\t" else delimiter
    if sign is not None and len(sign) != 1:
        raise click.UsageError(f"--delimiter is one sign, not {delimiter!r}")
    form = CsvFormat(sign, header, encoding, null)
    if "-" not in files:
        yield SourceFiles(tuple(files), form)
        return
    if len(files) > 1:
        raise click.UsageError("- stands alone, without other files")
    folder = Scratch()
    with tempfile.TemporaryDirectory(dir=folder.path or None) as inside:
        path = Path(inside) / "standard-input.ndjson"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield SourceFiles((str(path),), form)
        except TidelakeError as error:
            error.message = error.message.replace(str(path), "standard input")
            raise


@click.command()
@click.argument("table")
@files_argument
@click.option("--create", is_flag=True, help="Create the table from the data if it is not there.")
@_csv_options
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
    with _source(files, **form) as source:

        def add(lake: Lake) -> WriteResult:
            known = _create_if_missing(lake, table, source) if create else source
            return lake.table(table).append(known)

        done = options.write(Commit(author, message, whole=create), add)
    result.show(done, options.as_json)


def _create_if_missing(lake: Lake, table: str, source: SourceFiles) -> SourceFiles:
    """The files as they are read if the table is made of them."""
    from tidelake.errors import NotFound
    from tidelake.lake.columns import columns_in

    try:
        lake.table(table)
    except NotFound:
        columns, source = columns_in(lake, source)
        lake.create_table(table, columns)
    return source


@click.command()
@click.argument("table")
@files_argument
@click.option(
    "--on", metavar="A,B", help="The columns by which rows match [default: the table's key]."
)
@_csv_options
@commit_options
@global_options
@pass_options
def merge(
    options: Options,
    /,
    table: str,
    files: tuple[str, ...],
    on: str | None,
    author: str | None,
    message: str | None,
    **form: Any,
) -> None:
    """Bring rows of FILES into TABLE: a row that matches one there updates the columns that the
    files have, the others are added. FILES and their options are as for append.

    \b
    Example:
        tidelake merge prices corrections.csv --on symbol,day
        tidelake merge customers - --on id < customers.ndjson
    """
    keys = None if on is None else split_columns(on)
    with _source(files, **form) as source:
        done = options.write(
            Commit(author, message), lambda lake: lake.table(table).merge(source, on=keys)
        )
    result.show(done, options.as_json)


@click.command()
@click.argument("table")
@click.option(
    "--where",
    "conditions",
    metavar="SQL",
    required=True,
    multiple=True,
    help="Which rows; `true` for all of them. Given again, those that meet all conditions.",
)
@click.option("--dry-run", is_flag=True, help="Count the rows, and delete none.")
@commit_options
@global_options
@pass_options
def delete(
    options: Options,
    table: str,
    conditions: tuple[str, ...],
    dry_run: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Delete the rows of TABLE that meet a condition. They stay readable with --known-at.

    \b
    Example:
        tidelake delete prices --where "day < DATE '2024-01-01'" --dry-run
        tidelake delete prices --where "symbol = 'CRUX'" --message "CRUX is delisted"
    """
    where = all_of(conditions)
    assert where is not None
    if dry_run:
        with options.lake() as lake:
            count = lake.table(table).scan(where=where).count()
        if options.as_json:
            render.document({"dry_run": True, "deleted": count})
        else:
            render.line(f"{count:,} {'row' if count == 1 else 'rows'} would be deleted")
        return
    done = options.write(Commit(author, message), lambda lake: lake.table(table).delete(where))
    result.show(done, options.as_json)
