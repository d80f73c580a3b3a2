"""Texts of rows are put into the same buckets as DuckDB puts the rows."""

from random import Random

import pytest

from tests.coverage.doings import ENTITIES, TIMES, value
from tests.coverage.naive import series
from tidelake.coverage.from_rows import of_rows
from tidelake.coverage.values.bitmaps import by_entity
from tidelake.coverage.values.from_text import buckets_of_texts
from tidelake.coverage.values.series import Series
from tidelake.engine.declare.columns import columns_of
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.local.workbench import Workbench
from tidelake.model.types import INTEGERS

WIDTHS = ("1h", "7d", "1w", "1mo", "1y")
ODD = {
    "TIMESTAMP": ["'infinity'", "'-infinity'", "'4000-01-01 (BC)'", "'200000-12-31 23:59:59.5'"],
    "DATE": ["'infinity'", "'4000-01-01 (BC)'", "'12024-02-29'"],
    "TIMESTAMPTZ": ["'-infinity'", "'0044-03-15 (BC) 12:00:00+00'"],
    "BIGINT": ["'-9223372036854775808'", "'9223372036854775807'"],
    "UBIGINT": ["'18446744073709551615'"],
}


@pytest.fixture(scope="module")
def work() -> Workbench:
    return LocalEngine().workbench()


@pytest.mark.parametrize("time", TIMES)
def test_texts_and_rows_agree(work: Workbench, time: str) -> None:
    chance = Random(time)
    for width in WIDTHS:
        columns = _types([*chance.sample(ENTITIES, 2), time])
        number = "17" if columns[-1] in INTEGERS else width
        of = series(columns[-1], "7d" if (time, width) == ("DATE", "1h") else number, *columns[:-1])
        rows = _rows(of, chance, [f"CAST({each} AS {time})" for each in ODD.get(time, [])])
        texts = ", ".join(f"CAST({column.name} AS VARCHAR)" for column in of.columns)
        told = work.connection.execute(f"SELECT {texts} FROM ({rows})").fetchall()
        assert buckets_of_texts(of, told) == by_entity(of_rows(work, rows, of))


def _rows(of: Series, chance: Random, odd: list[str]) -> str:
    clocks = [value(of.time, chance, is_time=True) for _ in range(40)]
    rows = [
        [*(value(column, chance) for column in of.entity), clock]
        for clock in (*odd, *clocks, f"CAST(NULL AS {of.time.duckdb_type})")
    ]
    return " UNION ALL ".join(
        f"SELECT {', '.join(f'{v} AS {c.name}' for v, c in zip(row, of.columns, strict=True))}"
        for row in rows
    )


def _types(names: list[str]) -> list[str]:
    """DuckLake's words for DuckDB's."""
    return [columns_of(f"x {name}")[0].type for name in names]


def test_what_only_duckdb_understands() -> None:
    assert buckets_of_texts(series("timestamp"), [["next Tuesday"]]) is None
    assert buckets_of_texts(series("timestamptz"), [["2024-01-01 00:00:00"]]) is None
    assert buckets_of_texts(series("timestamp"), [[None]]) == {}
