"""Every partition transform through the same questions: one class cannot say two things."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple

import duckdb
import pytest

from tidelake.errors import Unsupported
from tidelake.model.comparable import comparable
from tidelake.model.names import TableName
from tidelake.model.predicate import Predicate, col
from tidelake.model.schema import Column, Schema
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.bucket_hash import buckets_of
from tidelake.plan.partitioning.interface import Transform
from tidelake.plan.partitioning.matches import may_match_partition
from tidelake.plan.partitioning.parse import parse_partitioning
from tidelake.plan.partitioning.sql import allow_keys, key_sql
from tidelake.plan.partitioning.transforms import (
    KINDS,
    Bucket,
    Calendar,
    Day,
    Hour,
    Identity,
    Month,
    Unknown,
    Year,
    transform_of,
)
from tidelake.plan.target import Target
from tidelake.testing.duck import duck_connection

DAYS = [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(2024, 12, 31)]
MOMENTS = [
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2024, 2, 29, 5, 30),
    datetime(2024, 12, 29, 23),
]
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int32": [0, -1, 34, 2**31 - 1],
    "int64": [0, -(2**63), 34, 2**63 - 1],
    "varchar": ["", "a", "iceberg", "it's", "é"],
    "decimal(9,2)": [Decimal("14.20"), Decimal("-0.01"), Decimal("0.00")],
    "date": DAYS,
    "timestamp": MOMENTS,
    "timestamptz": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
}
SPARK = {
    "int32": "int",
    "int64": "bigint",
    "varchar": "string",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}


class Case(NamedTuple):
    transform: Transform
    kind: str

    @property
    def column(self) -> Column:
        return Column(1, "v", self.kind)

    @property
    def values(self) -> list[Any]:
        return [*VALUES[self.kind], None]

    def texts(self, connection: duckdb.DuckDBPyConnection) -> list[str | None]:
        """What DuckDB calls the partitions of the values."""
        key = key_sql(self.column, self.transform.text, "v")
        given = [None if value is None else str(value) for value in self.values]
        rows = connection.execute(
            f"SELECT {key} FROM (SELECT unnest(range(?)) AS n,"
            f" CAST(unnest(?::VARCHAR[]) AS {self.column.duckdb_type}) AS v) ORDER BY n",
            [len(given), given],
        ).fetchall()
        return [text for (text,) in rows]


CASES = [
    *(Case(Identity(), kind) for kind in ("boolean", "int32", "varchar", "decimal(9,2)", "date")),
    *(Case(unit, kind) for unit in (Year(), Month(), Day()) for kind in ("date", "timestamp")),
    *(Case(unit, "timestamptz") for unit in (Year(), Month(), Day(), Hour())),
    Case(Hour(), "timestamp"),
    *(Case(Bucket(1_000_003), kind) for kind in VALUES),
    Case(Bucket(2), "varchar"),
]
NAMES = [f"{case.transform.shown('v')} of {case.kind}" for case in CASES]
every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    found = duck_connection()
    found.execute("SET TimeZone = 'UTC'")
    allow_keys(found)
    yield found
    found.close()


def in_python(case: Case, value: Any) -> str | None:
    """The partition without any SQL."""
    if value is None:
        return None
    if isinstance(case.transform, Calendar):
        return str(getattr(value, case.transform.word))
    if isinstance(case.transform, Bucket):
        operand = comparable(case.column, value)
        assert operand is not None
        found = buckets_of(operand, case.kind, case.transform.count, type_then=case.kind)
        assert found is not None
        (bucket,) = found
        return str(bucket)
    return str(value).lower() if case.kind == "boolean" else str(value)


def test_no_class_is_forgotten():
    assert {type(case.transform) for case in CASES} == set(KINDS)
    assert len({kind.word for kind in KINDS}) == len(KINDS)


@every_case
def test_a_spelling_is_read_as_what_it_was(case):
    assert transform_of(case.transform.text) == case.transform
    for text in (case.transform.shown("v"), case.transform.shown(' "v" ')):
        assert parse_partitioning(text, [case.column]) == (PartitionKey(1, case.transform.text),)


@every_case
def test_duckdb_says_what_python_says(connection, case):
    assert case.texts(connection) == [in_python(case, value) for value in case.values]


@pytest.mark.slow
@pytest.mark.spark
def test_spark_says_what_duckdb_says(spark, connection):
    from tidelake.engine.local.engine import LocalEngine
    from tidelake.engine.spark.clusters import with_keys

    local = LocalEngine()
    for case in CASES:
        kind = SPARK.get(case.kind, case.kind)
        rows = spark.createDataFrame(list(enumerate(case.values)), f"n int, v {kind}")
        spec = PartitionSpec(1, (PartitionKey(1, case.transform.text),))
        target = Target(TableName("main", "t"), "", (case.column,), {1: "v"}, spec)
        found, (label,) = with_keys(rows, target, {1: "v"}, local)
        told = [row[0] for row in found.orderBy("n").select(label).collect()]
        texts = [None if value is None else str(value) for value in told]
        if case.kind == "boolean":
            texts = [text and text.lower() for text in texts]
        assert texts == case.texts(connection), case


def conditions(asked: Any, value: Any) -> Iterator[tuple[Predicate, bool]]:
    """Conditions, each with whether it keeps the value."""
    v = col("v")
    yield v.is_null(), value is None
    yield v.is_not_null(), value is not None
    yield v == asked, value == asked
    yield v != asked, value is not None and value != asked
    yield v.is_in([asked]), value == asked
    yield v < asked, value is not None and value < asked
    yield v <= asked, value is not None and value <= asked
    yield v > asked, value is not None and value > asked
    yield v >= asked, value is not None and value >= asked


def pruned(
    case: Case, keys: list[Transform], rows: list[tuple[Any, tuple[str | None, ...]]]
) -> int:
    """How many files of one row each are left out; asserts that none is that has the row."""
    schema = Schema((case.column,))
    spec = PartitionSpec(1, tuple(PartitionKey(1, key.text) for key in keys))
    count = 0
    for (value, texts), asked in product(rows, VALUES[case.kind]):
        for predicate, holds in conditions(asked, value):
            kept = may_match_partition(predicate, schema, spec, texts, types_then={1: case.kind})
            assert kept or not holds, (predicate, value, texts)
            count += not kept
    return count


SILENT = (Month, Day, Hour)
"""These say something only beside a year."""


@every_case
def test_no_file_is_left_out_that_has_the_row(connection, case):
    rows = [(v, (t,)) for v, t in zip(case.values, case.texts(connection), strict=True)]
    says_something = type(case.transform) not in SILENT and (
        case.kind != "timestamptz" or not case.transform.zoned
    )
    assert bool(pruned(case, [case.transform], rows)) is says_something


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_parts_of_a_date_leave_out_more_together(connection, kind):
    units: list[Transform] = [Year(), Month(), Day()]
    found = [Case(unit, kind).texts(connection) for unit in units]
    counts = []
    for used in (1, 2, 3):
        texts = zip(*found[:used], strict=True)
        rows = list(zip([*VALUES[kind], None], texts, strict=True))
        counts.append(pruned(Case(Year(), kind), units[:used], rows))
    assert counts[0] < counts[1] <= counts[2]


@every_case
def test_the_value_of_a_file_is_that_of_its_rows(connection, case):
    """From the smallest and the largest value alone."""
    kind = case.column.duckdb_type
    for value, text in zip(VALUES[case.kind], case.texts(connection), strict=False):
        bound = str(int(value)) if case.kind == "boolean" else str(value)
        found = case.transform.value_between(connection, case.column, bound, bound)
        assert found == text or (found is None and isinstance(case.transform, Bucket)), kind


def test_different_values_pin_no_partition_down(connection):
    column = Column(1, "v", "date")
    for transform in (Identity(), Year(), Month(), Day(), Bucket(1_000_003)):
        assert transform.value_between(connection, column, "2023-12-31", "2024-01-01") is None
    assert Year().value_between(connection, column, "2024-01-01", "2024-12-31") == "2024"
    assert Month().value_between(connection, column, "2024-01-01", "2025-01-01") is None


def test_what_nobody_knows_is_read_but_not_written():
    found = transform_of("truncate(4)")
    assert found == Unknown("truncate(4)")
    assert (found.text, found.shown("v")) == ("truncate(4)", "truncate(4, v)")
    with pytest.raises(Unsupported, match=r"this version knows identity, .*bucket\(N\)"):
        found.sql(Column(1, "v", "varchar"), "v")
