"""Cells of a strip and ticks of its axis, by arithmetic on bitmaps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelake.coverage.values.axis import short_text, ticks
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import SIGN, Clock
from tidelake.coverage.values.picture import Cell, cells, join_cells, name_of, percent
from tidelake.coverage.values.series import Series
from tidelake.model.schema import Column

BASE = SIGN - 50


def series(width: str | int = "1m", kind: str = "timestamp") -> Series:
    return Series((), Column(1, "ts", kind), Clock.of(width, kind))


def ids(found: Series, *moments: object) -> list[int]:
    return [found.clock.id(found.clock.number(found.position(m, "x"))) for m in moments]


def test_a_strip_of_four_cells() -> None:
    covered = Buckets([0, 1, 2, 3, 5, 12, 13])
    assert cells(covered, None, 0, 16, 4) == [
        Cell(0, 4, 4, 4),
        Cell(4, 8, 4, 1),
        Cell(8, 12, 4, 0),
        Cell(12, 16, 4, 2),
    ]


def test_what_is_not_expected_counts_neither_way() -> None:
    found = cells(Buckets([0, 1, 4]), Buckets([1, 2, 8]), 0, 12, 3)
    assert [cell.share for cell in found] == [0.5, None, 0.0]


@given(
    st.sets(st.integers(0, 99)),
    st.none() | st.sets(st.integers(0, 99)),
    st.integers(0, 100),
    st.integers(0, 100),
    st.integers(1, 130),
)
def test_cells_add_up_to_what_a_set_says(
    covered: set[int], expected: set[int] | None, first: int, length: int, most: int
) -> None:
    end = min(first + length, 100)
    asked = [BASE + n for n in range(first, end)]
    wanted = {BASE + n for n in (range(100) if expected is None else expected)}
    there = {BASE + n for n in covered}
    bitmap = None if expected is None else Buckets(sorted(wanted))
    found = cells(Buckets(sorted(there)), bitmap, BASE + first, BASE + end, most)
    assert len(found) == min(most, len(asked))
    assert [n for cell in found for n in range(cell.first, cell.end)] == asked
    for cell in [*found, *join_cells(found)]:
        inside = wanted & set(range(cell.first, cell.end))
        assert (cell.expected, cell.covered) == (len(inside), len(inside & there))
    widths = {cell.end - cell.first for cell in found}
    assert not widths or max(widths) - min(widths) <= 1
    assert sum(cell.covered for cell in join_cells(found)) == len(set(asked) & wanted & there)


def test_cells_of_all_ids_there_are() -> None:
    covered = Buckets([0, 2**64 - 1])
    assert [cell.covered for cell in cells(covered, None, 0, 2**64, 3)] == [1, 0, 1]


def test_a_month_of_milliseconds_is_no_work() -> None:
    covered = Buckets()
    covered.add_range(SIGN, SIGN + 3_000_000_000)
    found = cells(covered, None, SIGN, SIGN + 3_200_000_000, 100)
    assert sum(cell.share == 1 for cell in found) == 93


def test_neighbours_that_are_alike_are_joined() -> None:
    found = [
        Cell(0, 2, 2, 2),
        Cell(2, 4, 2, 2),
        Cell(4, 6, 2, 1),
        Cell(6, 8, 2, 1),
        Cell(8, 9, 0, 0),
    ]
    assert list(join_cells(found)) == [Cell(0, 4, 4, 4), *found[2:]]


@pytest.mark.parametrize(
    ("width", "kind", "start", "end", "labels"),
    [
        ("1m", "timestamp", "2024-03-01", "2024-03-08", ["03-02", "03-04", "03-06"]),
        ("1m", "timestamp", "2024-03-01T22:00:00", "2024-03-02T04:00:00", ["03-02", "03:00"]),
        (
            "1h",
            "timestamptz",
            "2024-03-01",
            "2024-03-01T12:00:00",
            ["03-01", "03:00", "06:00", "09:00"],
        ),
        ("1d", "date", "2023-02-01", "2024-03-01", ["2023-04", "2023-07", "2023-10", "2024-01"]),
        ("1mo", "date", "1969-01-01", "1972-01-01", ["1969", "1970", "1971"]),
        (
            "1s",
            "timestamp",
            "2024-03-01T00:00:10",
            "2024-03-01T00:01:00",
            ["00:00:15", "00:00:30", "00:00:45"],
        ),
    ],
)
def test_the_axis_has_round_moments(
    width: str, kind: str, start: str, end: str, labels: list[str]
) -> None:
    found = series(width, kind)
    told = [tick.label for tick in ticks(found, *ids(found, start, end), 4)]
    assert told == labels


def test_the_axis_of_an_integer_clock() -> None:
    found = series(10, "int64")
    assert [(t.bucket, t.label) for t in ticks(found, *ids(found, -250, 1000), 5)] == [
        (25, "0"),
        (75, "500"),
    ]


@given(
    st.sampled_from(["1ms", "1s", "7m", "1h", "1d", "1w", "1mo", "1y"]),
    st.integers(-(2**40), 2**40),
    st.integers(0, 2**34),
    st.integers(1, 20),
)
def test_ticks_are_few_and_in_order(width: str, first: int, length: int, most: int) -> None:
    found = ticks(series(width), SIGN + first, SIGN + first + length, most)
    assert len(found) <= most
    assert all(0 <= tick.bucket <= length for tick in found)
    assert [t.bucket for t in found] == sorted(t.bucket for t in found)


def test_names_and_numbers_in_words() -> None:
    assert name_of(("ACME", None, 7, "")) == 'ACME, NULL, 7, ""'
    assert name_of(()) == ""
    assert name_of(("a\0b\n\u202ec\ud800",)) == "a\\x00b\\n\\u202ec\\ud800"
    assert name_of(("👩\u200d🚀",)) == "👩\u200d🚀"
    assert [percent(x) for x in (0, 0.0004, 0.99999, 1)] == ["0.0 %", "<0.1 %", "99.9 %", "100.0 %"]
    found = series("1ms", "timestamptz")
    for text in ("2024-03-01", "2024-03-01 09:30Z", "2024-03-01 09:30:05Z"):
        (bucket,) = ids(found, text)
        assert short_text(found.moment(found.clock.number_of(bucket))) == text
