"""Coverage draws itself: in a terminal, on a page, and as a frame."""

import io
import pickle
import runpy
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tidelake.coverage.answer import Coverage
from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import Clock
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Range
from tidelake.coverage.values.series import Entity, Series
from tidelake.errors import Unsupported
from tidelake.model.schema import Column
from tidelake.testing.place import Place

ROOT = Path(__file__).parents[2]
NOON = datetime(2024, 3, 12, 12)
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'so'",
    "NUL\0 and \x1b[31m",
    "two\nlines\r",
    "👩‍🚀 emoji",
    "שלום עולם",
    "\u202eturned round",
    "]]></svg>",
    "\ud800 half",
    "漢字" * 40,
    "",
]


def series(kind: str = "timestamp", width: str | int = "1m", **entity: str) -> Series:
    columns = entity or {"symbol": "varchar"}
    listed = tuple(Column(n, name, each) for n, (name, each) in enumerate(columns.items(), 1))
    return Series(listed, Column(9, "ts", kind), Clock.of(width, kind))


def bucket(of: Series, moment: object) -> int:
    return of.clock.id(of.clock.number(of.position(moment, "moment")))


def covers(
    known: dict[Entity, Iterable[int]],
    length: int,
    of: Series | None = None,
    start: object = NOON,
    expected: Iterable[int] | None = None,
) -> Coverage:
    """Entities and the buckets that they cover, counted from a start."""
    of = of or series()
    first = bucket(of, start)
    wanted = None if expected is None else Buckets([first + n for n in expected])
    found = {entity: Buckets([first + n for n in some]) for entity, some in known.items()}
    return Coverage(of, Extent(found, Range(first, first + length), wanted), table="main.bars")


def drawn(found: Coverage, width: int = 40, encoding: str = "utf-8", **extra: Any) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Console(file=file, width=width, **extra).print(found)
    file.seek(0)
    return file.read().splitlines()


TWO = {("ACME",): range(60), ("BOLT",): [*range(20), *range(31, 60)]}


def test_one_line_says_it_all() -> None:
    assert repr(covers(TWO, 60)) == (
        "<Coverage main.bars: 2 entities, 2024-03-12 12:00 to 2024-03-12 13:00,"
        " 90.8 % of 120 buckets of 1m, 1 gap>"
    )
    assert str(covers({("ACME",): range(60)}, 60)) == (
        "<Coverage main.bars: ACME, 2024-03-12 12:00 to 2024-03-12 13:00,"
        " 100.0 % of 60 buckets of 1m, 0 gaps>"
    )
    nothing = Coverage(series(), Extent({("ACME",): Buckets()}, None), table="main.bars")
    assert repr(nothing) == "<Coverage main.bars: nothing, in buckets of 1m>"


@given(st.sets(st.integers(0, 20)), st.none() | st.sets(st.integers(0, 20)), st.integers(0, 21))
def test_gaps_are_counted_as_they_are_listed(
    covered: set[int], expected: set[int] | None, length: int
) -> None:
    wanted = None if expected is None else sorted(n for n in expected if n < length)
    inside = range(length) if wanted is None else wanted
    found = covers({("A",): sorted(covered & set(inside))}, length, expected=wanted)
    assert found._extent.count_missing(("A",)) == len(found.gaps)


def test_strips_in_a_terminal() -> None:
    assert drawn(covers(TWO, 60), 52)[-3:] == [
        "ACME ██████████████████████████████  100.0 %  0 gaps",
        "BOLT ██████████     ▄██████████████   81.6 %   1 gap",
        "     ╵12:00         ╵12:30",
    ]


def test_strips_in_ascii() -> None:
    assert drawn(covers(TWO, 60), 52, "ascii")[-3:] == [
        "ACME ##############################  100.0 %  0 gaps",
        "BOLT ##########     5##############   81.6 %   1 gap",
        "     |12:00         |12:30",
    ]


def test_what_is_not_expected_is_no_gap() -> None:
    found = covers({("A",): [0, 1, 4]}, 8, expected=[0, 1, 4, 5])
    assert drawn(found, 33)[-2] == "A ████····██  ····  75.0 %  1 gap"
    assert drawn(found, 33, "ascii")[-2] == "A ####....##  ....  75.0 %  1 gap"
    red = "\x1b[41m  \x1b[0m"
    assert red in drawn(found, 33, force_terminal=True, color_system="standard")[-2]


def test_a_few_buckets_are_drawn_wide() -> None:
    assert drawn(covers({("A",): [0, 2]}, 3), 40)[-2] == "A ███████       ███████  66.6 %  1 gap"


def test_however_little_is_missing_is_seen() -> None:
    found = covers({("A",): set(range(10_000)) - {5000}}, 10_000)
    line = drawn(found, 40)[-2]
    assert line.count("▇") == 1
    assert line.endswith("99.9 %  1 gap")
    strip = ElementTree.fromstring(found.to_svg())
    assert "13" in {rect.get("height") for rect in strip.findall(f"{SVG}g/{SVG}rect")}


@pytest.mark.parametrize("width", [*range(20, 60), 80, 120, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_line_is_too_wide(width: int, encoding: str) -> None:
    known = {(name,): range(n, 600) for n, name in enumerate(HOSTILE)}
    for extra in ({}, {"force_terminal": True, "color_system": None}):
        lines = drawn(covers(known, 600), width, encoding, **extra)
        assert max(map(cell_len, lines)) <= width
        assert len(lines) > len(HOSTILE)
        assert not any(ord(letter) < 32 for line in lines for letter in line)


def test_the_least_covered_of_many_are_shown() -> None:
    known = {(n,): range(n) for n in range(100)}
    lines = drawn(covers(known, 100, series(id="int32")), 60)
    names = [line.split()[0] for line in lines[-22:-2]]
    assert names == [str(n) for n in range(20)]
    assert lines[-1] == "and 80 more, covered as well or better"


def test_ten_thousand_entities_are_drawn_at_once() -> None:
    of, year = series(id="int32"), 525_600
    first = bucket(of, "2024-01-01")
    known = {}
    for n in range(10_000):
        ids = Buckets()
        ids.add_range(first, first + year)
        ids.remove_range(first + n * 50, first + n * 50 + n % 7)
        known[(n,)] = ids
    found = Coverage(of, Extent(known, Range(first, first + year)))
    assert len(drawn(found, 100)) == 23
    assert len(found.to_svg()) < 100_000


SVG = "{http://www.w3.org/2000/svg}"


def rows_of(text: str) -> list[str]:
    """The names that stand before the strips."""
    root = ElementTree.fromstring(text)
    return [found.text or "" for found in root.findall(f"{SVG}svg/{SVG}text")]


def test_whatever_entities_are_called_the_svg_is_one() -> None:
    found = covers({(name,): range(n, 60) for n, name in enumerate(HOSTILE)}, 60)
    for text in (found.to_svg(), found._repr_html_()):
        text.encode()
        assert "<script" not in text
        assert {
            element.tag.removeprefix(SVG) for element in ElementTree.fromstring(text).iter()
        } <= {
            *("svg", "style", "rect", "text", "title", "g"),
        }
        names = rows_of(text)
        assert names[:2] == ["<script>alert(1)</scr…", "\"quoted\" & 'so'"]
        assert "NUL\\x00 and \\x1b[31m" in names
        assert "\\u202eturned round" in names


def test_a_strip_of_svg_tells_every_stretch() -> None:
    root = ElementTree.fromstring(covers({("A",): [0, 1, 4]}, 8, expected=[0, 1, 4, 5]).to_svg())
    assert [title.text for title in root.iter(f"{SVG}title")] == [
        "A",
        "2024-03-12 12:00 to 2024-03-12 12:02: 100.0 %, 2 of 2",
        "2024-03-12 12:02 to 2024-03-12 12:04: nothing expected",
        "2024-03-12 12:04 to 2024-03-12 12:05: 100.0 %, 1 of 1",
        "2024-03-12 12:05 to 2024-03-12 12:06: 0.0 %, 0 of 1",
        "2024-03-12 12:06 to 2024-03-12 12:08: nothing expected",
    ]


def test_only_a_picture_that_stands_alone_brings_its_colours() -> None:
    found = covers(TWO, 60)
    assert "prefers-color-scheme: dark" in found.to_svg()
    assert "<style" not in found._repr_html_()
    assert 'fill="currentColor"' in found._repr_html_()


def test_the_picture_of_the_documentation_is_what_is_drawn() -> None:
    picture = runpy.run_path(str(ROOT / "examples" / "coverage_picture.py"))["picture"]
    assert (ROOT / "docs" / "coverage.svg").read_text(encoding="utf-8") == picture()


def test_a_row_for_each_entity() -> None:
    frame = covers(TWO, 60).to_pandas()
    assert list(frame.columns) == [
        *("symbol", "start", "end", "expected", "covered", "ratio", "gaps"),
        *("longest_gap_start", "longest_gap_end", "longest_gap_buckets"),
    ]
    assert frame["symbol"].tolist() == ["ACME", "BOLT"]
    assert frame["covered"].tolist() == [60, 49]
    assert frame["longest_gap_buckets"].tolist()[1] == 11
    assert frame["longest_gap_start"].isna().tolist() == [True, False]
    assert covers(TWO, 60).to_polars()["gaps"].to_list() == [0, 1]


def test_what_is_put_together_has_one_row_and_no_entity() -> None:
    (row,) = covers(TWO, 60).all.to_arrow().to_pylist()
    assert "symbol" not in row
    assert (row["covered"], row["ratio"]) == (49, 49 / 60)


def test_nothing_is_a_frame_too() -> None:
    empty = Coverage(series(), Extent({}, None))
    assert empty.to_arrow().num_rows == 0
    assert empty.gaps.to_arrow().column_names == ["symbol", "start", "end", "buckets", "length"]
    (row,) = Coverage(series(), Extent({("A",): Buckets()}, None)).to_arrow().to_pylist()
    assert (row["start"], row["expected"], row["ratio"]) == (None, 0, 0.0)


def test_gaps_are_a_list_and_a_frame() -> None:
    gaps = covers(TWO, 60).gaps
    assert gaps == list(gaps)
    (row,) = gaps.to_arrow().to_pylist()
    assert row == {
        "symbol": "BOLT",
        "start": NOON + timedelta(minutes=20),
        "end": NOON + timedelta(minutes=31),
        "buckets": 11,
        "length": timedelta(minutes=11),
    }
    again = pickle.loads(pickle.dumps(gaps))
    assert again.to_arrow() == gaps.to_arrow()
    assert covers(TWO, 60).runs.to_polars()["buckets"].to_list() == [60, 20, 29]
    assert [gap["symbol"] for gap in covers(TWO, 60).all.gaps.to_arrow().to_pylist()] == [None]


def test_types_are_those_of_the_columns() -> None:
    entity = (UUID(int=7), date(2024, 1, 1), 2**63, None)
    of = series("timestamptz", "1h", u="uuid", d="date", n="uint64", s="varchar")
    (row,) = covers({entity: [0, 2]}, 3, of).gaps.to_arrow().to_pylist()
    assert (row["u"], row["d"], row["n"], row["s"]) == (
        str(UUID(int=7)),
        date(2024, 1, 1),
        2**63,
        None,
    )
    assert row["start"] == datetime(2024, 3, 12, 13, tzinfo=UTC)

    days = covers({("A",): [0, 2]}, 3, series("date", "1d"), date(2024, 3, 1))
    assert days.gaps.to_arrow()["start"].to_pylist() == [date(2024, 3, 2)]
    counts = covers({("A",): [0, 2]}, 3, series("int16", 1000), 0)
    assert counts.gaps.to_arrow().to_pylist()[0]["length"] == 1000


def test_columns_of_one_name_are_told_apart() -> None:
    found = covers({(1, 2): [0, 2]}, 3, series(start="int32", GAPS="int32"))
    names = found.to_arrow().column_names
    assert names[:3] == ["start", "GAPS", "start_"]
    assert "gaps_" in names
    assert found.to_polars().columns == names


def test_a_bound_that_arrow_cannot_hold() -> None:
    top = covers({("A",): [0]}, 2, series("int64", 1), 2**63 - 2)
    with pytest.raises(Unsupported, match="does not fit"):
        top.to_arrow()


def test_of_a_table(tmp_path: Path) -> None:
    with Place.at("sqlite", tmp_path).open() as lake:
        columns = {"symbol": str, "ts": "timestamp"}
        for name in ("a", "b"):
            t = lake.create_table(name, columns, entity="symbol", event_time="ts", bucket="1m")
            t.append(
                [{"symbol": "X", "ts": NOON}, {"symbol": "X", "ts": NOON + timedelta(hours=1)}]
            )
        a, b = lake.table("a").coverage(), lake.table("b").coverage()
        assert repr(a).startswith("<Coverage main.a: X, ")
        assert repr(a & b).startswith("<Coverage main.a and main.b: X, ")
        assert repr(a | a).startswith("<Coverage main.a: X, ")
        assert lake.table("a").gaps().to_pandas()["buckets"].tolist() == [59]
