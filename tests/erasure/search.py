"""Looking for a value wherever a lake may have kept it: every byte of every file, every value that
Parquet files decode to, every cell of the catalog, and the catalog's own file."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tidelake.testing.place import Place

MARK = "MARKEDxVALUE"


def traces(place: Place, lake: tidelake.Lake, mark: str = MARK) -> list[str]:
    """Where the value is."""
    found = [f"name of {path}" for path in place.data.rglob("*") if mark in path.name]
    found += [
        str(path.relative_to(place.data))
        for path in place.data.rglob("*")
        if path.is_file() and (mark.encode() in path.read_bytes() or mark in decoded(path))
    ]
    found += [f"catalog: {where}" for where, text in dump(lake) if mark in text]
    if place.kind == "sqlite" and mark.encode() in place.catalog_file.read_bytes():
        found.append("catalog file")
    return found


def decoded(path: Path) -> str:
    """All values and statistics of a Parquet file, whatever it is called; nothing of others."""
    data = path.read_bytes()
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        return ""
    with pa.BufferReader(data) as source:
        file = pq.ParquetFile(source)
        rows = file.read().to_pylist()
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
        bounds = [
            str(group.column(n).statistics) for group in groups for n in range(group.num_columns)
        ]
    return f"{rows}{bounds}"


def dump(lake: tidelake.Lake) -> Iterator[tuple[str, str]]:
    """Every row of every table of the catalog, as text."""
    with lake.session.reading() as reader:
        names = sorted({row[0] for row in reader.rows(reader.dialect.every_column)})
        for name in names:
            for row in reader.rows(f'SELECT * FROM "{name}"'):
                yield name, " ".join(_text(cell) for cell in row)


def _text(cell: object) -> str:
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell).decode(errors="replace")
    return str(cell)
