"""Rows of one partition brought together, so that few tasks write files for it.

The shuffle need not know what DuckDB calls a partition: that rows of one go to one task is
enough. Spark may still spread over several what is too much for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from tidelake.engine.spark.tasks import KeyQuery
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.plan.spark_literal import backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.model.table import PartitionKey
    from tidelake.plan.target import Target

_HASHED = (
    t.BooleanType,
    t.NumericType,
    t.StringType,
    t.BinaryType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
)


def cluster_rows(
    rows: DataFrame, target: Target, names: Mapping[int, str], local: LocalEngine
) -> DataFrame:
    """`names` tell, by id, which column of the rows becomes a column of the partitioning."""
    found, labels = with_keys(rows, target, names, local)
    return found.hint("rebalance", *labels).drop(*labels) if labels else rows


def with_keys(
    rows: DataFrame, target: Target, names: Mapping[int, str], local: LocalEngine
) -> tuple[DataFrame, list[str]]:
    """The rows with a column for each key of the partitioning, and the names of these columns."""
    kinds = {field.name: field.dataType for field in rows.schema}
    labels = []
    found = rows
    for place, key in enumerate(target.partitioning.keys if target.partitioning else ()):
        name = names.get(key.column_id)
        if name is None:
            continue
        labels.append(f"__tidelake_key_{place}")
        said = _expression(key, backtick(name), kinds[name])
        if said is None:
            told = _asked(key, target, local)
            found = found.withColumn(labels[-1], told(found[backtick(name)]))
        else:
            found = found.selectExpr("*", f"{said} AS {labels[-1]}")
    return found, labels


def _expression(key: PartitionKey, value: str, kind: t.DataType) -> str | None:
    """What Spark itself can tell partitions by."""
    if not isinstance(kind, _HASHED):
        return None
    return transform_of(key.transform).spark_sql(value, kind.typeName())


def _asked(key: PartitionKey, target: Target, local: LocalEngine) -> Callable[..., Any]:
    """A function that has DuckDB tell the partition, on the executors."""
    from pyspark.sql import functions

    arrow_udf: Any = getattr(functions, "arrow_udf")  # noqa: B009  (the stubs do not know it)
    column = next(column for column in target.columns if column.id == key.column_id)
    query = KeyQuery(local, target.table, column, key.transform)

    def told(values: Iterator[pa.Array]) -> Iterator[pa.Array]:
        yield from query.keys(values)

    made: Callable[..., Any] = arrow_udf(told, "string")
    return made
