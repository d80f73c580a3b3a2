"""What partition values rule out, and DuckLake's bucket hash."""

import struct
from datetime import datetime
from decimal import Decimal

import pytest

from tidelake.model.comparable import comparable
from tidelake.model.predicate import col
from tidelake.model.schema import Column, Schema
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.bucket_hash import bucket, buckets_of, murmur3
from tidelake.plan.partitioning.matches import may_match_partition

x = col("x")


def judge(kind, predicate, transforms, values, *, then=None) -> bool:
    schema = Schema((Column(1, "x", kind), Column(2, "y", "int32")))
    spec = PartitionSpec(9, tuple(PartitionKey(1, t) for t in transforms.split()))
    types = None if then is None else {1: then}
    return may_match_partition(predicate, schema, spec, values, types_then=types)


PRUNED = [
    ("int32", x == 5, "identity", ("6",)),
    ("int32", x != 6, "identity", ("6",)),
    ("int32", x > 6, "identity", ("6",)),
    ("int32", x.is_null(), "identity", ("6",)),
    ("int32", x.is_not_null(), "identity", (None,)),
    ("int32", x == 5, "identity", (None,)),
    ("int32", (x == 5) & (col("y") == 1), "identity", ("6",)),
    ("int32", ~((x != 5) | (col("y") == 1)), "identity", ("6",)),
    ("varchar", x.starts_with("b"), "identity", ("a",)),
    ("varchar", x == "a", "identity", ("",)),
    ("float64", x == float("nan"), "identity", ("1.5",)),
    ("date", x == "2020-05-01", "year", ("2019",)),
    ("date", x < "2020-01-01", "year", ("2020",)),
    ("timestamp", x >= "2021-01-01", "year", ("2020",)),
    ("timestamp", x >= "2020-02-01", "year month", ("2020", "1")),
    ("timestamp", x < "2020-02-29", "month year day", ("2", "2020", "29")),
    ("timestamp", x >= "2020-01-01 06:00:00", "year month day hour", ("2020", "1", "1", "5")),
    ("timestamp", x.is_null(), "year", ("2020",)),
    ("timestamp_ns", x > "2020-12-31 23:59:59.999999999", "year", ("2020",)),
    ("timestamp_ns", x < "2020-12-31 23:59:59.999999", "year", ("2021",)),
    ("varchar", x == "iceberg", "bucket(16)", (str(bucket(b"iceberg", 16) ^ 1),)),
    ("varchar", x == "a", "bucket(16)", (None,)),
    ("varchar", x.is_null(), "bucket(16)", ("3",)),
    ("varchar", x.is_in(["iceberg"]), "bucket(16)", (str(bucket(b"iceberg", 16) ^ 1),)),
    ("varchar", ~(x != "iceberg"), "bucket(16)", (str(bucket(b"iceberg", 16) ^ 1),)),
]


@pytest.mark.parametrize(("kind", "predicate", "transforms", "values"), PRUNED)
def test_a_clear_case_is_pruned(kind, predicate, transforms, values):
    assert not judge(kind, predicate, transforms, values)


KEPT = [
    ("int32", x == 6, "identity", ("6",)),
    ("int32", (x == 5) | (col("y") == 1), "identity", ("6",)),
    ("int32", col("y") == 1, "identity", ("6",)),
    ("int32", x == 1, "identity", ("true",)),
    ("int32", x == 5, "identity", ()),
    ("int32", x == 5, "mystery", ("6",)),
    ("float64", x > 5, "identity", ("nan",)),
    ("float64", x == float("nan"), "identity", ("nan",)),
    ("float64", x == float("nan"), "identity", ("-nan",)),
    ("float64", x > 0.1, "identity", ("0.1",)),
    ("interval", x.is_null(), "identity", ("1 day",)),
    # The year of an infinite date is NULL.
    ("date", x == "infinity", "year", (None,)),
    ("date", x > "2020-01-01", "year", (None,)),
    ("date", x < "0001-01-01", "year", ("-43",)),
    ("timestamp", x == "2020-12-31 23:59:59.999999", "year", ("2020",)),
    ("timestamp", x == "2020-02-29", "year month", ("2020", "2")),
    ("timestamp_ns", x == "2020-12-31 23:59:59.9999999", "year", ("2021",)),
    ("timestamp_ns", x == "2020-02-28 23:59:59.9999999", "year month day", ("2020", "2", "29")),
    ("timestamp_ns", x == "2020-01-01", "year month day", ("2020", "2", "99")),
    ("timestamp", x >= "2021-01-01", "month", ("1",)),
    ("timestamp", x == "2020-01-05", "year day", ("2020", "7")),
    # Calendar parts of timestamptz were taken in some session's zone.
    ("timestamptz", x >= "2021-01-01", "year", ("2020",)),
    ("timestamptz", x >= "2021-01-01", "year month day hour", ("2020", "12", "31", "23")),
    ("varchar", x == "iceberg", "bucket(16)", (str(bucket(b"iceberg", 16)),)),
    ("varchar", x > "iceberg", "bucket(16)", (str(bucket(b"iceberg", 16) ^ 1),)),
    ("varchar", x == "iceberg", "bucket(16)", ("odd",)),
    ("int128", x == 5, "bucket(1000000)", ("1",)),
    ("float64", x == 5.0, "bucket(1000000)", ("1",)),
    ("timestamptz", x == "2020-01-01", "bucket(1000000)", ("1",)),
]


@pytest.mark.parametrize(("kind", "predicate", "transforms", "values"), KEPT)
def test_what_may_match_is_kept(kind, predicate, transforms, values):
    assert judge(kind, predicate, transforms, values)


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (struct.pack("<q", 34), 2017239379),
        (b"iceberg", 1210000089),
        (struct.pack("<q", 17486), -653330422),
        (struct.pack("<q", 1420), -622427183),
        (b"1", -1810453357),
        (b"", 0),
    ],
)
def test_known_hashes(data, hashed):
    assert murmur3(data) == hashed % 2**32


# As DuckDB's ducklake extension stored them for bucket(1000000, x).
STORED = [
    ("boolean", True, 991556),
    ("int8", 5, 791543),
    ("int32", -5, 806974),
    ("uint32", 7, 572328),
    ("uint64", 18446744073709551615, 701963),
    ("float32", 0.10000000149011612, 260394),
    ("float64", 1e300, 100220),
    ("decimal(9,2)", Decimal("14.2"), 56465),
    ("decimal(30,5)", Decimal("14.2"), 158003),
    ("varchar", "a=b", 681382),
    ("date", "2017-11-16", 153226),
    ("timestamp", datetime(2017, 11, 16, 22, 31, 8, 500000), 602542),
    ("timestamp_s", "2017-11-16 22:31:08", 221379),
    ("timestamp_ms", "2017-11-16 22:31:08.5", 453603),
    ("timestamp_ns", "2017-11-16 22:31:08.123456789", 951286),
    ("timestamptz", "2017-11-16 22:31:08.5", 602542),
    ("time", "22:31:08", 720659),
    ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", 414783),
]


@pytest.mark.parametrize(("kind", "value", "stored"), STORED)
def test_buckets_are_those_of_duckdb(kind, value, stored):
    operand = comparable(Column(1, "x", kind), value)
    assert buckets_of(operand, kind, 1_000_000, type_then=kind) == {stored}


def test_a_value_that_the_column_cannot_hold_is_in_no_bucket():
    operand = comparable(Column(1, "x", "int32"), Decimal("1.5"))
    assert buckets_of(operand, "int32", 8, type_then="int32") == frozenset()


def test_a_promotion_between_signed_integers_keeps_the_hash():
    operand = comparable(Column(1, "x", "int64"), 34)
    now = buckets_of(operand, "int64", 1000, type_then="int64")
    assert buckets_of(operand, "int64", 1000, type_then="int8") == now
    assert len(buckets_of(operand, "int64", 1000)) == 2  # it may have been unsigned


def test_a_promoted_date_is_looked_for_under_every_type_it_may_have_had():
    operand = comparable(Column(1, "x", "timestamp"), "2017-11-16")
    found = buckets_of(operand, "timestamp", 1_000_000, type_then="date")
    assert 153226 in found
    assert buckets_of(operand, "timestamp", 1_000_000, type_then="timestamp") < found


def test_types_that_changed_beyond_recognition_are_not_pruned():
    operand = comparable(Column(1, "x", "decimal(18,4)"), 5)
    assert buckets_of(operand, "decimal(18,4)", 8, type_then="int32") is None
