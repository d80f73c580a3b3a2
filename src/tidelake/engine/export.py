"""From DuckDB's types to Arrow, pandas and Polars: exactly, or refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidelake.duck import arrow_source
from tidelake.engine.durations import durations
from tidelake.engine.local.reshape import Source, rebuild
from tidelake.engine.times_of_day import odd_time
from tidelake.errors import Invalid, Unsupported
from tidelake.model.extras import require
from tidelake.model.literal import Value
from tidelake.model.names import quote
from tidelake.model.numpy_scalar import python_value
from tidelake.model.schema import Column
from tidelake.model.types import FROM_DUCKDB, WIDE_INTEGERS

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow as pa
    import pyarrow.dataset

_PYTHON_ONLY = {"variant", "timetz"}
_WHOLE = "_tidelake_whole"


def arrow_sql(sql: str, columns: Sequence[Column]) -> str:
    """A query that gives the rows of `sql` in types that Arrow holds without loss.

    Columns go by position: two of them may have the same name.
    """
    if not any(_kinds(column) & (WIDE_INTEGERS | _PYTHON_ONLY) for column in columns):
        return sql
    places = ", ".join(f"c{place}" for place in range(len(columns)))
    chosen = ", ".join(
        f"{_arrow_column(column, f'c{place}')} AS {quote(column.name)}"
        for place, column in enumerate(columns)
    )
    return f"SELECT {chosen} FROM ({sql}) AS r({places})"


_MOST_ROWS = 2**31


def checked_rows(rows: object) -> int:
    """How many rows a batch is to have."""
    number = python_value(rows)
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST_ROWS:
        raise Invalid(f"rows={rows!r} is no size for a batch", hint="give a number from 1 on")
    return number


def _kinds(column: Column) -> set[str]:
    return {below.type for below in column.walk()}


def _arrow_column(column: Column, reference: str) -> str:
    if "timetz" in _kinds(column):
        raise Unsupported(
            f"column {column.name!r} holds timetz, and Arrow's time has no zone",
            hint=f"use to_pandas() or to_duckdb(), leave {column.name!r} out with columns=[…],"
            " or cast it to VARCHAR with lake.sql()",
        )
    if not _kinds(column) & (WIDE_INTEGERS | _PYTHON_ONLY):
        return reference
    return rebuild(column, Source.of(column), reference, _arrow_leaf)


def _arrow_leaf(column: Column, reference: str) -> str:
    if column.type in WIDE_INTEGERS:
        return f"CAST({reference} AS DECIMAL(38, 0))"
    if column.type == "variant":
        encoded = f"variant_to_parquet_variant({reference})"
        return f"CASE WHEN {reference} IS NULL THEN NULL ELSE {encoded} END"
    return reference


def columns_of_query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Value] | None
) -> tuple[Column, ...]:
    """The columns of any query, in DuckLake's words."""
    if parameters is None:
        return columns_of_relation(connection.sql(sql))
    # A relation with parameters would run at once; and a subquery would number equal names.
    nothing = connection.execute(f"({sql}) UNION ALL ({sql}) LIMIT 0", parameters)
    return tuple(_column(name, kind) for name, kind, *_ in nothing.description or ())


def columns_of_relation(relation: duckdb.DuckDBPyRelation) -> tuple[Column, ...]:
    return tuple(map(_column, relation.columns, relation.types))


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
    return Column(0, name, FROM_DUCKDB.get(str(kind), str(kind).lower()))


def as_pandas(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    columns: Sequence[Column],
    parameters: Mapping[str, Value] | None,
) -> pandas.DataFrame:
    """A DataFrame that loses nothing: integers with nulls become pandas' nullable integers,
    decimals stay decimals, variants and zoned times are Python objects."""
    require("pandas", "to_pandas()")
    import pandas

    numbered = [replace(column, name=f"c{place}") for place, column in enumerate(columns)]
    objects = [column for column in numbered if _kinds(column) & _PYTHON_ONLY]
    plain = [column for column in numbered if column not in objects]
    source = f"SELECT * FROM ({sql}) AS r({', '.join(c.name for c in numbered)})"
    if objects:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {_WHOLE} AS {source}", parameters)
        source, parameters = f"SELECT * FROM {_WHOLE}", None
    chosen = ", ".join(column.name for column in plain) or "1 AS none"
    numbers = arrow_sql(f"SELECT {chosen} FROM ({source})", plain)
    table = arrow_source(connection, numbers, parameters)
    found = table.to_arrow_table()
    called = {each.name: column.name for each, column in zip(numbered, columns, strict=True)}
    series = {
        name: _exact_series(called.get(name, name), column)
        for name, column in zip(found.column_names, found.columns, strict=True)
    }
    for column in objects:
        rows = connection.execute(f"SELECT {column.name} FROM {_WHOLE}").fetchall()
        series[column.name] = _objects([row[0] for row in rows])
    frame = pandas.DataFrame({column.name: series[column.name] for column in numbered})
    frame.columns = pandas.Index([column.name for column in columns])
    return frame


def as_dicts(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dicts of Python's values. Unsupported if Python has no such date or time."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (odd := odd_time(column, nanoseconds=False)) is not None:
            raise _not_held(name, odd, "Python")
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (ValueError, OverflowError):
        for name, column in zip(table.column_names, table.columns, strict=True):
            _check_values(name, column)
        raise
    return rows


def _check_values(name: str, column: pa.ChunkedArray) -> None:
    try:
        column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise _not_held(name, f"a date or time out of range: {error}", "Python") from error


def frame_of(table: pa.Table) -> pandas.DataFrame:
    """An Arrow table as a DataFrame that loses nothing; see `as_pandas`."""
    require("pandas", "to_pandas()")
    import pandas

    series = map(_exact_series, table.column_names, table.columns)
    frame = pandas.DataFrame(dict(enumerate(series)))
    frame.columns = pandas.Index(table.column_names)
    return frame


def _objects(values: list[Any]) -> pandas.Series[Any]:
    import pandas

    return pandas.Series(values, dtype=object)


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


def _exact_series(name: str, column: pa.ChunkedArray) -> pandas.Series[Any]:
    """Unsupported if Python has no such date or time."""
    if (odd := odd_time(column, nanoseconds=False)) is not None:
        raise _not_held(name, odd, "Python")
    try:
        return _series(column)
    except (ValueError, OverflowError) as error:
        raise _not_held(name, f"a date or time out of range: {error}", "Python") from error


def _not_held(name: str, what: str, who: str) -> Unsupported:
    return Unsupported(
        f"column {name!r} holds a time that {who} has no value for ({what})",
        hint=f"use to_arrow() or to_duckdb(), leave {name!r} out with columns=[…],"
        " or cast it to VARCHAR with lake.sql()",
    )


def _series(column: pa.ChunkedArray) -> pandas.Series[Any]:
    import pandas
    from pyarrow import types

    if (spans := durations(column)) is not None:
        return spans.to_pandas()
    if _is_plain(column):
        return column.to_pandas()
    if not types.is_integer(column.type):
        return _objects(column.to_pylist())
    name = str(column.type).replace("uint", "UInt").replace("int", "Int")
    return column.to_pandas(types_mapper={column.type: getattr(pandas, f"{name}Dtype")()}.get)


def as_polars(table: pa.Table) -> polars.DataFrame:
    require("polars", "to_polars()")
    import polars

    twice = next((n for n in table.column_names if table.column_names.count(n) > 1), None)
    if twice is not None:
        raise Unsupported(
            f"two columns are called {twice!r}, and a Polars frame has each name once",
            hint="rename one of them with AS, or use to_arrow() or to_pandas()",
        )
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (odd := odd_time(column, nanoseconds=True)) is not None:
            raise _not_held(name, odd, "Polars")
    frame = polars.from_arrow(_with_durations(table))
    assert isinstance(frame, polars.DataFrame)
    return frame


def _with_durations(table: pa.Table) -> pa.Table:
    """The table with durations for intervals, the only spans of time that Polars has."""
    for place, field in enumerate(table.schema):
        if "month_day_nano_interval" not in str(field.type):
            continue
        spans = durations(table.column(place))
        if spans is None:
            raise Unsupported(
                f"column {field.name!r} holds intervals that have months or are inside other"
                " values; Polars has only durations",
                hint="use to_pandas() or to_arrow(), or leave it out with columns=[…]",
            )
        table = table.set_column(place, field.name, spans)
    return table


def lazy_polars(dataset: pyarrow.dataset.Dataset) -> polars.LazyFrame:
    """A frame that reads of a dataset what it needs."""
    require("polars", "to_polars()")
    import polars

    return polars.scan_pyarrow_dataset(dataset)


def relation_on(
    connection: duckdb.DuckDBPyConnection, dataset: pyarrow.dataset.Dataset
) -> duckdb.DuckDBPyRelation:
    """A relation of a dataset's rows on somebody's connection, which lives as long as it does."""
    if not hasattr(connection, "register") or not hasattr(connection, "from_arrow"):
        raise Invalid(
            f"connection={connection!r} is no connection of DuckDB",
            hint="give a connection, as duckdb.connect gives it",
        )
    return connection.from_arrow(dataset)
