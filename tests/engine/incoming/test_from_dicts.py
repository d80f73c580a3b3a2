"""Rows that come as dicts: of the table's types, and with an error that names the row."""

import datetime as dt
import subprocess
import sys
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.engine.incoming.taking import (
    MOMENT,
    TABLE,
    THREE,
    opened,
    parsed,
    refusal,
    taken,
    text_of,
    values,
)
from tidelake.engine.incoming.bring import bring
from tidelake.errors import Invalid


@pytest.fixture
def connection():
    with opened() as connection:
        yield connection


UTC = dt.UTC


IN_DICTS = [
    ("boolean", True, "TRUE"),
    ("int8", -128, "-128"),
    ("uint64", 2**64 - 1, str(2**64 - 1)),
    ("int64", -(2**63), str(-(2**63))),
    ("int128", 2**53 - 1, str(2**53 - 1)),
    ("int128", Decimal("-99"), "-99"),  # as reading gives it
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
    ("int64", np.int8(7), "7"),
    ("float64", np.float32(1.5), "1.5"),
    ("boolean", np.True_, "TRUE"),
    ("list(float64)", np.array([1.5, 2.5]), "[1.5, 2.5]"),
    ("date", pd.NaT, "NULL"),
    ("int64", pd.NA, "NULL"),
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
    ("int128", Decimal("1.5")),
    ("uint128", Decimal("-1")),
    ("int128", Decimal("Infinity")),
    ("int64", Decimal("1")),
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
    ("json", {1: 2}),
    ("json", float("nan")),
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
    ("struct(x int64)", {"x": 1, "X": 2}),
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


@pytest.mark.parametrize("count", [1, 500, 30_000])
def test_a_key_that_only_some_rows_have(connection, count):
    """None is null, only a key that is not there is the default."""
    rows = ({"id": 1} if n % 2 else {"id": 2, "name": None} for n in range(2 * count))
    found = taken(connection, rows, THREE)
    assert (
        found == [("2", None, "2024-01-01 00:00:00"), ("1", "it's", "2024-01-01 00:00:00")] * count
    )


def test_without_defaults_all_dicts_must_have_the_same_keys(connection):
    rows = [{"id": 1, "name": "x"}, {"id": 2}]
    error = refusal(connection, rows, THREE, defaults=False)
    assert "row 2 has no 'Name'" in error.message
    late = ({"id": n} | ({"name": "x"} if n > 20_000 else {}) for n in range(40_000))
    assert "keys" in str(refusal(connection, late, THREE, defaults=False))


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


def test_taking_rows_imports_nothing_that_was_not_there(connection):
    """A dict needs neither pandas nor Polars nor even Arrow."""
    code = (
        "import sys, duckdb; from tidelake.engine.incoming.bring import bring;"
        "from tidelake.model.schema import Column; from tidelake.model.names import TableName;"
        "bring(duckdb.connect(), 'n', {'i': 1}, [Column(1, 'i', 'int64')],"
        " table=TableName('main', 't'));"
        "print({'pandas', 'polars', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
