"""Reading through Arrow: the local engine runs on Spark's executors.

For files that Spark's own reader cannot open, or not exactly, and for states as of a moment, which
DuckDB finds in a fraction of the time. The rows go from DuckDB to Spark
inside the executors; they must have `tidelake` installed, as they must have Python.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from tidelake.engine.parquet import deletions
from tidelake.engine.spark.columns import without_variant_null
from tidelake.engine.spark.types import spark_schema
from tidelake.engine.spark.worker import WORKER
from tidelake.model.schema import ROW_ID, Column
from tidelake.plan.spark_literal import backtick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelake.engine.local.engine import LocalEngine
    from tidelake.model.file import DataFile
    from tidelake.plan.as_of import AsOfPlan
    from tidelake.plan.scan import ScanPlan

SLICE_BYTES = 32 * 1024 * 1024
_BATCH_ROWS = 122_880
_NUMBER_BYTES, _DELETION_BYTES = 8, 32
_MOST_CLAIMED = 256 * 1024 * 1024
"""Of what is larger than this Spark need not know how large it is."""


def output_columns(plan: ScanPlan | AsOfPlan) -> tuple[Column, ...]:
    """What the plan puts out; without any, the row id stands in so that rows can be counted."""
    known = {column.name: column for column in plan.columns}
    names = plan.output or (ROW_ID,)
    return tuple(known.get(name) or Column(0, name, "int64") for name in names)


def read_files(
    spark: SparkSession, local: LocalEngine, plan: ScanPlan, files: Sequence[DataFile]
) -> DataFrame:
    """The plan's output, already filtered, from these files."""
    names = tuple(column.name for column in output_columns(plan))
    wanted = replace(plan, output=names, inlined=(), pruned=())
    plans = [replace(wanted, files=part) for part in slices_of(files)]
    return read_plans(spark, local, plans, sum(file.bytes for file in files))


def read_plans(
    spark: SparkSession, local: LocalEngine, plans: Sequence[ScanPlan | AsOfPlan], size: int
) -> DataFrame:
    """What plans put out that are alike, each read by a task; together about so many bytes."""
    columns = output_columns(plans[0])
    tasks = [pickle.dumps(plan) for plan in plans]
    read = _reader(local, tasks, arrow_schema(columns))
    ids = spread_numbers(spark, len(tasks), size)
    return user_rows(ids.mapInArrow(read, nullable(columns)), columns)


def read_deletions(spark: SparkSession, local: LocalEngine, files: Sequence[DataFile]) -> DataFrame:
    """What `deletions.deletions_sql` says of these files."""
    touched = [file for file in files if file.has_deletes]
    tasks = [pickle.dumps(part) for part in slices_of(touched)]
    count = sum(len(f.deleted_positions) + sum(d.rows for d in f.deletes) for f in touched)
    schema = arrow_schema(deletions.COLUMNS)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _deletions(local, pickle.loads(tasks[number]), schema)

    ids = spread_numbers(spark, len(tasks), count * _DELETION_BYTES)
    return ids.mapInArrow(read, nullable(deletions.COLUMNS))


def read_inlined(spark: SparkSession, local: LocalEngine, plan: ScanPlan) -> DataFrame:
    """The plan's output, already filtered, from the rows that the catalog keeps."""
    columns = output_columns(plan)
    wanted = replace(plan, output=tuple(c.name for c in columns), files=())
    return from_here(spark, local.batches(wanted), columns)


def from_here(
    spark: SparkSession, batches: Iterable[pa.RecordBatch], columns: Sequence[Column]
) -> DataFrame:
    """Rows of the local engine, in this process, as a DataFrame."""
    schema = arrow_schema(columns)
    found = [cast_batch(batch, schema) for batch in batches]
    rows: pa.Table | list[None] = pa.Table.from_batches(found, schema)
    if not found:
        rows = []  # Spark fails on an Arrow table without batches
    return user_rows(spark.createDataFrame(rows, nullable(columns)), columns)


def as_table(rows: DataFrame) -> pa.Table:
    """All rows of a DataFrame. Spark's own `toArrow` fails on a variant that is NULL, so those
    travel as a variant's own null, which no other value of ours is."""
    variants = [n for n, f in enumerate(rows.schema) if isinstance(f.dataType, t.VariantType)]
    if not variants:
        return rows.toArrow()
    filled = (
        f"coalesce({backtick(name)}, parse_json('null')) AS {backtick(name)}"
        if place in variants
        else backtick(name)
        for place, name in enumerate(rows.columns)
    )
    table = rows.selectExpr(*filled).toArrow()
    for place in variants:
        column = table.column(place)
        is_null = pc.equal(pc.struct_field(column, "value"), b"\0")
        absent = pa.nulls(len(table), column.type)
        table = table.set_column(place, table.field(place), pc.if_else(is_null, absent, column))
    return table


def _reader(
    local: LocalEngine, tasks: list[bytes], schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _rows(local, pickle.loads(tasks[number]), schema)

    return read


def _rows(
    local: LocalEngine, plan: ScanPlan | AsOfPlan, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    with WORKER.engine(local) as engine:
        for found in engine.batches(plan):
            yield cast_batch(found, schema)


def _deletions(
    local: LocalEngine, files: Sequence[DataFile], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    with WORKER.engine(local) as engine:
        for found in deletions.batches(engine.workbench(), files, _BATCH_ROWS):
            yield cast_batch(found, schema)


def spread_numbers(spark: SparkSession, count: int, size: int) -> DataFrame:
    """A number for each task, and a claim of so many bytes.

    Spark takes what Python makes for as large as what Python is given. Of a number for each task
    it would think little, and broadcast millions of rows; a hint is lost where relations become
    parts of SQL. So it begins with as many numbers as the rows are large, and leaves most out.
    """
    each = min(size, _MOST_CLAIMED) // _NUMBER_BYTES // max(count, 1) + 1
    numbers = spark.range(0, count * each, 1, max(count, 1)).where(f"id % {each} = 0")
    return numbers.selectExpr(f"id DIV {each} AS id")


def slices_of(files: Sequence[DataFile]) -> list[tuple[DataFile, ...]]:
    """Neighbouring files together, so that each task has about as much to do."""
    slices: list[list[DataFile]] = []
    size = SLICE_BYTES
    for file in files:
        if size >= SLICE_BYTES:
            slices.append([])
            size = 0
        slices[-1].append(file)
        size += file.bytes
    return [tuple(part) for part in slices]


def nullable(columns: Sequence[Column]) -> t.StructType:
    """`spark_schema` of the columns, all of which may be null."""
    return t.StructType([t.StructField(f.name, f.dataType) for f in spark_schema(columns)])


def user_rows(rows: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Rows that came through Arrow, as users see them."""
    if not any(column.type == "variant" for column in columns):
        return rows
    return rows.selectExpr(
        *(
            f"{without_variant_null(backtick(c.name))} AS {backtick(c.name)}"
            if c.type == "variant"
            else backtick(c.name)
            for c in columns
        )
    )


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow types that Spark takes for `spark_schema` of the columns."""
    schema = spark_schema(columns)
    return pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in schema])


_ARROW: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.DateType: pa.date32(),
    t.TimeType: pa.time64("ns"),
    t.TimestampNTZType: pa.timestamp("us"),
    t.TimestampType: pa.timestamp("us", "UTC"),
    t.StringType: pa.string(),
    t.CharType: pa.string(),
    t.VarcharType: pa.string(),
    t.BinaryType: pa.binary(),
    t.NullType: pa.null(),
    t.DayTimeIntervalType: pa.duration("us"),
    t.CalendarIntervalType: pa.month_day_nano_interval(),
    t.VariantType: pa.struct(
        [
            pa.field("value", pa.binary(), nullable=False),
            pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
        ]
    ),
}


def arrow_type(kind: t.DataType) -> pa.DataType:
    """The Arrow type in which Spark hands values of a type over. KeyError if there is none."""
    if isinstance(kind, t.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, t.ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, t.MapType):
        return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    if isinstance(kind, t.StructType):
        return pa.struct([pa.field(f.name, arrow_type(f.dataType)) for f in kind])
    return _ARROW[type(kind)]


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Requires: the same columns in the same order. A value that does not fit is an error."""
    arrays = [_cast_array(a, field.type) for a, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if kind == _ARROW[t.VariantType]:
        return _variant(array)
    if pa.types.is_timestamp(array.type) and array.type.unit in ("s", "ms"):
        return _microseconds(array, kind)
    return _storage(array).cast(kind)


def _microseconds(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """DuckDB's infinities are the ends of the range in every unit."""
    counts = array.cast(pa.int64())
    infinite = pc.is_in(counts, pa.array([2**63 - 1, 1 - 2**63]))
    finite = pc.if_else(infinite, pa.scalar(None, array.type), array).cast(kind)
    return pc.if_else(infinite, counts.cast(kind), finite)


def _variant(array: pa.Array) -> pa.Array:
    """Spark wants both parts present, also where the variant is NULL."""
    parts = [pc.struct_field(array, name) for name in ("value", "metadata")]
    absent = pc.is_null(parts[0])
    return pa.StructArray.from_arrays(
        [pc.fill_null(part, b"") for part in parts],
        fields=list(_ARROW[t.VariantType]),
        mask=absent,
    )


def _storage(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array
