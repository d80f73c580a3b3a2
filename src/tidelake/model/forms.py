"""The forms in which callers hand over rows, schemas, values and moments, each under a name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tidelake.model.literal import Literal, Value
from tidelake.model.schema import Column, Schema
from tidelake.model.source_files import SourceFiles

if TYPE_CHECKING:
    import numpy


class ArrowStream(Protocol):
    """Frames of pandas and Polars, tables and readers of Arrow, relations of DuckDB, and tables,
    scans and queries of a lake."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowArray(Protocol):
    """A batch of Arrow."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


class ArrowSchema(Protocol):
    """A schema of Arrow."""

    def __arrow_c_schema__(self) -> object: ...


class PolarsQuery(Protocol):
    """A LazyFrame of Polars."""

    def collect_schema(self) -> object: ...


class SparkRows(Protocol):
    """A DataFrame of Spark, classic or Connect."""

    def toArrow(self) -> object: ...  # noqa: N802


class SparkSchema(Protocol):
    """A StructType of Spark."""

    def fieldNames(self) -> list[str]: ...  # noqa: N802


Row = Mapping[str, object]
"""Values by column."""

Single = ArrowStream | ArrowArray | PolarsQuery | SparkRows | SourceFiles | Row | str | Path
"""Data that one thing holds: a frame, Arrow's, a row as a dict, the path of a file."""

Data = Single | Iterable[Row] | Iterable[ArrowArray] | Sequence[str | Path]
"""Data to be written: a frame, Arrow's, one row as a dict or many, paths of files."""

ColumnType = object
"""The name of a type, a type of Python's, or one of pyarrow's, Polars', Spark's or DuckDB's."""

Columns = (
    str
    | Mapping[str, ColumnType]
    | ArrowSchema
    | ArrowStream
    | ArrowArray
    | PolarsQuery
    | SparkRows
    | SparkSchema
    | Schema
    | Iterable[Column]
)
"""What describes columns: a text of SQL, a dict of names to types, or what has columns."""

if TYPE_CHECKING:
    Scalar = Value | Literal | numpy.generic
    Bound = str | date | int | numpy.generic
else:
    Scalar = Value | Literal
    Bound = str | date | int
"""A value of a column; and a time of a series, which may have an integer clock."""

Key = Scalar | Row
"""The value of a key of one column, or the values of all its columns by their names."""

OneEntity = Scalar | tuple[Scalar, ...] | Row
Entities = OneEntity | Collection[OneEntity]
"""What a series is about: the value of one column, a tuple or a dict of several; or many such."""

Known = int | str | date
"""A snapshot: its id, a time (UTC if it has no zone), or a tag."""
