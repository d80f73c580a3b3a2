"""What every file has to offer, before its rows are read: its columns, and how fields are
separated."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from tidelake.engine.incoming.conform import DataShape
from tidelake.engine.incoming.from_files import exactly, file_shapes
from tidelake.engine.incoming.text_lines import open_text
from tidelake.engine.local.workbench import Workbench
from tidelake.errors import Invalid
from tidelake.ingestion.values import SourceFile
from tidelake.model.source_files import CsvFormat
from tidelake.store.files import is_local

_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Head:
    """`shapes` of JSON are not known: every record has its own. `delimiter` is of CSV alone."""

    kind: str
    shapes: tuple[DataShape, ...] = ()
    delimiter: str = ","

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(shape.name for shape in self.shapes)


def head_of(
    work: Workbench, file: SourceFile, kind: str, form: CsvFormat, names: Sequence[str]
) -> Head | None:
    """`names` are those of the table, for a CSV file that has no header. None of an empty file."""
    if kind == "json":
        return Head(kind)
    if kind == "parquet":
        return Head(kind, file_shapes(work.connection, file.path, file.path))
    line = _first_line(work, file, form)
    if line is None:
        return None
    delimiter = form.delimiter or _delimiter(line)
    fields = _fields(line, delimiter)
    if not fields:
        raise Invalid(f"{file.path}: the first line is empty", hint="take it out of the file")
    if not form.has_header:
        fields = _by_position(file, len(fields), names)
    return Head(kind, tuple(DataShape(name, "text") for name in fields), delimiter)


def _by_position(file: SourceFile, count: int, names: Sequence[str]) -> list[str]:
    if not names:
        return [f"column{at}" for at in range(count)]
    if len(names) != count:
        raise Invalid(
            f"{file.path}: lines have {count} fields, and the table has {len(names)} columns",
            hint="without a header every column needs a field, in the order of the table",
        )
    return list(names)


def _fields(line: str, delimiter: str) -> list[str]:
    """None of a line that is no CSV so."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _delimiter(line: str) -> str:
    """The sign that divides the line into most fields."""
    counts = {sign: len(_fields(line, sign)) for sign in _DELIMITERS}
    return max(counts, key=lambda sign: counts[sign])


def _first_line(work: Workbench, file: SourceFile, form: CsvFormat) -> str | None:
    if not file.bytes:
        return None
    if is_local(file.path):
        with open_text(work.store, file.path, form.known_encoding) as text:
            line = next(text, "")
        return line.rstrip("\r\n").partition("\r")[0] if line else None
    work.reach([file.path])
    encoding = "" if form.encoding is None else f", encoding = '{form.known_encoding}'"
    row = work.connection.execute(
        f"SELECT line FROM read_csv([{exactly(file.path)}], header = false, auto_detect = false,"
        " delim = '', quote = '', escape = '', columns = {'line': 'VARCHAR'},"
        f" hive_partitioning = false{encoding}) LIMIT 1"
    ).fetchone()
    return None if row is None else str(row[0] or "").removeprefix("\ufeff")
