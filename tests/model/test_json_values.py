"""Values in JSON lose nothing."""

import datetime as dt
import json
from decimal import Decimal

import duckdb
import pytest

from tidelake.cli.render import cell
from tidelake.cli.row_options import value_of
from tidelake.model import json_values as values
from tidelake.model.schema import Column


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("NULL::INTEGER", None),
        ("TRUE", True),
        ("9223372036854775807", 9223372036854775807),
        ("1.50::DECIMAL(10, 2)", "1.50"),
        ("1e-12::DECIMAL(20, 12)", "0.000000000001"),
        ("'nan'::DOUBLE", "NaN"),
        ("'inf'::DOUBLE", "Infinity"),
        ("'-inf'::FLOAT", "-Infinity"),
        ("0.1::DOUBLE", 0.1),
        ("'\\x00\\xFF'::BLOB", "00ff"),
        ("DATE '2024-02-29'", "2024-02-29"),
        ("DATE '12000-01-01'", "12000-01-01"),
        ("'0044-03-15 (BC)'::DATE", "0044-03-15 (BC)"),
        ("'infinity'::DATE", "infinity"),
        ("TIME '23:59:59.000001'", "23:59:59.000001"),
        ("TIMESTAMP '1969-12-31 23:59:59.5'", "1969-12-31T23:59:59.500000"),
        ("TIMESTAMP_S '2024-01-01 00:00:00'", "2024-01-01T00:00:00"),
        ("TIMESTAMP_NS '2024-01-01 00:00:00.123456789'", "2024-01-01T00:00:00.123456789"),
        ("TIMESTAMPTZ '2024-01-01 02:00:00+02'", "2024-01-01T00:00:00+00:00"),
        ("'-infinity'::TIMESTAMP", "-infinity"),
        ("INTERVAL '1 month 2 days 3 seconds'", {"months": 1, "days": 2, "nanoseconds": 3 * 10**9}),
        ("[1, NULL]", [1, None]),
        ("{'a': DATE '2024-01-01', 'b': [1.5::DECIMAL(4, 1)]}", {"a": "2024-01-01", "b": ["1.5"]}),
        ("MAP {1: 'a', 2: NULL}", [[1, "a"], [2, None]]),
        ("'1c0ffee0-0000-4000-8000-000000000001'::UUID", "1c0ffee0-0000-4000-8000-000000000001"),
    ],
)
def test_a_value_in_json(sql, expected):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    (batch,) = connection.execute(f"SELECT {sql} AS v").to_arrow_table().to_batches()
    assert list(values.rows(batch)) == [(expected,)]
    assert json.loads(json.dumps(expected)) == expected


def test_every_day_of_the_calendar():
    first = dt.date(1, 1, 1).toordinal() - dt.date(1970, 1, 1).toordinal()
    last = dt.date(9999, 12, 31).toordinal() - dt.date(1970, 1, 1).toordinal()
    for days in [*range(first, last, 97), *range(-800, 800), last]:
        assert values.date(days) == (dt.date(1970, 1, 1) + dt.timedelta(days)).isoformat()


def test_text_shows_control_characters_instead_of_sending_them():
    assert cell("a\x1b[31m\nb\tc") == "a\\x1b[31m\\nb\\tc"
    assert cell(None) == "NULL"
    assert cell({"a": "\x07"}) == '{"a": "\\u0007"}'


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int8", "5", 5),
        ("uint128", "5", 5),
        ("int32", "five", "five"),
        ("interval", "5", "5"),
        ("float64", "5", 5.0),
        ("decimal(9,2)", "5", Decimal(5)),
        ("boolean", "true", True),
        ("varchar", "5", "5"),
        ("blob", "00ff", b"\x00\xff"),
    ],
)
def test_a_word_is_a_value_of_its_column(kind, text, value):
    found = value_of(Column(1, "c", kind), text)
    assert (type(found), found) == (type(value), value)
