"""Conditions built in Python mean what DuckDB reads."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from uuid import UUID

import duckdb
import pytest

from tidelake.errors import Invalid
from tidelake.model.literal import plain, sql_literal
from tidelake.model.normal_form import conjuncts, positive
from tidelake.model.predicate import Always, And, Compare, In, IsNull, Like, Not, Opaque, Or, col


class Level(IntEnum):
    HIGH = 3


LITERALS = [
    (0, "INTEGER"),
    (-(2**63), "BIGINT"),
    (2**127 - 1, "HUGEINT"),
    (1.5, "DOUBLE"),
    (0.1, "DOUBLE"),
    (1e300, "DOUBLE"),
    (float("inf"), "DOUBLE"),
    (float("-inf"), "DOUBLE"),
    (Decimal("1.50"), "DECIMAL(3,2)"),
    (Decimal("-12345678901234567890.123456789"), "DECIMAL(29,9)"),
    (True, "BOOLEAN"),
    ("", "VARCHAR"),
    ('it\'s \\ "quoted" % é \U0001f600\n', "VARCHAR"),
    ("a\0b", "VARCHAR"),
    (b"", "BLOB"),
    (b"\x00\xff'a", "BLOB"),
    (date(2020, 2, 29), "DATE"),
    (date(1, 1, 1), "DATE"),
    (datetime(2020, 1, 1, 12, 30), "TIMESTAMP"),
    (datetime(999, 1, 1, microsecond=1), "TIMESTAMP"),
    (datetime(2020, 1, 1, tzinfo=UTC), "TIMESTAMP WITH TIME ZONE"),
    (datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=9, minutes=18, seconds=59))), None),
    (time(23, 59, 59, 999999), "TIME"),
    (timedelta(days=-1, seconds=5, microseconds=7), "INTERVAL"),
    (UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "UUID"),
]


@pytest.mark.parametrize(("value", "kind"), LITERALS, ids=repr)
def test_a_literal_is_exactly_the_value(value, kind):
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        found, named = connection.execute(
            f"SELECT x, typeof(x) FROM (SELECT {sql_literal(plain(value))} AS x)"
        ).fetchone()
    assert found == value
    assert kind in (None, named)


def test_nan_is_a_double():
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT isnan({sql_literal(float('nan'))})").fetchone() == (
            True,
        )


def test_number_like_values_become_plain_numbers():
    assert (col("x") == Level.HIGH).sql() == '("x" = 3)'


@pytest.mark.parametrize("value", [object(), [1], Decimal("NaN"), Decimal("Infinity"), {1}])
def test_other_values_are_refused(value):
    with pytest.raises(Invalid):
        col("x") == value  # noqa: B015


def test_text_that_is_no_unicode_is_refused():
    with pytest.raises(Invalid, match="Unicode"):
        (col("x") == "\ud800").sql()


def test_comparing_with_none_points_at_is_null():
    with pytest.raises(Invalid, match=r"is_null\(\)"):
        col("x") == None  # noqa: B015, E711
    with pytest.raises(Invalid, match=r"is_null\(\)"):
        col("x").is_in([1, None])


def test_a_column_is_not_compared_with_a_column():
    with pytest.raises(Invalid, match="value"):
        col("x") == col("y")  # noqa: B015


@pytest.mark.parametrize(
    "use",
    [
        lambda: (col("x") > 1) and (col("y") > 2),
        lambda: not (col("x") > 1),
        lambda: bool(col("x")),
        lambda: 1 < col("x") < 5,
        lambda: (col("x") > 1) & True,
    ],
)
def test_python_logic_is_refused_with_a_hint(use):
    with pytest.raises(Invalid) as error:
        use()
    assert error.value.hint


def test_is_in_takes_a_list():
    with pytest.raises(Invalid, match="list"):
        col("x").is_in("abc")


def test_an_unknown_operator_is_refused():
    with pytest.raises(Invalid, match="comparison"):
        Compare("x", "==", 1)


SQL = [
    (col("x") == 1, '("x" = 1)'),
    (col('a"b') != "c", '("a""b" != \'c\')'),
    (col("x").between(1, 2), '(("x" >= 1) AND ("x" <= 2))'),
    (col("x").is_in([1, 2]), '("x" IN (1, 2))'),
    (col("x").is_in([]), "FALSE"),
    (col("x").is_null(), '("x" IS NULL)'),
    (col("x").is_not_null(), '("x" IS NOT NULL)'),
    (col("x").starts_with("a"), "starts_with(\"x\", 'a')"),
    (col("x").like("a%"), "(\"x\" LIKE 'a%')"),
    (Like("x", "a", negated=True, case_insensitive=True), "(\"x\" NOT ILIKE 'a')"),
    ((col("x") > 1) & (col("y") > 2) & (col("z") > 3), '(("x" > 1) AND ("y" > 2) AND ("z" > 3))'),
    ((col("x") > 1) | ~(col("y") > 2), '(("x" > 1) OR (NOT ("y" > 2)))'),
    (Opaque("x + y > 1", frozenset("xy")), "(x + y > 1)"),
    (Always(None), "CAST(NULL AS BOOLEAN)"),
    (And(()), "TRUE"),
    (Or(()), "FALSE"),
]


@pytest.mark.parametrize(("predicate", "sql"), SQL)
def test_sql(predicate, sql):
    assert predicate.sql() == sql == str(predicate)


def test_columns():
    predicate = (col("x") > 1) & (~(col("y") > 2) | Opaque("a > b", frozenset({"a", "b"})))
    assert predicate.columns() == {"x", "y", "a", "b"}


NORMAL = [
    (~(col("x") < 1), col("x") >= 1),
    (~~(col("x") < 1), col("x") < 1),
    (~((col("x") < 1) & (col("y") == 2)), (col("x") >= 1) | (col("y") != 2)),
    (~((col("x") < 1) | (col("y") == 2)), (col("x") >= 1) & (col("y") != 2)),
    (~col("x").is_null(), col("x").is_not_null()),
    (~col("x").like("a"), Like("x", "a", negated=True)),
    (~col("x").is_in([1]), Not(In("x", (1,)))),
    (~col("x").is_in([]), Always(True)),
    (Not(Always(None)), Always(False)),
    (Not(Opaque("a")), Opaque("NOT (a)")),
    (Not(Opaque("a", frozenset({"x"}))), Opaque("NOT (a)", frozenset({"x"}))),
]


@pytest.mark.parametrize(("predicate", "expected"), NORMAL)
def test_not_is_pushed_down_to_single_tests(predicate, expected):
    assert positive(predicate) == expected


def test_conjuncts_are_flattened():
    predicate = (col("x") > 1) & ~((col("y") > 2) | (col("z").is_null()))
    assert conjuncts(predicate) == (col("x") > 1, col("y") <= 2, IsNull("z", negated=True))
