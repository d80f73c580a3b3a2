"""Rows that come and go: `append`, `merge` and `delete`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelake.cli import render, written
from tidelake.cli.program import Commit, Options, commit_options, global_options, pass_options
from tidelake.cli.rows import split_columns

if TYPE_CHECKING:
    from tidelake.model.change import WriteResult
    from tidelake.session.lake import Lake

files_argument = click.argument("files", nargs=-1, required=True)


@contextmanager
def _paths(files: Sequence[str]) -> Iterator[list[str]]:
    """The files; standard input becomes one, so that it can be read more than once."""
    if "-" not in files:
        yield list(files)
        return
    if len(files) > 1:
        raise click.UsageError("- stands alone, without other files")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard-input.ndjson"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield [str(path)]


@click.command()
@click.argument("table")
@files_argument
@click.option("--create", is_flag=True, help="Create the table from the data if it is not there.")
@commit_options
@global_options
@pass_options
def append(
    options: Options,
    table: str,
    files: tuple[str, ...],
    create: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Add rows to TABLE from Parquet, CSV or JSON FILES, or patterns of them; - reads JSON
    objects, one on a line, from standard input. Columns are matched by name.

    \\b
    Example:
        tidelake append prices march.parquet april.parquet
        tidelake append prices "exports/*.csv" --create --author ann
        echo '{"symbol": "ACME", "price": 10.5}' | tidelake append prices -
    """
    with _paths(files) as paths:

        def add(lake: Lake) -> WriteResult:
            if create:
                _create_if_missing(lake, table, paths)
            return lake.table(table).append(paths)

        done = options.write(Commit(author, message, whole=create), add)
    written.show(done, options.as_json)


def _create_if_missing(lake: Lake, table: str, paths: list[str]) -> None:
    from tidelake.errors import NotFound
    from tidelake.session.incoming import columns_in

    try:
        lake.table(table)
    except NotFound:
        lake.create_table(table, columns_in(lake, paths))


@click.command()
@click.argument("table")
@files_argument
@click.option(
    "--on", metavar="A,B", help="The columns by which rows match [default: the table's key]."
)
@commit_options
@global_options
@pass_options
def merge(
    options: Options,
    table: str,
    files: tuple[str, ...],
    on: str | None,
    author: str | None,
    message: str | None,
) -> None:
    """Bring rows of FILES into TABLE: those that match a row there take its place, the others
    are added. FILES are as for append.

    \\b
    Example:
        tidelake merge prices corrections.csv --on symbol,day
        tidelake merge customers - --on id < customers.ndjson
    """
    keys = None if on is None else split_columns(on)
    with _paths(files) as paths:
        done = options.write(
            Commit(author, message), lambda lake: lake.table(table).merge(paths, on=keys)
        )
    written.show(done, options.as_json)


@click.command()
@click.argument("table")
@click.option("--where", metavar="SQL", required=True, help="Which rows; `true` for all of them.")
@click.option("--dry-run", is_flag=True, help="Count the rows, and delete none.")
@commit_options
@global_options
@pass_options
def delete(
    options: Options,
    table: str,
    where: str,
    dry_run: bool,
    author: str | None,
    message: str | None,
) -> None:
    """Delete the rows of TABLE that meet a condition. They stay readable with --known-at.

    \\b
    Example:
        tidelake delete prices --where "day < DATE '2024-01-01'" --dry-run
        tidelake delete prices --where "symbol = 'CRUX'" --message "CRUX is delisted"
    """
    if dry_run:
        with options.lake() as lake:
            count = lake.table(table).scan(where=where).count()
        if options.as_json:
            render.document({"dry_run": True, "deleted": count})
        else:
            render.line(f"{count:,} {'row' if count == 1 else 'rows'} would be deleted")
        return
    done = options.write(Commit(author, message), lambda lake: lake.table(table).delete(where))
    written.show(done, options.as_json)
