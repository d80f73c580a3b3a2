"""The texts of moments, read as DuckDB reads them."""

from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelake.model import instant

MOMENTS = [
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "2020-02-29 12:34:56.5",
    "0001-01-01 00:00:00",
    "0001-12-31 (BC) 00:00:00",
    "0044-03-15 (BC) 01:02:03.000001",
    "0005-02-29 (BC) 00:00:00",
    "9999-12-31 23:59:59",
    "12345-01-01 00:00:00",
    "294247-01-10 04:00:54.775806",
    "2020-01-01",
    "2020-01-01T00:00:00",
]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize("text", MOMENTS)
def test_moments_are_where_duckdb_puts_them(connection, text):
    (micros,) = connection.execute("SELECT epoch_us(CAST($1 AS TIMESTAMP))", [text]).fetchone()
    assert instant.parse_moment(text, zoned=False) == micros * 1000


@pytest.mark.parametrize(
    "text", [m + z for m in MOMENTS[:9] for z in ("+00", "-08", "+05:30", "Z")]
)
def test_zones_are_applied(connection, text):
    (micros,) = connection.execute("SELECT epoch_us(CAST($1 AS TIMESTAMPTZ))", [text]).fetchone()
    assert instant.parse_moment(text, zoned=True) == micros * 1000


@given(days=st.integers(-2_000_000, 100_000_000))
def test_every_day_is_counted(connection, days):
    (text,) = connection.execute(
        "SELECT CAST(DATE '1970-01-01' + $1::INTEGER AS VARCHAR)", [days]
    ).fetchone()
    assert instant.parse_date(text) == days * instant.DAY


def test_nanoseconds_and_infinities():
    assert instant.parse_moment("1970-01-01 00:00:00.000000001", zoned=False) == 1
    assert instant.parse_moment("infinity", zoned=True) == float("inf")
    assert instant.parse_date("-infinity") == float("-inf")


@pytest.mark.parametrize(
    "text",
    [
        *["", "2020", "2020-1-1", "2020-13-01", "2020-02-30", "2021-02-29", "1900-02-29", "x"],
        *["2020-00-01", "0000-01-01", "2020-01-01 25:00:00", "2020-01-01 12:60:00", "2020-01-01 "],
        *[" 2020-01-01", "2020-01-01 12:00", "2020-01-01 00:00:00+0", "epoch", "\uff12020-01-01"],
    ],
)
def test_anything_else_is_unknown(text):
    assert instant.parse_moment(text, zoned=None) is None


def test_a_zone_is_there_or_not_as_asked():
    assert instant.parse_moment("2020-01-01 00:00:00", zoned=True) is None
    assert instant.parse_moment("2020-01-01 00:00:00+00", zoned=False) is None
    assert instant.parse_date("2020-01-01 00:00:00") is None


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("00:00:00", 0),
        ("12:34:56.5", 45_296_500_000_000),
        ("24:00:00", instant.DAY),
        ("24:00:01", None),
        ("1:2:3", None),
        ("12:00", None),
    ],
)
def test_times_of_day(text, nanos):
    assert instant.parse_time(text) == nanos


def test_python_dates_and_datetimes():
    assert instant.of_date(date(1970, 1, 2)) == instant.DAY
    assert instant.of_date(datetime(1970, 1, 1, 0, 0, 1, 2)) == 1_000_002_000
    assert instant.of_date(datetime(1970, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5.5)))) == 0
    assert instant.of_date(datetime(1970, 1, 1, 1, tzinfo=UTC)) == 3600 * instant.SECOND
