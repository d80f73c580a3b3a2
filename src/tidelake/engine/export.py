"""From DuckDB's types to Arrow, pandas and Polars: exactly, or refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelake.engine.reshape import Source, rebuild
from tidelake.errors import Unsupported
from tidelake.model.names import quote
from tidelake.model.schema import Column

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa

_WIDE_INTEGERS = {"int128", "uint128"}
_PYTHON_ONLY = {"variant", "timetz"}


def arrow_column(column: Column) -> str:
    """How to select a column so that Arrow holds it without loss."""
    kinds = {below.type for below in column.walk()}
    if "timetz" in kinds:
        raise Unsupported(
            f"column {column.name!r} holds timetz, and Arrow's time has no zone",
            hint=f"use to_pandas() or to_duckdb(), leave {column.name!r} out with columns=[…],"
            " or cast it to VARCHAR with lake.sql()",
        )
    name = quote(column.name)
    if not kinds & (_WIDE_INTEGERS | _PYTHON_ONLY):
        return name
    return f"{rebuild(column, Source.of(column), name, _arrow_leaf)} AS {name}"


def _arrow_leaf(column: Column, reference: str) -> str:
    if column.type in _WIDE_INTEGERS:
        return f"CAST({reference} AS DECIMAL(38, 0))"
    if column.type == "variant":
        return f"variant_to_parquet_variant({reference})"
    return reference


def described(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[Column, ...]:
    """The columns of any query, in DuckLake's words."""
    relation = connection.sql(sql)
    return tuple(
        _column(name, kind) for name, kind in zip(relation.columns, relation.types, strict=True)
    )


_FROM_DUCKDB = {
    "hugeint": "int128",
    "uhugeint": "uint128",
    "time with time zone": "timetz",
}


def _column(name: str, kind: Any) -> Column:
    if kind.id in ("list", "array"):
        return Column(0, name, "list", children=(_column("element", kind.children[0][1]),))
    if kind.id == "map":
        parts = dict(kind.children)
        return Column(
            0,
            name,
            "map",
            children=(_column("key", parts["key"]), _column("value", parts["value"])),
        )
    if kind.id == "struct":
        fields = tuple(
            Column(n, c.name, c.type, children=c.children)
            for n, c in enumerate(_column(label, child) for label, child in kind.children)
        )
        return Column(0, name, "struct", children=fields)
    return Column(0, name, _FROM_DUCKDB.get(str(kind.id), str(kind).lower()))


def as_pandas(
    connection: duckdb.DuckDBPyConnection, sql: str, columns: Sequence[Column]
) -> pandas.DataFrame:
    """A DataFrame that loses nothing: integers with nulls become pandas' nullable integers,
    decimals stay decimals, variants and zoned times are Python objects."""
    objects = [c for c in columns if {below.type for below in c.walk()} & _PYTHON_ONLY]
    if not objects:
        chosen = ", ".join(arrow_column(column) for column in columns)
        return _frame(connection.execute(f"SELECT {chosen} FROM ({sql}) AS r").to_arrow_table())
    connection.execute(f"CREATE OR REPLACE TEMP TABLE materialised AS {sql}")
    plain = [column for column in columns if column not in objects]
    chosen = ", ".join(arrow_column(c) for c in plain) or "1"
    frame = _frame(connection.execute(f"SELECT {chosen} FROM materialised").to_arrow_table())
    for column in objects:
        rows = connection.execute(f"SELECT {quote(column.name)} FROM materialised").fetchall()
        frame[column.name] = _objects([row[0] for row in rows])
    return frame[[column.name for column in columns]]


def _objects(values: list[Any]) -> pandas.Series[Any]:
    import pandas

    return pandas.Series(values, dtype=object)


def _frame(table: pa.Table) -> pandas.DataFrame:
    import pandas

    if not table.num_columns:
        return pandas.DataFrame(index=range(table.num_rows))
    plain = [n for n, c in zip(table.column_names, table.columns, strict=True) if _is_plain(c)]
    frame = table.select(plain).to_pandas()
    for name in set(table.column_names) - set(plain):
        frame[name] = _series(table.column(name))
    return frame[table.column_names]


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether pandas' usual type holds the column: NaN can stand for null only where no value
    is NaN itself and no integer would turn into a float, at any depth."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_nested(kind):
        return False
    if column.null_count == 0:
        return True
    if types.is_floating(kind):
        return not compute.any(compute.is_nan(column)).as_py()
    return not types.is_integer(kind)


def _series(column: pa.ChunkedArray) -> pandas.Series[Any]:
    import pandas
    from pyarrow import types

    kind = column.type
    if not types.is_integer(kind):
        return _objects(column.to_pylist())
    name = str(kind).replace("uint", "UInt").replace("int", "Int")
    return column.to_pandas(types_mapper={kind: getattr(pandas, f"{name}Dtype")()}.get)


def as_polars(table: pa.Table, columns: Sequence[Column]) -> polars.DataFrame:
    import polars

    for column in columns:
        if "interval" in {below.type for below in column.walk()}:
            raise Unsupported(
                f"column {column.name!r} holds intervals of months, days and time; Polars has"
                " only durations",
                hint="use to_pandas() or to_arrow(), or leave it out with columns=[…]",
            )
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame
