"""The short way for a few plain dicts gives exactly what the long way gives."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.incoming.bring import bring
from tidelake.engine.incoming.few_rows import plain_rows
from tidelake.engine.incoming.inline_text import as_text
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Invalid
from tidelake.model.names import TableName

TABLE = TableName("main", "t")
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int8": [-128, 127],
    "int64": [-(2**63), 2**63 - 1, 0],
    "uint32": [0, 2**32 - 1],
    "float64": [
        *(0.0, -0.0, 1.5, 1e16, 1e15, 123456789.125, 1e-5, 1e-4, 5e-324, 1.7976931348623157e308),
        *(float("inf"), float("-inf"), float("nan"), 3, 0.1 + 0.2, 1 / 3, 1e22, 100000.0),
    ],
    "varchar": ["", "a", "it's", 'q"', "x" * 5000, " \t\n"],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)],
    "timestamp": [
        datetime(2024, 1, 2, 3, 4, 5),
        datetime(2024, 1, 2, 3, 4, 5, 600000),
        datetime(1, 1, 1, 0, 0, 0, 1),
        datetime(2024, 1, 2, 10, tzinfo=timezone(timedelta(hours=5))),
        date(2024, 1, 2),
    ],
    "timestamptz": [
        datetime(2024, 1, 2, 3, 4, 5, 120000, tzinfo=UTC),
        datetime(2024, 1, 2, 10, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        datetime(2024, 1, 2, 3),
    ],
}


def the_long_way(rows: list[dict[str, Any]], ddl: dict[str, str]) -> Any:
    connection = LocalEngine().workbench().connection
    columns = columns_of(ddl)
    incoming = bring(connection, "incoming", rows, columns, table=TABLE)
    return as_text(connection, incoming.sql, columns, numbered=False)


@pytest.mark.parametrize("kind", VALUES)
def test_the_same_text_as_duckdb(kind: str) -> None:
    ddl = {"x": kind}
    rows = [{"x": value} for value in [*VALUES[kind], None]]
    found = plain_rows(rows, columns_of(ddl), str(TABLE), len(rows))
    assert found == the_long_way(rows, ddl)


def test_a_column_may_be_missing_unless_it_has_a_default() -> None:
    columns = columns_of({"a": "int64", "b": "varchar"})
    assert plain_rows({"a": 1}, columns, "t", 10) == (("1", None),)
    assert plain_rows({"A": 1, "B": "x"}, columns, "t", 10) is None
    with_default = columns_of("a BIGINT, b VARCHAR DEFAULT 'x'")
    assert plain_rows({"a": 1}, with_default, "t", 10) is None
    assert plain_rows({"a": 1, "b": "y"}, with_default, "t", 10) == (("1", "y"),)


@pytest.mark.parametrize(
    ("data", "ddl"),
    [
        ([{"x": 1}] * 11, {"x": "int64"}),
        (({"x": 1},), {"x": "int64"}),
        ({"x": "2024-01-01"}, {"x": "timestamp"}),
        ({"x": "ü"}, {"x": "varchar"}),
        ({"x": "\0"}, {"x": "varchar"}),
        ({"x": 1.5}, {"x": "float32"}),
        ({"x": [1]}, {"x": "BIGINT[]"}),
        ({"x": b"1"}, {"x": "blob"}),
    ],
)
def test_left_to_duckdb(data: Any, ddl: dict[str, str]) -> None:
    assert plain_rows(data, columns_of(ddl), "t", 10) is None


@pytest.mark.parametrize(
    ("row", "ddl"),
    [
        ({"x": 300}, {"x": "int8"}),
        ({"x": 1.5}, {"x": "int64"}),
        ({"x": True}, {"x": "int64"}),
        ({"x": 1}, {"x": "varchar"}),
        ({"nope": 1}, {"x": "int64"}),
        ({"x": None}, {"x": "int64 NOT NULL"}),
        ({}, {"x": "int64 NOT NULL"}),
    ],
)
def test_refused_as_by_the_long_way(row: dict[str, Any], ddl: dict[str, str]) -> None:
    with pytest.raises(Invalid) as short:
        plain_rows(row, columns_of(ddl), str(TABLE), 10)
    with pytest.raises(Invalid) as long:
        the_long_way([row], ddl)
    assert str(short.value) == str(long.value)
