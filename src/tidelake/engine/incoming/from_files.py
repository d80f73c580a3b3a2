"""Rows that lie in Parquet, CSV or JSON files, on disk or in an object store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.duck import settle
from tidelake.engine.incoming import csv_files
from tidelake.engine.incoming.conform import DataShape
from tidelake.engine.incoming.python_values import Number, json_text
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.model.names import fold, text_literal
from tidelake.model.source_files import CsvFormat, SourceFiles
from tidelake.model.types import FROM_DUCKDB

if TYPE_CHECKING:
    import duckdb

_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".ndjson": "json",
    ".jsonl": "json",
}
_COMPRESSED = (".gz", ".zst")
_ROWS = 10_000


def list_files(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str | Path], place: str
) -> tuple[str, list[str]]:
    """The kind of the files, and all that the paths and patterns name."""
    kinds = {_kind(str(path), place) for path in paths}
    if len(kinds) > 1:
        raise Invalid(f"{place}: the files are of several kinds", hint="write one kind at a time")
    found: list[str] = []
    for path in paths:
        if not isinstance(path, str | Path):
            raise Invalid(f"{place}: {path!r} is not a path", hint="give paths only")
        names = _glob(connection, str(path))
        if not names:
            raise NotFound(f"{place}: there is no file {path}", hint="check the path")
        found += names
    return kinds.pop(), found


def kind_of(path: str) -> str | None:
    """The kind of a file by its name: parquet, csv or json; None if it has none of theirs."""
    plain = path
    for ending in _COMPRESSED:
        plain = plain.removesuffix(ending)
    return _KINDS.get(Path(plain).suffix.lower())


def _kind(path: str, place: str) -> str:
    kind = kind_of(path)
    if kind is None:
        raise Invalid(
            f"{place}: {path!r} is not the path of a file that can be read",
            hint=f"paths end in {', '.join(_KINDS)}; for a folder give a pattern: folder/*.parquet",
        )
    return kind


def _glob(connection: duckdb.DuckDBPyConnection, path: str) -> list[str]:
    if "://" not in path and Path(path).is_file():
        return [path]
    if not any(sign in path for sign in "*?["):
        return [path] if "://" in path else []
    rows = connection.execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one schema, and what to select them from."""

    paths: tuple[str, ...]
    source: str
    shapes: tuple[DataShape, ...]


def groups(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    files: Sequence[str],
    place: str,
    source: SourceFiles,
) -> list[FileGroup]:
    """Each file is judged by its own columns, but files that have the same are read together."""
    found: dict[tuple[DataShape, ...], list[str]] = {}
    for path in files:
        whose = f"{place} from {path}"
        shapes = _shapes(connection, path, place, _reading(kind, [path], source.csv))
        if kind == "csv":
            shapes = _csv_shapes(connection, path, shapes, source.csv, whose)
        found.setdefault(shapes, []).append(path)
    return [
        FileGroup(tuple(p), _reading(kind, p, source.csv), shapes) for shapes, p in found.items()
    ]


def _reading(kind: str, files: Sequence[str], form: CsvFormat) -> str:
    paths = ", ".join(exactly(path) for path in files)
    if kind == "parquet":
        return f"read_parquet([{paths}], hive_partitioning = false)"
    return f"read_csv([{paths}], {csv_files.options(form)})"


def exactly(path: str) -> str:
    """A path in which nothing is a pattern any more."""
    if "://" in path:
        return text_literal(path)
    return text_literal("".join(f"[{c}]" if c in "*?[" else c for c in path))


def file_shapes(
    connection: duckdb.DuckDBPyConnection, path: str, place: str
) -> tuple[DataShape, ...]:
    """The columns of a Parquet file."""
    return _shapes(connection, path, place, _reading("parquet", [path], CsvFormat()))


def _shapes(
    connection: duckdb.DuckDBPyConnection, path: str, place: str, reading: str
) -> tuple[DataShape, ...]:
    import duckdb

    try:
        relation = settle(connection).sql(f"FROM {reading}")
    except duckdb.PermissionException:
        raise
    except duckdb.Error as error:
        raise _unreadable(path, error, place) from error
    return tuple(map(shape_of, relation.columns, relation.types))


def _csv_shapes(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    shapes: Sequence[DataShape],
    form: CsvFormat,
    place: str,
) -> tuple[DataShape, ...]:
    import duckdb

    names = [shape.name for shape in shapes]
    try:
        csv_files.check_columns(connection, _reading("csv", [path], form), names, form, place)
    except duckdb.Error as error:
        raise _unreadable(path, error, place) from error
    return tuple(DataShape(name, "text") for name in names)


def shape_of(name: str, kind: object) -> DataShape:
    """The shape of a DuckDB type (as a relation tells it)."""
    identity = str(getattr(kind, "id", ""))
    if identity in ("list", "array", "struct", "map"):
        children = tuple(shape_of(label, below) for label, below in kind.children)  # type: ignore[attr-defined]
        if identity == "array":
            children = children[:1]
        return DataShape(name, identity, children)
    if identity == "enum":
        return DataShape(name, "enum")
    text = "GEOMETRY" if identity == "geometry" else str(kind)
    if text == '"NULL"':
        return DataShape(name, "null")
    return DataShape(name, FROM_DUCKDB.get(text, text.lower()))


def _unreadable(path: str, error: Exception, place: str) -> TidelakeError:
    text = str(error).split("\n\nLINE")[0]
    if told := csv_files.problem(place if path in place else f"{place} from {path}", text):
        return told
    if "No files found" in text or "404" in text:
        return NotFound(f"{place}: there is no file {path}", hint="check the path")
    return Invalid(f"{place}: cannot read {path}: {text}", hint="check that the file is whole")


def json_rows(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    place: str,
    documents: Collection[str],
) -> Iterator[dict[str, Any]]:
    """The objects in JSON files (one array, or one object after another), numbers with all their
    digits: DuckDB's own reader would round them before a column could be asked. What stands
    under the names in `documents` (folded) remains JSON text, strings included."""
    import duckdb

    cursor = connection.cursor()
    for path in files:
        try:
            cursor.execute(f"SELECT json FROM read_json_objects({exactly(path)})")
            while rows := cursor.fetchmany(_ROWS):
                yield from (_object(row[0], path, place, documents) for row in rows)
        except duckdb.Error as error:
            raise _unreadable(path, error, place) from error


def _object(text: str, path: str, place: str, documents: Collection[str]) -> dict[str, Any]:
    """What DuckDB takes for JSON may be none: a comma before a bracket, or NaN."""
    try:
        found = json.loads(text, parse_float=Number)
        for name, value in found.items() if documents and isinstance(found, dict) else ():
            if value is not None and fold(name) in documents:
                found[name] = json_text(value)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"{place}: {path} holds {text[:100]}, which is no JSON: {error}",
            hint="correct the file",
        ) from error
    if not isinstance(found, dict):
        raise Invalid(f"{place}: {path} holds {text[:100]}, not an object", hint="give objects")
    return found
