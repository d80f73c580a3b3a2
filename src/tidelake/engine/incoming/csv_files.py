"""CSV files: how DuckDB is told to read them, and in which line something is wrong."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from tidelake.errors import Invalid
from tidelake.model.names import text_literal
from tidelake.model.source_files import CsvFormat

if TYPE_CHECKING:
    import duckdb

_DELIMITERS = ",;\t|"
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_FILE = re.compile(r"^ *file = (.+?) *$", re.MULTILINE)
_FIELDS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_WRONG = re.compile(r"(?P<value>.*) (?:does not fit|is not a|is no) ", re.DOTALL)
_SHOWN = 100
"""Letters of a value that an error shows."""


def options(form: CsvFormat) -> str:
    """What DuckDB's reader is told. It must not look for the header further down: it would leave
    out the lines before it."""
    said = [
        f"header = {str(form.has_header).lower()}",
        "skip = 0, all_varchar = true, allow_quoted_nulls = false",
        "hive_partitioning = false",
    ]
    if form.delimiter is not None:
        said.append(f"delim = {text_literal(form.delimiter)}")
    if form.encoding is not None:
        said.append(f"encoding = {text_literal(form.known_encoding)}")
    if form.null is not None:
        said.append(f"nullstr = ['', {text_literal(form.null)}]")
    return ", ".join(said)


def looks_headed(connection: duckdb.DuckDBPyConnection, path: str, form: CsvFormat) -> bool:
    """Whether DuckDB takes the first line for names."""
    known = [
        f", {name} = {text_literal(value)}"
        for name, value in (("delim", form.delimiter), ("encoding", form.encoding))
        if value is not None
    ]
    query = f"SELECT HasHeader FROM sniff_csv({path}, skip = 0{''.join(known)})"
    row = connection.execute(query).fetchone()
    return row is None or bool(row[0])


def check_columns(
    connection: duckdb.DuckDBPyConnection,
    reading: str,
    names: Sequence[str],
    form: CsvFormat,
    place: str,
) -> None:
    """Invalid if the file is empty, or if its lines do not go together, which DuckDB takes for a
    file of one column."""
    if list(names) == ["column0"]:
        headless = reading.replace("header = true", "header = false")
        if not connection.execute(
            f"SELECT 1 FROM {headless} WHERE column0 <> '' LIMIT 1"
        ).fetchone():
            raise Invalid(f"{place}: the file is empty", hint="it must name its columns at least")
    if len(names) != 1 or form.delimiter is not None:
        return
    for delimiter in _DELIMITERS:
        fields = next(csv.reader([names[0]], delimiter=delimiter))
        if len(fields) > 1:
            _check_fields(connection, reading, len(fields), delimiter)


def _check_fields(
    connection: duckdb.DuckDBPyConnection, reading: str, count: int, delimiter: str
) -> None:
    columns = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(count))
    strict = (
        f"auto_detect = false, quote = '\"', escape = '\"', delim = {text_literal(delimiter)},"
        f" columns = {{{columns}}}"
    )
    told = reading.replace("all_varchar = true", strict)
    connection.execute(f"SELECT count(*) FROM {told}").fetchone()


def problem(place: str, text: str) -> Invalid | None:
    """What DuckDB found wrong in a CSV file, in fewer words and with a way out that exists."""
    line = _LINE.search(text)
    if line is None:
        return None
    file = _FILE.search(text)
    named = f": {file[1]}" if file and file[1] not in place else ""
    where = f"{place}{named}, line {line[1]}"
    if fields := _FIELDS.search(text):
        found = f"the line has {fields[2]} fields, where there should be {fields[1]}"
        hint = "correct the line, or say what separates fields, such as --delimiter ';'"
    elif "not utf-8" in text or "unicode" in text.lower():
        found, hint = "the text is not UTF-8", "say how it is encoded, such as --encoding latin-1"
    else:
        lines = [each for each in text.splitlines() if each and "Line:" not in each]
        found, hint = lines[0] if lines else "it cannot be read", "correct the line"
    return Invalid(f"{where}: {found}", hint=hint)


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Files that were read, the columns of the table that their fields are for, and what they are
    called in messages."""

    place: str
    paths: tuple[str, ...]
    columns: tuple[str, ...]
    form: CsvFormat

    def located(self, connection: duckdb.DuckDBPyConnection, error: Invalid) -> Invalid | None:
        """The error with the line that it is about, if that can be found."""
        for at, name in enumerate(self.columns):
            wrong = self._wrong(error.message, name)
            if wrong is None:
                continue
            for path in self.paths:
                for line, fields in _lines(connection, path, self.form):
                    if at < len(fields) and self._is(fields[at], wrong):
                        return self._told(error, path, line)
        return None

    def _wrong(self, message: str, name: str) -> str | None:
        """The value that a message about a column is about; empty for null."""
        before = f"{self.place}: column {name!r}"
        if message == f"{before} may not be null":
            return ""
        found = _WRONG.match(message[len(before) + 2 :]) if message.startswith(before) else None
        return found["value"] if found else None

    def _is(self, field: str, wrong: str) -> bool:
        return field[:_SHOWN] == wrong if wrong else field in ("", self.form.null)

    def _told(self, error: Invalid, path: str, line: int) -> Invalid:
        file = f": {path}" if len(self.paths) > 1 else ""
        rest = error.message.removeprefix(self.place)
        return Invalid(f"{self.place}{file}, line {line}{rest}", hint=error.hint)


def _lines(
    connection: duckdb.DuckDBPyConnection, path: str, form: CsvFormat
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file on disk, each with the number of the line that it begins in."""
    if "://" in path or path.endswith(".zst"):
        return
    delimiter = form.delimiter or _delimiter(connection, path)
    with _opened(path, form.known_encoding) as file:
        reader = csv.reader(file, delimiter=delimiter)
        begin, headed = 1, not form.has_header
        for fields in reader:
            if fields and headed:
                yield begin, fields
            headed = headed or bool(fields)
            begin = reader.line_num + 1


def _opened(path: str, encoding: str) -> IO[str]:
    if path.endswith(".gz"):
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")  # noqa: PTH123


def _delimiter(connection: duckdb.DuckDBPyConnection, path: str) -> str:
    query = "SELECT Delimiter FROM sniff_csv(?, header = true, skip = 0)"
    row = connection.execute(query, [path]).fetchone()
    return str(row[0]) if row and len(str(row[0])) == 1 else ","
