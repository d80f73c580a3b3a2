"""The plane of both times: every fact lies in it, and those that came late are marked."""

from datetime import UTC, datetime, timedelta

import pytest

from tidelake.event_time import plane as planes
from tidelake.event_time.values.plane import MOST_CELLS, Cell, arrange, prefix_length
from tidelake.model import instant

START = datetime(2024, 3, 1)


@pytest.fixture
def table(lake):
    return lake.create_table("t", "k INTEGER, ts TIMESTAMP, v INTEGER", key="k", event_time="ts")


def _rows(day: int, count: int) -> list[dict[str, object]]:
    start = START + timedelta(days=day)
    return [{"k": n, "ts": start + timedelta(minutes=n), "v": day} for n in range(count)]


def _ns(moment: datetime) -> int:
    return instant.of_date(moment)


@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_every_fact_lies_where_it_happened_and_when_it_came(table):
    table.append(_rows(0, 50))
    table.append(_rows(2, 3))
    table.append(_rows(1, 50))
    found = table.plane()
    assert found.rows == table.count()
    assert found.first == _ns(START)
    files = [cell for cell in found.cells if cell.rows == 50]
    assert [(cell.first, cell.known_from, cell.late) for cell in files] == [
        (_ns(START), 2, False),
        (_ns(START + timedelta(days=1)), 4, True),
    ]
    assert [number for number, _ in found.marks] == [0, 1, 2, 3, 4]


def test_known_at_shows_what_was_there(table):
    table.append(_rows(0, 50))
    table.append(_rows(1, 50))
    assert table.known_at(2).plane().rows == 50


def test_a_compacted_file_lies_at_all_snapshots_that_it_holds(table):
    for day in range(4):
        table.append(_rows(day, 50))
    table.compact()
    (cell,) = table.plane().cells
    assert (cell.known_from, cell.known_to, cell.rows) == (2, 5, 200)


@pytest.mark.parametrize("place", ["sqlite", "postgresql", "mariadb", "duckdb"], indirect=True)
def test_of_many_files_the_database_counts_them_together(table):
    for day in range(6):
        table.append(_rows(day % 3, 50))
    exact = table.plane()
    many = planes.plane(table.source, many_files=1)
    assert many.rows == exact.rows
    assert many.first is not None
    assert exact.first is not None
    assert many.first <= exact.first
    assert {cell.known_from for cell in many.cells} <= {cell.known_from for cell in exact.cells}


def test_many_cells_become_a_grid():
    cells = [Cell(n * 10, n * 10 + 5, n % 700, n % 700, 2) for n in range(20_000)]
    found = arrange(cells)
    assert len(found) <= 120 * 96 * 2
    assert sum(cell.rows for cell in found) == 40_000
    assert len(arrange(cells[:MOST_CELLS])) == MOST_CELLS


@pytest.mark.parametrize(
    ("first", "last", "letters"),
    [
        ("1970-01-01 00:00:00", "2024-01-01 00:00:00", 4),
        ("2004-01-01 00:00:00", "2024-01-01 00:00:00", 7),
        ("2024-01-01 00:00:00", "2024-12-01 00:00:00", 10),
        ("2024-01-01 00:00:00+00", "2024-01-09 00:00:00+00", 13),
        (None, None, 10),
    ],
)
def test_times_are_grouped_by_their_first_letters(first, last, letters):
    assert prefix_length(first, last) == letters


def test_snapshots_are_sampled(lake, table):
    for number in range(40):
        table.append(_rows(number, 1))
    marks = planes.plane(table.source, 10).marks
    assert marks[0][0] == 0
    assert marks[-1][0] == lake.snapshots()[-1].snapshot_id
    assert len(marks) < 20
    assert all(time <= datetime.now(UTC) for _, time in marks)
