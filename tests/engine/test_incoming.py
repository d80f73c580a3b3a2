"""What users hand over becomes the table's columns exactly, or is refused by name."""

import datetime as dt
import gzip
import json
import sys
import uuid
from collections import UserDict
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelake.engine.duck_errors import translated
from tidelake.engine.incoming import bring
from tidelake.errors import Invalid, NotFound, TidelakeError, Unsupported
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column

TABLE = TableName("main", "t")
UTC = dt.UTC
MOMENT = dt.datetime(2024, 3, 5, 14, 30, 1, 250_000)


@pytest.fixture
def connection():
    opened = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    opened.execute("SET TimeZone = 'UTC'")
    yield opened
    opened.close()


def parsed(kind: str, name: str = "a", **more) -> Column:
    """A column of a type in short: `struct(x int64, y varchar)`, `list(date)`, `map(a, b)`."""
    inner = kind[kind.index("(") + 1 : -1] if "(" in kind else ""
    word = kind.partition("(")[0]
    if word == "struct":
        fields = tuple(parsed(f.split(" ", 1)[1], f.split(" ", 1)[0]) for f in split(inner))
        return Column(1, name, "struct", children=fields, **more)
    if word == "list":
        return Column(1, name, "list", children=(parsed(inner, "element"),), **more)
    if word == "map":
        key, value = split(inner)
        return Column(1, name, "map", children=(parsed(key, "key"), parsed(value, "value")), **more)
    return Column(1, name, kind, **more)


def split(text: str) -> list[str]:
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def taken(connection, data, columns, **options):
    """The rows as DuckDB's text, after checking names and types of the answer."""
    columns = [columns] if isinstance(columns, Column) else columns
    with translated("cannot append to main.t"):
        incoming = bring(connection, "given", data, columns, table=TABLE, **options)
        relation = connection.sql(incoming.sql)
        assert relation.columns == [column.name for column in columns]
        wanted = ", ".join(f"CAST(NULL AS {c.duckdb_type}) AS {quote(c.name)}" for c in columns)
        assert relation.types == connection.sql(f"SELECT {wanted}").types
        names = ", ".join(f"c{n}" for n in range(len(columns)))
        texts = ", ".join(f"CAST(c{n} AS VARCHAR)" for n in range(len(columns)))
        return connection.execute(f"SELECT {texts} FROM ({incoming.sql}) AS r({names})").fetchall()


def values(connection, data, column, **options):
    return [row[0] for row in taken(connection, data, column, **options)]


def refusal(connection, data, columns, **options) -> TidelakeError:
    with pytest.raises(TidelakeError) as caught:
        taken(connection, data, columns, **options)
    return caught.value


def text_of(connection, sql: str) -> str:
    return connection.execute(f"SELECT CAST({sql} AS VARCHAR)").fetchone()[0]


ARROW = [
    ("boolean", pa.array([True]), "TRUE"),
    ("boolean", pa.array([1], pa.int8()).view(pa.bool8()), "TRUE"),
    *[
        (f"{sign}int{bits}", pa.array([100], getattr(pa, f"{sign}int{bits}")()), "100")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    ],
    ("int8", pa.array([-128], pa.int64()), "-128"),
    ("uint64", pa.array([9], pa.int8()), "9"),
    ("int64", pa.array([9], pa.uint64()), "9"),
    ("int64", pa.array([Decimal(9)], pa.decimal128(38, 0)), "9"),
    ("int128", pa.array([-(2**53) + 1]), "-9007199254740991"),
    ("int128", pa.array([Decimal(2**53 - 1)], pa.decimal128(38, 0)), "9007199254740991"),
    ("uint128", pa.array([2**53 - 1]), "9007199254740991"),
    ("float32", pa.array([1.5], pa.float64()), "1.5"),
    ("float32", pa.array([2**24], pa.int64()), "16777216.0"),
    ("float32", pa.array([1.5], pa.float16()), "1.5"),
    ("float64", pa.array([1.5], pa.float32()), "1.5"),
    ("float64", pa.array([2**53], pa.int64()), "9007199254740992.0"),
    ("float64", pa.array([2**62], pa.int64()), "4.611686018427388e+18"),
    ("float64", pa.array([float("nan")]), "'nan'"),
    ("float32", pa.array([float("-inf")]), "'-inf'"),
    ("decimal(9,2)", pa.array([Decimal("1.50")]), "1.50"),
    ("decimal(9,2)", pa.array([Decimal("1.5000")], pa.decimal128(38, 4)), "1.50"),
    ("decimal(9,2)", pa.array([Decimal("1.5")], pa.decimal256(50, 3)), "1.50"),
    ("decimal(9,2)", pa.array([7], pa.int64()), "7.00"),
    ("decimal(38,0)", pa.array([Decimal("9" * 38)]), "9" * 38),
    ("time", pa.array([dt.time(1, 2, 3, 4)]), "TIME '01:02:03.000004'"),
    ("time", pa.array([3000], pa.time64("ns")), "TIME '00:00:00.000003'"),
    ("time", pa.array([3], pa.time32("s")), "TIME '00:00:03'"),
    ("time_ns", pa.array([1], pa.time64("ns")), "TIME_NS '00:00:00.000000001'"),
    ("time_ns", pa.array([1], pa.time64("us")), "TIME_NS '00:00:00.000001'"),
    ("timetz", pa.array([dt.time(1)]), "'01:00:00+00'::TIMETZ"),
    ("timetz", pa.array(["01:00:00+00"]), "'01:00:00+00'::TIMETZ"),
    ("date", pa.array([dt.date(2024, 3, 5)]), "DATE '2024-03-05'"),
    ("date", pa.array([dt.date(2024, 3, 5)], pa.date64()), "DATE '2024-03-05'"),
    ("timestamp", pa.array([MOMENT]), f"'{MOMENT}'::TIMESTAMP"),
    ("timestamp_us", pa.array([MOMENT]), f"'{MOMENT}'::TIMESTAMP"),
    ("timestamp", pa.array([MOMENT], pa.timestamp("ns")), f"'{MOMENT}'::TIMESTAMP"),
    ("timestamp", pa.array([MOMENT], pa.timestamp("ms")), f"'{MOMENT}'::TIMESTAMP"),
    ("timestamp", pa.array([dt.date(2024, 3, 5)]), "'2024-03-05'::TIMESTAMP"),
    ("timestamp", pa.array([0], pa.timestamp("us", "Asia/Tokyo")), "'1970-01-01'::TIMESTAMP"),
    ("timestamp", pa.array([0], pa.timestamp("ns", "Asia/Tokyo")), "'1970-01-01'::TIMESTAMP"),
    ("timestamptz", pa.array([MOMENT]), f"'{MOMENT}+00'::TIMESTAMPTZ"),
    ("timestamptz", pa.array([1000], pa.timestamp("ns", "Asia/Tokyo")), "to_timestamp(0.000001)"),
    ("timestamptz", pa.array([1], pa.timestamp("s", "Asia/Tokyo")), "to_timestamp(1)"),
    ("timestamptz", pa.array([1], pa.timestamp("s")), "to_timestamp(1)"),
    ("timestamptz", pa.array([dt.date(1970, 1, 2)]), "to_timestamp(86400)"),
    ("timestamp_s", pa.array([1_000_000], pa.timestamp("us")), "to_timestamp(1)::TIMESTAMP_S"),
    ("timestamp_s", pa.array([1], pa.timestamp("s", "UTC")), "to_timestamp(1)::TIMESTAMP_S"),
    ("timestamp_ms", pa.array([MOMENT]), f"'{MOMENT}'::TIMESTAMP_MS"),
    ("timestamp_ns", pa.array([1], pa.timestamp("ns")), "make_timestamp_ns(1)"),
    ("timestamp_ns", pa.array([1], pa.timestamp("ns", "UTC")), "make_timestamp_ns(1)"),
    ("timestamp_ns", pa.array([1], pa.timestamp("s")), "make_timestamp_ns(1000000000)"),
    ("interval", pa.array([dt.timedelta(1, 2, 3)]), "to_microseconds(86402000003)"),
    ("interval", pa.array([5000], pa.duration("ns")), "to_microseconds(5)"),
    ("interval", pa.array([(1, 2, 3000)], pa.month_day_nano_interval()),
     "INTERVAL '1 month 2 days 3 microseconds'"),
    ("varchar", pa.array(["ä\0b"]), "'ä' || chr(0) || 'b'"),
    ("varchar", pa.array(["x"], pa.large_string()), "'x'"),
    ("varchar", pa.array(["x"], pa.string_view()), "'x'"),
    ("varchar", pa.array(["x"]).dictionary_encode(), "'x'"),
    ("varchar", pa.array(['{"b": 1}'], pa.json_()), """'{"b": 1}'"""),
    ("json", pa.array(['{"b": 1}']), """'{"b": 1}'"""),
    ("json", pa.array(["[1]"], pa.json_()), "'[1]'"),
    ("blob", pa.array([b"\0\xff"]), r"'\x00\xFF'::BLOB"),
    ("blob", pa.array([b"ab"], pa.binary(2)), "'ab'::BLOB"),
    ("blob", pa.array([b"ab"], pa.binary_view()), "'ab'::BLOB"),
    ("uuid", pa.array([uuid.UUID(int=7)]), f"'{uuid.UUID(int=7)}'"),
    ("uuid", pa.array([str(uuid.UUID(int=7))]), f"'{uuid.UUID(int=7)}'"),
    ("variant", pa.array([{"x": [1, 2]}]), "{'x': [1, 2]}::VARIANT"),
    ("variant", pa.array(["text"]), "'text'::VARIANT"),
    ("geometry", pa.array(["POINT(1 2)"]), "'POINT (1 2)'::GEOMETRY"),
    ("geometry", pa.array([bytes.fromhex("0101000000000000000000f03f0000000000000040")]),
     "'POINT (1 2)'::GEOMETRY"),
    ("list(int64)", pa.array([[1, None]], pa.list_(pa.int32())), "[1, NULL]"),
    ("list(int64)", pa.array([[1, 2]], pa.list_(pa.int64(), 2)), "[1, 2]"),
    ("list(int8)", pa.array([[1, 2]], pa.list_(pa.int64(), 2)), "[1, 2]"),
    ("list(int64)", pa.array([[1]], pa.large_list(pa.int64())), "[1]"),
    ("list(varchar)", pa.array([[]], pa.list_(pa.null())), "[]"),
    ("list(list(date))", pa.array([[[dt.date(2024, 3, 5)]]]), "[['2024-03-05'::DATE]]"),
    ("list(timestamptz)", pa.array([[1000]], pa.list_(pa.timestamp("ns", "UTC"))),
     "[to_timestamp(0.000001)]"),
    ("struct(x int64, y varchar)", pa.array([{"Y": "b", "X": 1}]), "{'x': 1, 'y': 'b'}"),
    ("struct(x int64, y varchar)", pa.array([{"x": 1}]), "{'x': 1, 'y': NULL}"),
    ("struct(x list(int64))",
     pa.array([{"x": [1, 2]}], pa.struct({"x": pa.list_(pa.int64(), 2)})), "{'x': [1, 2]}"),
    ("struct(x struct(y int8))", pa.array([{"x": {"y": 1}}]), "{'x': {'y': 1}}"),
    ("list(struct(x int64, y date))", pa.array([[{"y": None, "x": 1}]]), "[{'x': 1, 'y': NULL}]"),
    ("map(varchar, int64)", pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
     "MAP {'k': 1}"),
    ("map(varchar, struct(x int64, y date))",
     pa.array([[("k", {"x": 1})]], pa.map_(pa.string(), pa.struct({"x": pa.int64()}))),
     "MAP {'k': {'x': 1, 'y': NULL}}"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "expected"), ARROW)
def test_arrow_values_arrive_exactly(connection, kind, given, expected):
    table = pa.table({"a": pa.concat_arrays([given, pa.nulls(1, given.type)])})
    want = text_of(connection, f"CAST({expected} AS {parsed(kind).duckdb_type})")
    assert values(connection, table, parsed(kind)) == [want, None]


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in ARROW}))
def test_a_column_of_nulls_fits_every_type_that_may_be_null(connection, kind):
    nulls = pa.table({"a": pa.nulls(2)})
    assert values(connection, nulls, parsed(kind)) == [None, None]
    assert "may not be null" in str(refusal(connection, nulls, parsed(kind, nullable=False)))
    assert values(connection, nulls.slice(0, 0), parsed(kind, nullable=False)) == []


BY_TYPE = [
    ("int64", pa.array([1.0]), "round or cast"),
    ("decimal(9,2)", pa.array([1.5]), "round or cast"),
    ("float64", pa.array([Decimal("1.5")]), "convert"),
    ("int64", pa.array([Decimal("1.0")]), "convert"),
    ("int64", pa.array(["1"]), "parse"),
    ("date", pa.array(["2024-03-05"]), "parse"),
    ("timestamp", pa.array(["2024-03-05"]), "parse"),
    ("boolean", pa.array(["true"]), "parse"),
    ("boolean", pa.array([1]), "convert"),
    ("int64", pa.array([True]), "convert"),
    ("varchar", pa.array([1]), "convert"),
    ("varchar", pa.array([uuid.UUID(int=7)]), "convert"),
    ("varchar", pa.array([b"x"]), "convert"),
    ("varchar", pa.array([1]).dictionary_encode(), "convert"),
    ("blob", pa.array(["x"]), "parse"),
    ("uuid", pa.array([b"0" * 16]), "convert"),
    ("date", pa.array([MOMENT]), "convert"),
    ("timestamp", pa.array([1]), "convert"),
    ("interval", pa.array([1]), "convert"),
    ("int128", pa.array([1.0]), "round or cast"),
    ("int128", pa.array(["1"]), "parse"),
    ("timetz", pa.array([1]), "convert"),
    ("geometry", pa.array([1]), "convert"),
    ("struct(x int64)", pa.array([1]), "convert"),
    ("int64", pa.array([{"x": 1}]), "convert"),
    ("map(varchar, int64)", pa.array([{"x": 1}]), "convert"),
    ("list(int64)", pa.array([[1.5]]), "round or cast"),
    ("struct(x int64)", pa.array([{"x": "1"}]), "parse"),
    ("int64", pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "convert"),
]


@pytest.mark.parametrize(("kind", "given", "hint"), BY_TYPE)
def test_a_type_that_does_not_fit_is_refused_before_any_row_is_read(connection, kind, given, hint):
    with pytest.raises(Invalid, match=r"main\.t: .*'a'") as caught:
        bring(connection, "given", pa.table({"a": given}), [parsed(kind)], table=TABLE)
    assert hint in str(caught.value.hint)


BY_VALUE = [
    ("int8", pa.array([128]), "128"),
    ("uint8", pa.array([-1]), "-1"),
    ("int64", pa.array([2**63], pa.uint64()), str(2**63)),
    ("float64", pa.array([2**53 + 1]), str(2**53 + 1)),
    ("float64", pa.array([2**63 - 1]), str(2**63 - 1)),
    ("float32", pa.array([2**24 + 1]), str(2**24 + 1)),
    ("float32", pa.array([0.1]), "0.1"),
    ("float32", pa.array([1e300]), "1e+300"),
    ("decimal(4,2)", pa.array([100]), "100"),
    ("decimal(4,2)", pa.array([Decimal("1.239")]), "1.239"),
    ("decimal(4,2)", pa.array([Decimal("100.00")]), "100.00"),
    ("int128", pa.array([2**53]), str(2**53)),
    ("uint128", pa.array([-1]), "-1"),
    ("time", pa.array([1], pa.time64("ns")), "00:00:00.000000001"),
    ("timestamp", pa.array([1], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
    ("timestamptz", pa.array([1], pa.timestamp("ns", "UTC")), "1970-01-01 00:00:00.000000001"),
    ("timestamp_s", pa.array([1500], pa.timestamp("ms")), "1970-01-01 00:00:01.5"),
    ("timestamp_ms", pa.array([1], pa.timestamp("us")), "1970-01-01 00:00:00.000001"),
    ("timestamp_ns", pa.array([dt.datetime(2500, 1, 1)]), "2500-01-01 00:00:00"),
    ("timestamp_ns", pa.array([dt.date(2500, 1, 1)]), "2500-01-01"),
    ("timestamp", pa.array([200_000_000], pa.date32()), "549551-"),
    ("timestamp", pa.array([2**50], pa.timestamp("s")), "does not fit TIMESTAMP"),
    ("timestamp_s", pa.array([1001], pa.timestamp("ns", "UTC")), "000001001"),
    ("interval", pa.array([1], pa.duration("ns")), "would lose data"),
    ("json", pa.array(["{"]), "{"),
    ("json", pa.array(["{"], pa.json_()), "{"),
    ("uuid", pa.array(["x"]), "x"),
    ("timetz", pa.array(["12:00:00+05:00"]), "12:00:00+05:00"),
    ("timetz", pa.array(["noon"]), "noon"),
    ("geometry", pa.array(["POINT("]), "POINT("),
    ("geometry", pa.array([b"x"]), "x"),
    ("list(int8)", pa.array([[1, 300]]), "300"),
    ("struct(x int8)", pa.array([{"x": 300}]), "300"),
    ("map(varchar, int8)", pa.array([[("k", 300)]], pa.map_(pa.string(), pa.int64())), "300"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("kind", "given", "value"), BY_VALUE)
def test_a_value_that_does_not_fit_is_refused_by_name(connection, kind, given, value, stream):
    data = pa.table({"a": given})
    error = refusal(connection, data.to_reader() if stream else data, parsed(kind))
    assert isinstance(error, Invalid)
    assert error.message.startswith("main.t: ")
    assert "'a'" in error.message
    assert value in error.message
    assert error.hint
    assert not set("\2\3\x1f") & set(str(error))


IN_DICTS = [
    ("boolean", True, "TRUE"),
    ("int8", -128, "-128"),
    ("uint64", 2**64 - 1, str(2**64 - 1)),
    ("int64", -(2**63), str(-(2**63))),
    ("int128", 2**53 - 1, str(2**53 - 1)),
    ("float32", 0.1, "0.1"),
    ("float32", float("inf"), "'inf'"),
    ("float64", 0.1, "0.1"),
    ("float64", 5e-324, "5e-324"),
    ("float64", 3, "3.0"),
    ("float64", float("nan"), "'nan'"),
    ("decimal(9,2)", Decimal("-1.5"), "-1.50"),
    ("decimal(9,2)", Decimal("1E+3"), "1000"),
    ("decimal(9,2)", 7, "7"),
    ("decimal(38,0)", Decimal("9" * 38), "9" * 38),
    ("time", dt.time(1, 2, 3, 4), "'01:02:03.000004'"),
    ("time", "01:02", "'01:02:00'"),
    ("time_ns", "01:02:03.000000001", "'01:02:03.000000001'"),
    ("timetz", dt.time(1, tzinfo=UTC), "'01:00:00+00'"),
    ("timetz", "01:00:00Z", "'01:00:00+00'"),
    ("date", dt.date(2024, 3, 5), "'2024-03-05'"),
    ("date", "2024-03-05", "'2024-03-05'"),
    ("date", "0044-03-15 (BC)", "'0044-03-15 (BC)'"),
    ("timestamp", MOMENT, f"'{MOMENT}'"),
    ("timestamp", MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
     "'2024-03-05 09:00:01.25'"),
    ("timestamp", "2024-03-05T14:30+05:30", "'2024-03-05 09:00:00'"),
    ("timestamp", "2024-03-05T14:30:00.123456000Z", "'2024-03-05 14:30:00.123456'"),
    ("timestamp", dt.date(2024, 3, 5), "'2024-03-05 00:00:00'"),
    ("timestamp", pd.Timestamp(MOMENT), f"'{MOMENT}'"),
    ("timestamptz", MOMENT, f"'{MOMENT}+00'"),
    ("timestamptz", "2024-03-05T14:30:00+05:30", "'2024-03-05 09:00:00+00'"),
    ("timestamp_s", "2024-03-05 14:30:00.000", "'2024-03-05 14:30:00'"),
    ("timestamp_ms", MOMENT, f"'{MOMENT}'"),
    ("timestamp_ns", "2024-03-05 14:30:00.123456789", "'2024-03-05 14:30:00.123456789'"),
    ("timestamp_ns", pd.Timestamp("2024-03-05 14:30:00.123456789"),
     "'2024-03-05 14:30:00.123456789'"),
    ("interval", dt.timedelta(-1, 2, 3), "'-1 days 2 seconds 3 microseconds'"),
    ("interval", pa.MonthDayNano([1, 2, -3000]), "'1 month 2 days -3 microseconds'"),
    ("varchar", "it's \0 ä", "'it''s ' || chr(0) || ' ä'"),
    ("json", '{"b": 1}', """'{"b": 1}'"""),
    ("json", {"b": [1, None]}, """'{"b": [1, null]}'"""),
    ("blob", b"\0\xff", r"'\x00\xFF'"),
    ("blob", bytearray(b"ab"), "'ab'"),
    ("uuid", uuid.UUID(int=7), f"'{uuid.UUID(int=7)}'"),
    ("uuid", str(uuid.UUID(int=7)), f"'{uuid.UUID(int=7)}'"),
    ("variant", {"x": [1, "2"]}, "{'x': [1::VARIANT, '2'::VARIANT]}"),
    ("geometry", "POINT(1 2)", "'POINT (1 2)'"),
    ("geometry", bytes.fromhex("0101000000000000000000f03f0000000000000040"), "'POINT (1 2)'"),
    ("list(date)", ["2024-03-05", None], "['2024-03-05', NULL]"),
    ("list(int64)", [], "[]"),
    ("list(int64)", (1, 2), "[1, 2]"),
    ("struct(x int64, y uuid)", {"X": 1}, "{'x': 1, 'y': NULL}"),
    ("struct(x variant)", {"x": [1]}, "{'x': [1]::VARIANT}"),
    ("map(date, decimal(4,1))", {dt.date(2024, 3, 5): Decimal(1)}, "MAP {'2024-03-05': 1}"),
    ("map(varchar, int64)", [("k", None)], "MAP {'k': NULL}"),
    ("map(varchar, int64)", {}, "MAP {}"),
    ("list(struct(x timestamp))", [{"x": MOMENT}], f"[{{'x': '{MOMENT}'}}]"),
]  # fmt: skip


@pytest.mark.parametrize("count", [1, 3, 300])
@pytest.mark.parametrize(("kind", "given", "expected"), IN_DICTS)
def test_dicts_take_the_types_of_the_table(connection, kind, given, expected, count):
    """One row and few are written into the SELECT; many come by Arrow."""
    column = parsed(kind)
    want = text_of(connection, f"CAST({expected} AS {column.duckdb_type})")
    found = values(connection, [*([{"a": given}] * count), {"a": None}], column)
    assert found == [want] * count + [None]
    assert values(connection, {"a": given}, column) == [want]


WRONG_IN_DICTS = [
    ("boolean", 1),
    ("int64", True),
    ("int64", 1.0),
    ("int64", "1"),
    ("int8", 128),
    ("uint8", -1),
    ("int128", 2**53),
    ("float64", "1"),
    ("float64", True),
    ("float64", Decimal("1.5")),
    ("float64", 2**53 + 1),
    ("float64", 10**400),
    ("float32", 1e300),
    ("decimal(4,2)", 1.5),
    ("decimal(4,2)", Decimal("1.239")),
    ("decimal(4,2)", Decimal("NaN")),
    ("decimal(4,2)", 100),
    ("decimal(4,2)", True),
    ("varchar", 1),
    ("varchar", b"x"),
    ("varchar", "\ud800"),
    ("varchar", float("nan")),
    ("json", "{"),
    ("json", "NaN"),
    ("json", {"x": object()}),
    ("blob", "x"),
    ("uuid", "x"),
    ("uuid", 7),
    ("date", MOMENT),
    ("date", "tomorrow"),
    ("date", "2024-02-30"),
    ("time", "25:00:00"),
    ("time", dt.time(1, tzinfo=UTC)),
    ("timetz", dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=5)))),
    ("timestamp", 5),
    ("timestamp", "2024-03-05 14:30:00.1234567"),
    ("timestamp", pd.Timestamp("2024-03-05 14:30:00.123456789")),
    ("timestamp", "now"),
    ("timestamp_s", MOMENT),
    ("timestamptz", dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))),
    ("interval", "1 day"),
    ("variant", object()),
    ("list(int64)", "12"),
    ("list(int64)", [1, "2"]),
    ("struct(x int64)", {"y": 1}),
    ("struct(x int64)", [1]),
    ("struct(x int64)", {"x": "1"}),
    ("map(varchar, int64)", {"k": "1"}),
    ("map(varchar, int64)", {None: 1}),
    ("map(varchar, int64)", [("k", 1), ("k", 2)]),
    ("map(varchar, int64)", [1]),
]


@pytest.mark.parametrize(("kind", "wrong"), WRONG_IN_DICTS)
def test_a_wrong_value_in_a_dict_names_row_and_column(connection, kind, wrong):
    rows = [{"a": None}, {"a": wrong}]
    with pytest.raises(Invalid, match=r"main\.t: row 2: column 'a'") as caught:
        bring(connection, "given", rows, [parsed(kind)], table=TABLE)
    assert caught.value.hint


THREE = [
    Column(1, "id", "int64", nullable=False),
    Column(2, "Name", "varchar", default="it's"),
    Column(3, "at", "timestamp", default="TIMESTAMP '2024-01-01'", default_is_expression=True),
]


def test_columns_go_by_name_and_case_does_not_matter(connection):
    data = pa.table({"AT": pa.array([MOMENT]), "name": ["x"], "ID": [1]})
    expected = [("1", "x", str(MOMENT).rstrip("0"))]
    assert taken(connection, data, THREE) == expected
    assert taken(connection, data.to_pylist(), THREE) == expected


def test_missing_columns_get_their_defaults(connection):
    expected = [("1", "it's", "2024-01-01 00:00:00")]
    assert taken(connection, pa.table({"id": [1]}), THREE) == expected
    assert taken(connection, {"id": 1}, THREE) == expected
    assert taken(connection, [{"id": 1}] * 500, THREE) == expected * 500


@pytest.mark.parametrize("count", [1, 500, 30_000])
def test_a_key_that_only_some_rows_have(connection, count):
    """None is null, only a key that is not there is the default."""
    rows = ({"id": 1} if n % 2 else {"id": 2, "name": None} for n in range(2 * count))
    found = taken(connection, rows, THREE)
    assert (
        found == [("2", None, "2024-01-01 00:00:00"), ("1", "it's", "2024-01-01 00:00:00")] * count
    )


def test_present_says_what_the_data_had(connection):
    for data in (pa.table({"ID": [1]}), {"ID": 1}, iter([{"ID": 1}] * 20_000)):
        incoming = bring(connection, "given", data, THREE, table=TABLE, defaults=False)
        assert incoming.present == {"id"}
        assert connection.execute(incoming.sql).fetchone() == (1, None, None)


def test_without_defaults_even_required_columns_may_be_missing(connection):
    for data in (pa.table({"name": ["x"]}), {"name": "x"}):
        assert taken(connection, data, THREE, defaults=False) == [(None, "x", None)]


def test_without_defaults_all_dicts_must_have_the_same_keys(connection):
    rows = [{"id": 1, "name": "x"}, {"id": 2}]
    error = refusal(connection, rows, THREE, defaults=False)
    assert "row 2 has no 'Name'" in error.message
    late = ({"id": n} | ({"name": "x"} if n > 20_000 else {}) for n in range(40_000))
    assert "keys" in str(refusal(connection, late, THREE, defaults=False))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table({"id": [1], "zz": [1], "yy": [1]}), "there is no 'zz', 'yy'"),
        ({"id": 1, "zz": 1}, "row 1: there is no 'zz'"),
        ([{"id": 1}, {"id": 1, "zz": 1}], "row 2"),
        (pa.table({"name": ["x"]}), "'id' is missing"),
        ({"name": "x"}, "row 1 has no 'id'"),
        ([{"id": 1}, {}], "row 2 has no 'id'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["id", "ID"]), "'id' and 'ID'"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["id", "id"]), "'id' and 'id'"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "'id' and 'id'"),
        ({"id": 1, "ID": 2}, "'id' twice"),
        (pa.table({"id": pa.array([1, None])}), "'id' may not be null"),
        (pa.table({"id": pa.array([1, None])}).to_reader(), "'id' may not be null"),
        ([{"id": 1}, {"id": None}], "row 2: column 'id' may not be null"),
        (pa.table({}), "no columns"),
        (pd.DataFrame(), "no columns"),
        ([{"id": 1}, 5], "row 2 is a int"),
        (object(), "object"),
        (5, "int"),
        (None, "NoneType"),
        (b"x", "bytes"),
        ([1, 2], "int"),
        (pd.Series([1]), "cannot be read"),
        (pa.array([1]), "cannot be read"),
        ([pa.record_batch({"id": [1]}), pa.record_batch({"x": [1]})], "do not go together"),
    ],
)
def test_what_cannot_be_taken_is_refused(connection, data, message):
    error = refusal(connection, data, THREE)
    assert isinstance(error, Invalid)
    assert error.message.startswith("main.t")
    assert message in error.message
    assert error.hint


def test_an_unknown_column_names_the_way_to_add_it(connection):
    assert "evolve(add=" in str(refusal(connection, pa.table({"id": [1], "x": [1]}), THREE))


def test_an_unknown_field_of_a_struct_is_refused(connection):
    column = parsed("struct(x int64)")
    for data in (pa.table({"a": [{"x": 1, "y": 2}]}), {"a": {"x": 1, "y": 2}}):
        assert "'y'" in str(refusal(connection, data, column))
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "X"])
    assert "'x' and 'X'" in str(refusal(connection, pa.table({"a": twice}), column))


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"id": [1, 2]}),
        pa.record_batch({"id": [1, 2]}),
        [pa.record_batch({"id": [1]}), pa.record_batch({"id": [2]})],
        pd.DataFrame({"id": [1, 2]}, index=["x", "y"]),
        pl.DataFrame({"id": [1, 2]}),
        pl.LazyFrame({"id": [1, 2]}),
        [{"id": 1}, {"id": 2}],
        ({"id": 1}, {"id": 2}),
        [UserDict(id=1), UserDict(id=2)],
        iter([{"id": 1}, {"id": 2}]),
    ],
)
def test_whole_data_may_be_read_again(connection, data):
    incoming = bring(connection, "given", data, THREE[:1], table=TABLE)
    assert incoming.rereadable
    for _ in range(2):
        assert connection.execute(incoming.sql).fetchall() == [(1,), (2,)]


@pytest.mark.parametrize("data", [[], (), iter(()), pa.table({"id": pa.array([], pa.int64())})])
def test_no_rows_are_no_problem(connection, data):
    assert taken(connection, data, THREE) == []


def test_a_stream_is_read_once_and_only_by_the_select(connection):
    asked = []

    def batches():
        for n in range(3):
            asked.append(n)
            yield pa.record_batch({"id": [n], "name": [str(n)]})

    schema = pa.schema({"id": pa.int64(), "name": pa.string()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    incoming = bring(connection, "given", reader, THREE[:2], table=TABLE)
    connection.sql(incoming.sql)
    assert (asked, incoming.rereadable) == ([], False)
    assert connection.execute(incoming.sql).fetchall() == [(n, str(n)) for n in range(3)]
    assert asked == [0, 1, 2]


def test_a_generator_of_batches_is_not_gathered(connection):
    asked = []

    def batches():
        for n in range(100):
            asked.append(n)
            yield pa.record_batch({"id": [n]})

    incoming = bring(connection, "given", batches(), THREE[:1], table=TABLE)
    assert len(asked) == 1
    assert connection.execute(f"SELECT sum(id) FROM ({incoming.sql})").fetchone() == (4950,)
    assert asked == list(range(100))


def test_a_generator_of_dicts_is_converted_as_it_is_read(connection):
    asked = []

    def rows():
        for n in range(100_000):
            asked.append(n)
            yield {"id": n}

    incoming = bring(connection, "given", rows(), THREE[:1], table=TABLE)
    assert len(asked) < 20_000
    assert not incoming.rereadable
    assert connection.execute(f"SELECT sum(id) FROM ({incoming.sql})").fetchone() == (4999950000,)
    assert asked == list(range(100_000))


def test_a_late_error_in_a_generator_names_its_row(connection):
    rows = ({"id": n if n < 25_000 else "x"} for n in range(50_000))
    error = refusal(connection, rows, THREE[:1])
    assert error.message == "main.t: row 25001: column 'id': 'x' (str) is not an integer"
    assert error.hint == "the column is BIGINT"


def test_a_stream_that_fails_says_why(connection):
    def batches():
        yield pa.record_batch({"id": [1]})
        raise RuntimeError("the line went dead")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), batches())
    error = refusal(connection, reader, THREE[:1])
    assert "the line went dead" in error.message
    assert "Traceback" not in error.message


@pytest.mark.parametrize(("kind", "given", "expected"), ARROW)
def test_conditions_are_left_to_duckdb(connection, kind, given, expected):
    """Arrow would refuse to compare some types."""
    incoming = bring(connection, "given", pa.table({"a": given}), [parsed(kind)], table=TABLE)
    value = f"CAST({expected} AS {parsed(kind).duckdb_type})"
    query = f"SELECT count(*) FROM ({incoming.sql}) WHERE a IN ({value}, (SELECT {value}))"
    assert connection.execute(query).fetchone() == (1,)


@pytest.mark.parametrize("kind", ["float64", "struct(x float64)"])
def test_nan_compares_as_in_duckdb(connection, kind):
    numbers = [1.0, float("nan"), float("inf")]
    rows = [{"a": n if kind == "float64" else {"x": n}} for n in numbers * 100]
    reference = "a" if kind == "float64" else "a.x"
    for data in (pa.Table.from_pylist(rows), rows, rows[:3]):
        sql = bring(connection, "given", data, [parsed(kind)], table=TABLE).sql
        query = f"SELECT count(*) * 3 FROM ({sql}) WHERE {reference} > 1.0"
        assert connection.execute(query).fetchone() == (len(data) * 2,)


def test_relations_of_duckdb(connection):
    other = duckdb.connect()
    given = other.sql("SELECT 1::HUGEINT AS id, 'x'::ENUM('x') AS name")
    assert taken(connection, given, THREE[:2]) == [("1", "x")]
    error = refusal(connection, other.sql("SELECT 1::VARIANT AS id"), THREE[:1])
    assert "VARIANT" in error.message


class OnlyAStream:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_anything_that_streams_arrow(connection):
    assert taken(connection, OnlyAStream(pa.table({"id": [1]})), THREE[:1]) == [("1",)]


PANDAS = [
    ("int64", pd.Series([1, None], dtype="Int64"), ["1", None]),
    ("float64", pd.Series([1.5, float("nan")]), ["1.5", None]),
    ("float64", pd.Series([1.5, None], dtype="Float64"), ["1.5", None]),
    ("boolean", pd.Series([True, None], dtype="boolean"), ["true", None]),
    ("boolean", pd.Series([True, None], dtype=object), ["true", None]),
    ("varchar", pd.Series(["x", float("nan")], dtype=object), ["x", None]),
    ("varchar", pd.Series(["x", None]), ["x", None]),
    ("varchar", pd.Series(["x", None], dtype="category"), ["x", None]),
    ("int64", pd.Series([7, 8], dtype="category"), ["7", "8"]),
    ("timestamp", pd.Series(pd.to_datetime(["2024-03-05", None])), ["2024-03-05 00:00:00", None]),
    ("timestamptz", pd.Series(pd.to_datetime(["2024-03-05"])).dt.tz_localize("Asia/Tokyo"),
     ["2024-03-04 15:00:00+00"]),
    ("timestamptz",
     pd.Series(pd.to_datetime(["2024-03-05"])).astype("datetime64[ns]").dt.tz_localize("UTC"),
     ["2024-03-05 00:00:00+00"]),
    ("interval", pd.Series(pd.to_timedelta(["1s", None])), ["00:00:01", None]),
    ("decimal(9,2)", pd.Series([Decimal("1.5"), None]), ["1.50", None]),
    ("uuid", pd.Series([uuid.UUID(int=7)]), [str(uuid.UUID(int=7))]),
    ("date", pd.Series([dt.date(2024, 3, 5), None]), ["2024-03-05", None]),
    ("list(int64)", pd.Series([[1], None]), ["[1]", None]),
    ("struct(x int64)", pd.Series([{"x": 1}, None]), ["{'x': 1}", None]),
    ("int64", pd.Series([None, None], dtype=object), [None, None]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "series", "expected"), PANDAS)
def test_pandas_columns(connection, kind, series, expected):
    assert values(connection, series.to_frame("a"), parsed(kind)) == expected


@pytest.mark.parametrize(
    ("kind", "series", "message"),
    [
        ("int64", pd.Series([1, "x"], dtype=object), "column a"),
        ("boolean", pd.Series([True, 2], dtype=object), "column a"),
        ("int64", pd.Series([1, None]), "DOUBLE"),
        ("int64", pd.Series(pd.period_range("2024-01", periods=2, freq="M")), "pandas.period"),
        ("int64", pd.Series([1 + 2j]), "column a"),
    ],
)
def test_pandas_columns_that_are_refused(connection, kind, series, message):
    error = refusal(connection, series.to_frame("a"), parsed(kind))
    assert isinstance(error, Invalid)
    assert message in error.message
    assert error.hint


POLARS = [
    ("varchar", pl.Series(["x", None], dtype=pl.Categorical), ["x", None]),
    ("varchar", pl.Series(["x"], dtype=pl.Enum(["x"])), ["x"]),
    ("time", pl.Series([dt.time(1, 2, 3)]), ["01:02:03"]),
    ("interval", pl.Series([dt.timedelta(seconds=1)]), ["00:00:01"]),
    ("float64", pl.Series([float("nan"), None]), ["nan", None]),
    ("list(int64)", pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)), ["[1, 2]"]),
    ("decimal(9,2)", pl.Series([Decimal("1.5")]), ["1.50"]),
    ("date", pl.Series([None]), [None]),
    ("blob", pl.Series([b"x"]), ["x"]),
]


@pytest.mark.parametrize(("kind", "series", "expected"), POLARS)
def test_polars_columns(connection, kind, series, expected):
    assert values(connection, series.to_frame("a"), parsed(kind)) == expected


@pytest.mark.parametrize(
    "series", [pl.Series([1], dtype=pl.Int128), pl.Series([object()], dtype=pl.Object)]
)
def test_polars_columns_that_are_refused(connection, series):
    error = refusal(connection, series.to_frame("a"), parsed("int64"))
    assert isinstance(error, Invalid)
    assert "cast" in str(error.hint)


def test_a_spark_frame_is_recognised_without_spark(connection):
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    error = refusal(connection, frame, THREE)
    assert isinstance(error, Unsupported)
    assert "engine='spark'" in str(error.hint)


ODD = ['say "hi"', "it's", "naïve ☃", "select", "a.b", " ", "1", "c0", "r", "x" * 300, "a\nb"]


def test_odd_names(connection):
    columns = [Column(n, name, "int32") for n, name in enumerate(ODD)]
    wanted = [tuple(str(n) for n in range(len(ODD)))]
    row = {name: n for n, name in enumerate(ODD)}
    for data in (row, [row] * 1, pa.Table.from_pylist([row]), pd.DataFrame([row])):
        assert taken(connection, data, columns) == wanted
    deep = Column(1, "a", "struct", children=tuple(columns))
    text = values(connection, {"a": row}, deep)
    assert values(connection, pa.table({"a": [row]}), deep) == text


def test_a_thousand_columns(connection):
    columns = [Column(n, f"column {n}", "int32") for n in range(1000)]
    row = {column.name: n for n, column in enumerate(columns)}
    wanted = tuple(str(n) for n in range(1000))
    assert taken(connection, row, columns) == [wanted]
    assert taken(connection, [row, row], columns) == [wanted, wanted]
    assert taken(connection, pa.Table.from_pylist([row]), columns) == [wanted]


FILES = [
    Column(1, "i", "int64"),
    Column(2, "d", "decimal(9,2)"),
    Column(3, "s", "varchar", default="none"),
    Column(4, "at", "timestamp"),
]
ROWS = [("1", "1.50", "x", "2024-03-05 14:30:00"), ("2", None, "", None)]


def test_parquet_files_each_with_its_own_columns(connection, tmp_path):
    pq.write_table(pa.table({"i": [1], "at": [dt.datetime(2024, 3, 5)]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"S": ["x"], "i": pa.array([2], pa.int8())}), tmp_path / "b.parquet")
    expected = [("1", None, "none", "2024-03-05 00:00:00"), ("2", None, "x", None)]
    for data in (
        f"{tmp_path}/*.parquet",
        [tmp_path / "a.parquet", str(tmp_path / "b.parquet")],
    ):
        assert taken(connection, data, FILES) == expected
    incoming = bring(connection, "given", f"{tmp_path}/*.parquet", FILES, table=TABLE)
    assert incoming.present == {"i", "s", "at"}
    assert incoming.rereadable
    pq.write_table(pa.table({"i": [1], "zz": [1]}), tmp_path / "c.parquet")
    assert "'zz'" in str(refusal(connection, f"{tmp_path}/*.parquet", FILES))


def test_folders_of_partitions_add_no_columns(connection, tmp_path):
    (tmp_path / "zz=1").mkdir()
    pq.write_table(pa.table({"i": [1]}), tmp_path / "zz=1" / "a.parquet")
    assert values(connection, tmp_path / "zz=1" / "a.parquet", FILES[0]) == ["1"]


def test_a_path_may_look_like_a_pattern(connection, tmp_path):
    path = tmp_path / "it's [1].parquet"
    pq.write_table(pa.table({"i": [1]}), path)
    assert values(connection, path, FILES[0]) == ["1"]


CSV = 'S,d,i,at\nx,1.5,1,2024-03-05T14:30:00Z\n"",,2,\n'


def test_csv_is_read_as_the_table_says(connection, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "c.csv").write_text(CSV.replace(",", ";"))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for path in tmp_path.iterdir():
        assert taken(connection, path, FILES) == ROWS, path
    (tmp_path / "empty.csv").write_text("i,s\n")
    assert taken(connection, tmp_path / "empty.csv", FILES) == []


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("boolean", "true", "TRUE"),
        ("uint64", str(2**64 - 1), str(2**64 - 1)),
        ("int128", str(2**53 - 1), str(2**53 - 1)),
        ("float32", "0.1", "0.1"),
        ("float64", "1e300", "1e300"),
        ("decimal(9,2)", "1.5000", "1.5"),
        ("date", "2024-03-05", "'2024-03-05'"),
        ("time", "01:02:03.5", "'01:02:03.5'"),
        ("timestamp_us", "2024-03-05 14:30:00+05:30", "'2024-03-05 09:00:00'"),
        ("timestamp_s", "2024-03-05 14:30:00.000", "'2024-03-05 14:30:00'"),
        ("timestamp_ns", "2024-03-05 14:30:00.123456789", "'2024-03-05 14:30:00.123456789'"),
        ("timestamptz", "2024-03-05 14:30:00+05:30", "'2024-03-05 09:00:00+00'"),
        ("interval", "1 month", "INTERVAL 1 MONTH"),
        ("uuid", str(uuid.UUID(int=7)), f"'{uuid.UUID(int=7)}'"),
        ("json", "[1]", "'[1]'"),
        ("list(int64)", '"[1, 2]"', "[1, 2]"),
    ],
)
def test_csv_text_of_each_type(connection, tmp_path, kind, text, expected):
    (tmp_path / "a.csv").write_text(f"a,b\n{text},\n,\n")
    column = parsed(kind)
    want = text_of(connection, f"CAST({expected} AS {column.duckdb_type})")
    found = taken(connection, tmp_path / "a.csv", [column, Column(2, "b", "varchar")])
    assert [row[0] for row in found] == [want, None]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int64", "1.5"),
        ("int64", "x"),
        ("int8", "300"),
        ("int128", str(2**53)),
        ("decimal(9,2)", "1.239"),
        ("decimal(4,2)", "100"),
        ("float64", "x"),
        ("boolean", "maybe"),
        ("date", "2024-03-05 14:30:00"),
        ("date", "05.03.2024"),
        ("timestamp", "2024-03-05 14:30:00.1234567"),
        ("timestamp_s", "2024-03-05 14:30:00.5"),
        ("timestamp_ns", "2024-03-05 14:30:00+05:30"),
        ("uuid", "x"),
        ("json", "{"),
    ],
)
def test_csv_text_that_does_not_fit(connection, tmp_path, kind, text):
    (tmp_path / "a.csv").write_text(f"a,b\n,\n{text},\n")
    error = refusal(connection, tmp_path / "a.csv", [parsed(kind), Column(2, "b", "varchar")])
    assert isinstance(error, Invalid)
    assert error.message.startswith(f"main.t from {tmp_path}/a.csv: column 'a': {text}")


def test_a_ragged_csv_is_refused(connection, tmp_path):
    (tmp_path / "a.csv").write_text("i,s\n1,x\n2\n3,y,z\n")
    assert isinstance(refusal(connection, tmp_path / "a.csv", FILES), Invalid)


@pytest.mark.parametrize("lines", [False, True])
def test_json_is_read_as_the_table_says(connection, tmp_path, lines):
    rows = [
        {"I": 1, "d": 1.5, "s": "x", "at": "2024-03-05T14:30:00Z"},
        {"i": 2, "s": "", "d": None},
    ]
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows, indent=1)
    path = tmp_path / ("a.ndjson" if lines else "a.json")
    path.write_text(text)
    assert taken(connection, path, FILES) == ROWS


def test_json_keeps_every_digit(connection, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 12345678901234567890.12}')
    column = parsed("decimal(38,2)")
    assert values(connection, tmp_path / "a.json", column) == ["12345678901234567890.12"]


def test_long_json_is_streamed(connection, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(f'{{"i": {n}}}' for n in range(50_000)))
    incoming = bring(connection, "given", path, FILES[:1], table=TABLE)
    assert connection.execute(f"SELECT sum(i) FROM ({incoming.sql})").fetchone() == (1249975000,)


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("a.json", '[{"i": 1}, {"i": 1.5}]', Invalid, "row 2: column 'i'"),
        ("a.json", '[{"zz": 1}]', Invalid, "'zz'"),
        ("a.json", "[1]", Invalid, "not an object"),
        ("a.json", '{"i": 1', Invalid, "a.json"),
        ("a.parquet", "no", Invalid, "a.parquet"),
        ("a.txt", "no", Invalid, "a.txt"),
        ("a.csv", "zz\n1\n", Invalid, "'zz'"),
    ],
)
def test_files_that_are_refused(connection, tmp_path, name, text, kind, message):
    (tmp_path / name).write_text(text)
    error = refusal(connection, tmp_path / name, FILES)
    assert isinstance(error, kind)
    assert message in error.message
    assert error.hint


def test_files_that_are_not_there(connection, tmp_path):
    for path in (tmp_path / "a.parquet", f"{tmp_path}/*.csv", [tmp_path / "a.json"]):
        assert isinstance(refusal(connection, path, FILES), NotFound)
    (tmp_path / "a.csv").write_text(CSV)
    error = refusal(connection, [tmp_path / "a.csv", tmp_path / "a.parquet"], FILES)
    assert "several kinds" in error.message
    assert isinstance(refusal(connection, Path(tmp_path), FILES), Invalid)


def test_taking_rows_imports_nothing_that_was_not_there(connection):
    """A dict needs neither pandas nor Polars nor even Arrow."""
    import subprocess

    code = (
        "import sys, duckdb; from tidelake.engine.incoming import bring;"
        "from tidelake.model.schema import Column; from tidelake.model.names import TableName;"
        "bring(duckdb.connect(), 'n', {'i': 1}, [Column(1, 'i', 'int64')],"
        " table=TableName('main', 't'));"
        "print({'pandas', 'polars', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
