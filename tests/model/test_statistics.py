"""What statistics rule out, and what they do not, case by case."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from tidelake.model.predicate import Always, Compare, Like, Opaque, col
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats, may_match

x = col("x")
NAN = float("nan")
NULLS = ColumnStats(None, None, 5, 0)


def span(low: str | None, high: str | None, nan: bool | None = None) -> ColumnStats:
    return ColumnStats(low, high, 0, 10, nan)


def judge(kind: str, predicate: object, stats: ColumnStats) -> bool:
    return may_match(predicate, Schema((Column(3, "x", kind),)), {3: stats})


PRUNED = [
    ("int32", x == 0, span("1", "9")),
    ("int32", x == 10, span("1", "9")),
    ("int32", x < 1, span("1", "9")),
    ("int32", x <= 0, span("1", "9")),
    ("int32", x > 9, span("1", "9")),
    ("int32", x >= 10, span("1", "9")),
    ("int32", x != 5, span("5", "5")),
    ("int32", ~(x == 5), span("5", "5")),
    ("int32", x.is_in([0, 10, 100]), span("1", "9")),
    ("int32", ~x.is_in([4, 5]), span("5", "5")),
    ("int32", x.between(10, 20), span("1", "9")),
    ("int32", ~x.between(0, 10), span("1", "9")),
    ("int32", (x == 0) | (x == 10), span("1", "9")),
    ("int32", (x > 0) & (x == 10), span("1", "9")),
    ("int32", ~((x > 0) | (x == 10)), span("1", "9")),
    ("int32", x > 9.5, span("1", "9")),
    ("int32", x > Decimal("9.5"), span("1", "9")),
    ("int32", x == "10", span("1", "9")),
    ("int32", x == 100, span("20", "30")),
    ("uint64", x > 2**64 - 2, span("0", str(2**64 - 2))),
    ("int64", x == 2**53 + 1, span("0", str(2**53))),
    ("decimal(9,2)", x > Decimal("9.99"), span("-1.00", "9.99")),
    ("decimal(9,2)", x < "-1.00", span("-1.00", "9.99")),
    ("decimal(38,10)", x == Decimal("1.0000000001"), span("1.0000000002", "2.0000000000")),
    ("float64", x > 3, span("1.5", "2.5", False)),
    ("float64", x < 1, span("1.5", "2.5", True)),
    ("float64", x == 3, span("1.5", "2.5", True)),
    ("float64", x == NAN, span("1.5", "2.5", False)),
    ("float64", x > NAN, span("1.5", "2.5", True)),
    ("float64", x.is_in([9.0, NAN]), span("1.5", "2.5", False)),
    ("float32", x == 0.5, span("0.1", "0.2", False)),
    ("int128", x == 3, span("5.0", "6.0")),
    ("boolean", x == True, span("0", "0")),  # noqa: E712
    ("boolean", x == False, span("true", "true")),  # noqa: E712
    ("boolean", x == "false", span("1", "1")),
    ("date", x == date(2020, 1, 2), span("2020-01-01", "2020-01-01")),
    ("date", x > datetime(2020, 1, 1, 0, 0, 1), span("2019-01-01", "2020-01-01")),
    ("date", x < "0044-03-15 (BC)", span("0043-01-01 (BC)", "2020-01-01")),
    ("date", x > "9999-01-01", span("0001-01-01", "9998-12-31")),
    ("timestamp", x >= "2020-01-02", span("2020-01-01 00:00:00", "2020-01-01 23:59:59.999999")),
    ("timestamp", x < date(2020, 1, 1), span("2020-01-01", "2020-01-05")),
    ("timestamp_s", x > datetime(2020, 1, 1), span(None, "2020-01-01 00:00:00")),
    ("timestamp_ns", x > "2020-01-01 00:00:00.000000001", span(None, "2020-01-01 00:00:00")),
    ("timestamptz", x > "2020-01-01", span(None, "2020-01-01 00:00:00+00")),
    ("timestamptz", x > datetime(2020, 1, 1, tzinfo=UTC), span(None, "2020-01-01 00:00:00+00")),
    ("timestamptz", x < "2020-01-01 00:00:00+01", span("2019-12-31 23:00:00+00", None)),
    ("timestamp", x > "2020-01-01", span("-infinity", "2019-01-01 00:00:00")),
    ("time", x > time(12), span("00:00:00", "12:00:00")),
    ("varchar", x == "b", span("a", "az")),
    ("varchar", x > "z", span("a", "z")),
    ("varchar", x == "\U0001f600", span("a", "\uffff")),
    ("varchar", x < "a", span("a", "b")),
    ("varchar", x.starts_with("ac"), span("ad", "az")),
    ("varchar", x.like("ac%x_"), span("aa", "abz")),
    ("varchar", x != "a", span("a", "a")),
    ("uuid", x == UUID(int=1), span(str(UUID(int=2)), str(UUID(int=3)))),
    ("uuid", x == str(UUID(int=2**127)).upper(), span(str(UUID(int=0)), str(UUID(int=1)))),
    *[(kind, x.is_null(), span(None, None)) for kind in ("int32", "varchar", "blob", "json")],
    *[(kind, x.is_not_null(), NULLS) for kind in ("int32", "varchar", "blob", "json")],
    ("int32", x == 1, NULLS),
    ("int32", x != 1, NULLS),
    ("varchar", x.like("%a"), NULLS),
    ("varchar", ~x.like("%a"), NULLS),
    ("varchar", ~x.starts_with("a"), NULLS),
    ("int32", Compare("x", "=", None), span("1", "9")),
    ("int32", ~Compare("x", "=", None), span("1", "9")),
    ("int32", Always(False), span("1", "9")),
    ("int32", Always(None), span("1", "9")),
    ("int32", Opaque("f(x)", frozenset("x")) & (x > 9), span("1", "9")),
]


@pytest.mark.parametrize(("kind", "predicate", "stats"), PRUNED)
def test_a_clear_case_is_pruned(kind, predicate, stats):
    assert not judge(kind, predicate, stats)


KEPT = [
    ("int32", x == 1, span("1", "9")),
    ("int32", x >= 9, span("1", "9")),
    ("int32", x != 5, span("5", "6")),
    ("int32", x > 9, span("1", None)),
    ("int32", x > 9, ColumnStats()),
    ("int32", x.is_null(), ColumnStats("1", "9", None, 5)),
    ("int32", x.is_null() | (x == 10), ColumnStats("1", "9", 1, 5)),
    # A bigint is compared with a double as a double.
    ("int64", x == float(2**53), span(str(2**53 + 1), str(2**53 + 1))),
    ("int64", x.is_in([2**53, 1e0]), span(str(2**53 + 1), str(2**53 + 1))),
    ("int64", x != 9007199254740992.0, span(str(2**53), str(2**53))),
    ("int64", x == 10**400, span("1", "9")),
    # The column was something else when the file was written.
    ("int32", x == 1, span("false", "true")),
    ("float64", x > 0.1, span("0.1", "0.1", False)),
    ("float64", x == 0.10000000149011612, span("0.1", "0.1", False)),
    ("timestamp", x == datetime(2020, 1, 1), span("2020-01-01", "2020-01-01")),
    ("timestamptz", x > "2020-01-01", span(None, "2019-12-31 00:00:00")),
    # Not a number is greater than every number.
    *[
        ("float64", p, span("1.5", "2.5", nan))
        for p in (x > 3, x >= 3, x != 2)
        for nan in (True, None)
    ],
    ("float64", x == NAN, span("1.5", "2.5", None)),
    ("float64", x >= NAN, span(None, None, True)),
    ("float64", x < NAN, span("1.5", "2.5", False)),
    ("float64", x != 1.5, span("1.5", "1.5", False)),
    ("float64", ~(x < 3), span("1.5", "2.5", True)),
    ("float32", x == Decimal("0.1"), span("0.1", "0.1", False)),
    ("float32", x > 0.1, span("0.1", "0.1", False)),
    ("int128", x == 10**30 + 1, span("1e+30", "1e+30")),
    # Text that DuckDB casts in its own way.
    ("int32", x == "1.5", span("2", "2")),
    ("int32", x == " 2 ", span("2", "2")),
    ("decimal(4,1)", x == "1.25", span("1.3", "1.3")),
    ("date", x == "2020-01-01 12:00:00", span("2020-01-01", "2020-01-01")),
    (
        "timestamp",
        x == "2020-01-01 00:00:00+05",
        span("2020-01-01 00:00:00", "2020-01-01 00:00:00"),
    ),
    ("timestamp", x == "2020-01-01 00:00:00.0000001", span(*["2020-01-01 00:00:00"] * 2)),
    ("timestamp_s", x == "2020-01-01 00:00:00.5", span(*["2020-01-01 00:00:01"] * 2)),
    ("varchar", x == 5, span("6", "7")),
    ("varchar", x == 5, span("10", "11")),
    ("boolean", x == "yes", span("0", "0")),
    ("uuid", x == "{00000000-0000-0000-0000-000000000001}", span(str(UUID(int=2)), None)),
    ("date", x > "2020-01-01", span("2019-01-01", "infinity")),
    ("date", x < "0001-01-01", span("0044-03-15 (BC)", "2020-01-01")),
    ("varchar", x.starts_with("ab"), span("aba", "b")),
    ("varchar", x.starts_with("ab"), span("a", "ab")),
    ("varchar", x.like("%b"), span("a", "a")),
    ("varchar", Like("x", "A%", case_insensitive=True), span("a", "b")),
    ("varchar", ~x.like("a%"), span("a", "ab")),
    ("varchar", x == "a\0", span(None, None)),
    # Statistics of these types are not to be trusted.
    *[(kind, x == "a", span("b", "b")) for kind in ("blob", "json", "interval", "timetz")],
    *[(kind, x.is_null(), span(None, None)) for kind in ("interval", "timetz", "variant", "list")],
    *[(kind, x.is_not_null(), NULLS) for kind in ("interval", "timetz", "geometry", "struct")],
    # Not a statistic at all.
    *[("int32", x > 5, span("x", odd)) for odd in ("", "x", "1-2", "0x1", " 1")],
    *[("date", x > "2020-01-01", span(None, odd)) for odd in ("", "x", "2019-02-30", "1-1-1")],
    ("uuid", x == str(UUID(int=5)), span("A", "B")),
    ("int32", Opaque("x > 9", frozenset("x")), span("1", "9")),
    ("int32", ~Opaque("x > 9", frozenset("x")), span("1", "9")),
    ("int32", Opaque("x > y", frozenset("xy")), span("1", "9")),
    ("int32", col("rowid") > 5, span("1", "2")),
    ("int32", Always(True), span("1", "9")),
]


@pytest.mark.parametrize(("kind", "predicate", "stats"), KEPT)
def test_what_may_match_is_kept(kind, predicate, stats):
    assert judge(kind, predicate, stats)


def test_a_file_without_statistics_is_kept():
    assert may_match(x > 5, Schema((Column(3, "x", "int32"),)), {})


def test_names_are_found_whatever_their_case():
    schema = Schema((Column(3, "Price", "int32"),))
    assert not may_match(col("price") > 9, schema, {3: span("1", "9")})
