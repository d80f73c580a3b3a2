"""The columns of a table to be, from whatever its maker describes them with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any, get_args, get_origin
from uuid import UUID

from tidelake.engine.declare.arrow import (
    arrow_column,
    arrow_columns,
    arrow_field,
    arrow_schema,
)
from tidelake.engine.declare.ddl import from_ddl, from_definitions, from_duckdb_type
from tidelake.errors import Invalid, Unsupported
from tidelake.model.column_rules import assign_ids, check_names
from tidelake.model.names import quote
from tidelake.model.schema import Column, Schema
from tidelake.model.types import DUCKDB_NAMES

_PYTHON_TYPES = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "varchar",
    bytes: "blob",
    datetime: "timestamp",
    date: "date",
    time: "time",
    timedelta: "interval",
    UUID: "uuid",
}


def columns_of(schema: Any) -> tuple[Column, ...]:
    """The columns that a schema describes, numbered as DuckDB numbers those of a new table.

    A schema is one of: a pyarrow schema, table or batch; a Polars schema or frame; a pandas
    frame; a Spark StructType or DataFrame; a DDL string such as
    `"id BIGINT NOT NULL, name VARCHAR DEFAULT 'x' COMMENT 'who'"`; a dict of names to types;
    columns or a Schema of Tidelake; anything with `__arrow_c_schema__` or `__arrow_c_stream__`.

    A type in a dict is DuckLake's or DuckDB's name for it, optionally followed by NOT NULL,
    DEFAULT and COMMENT; a Python type (`datetime` is a timestamp without a zone); or a type of
    pyarrow, Polars, Spark or DuckDB. Where `int8` alone stands for a type it is DuckLake's, of
    8 bits; in SQL it has 64. Fixed-size lists become lists, Arrow dictionaries their values,
    times of nanoseconds microseconds. Fields of structs may always be null.
    """
    columns = assign_ids(_declared(schema))
    check_names(columns)
    return columns


def _made_new(column: Column) -> Column:
    """The column of another table as one of a table that no file is older than."""
    return replace(
        column,
        initial_default=None if column.default_is_expression else column.default,
        children=tuple(_made_new(child) for child in column.children),
    )


def _declared(schema: Any) -> Sequence[Column]:
    if isinstance(schema, str):
        return from_ddl(schema)
    if isinstance(schema, Schema):
        return [_made_new(column) for column in schema.columns]
    if isinstance(schema, Mapping):
        return _from_mapping(schema)
    if isinstance(schema, Iterable) and not _library(schema):
        columns = list(schema)
        if all(isinstance(column, Column) for column in columns):
            return [_made_new(column) for column in columns]
    if _library(schema) == "pyspark":
        from tidelake.engine.spark.types_in import spark_columns

        return spark_columns(schema)
    if _library(schema) or hasattr(schema, "__arrow_c_schema__"):
        return _from_frame(schema)
    raise Invalid(
        f"a {type(schema).__name__} does not describe the columns of a table",
        hint="give a pyarrow, Polars or Spark schema, a dict of names to types, or text such as"
        " 'id BIGINT NOT NULL, name VARCHAR'",
    )


def _library(thing: object) -> str:
    """The library a thing comes from, if it is one with schemas of its own."""
    kind = thing if isinstance(thing, type) else type(thing)
    name = kind.__module__.partition(".")[0]
    return name if name in {"pyarrow", "polars", "pandas", "pyspark"} else ""


def _from_frame(schema: Any) -> Sequence[Column]:
    import pyarrow as pa

    try:
        return arrow_columns(arrow_schema(schema))
    except (pa.ArrowException, TypeError) as error:
        raise Invalid(
            f"the columns of this {type(schema).__name__} have no Arrow types: {error}",
            hint="give every column one type, or describe the table with a dict",
        ) from error


def _from_mapping(types: Mapping[Any, Any]) -> Sequence[Column]:
    """Texts are defined together: DuckDB reads a thousand as fast as ten."""
    check_names([Column(0, name, "") for name in types])
    texts = {name: kind for name, kind in types.items() if isinstance(kind, str)}
    defined = dict(
        zip(texts, from_definitions(_definition(*each) for each in texts.items()), strict=True)
    )
    return [defined.get(name) or type_of(name, kind) for name, kind in types.items()]


def _definition(name: str, text: str) -> str:
    """What follows a column's name in DDL, where DuckLake's own names count too."""
    word, space, rest = text.strip().partition(" ")
    return f"{quote(name)} {DUCKDB_NAMES.get(word.lower(), word)}{space}{rest}"


def type_of(name: str, kind: Any) -> Column:
    """A column, not numbered yet, of a type in any of the forms that a dict may hold."""
    if isinstance(kind, str):
        return from_definitions([_definition(name, kind)])[0]
    if isinstance(kind, Column):
        return replace(kind, name=name)
    if get_origin(kind) in (list, dict):
        return _generic(name, kind)
    if isinstance(kind, type) and kind in _PYTHON_TYPES:
        return Column(0, name, _PYTHON_TYPES[kind])
    library = type(kind).__module__.partition(".")[0]
    if library in {"duckdb", "_duckdb"}:
        return from_duckdb_type(name, kind)
    if _library(kind) == "pyspark":
        from tidelake.engine.spark.types_in import spark_column

        return spark_column(name, kind)
    if _library(kind) in {"pyarrow", "polars"}:
        return arrow_column(arrow_field(name, kind))
    raise Unsupported(
        f"column {name!r}: {kind!r} is not a type of a table's column", hint=_hint(kind)
    )


def _generic(name: str, kind: Any) -> Column:
    parts = get_args(kind)
    if get_origin(kind) is list:
        return Column(0, name, "list", children=(type_of("element", parts[0]),))
    children = (type_of("key", parts[0]), type_of("value", parts[1]))
    return Column(0, name, "map", children=children)


def _hint(kind: Any) -> str:
    if getattr(kind, "__name__", "") == "Decimal":
        return "say how many digits: 'decimal(18,3)'"
    known = ", ".join(each.__name__ for each in _PYTHON_TYPES)
    return f"write a type such as 'BIGINT' or 'STRUCT(a INT)', or one of {known}"
