"""Typed data of every kind becomes the table's types exactly, or is refused by name."""

import datetime as dt
import uuid
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.engine.incoming.taking import MOMENT, TABLE, opened, parsed, refusal, text_of, values
from tidelake.engine.incoming.bring import bring
from tidelake.errors import Invalid


@pytest.fixture
def connection():
    with opened() as connection:
        yield connection


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
    ("timestamp", pa.array([1000], pa.timestamp("ns", "UTC")).dictionary_encode(),
     "make_timestamp(1)"),
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
    ("map(varchar, interval)",
     pa.array([[("k", 1000)]], pa.map_(pa.string(), pa.duration("ns"))),
     "MAP {'k': to_microseconds(1)}"),
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
        ("int64", pd.Series([2**70], dtype=object), ""),
        ("varchar", pd.Series(["\ud800"], dtype=object), ""),
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
