"""The table of types, beside the libraries that it names types of."""

import pytest

from tidelake.model.comparable import domain
from tidelake.model.types import (
    BITS,
    DELTA_NAMES,
    FLOATS,
    FROM_ARROW,
    FROM_DELTA,
    FROM_DUCKDB,
    FROM_SPARK,
    INTEGERS,
    SIGNED,
    SPARK_NAMES,
    TICKS,
    TYPES,
    UNSIGNED,
    WIDE_INTEGERS,
)
from tidelake.testing.duck import duck_connection


def test_duckdb_has_every_type_by_its_name():
    with duck_connection() as connection:
        for row in TYPES.values():
            (kind,) = connection.sql(f"SELECT NULL::{row.duckdb} AS v").types
            assert FROM_DUCKDB[str(kind)] == FROM_DUCKDB[row.duckdb], row


def test_arrow_has_every_type_by_its_name():
    import pyarrow as pa

    made = [
        *(pa.bool_(), pa.float32(), pa.float64(), pa.date32(), pa.time64("us"), pa.time64("ns")),
        *(pa.type_for_alias(kind) for kind in INTEGERS),
        *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
        *(pa.timestamp("us", "UTC"), pa.month_day_nano_interval(), pa.string(), pa.binary()),
    ]
    plain = {name for name in FROM_ARROW if "." not in name}
    assert plain == {str(kind) for kind in made}


def test_spark_and_delta_have_every_type_by_its_name():
    pytest.importorskip("pyspark")
    from tidelake.engine.spark.types import OBJECTS

    assert set(OBJECTS) == set(SPARK_NAMES.values())
    assert set(DELTA_NAMES.values()) < set(OBJECTS)


def test_what_several_types_become_comes_back_as_the_first():
    assert FROM_DUCKDB["TIMESTAMP"] == FROM_ARROW["timestamp[us]"] == "timestamp"
    assert FROM_SPARK["timestamp_ntz"] == FROM_DELTA["timestamp_ntz"] == "timestamp"
    assert [FROM_SPARK[name] for name in ("short", "integer", "long")] == [
        "int16",
        "int32",
        "int64",
    ]
    assert [FROM_DELTA[name] for name in ("string", "binary")] == ["varchar", "blob"]
    assert "decimal(20,0)" not in {*FROM_SPARK, *FROM_DELTA}, "which is uint64 on the way out alone"


def test_kinds_of_numbers_are_those_that_have_bits():
    assert set(BITS) == INTEGERS | WIDE_INTEGERS | FLOATS
    assert {kind: int(kind.strip("uint")) for kind in INTEGERS} == {k: BITS[k] for k in INTEGERS}
    assert {domain(kind) for kind in SIGNED | UNSIGNED} == {"exact"}
    assert {domain(kind) for kind in WIDE_INTEGERS | FLOATS} == {"rounded"}


def test_moments_count_in_what_their_digits_say():
    assert {
        "date": 86_400_000_000_000,
        "timestamp_s": 1_000_000_000,
        "timestamp_ms": 1_000_000,
        **dict.fromkeys(("timestamp", "timestamp_us", "timestamptz"), 1_000),
        "timestamp_ns": 1,
    } == TICKS
