"""How things draw themselves in notebooks and terminals."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import tidelake
from tidelake.drawing.rectangles import Answer, rectangles
from tidelake.drawing.sheet import LONGEST, Grid, Sheet, cell_text
from tidelake.drawing.timeline import MOST, Dot, timeline

HOSTILE = "<script>alert('x')</script>\"&[bold red]é\x1b[31m\n"


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        t = lake.create_table(
            "t",
            {"id": "INT", "ts": "TIMESTAMP", HOSTILE.strip(): "VARCHAR"},
            key="id",
            event_time="ts",
            comment=HOSTILE,
            author=HOSTILE,
            message=HOSTILE,
        )
        for price in (1, 2, 3):
            t.put({"id": 1, "ts": datetime(2024, 1, price), HOSTILE.strip(): HOSTILE * price})
        yield lake


def with_coverage(lake: tidelake.Lake) -> tidelake.Table:
    if not lake.exists("covered"):
        t = lake.create_table(
            "covered", "e VARCHAR, ts TIMESTAMP", entity="e", bucket="1h", event_time="ts", key="e"
        )
        t.append([{"e": HOSTILE, "ts": datetime(2024, 1, 1, hour)} for hour in (1, 4, 9)])
    return lake["covered"]


DRAWN: dict[str, Callable[[tidelake.Lake], Any]] = {
    "lake": lambda lake: lake,
    "table": lambda lake: lake["t"],
    "state": lambda lake: lake["t"].as_of("2024-01-02").known_at(2),
    "scan": lambda lake: lake["t"].scan(columns=["id"], where="id < 2"),
    "query": lambda lake: lake.sql("SELECT * FROM t WHERE id < ?", [5]),
    "head": lambda lake: lake["t"].head(),
    "ordered": lambda lake: lake["t"].order_by("id"),
    "head of a query": lambda lake: lake.sql("SELECT id, id FROM t").head(),
    "schema": lambda lake: lake["t"].schema,
    "log": lambda lake: lake.log(),
    "log of a table": lambda lake: lake["t"].log(2),
    "diff": lambda lake: lake.diff(1),
    "diff of a table": lambda lake: lake["t"].diff(1),
    "history": lambda lake: lake["t"].history(1),
    "changes": lambda lake: lake["t"].changes(),
    "explanation": lambda lake: lake["t"].scan(where="id < 2").explain(),
    "health": lambda lake: lake.health(),
    "report of verify": lambda lake: lake.verify(),
    "what compact did": lambda lake: lake["t"].compact(),
    "what expire would do": lambda lake: lake.expire(keep_last=1, dry_run=True),
    "tag": lambda lake: lake.tag("a-tag", message=HOSTILE),
    "audit": lambda lake: lake.audit(),
    "tags": lambda lake: [lake.tag("b-tag", message=HOSTILE), lake.tags()][1],
    "snapshots": lambda lake: lake.snapshots(),
    "files": lambda lake: lake["t"].files(),
    "gaps": lambda lake: with_coverage(lake).gaps(),
    "table with coverage": lambda lake: with_coverage(lake),
    "steps of a schema": lambda lake: lake["t"].schema_log(),
    "data sets": lambda lake: lake.frozen(),
    "rollups": lambda lake: [lake["t"].rollup(as_of="2024-01-02"), lake["t"].rollups()][1],
    "rollup": lambda lake: lake["t"].rollup(as_of="2024-01-02"),
    "result": lambda lake: lake["t"].append([{"id": 2, "ts": datetime(2024, 1, 1)}]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_they_draw_themselves(lake: tidelake.Lake, name: str) -> None:
    thing = DRAWN[name](lake)
    page = thing._repr_html_()
    drawn = Tags(page)
    assert set(drawn.found) <= {
        *("div", "strong", "table", "thead", "tbody", "tr", "th", "td"),
        *("svg", "rect", "circle", "text", "title", "path"),
    }
    assert not any(each.startswith("on") or each == "href" for each in drawn.attributes)
    assert "\x1b" not in page
    assert len(page) < 100_000
    terminal = io.StringIO()
    Console(file=terminal, width=120).print(thing)
    assert "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().strip()


def test_what_is_to_be_seen(lake: tidelake.Lake) -> None:
    def text(name: str) -> str:
        return Tags(DRAWN[name](lake)._repr_html_()).text

    assert "main.t" in text("lake")
    assert "TIMESTAMP" in text("table")
    assert "alert('x')" in text("table")
    assert "event timets" in text("table")
    assert "2024-01-03" in text("head")
    assert "alert('x')" in text("head")
    assert "inserted1" in text("result")
    assert "SELECT * FROM t WHERE id < ?" in text("query")
    assert text("history").count("\nknown 2") == 5
    assert "put" in text("log")
    assert "The lake is whole." in text("report of verify")
    assert text("audit").count("put main.t") == 3
    assert "2 stretches of time, 6 buckets" in text("gaps")
    assert "2024-01-01 02:00:002024-01-01 04:00:0022:00:00" in text("gaps")
    assert "buckets of 1h by e" in text("table with coverage")
    assert "Scan of Table main.t" in text("scan")
    assert "b-tag" in text("tags")
    assert "none" not in text("data sets")
    assert "0 data sets" in text("data sets")
    assert str(lake["covered"].gaps()).startswith("2024-01-01 02:00:00 to 2024-01-01 04:00:00")
    assert lake.tags() == list(lake.tags())


def test_no_rows_are_read_for_a_look(lake: tidelake.Lake) -> None:
    """All files are gone, and tables, scans and queries still draw themselves."""
    lake.set_option("data_inlining_row_limit", 0)
    lake.append("u", [{"n": n} for n in range(50)], create=True)
    u = lake["u"]
    query = lake.sql("SELECT * FROM u")
    assert "50" in u._repr_html_()
    for file in u.files():
        Path(file.path).unlink()
    for thing in (lake, u, u.scan(), query, u.order_by("n"), u.schema, lake.log(), lake.diff(1)):
        assert "missing" not in thing._repr_html_().lower()
    assert "hint" in u.head()._repr_html_()


def test_looks_are_small(lake: tidelake.Lake) -> None:
    wide = {f"c{n}": n for n in range(100)} | {"long": "x" * 10_000}
    lake.append("wide", [wide] * 100, create=True)
    page = lake["wide"].head(100)._repr_html_()
    assert page.count("<tr>") == 21
    assert "… and more" in page
    assert len(lake["wide"].limit(3).to_dicts()) == 3
    lake.append("texts", [{"s": "x" * 10_000}], create=True)
    assert len(lake["texts"].head()._repr_html_()) < 2000


def test_a_closed_lake_says_so(lake: tidelake.Lake) -> None:
    t = lake["t"]
    lake.close()
    assert "closed" in t._repr_html_()


def test_values_as_they_are_shown() -> None:
    assert cell_text(None) == "NULL"
    assert cell_text("a\nb") == "a b"
    assert cell_text("\x1b[31m") == "\N{REPLACEMENT CHARACTER}[31m"
    assert len(cell_text("x" * 9999)) == LONGEST + 1
    assert Grid.of(["a"], [[1], [2], [3]], most=2) == Grid(("a",), (("1",), ("2",)), more=True)
    assert Sheet.of("t", a=None, b=1).facts == (("b", "1"),)


def test_pictures() -> None:
    assert timeline([]) is None
    assert rectangles([]) is None
    dots = [Dot(n, "now", f"<{n}>", "came") for n in range(500)]
    assert (timeline(dots) or "").count("<circle") == MOST
    answers = [
        Answer("a", "2024-01-01", "2024-01-03", "2024-02-01", "2024-02-02"),
        Answer("a", "2024-01-01", "2024-01-02", "2024-02-02", None),
        Answer("b", "2024-01-02", None, "2024-02-02", None),
    ]
    drawn = rectangles(answers) or ""
    assert drawn.count("<rect") == 3
    assert drawn.count("#2b7bba") == 2
    assert "known 2024-02-02 to …" in drawn


def test_what_was_answered_stands_where_it_fits() -> None:
    wide = Answer("a=1, v=7", "2024-01-01", None, "2024-02-01", None, "7 <b>")
    assert ">7 &lt;b&gt;</text>" in str(rectangles([wide]))
    many = [
        Answer(str(n), f"2024-01-{n:02}", f"2024-01-{n + 1:02}", None, None, "a long text")
        for n in range(1, 29)
    ]
    assert "a long text</text>" not in str(rectangles(many))


def test_a_write_says_what_it_did(lake: tidelake.Lake) -> None:
    rows = [{"id": 2, "ts": datetime(2024, 1, 1)}]
    done = lake["t"].append(rows, once="x")
    assert str(done) == f"snapshot {done.snapshot_id}: 1 row inserted"
    again = lake["t"].append(rows, once="x")
    assert str(again) == f"done before, at snapshot {done.snapshot_id}: 1 row inserted"
    assert str(lake["t"].append([])).startswith("nothing to do; the lake is at snapshot")
    with lake.transaction() as tx:
        assert str(tx["t"].append(rows)) == "not committed yet: 1 row inserted"


def test_times_that_python_does_not_have_are_drawn_as_sql_spells_them(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db", data_path=f"{tmp_path}/d/") as lake:
        t = lake.create_table("t", "k TEXT, ts TIMESTAMP, v INT", key="k", event_time="ts")
        lake.sql("INSERT INTO t VALUES ('a', '-infinity', 1), ('a', '2024-01-01', 2)")
        lake.sql("INSERT INTO t VALUES ('a', 'infinity', 3)")
        for rows in (t.limit(3), t.history("a")):
            drawn = rows._repr_html_()
            assert "-infinity" in drawn
            assert "2024-01-01T00:00:00" in drawn
        assert "<svg" in drawn
