"""Which files a command takes rows from, and how they are written."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tidelake.cli.program import Function
from tidelake.errors import TidelakeError
from tidelake.model.source_files import CsvFormat, SourceFiles
from tidelake.scratch import Scratch

files_argument = click.argument("files", nargs=-1, required=True)


def csv_options(function: Function) -> Function:
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


def csv_form(
    delimiter: str | None, header: bool | None, encoding: str | None, null: str | None
) -> CsvFormat:
    sign = "\t" if delimiter == "\\t" else delimiter
    if sign is not None and len(sign) != 1:
        raise click.UsageError(f"--delimiter is one sign, not {delimiter!r}")
    return CsvFormat(sign, header, encoding, null)


@contextmanager
def source_of(
    files: Sequence[str],
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    null: str | None,
) -> Iterator[SourceFiles]:
    """The files; standard input becomes one, so that it can be read more than once."""
    form = csv_form(delimiter, header, encoding, null)
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
