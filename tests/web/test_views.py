"""What the views show is what the library answers."""

import json
import re

import pytest

from tests.web.conftest import Browser, cells
from tidelake.model.event_time import as_moment

VIEWS = [
    "/",
    "/signals",
    "/tables",
    "/clocks",
    "/history",
    "/history/schema?table=prices",
    "/files?table=readings",
    "/coverage",
    "/coverage/strips?table=readings",
    "/coverage/gaps?table=readings",
    "/sql",
    "/activity",
]
_AS_OF = "2024-03-04T12:00:00Z"


@pytest.mark.parametrize("view", VIEWS[::3])
def test_a_view_answers_without_code_in_the_page(browser, view):
    html = browser.get(view)
    assert re.search(r"<script(?![^>]*src=)", html) is None
    assert re.search(r"\sstyle=|\son\w+=|https?://", html.replace("http://www.w3.org", "")) is None
    assert "<title>" in html or "<!doctype" not in html


def test_tables_have_the_rows_that_the_library_counts(browser):
    html = browser.get("/")
    for name in browser.lake.tables():
        table = browser.lake.table(name)
        row = re.search(rf"<tr>(?:(?!</tr>).)*{re.escape(name)}.*?</tr>", html, re.DOTALL)
        assert row is not None
        assert f'<td class="n">{table.count():,}</td>' in row[0]
        assert f'<td class="n">{len(table.files()):,}</td>' in row[0]


def test_a_table_can_be_found(browser):
    html = browser.get("/", find="RAT")
    assert "main.ratings" in html
    assert "main.prices<" not in html


def test_the_plane_is_that_of_the_table(browser):
    told = browser.json("/clocks/plane", table="prices")
    plane = browser.lake.table("prices").plane()
    assert told["rows"] == plane.rows
    assert [cell[2:] for cell in told["cells"]] == [
        [each.known_from, each.known_to, each.rows, int(each.late)] for each in plane.cells
    ]
    assert [mark[0] for mark in told["marks"]] == [each[0] for each in plane.marks]
    assert any(cell[5] for cell in told["cells"])


@pytest.mark.parametrize("known_at", ["", "20"])
def test_the_answer_is_that_of_a_scan(browser, known_at):
    html = browser.get("/clocks/answer", table="prices", as_of=_AS_OF, known_at=known_at)
    scan = browser.lake.table("prices").scan(as_of=_AS_OF, known_at=int(known_at or 0) or None)
    wanted = sorted([row["symbol"], f"{row['price']}"] for row in scan.to_arrow().to_pylist())
    assert [[row[0], row[2]] for row in cells(html)] == wanted


def test_what_changed_is_what_is_believed_otherwise_and_late_facts_are_marked(browser):
    lake = browser.lake
    before = next(e.snapshot_id for e in lake.table("prices").log() if e.message == "restated") - 1
    point = {"table": "prices", "as_of": _AS_OF}
    html = browser.get("/clocks/answer", **point, from_as_of=_AS_OF, from_known_at=before)
    beliefs = lake.table("prices").as_of(_AS_OF).changes_of_belief(before).to_arrow().to_pylist()
    assert beliefs
    assert [[row[1]] for row in cells(html)] == [[each["symbol"]] for each in beliefs]
    assert html.count('class="late-row"') == len(beliefs)
    later = browser.get(
        "/clocks/answer", **point, from_as_of="2024-03-03T12:00:00Z", from_known_at=""
    )
    assert len(cells(later)) == 6
    assert 'class="late-row"' not in later


def test_a_key_has_its_rectangles_of_belief(browser):
    told = browser.json("/clocks/plane", table="ratings", key="ACME")["beliefs"]
    history = browser.lake.table("ratings").history("ACME").to_arrow().to_pylist()
    assert [each["row"]["grade"] for each in told] == [each["grade"] for each in history]
    for one, other in zip(told, history, strict=True):
        start = as_moment(other["valid_from"]) / 1e6
        assert one["valid_from"] == start
        assert (one["known_to"] is None) == (other["known_to"] is None)
    asked = json.dumps({"symbol": "ACME"})
    assert browser.json("/clocks/plane", table="ratings", key=asked)["beliefs"] == told


def test_history_goes_back_page_by_page(browser):
    seen: list[int] = []
    address = "/history?table=main.prices&limit=5"
    while address:
        html = browser.get(address.replace("&amp;", "&"))
        seen += map(int, re.findall(r'id="s(\d+)"', html))
        older = re.search(r'href="([^"]+)">older', html)
        address = older[1] if older else ""
    log = browser.lake.table("prices").log()
    assert seen == [each.snapshot_id for each in reversed(log)]


def test_a_diff_is_that_of_the_lake(browser):
    html = browser.get("/history/diff", a=8, b=20)
    diff = browser.lake.diff(8, 20)
    for each in diff:
        assert each.table in html
        assert str(each.counts) in html
    one = browser.get("/history/diff", a=8, b=20, table="prices")
    assert len(cells(one)) == min(browser.lake.table("prices").diff(8, 20).rows.count(), 100)


def test_schemas_are_told_over_time(browser):
    html = browser.get("/history/schema", table="prices")
    assert "column added: venue VARCHAR" in html
    assert "table created" in html


def test_files_and_what_a_condition_leaves(browser):
    where = "ts >= TIMESTAMP '2024-03-06'"
    html = browser.get("/files", table="readings", where=where)
    plan = browser.lake.table("readings").scan(where=where).explain()
    assert f"{plan.files} of {plan.total_files} files would be read" in html
    assert html.count("ducklake-") == 2 * plan.total_files
    assert "month(ts)" in html


def test_files_go_back_page_by_page(browser):
    seen: list[str] = []
    address = "/files?table=main.readings&limit=3"
    while address:
        html = browser.get(address.replace("&amp;", "&"))
        seen += re.findall(r'class="path" title="([^"]+)"', html)
        older = re.search(r'href="([^"]+)">older', html)
        address = older[1] if older else ""
    wanted = {file.path for file in browser.lake.table("readings").files()}
    assert len(seen) == len(wanted)
    assert set(seen) == wanted


def test_coverage_is_that_of_the_table(browser):
    query = {"table": "readings", "calendar": "weekdays", "start": "2024-03-02"}
    html = browser.get("/coverage/strips", **query)
    from tidelake import Calendar

    found = browser.lake.table("readings").coverage(
        start="2024-03-02", calendar=Calendar.weekdays()
    )
    assert found.heading in html
    assert html.count('class="strip"') == len(found.entities)
    listed = browser.get("/coverage/gaps", **query)
    assert listed.count('<th scope="row">') == len(found.gaps)


def test_buckets_that_came_late_are_marked(browser):
    since = browser.lake.table("readings").log()[-3].snapshot_id
    html = browser.get("/coverage/strips", table="readings", late_since=since)
    late = browser.lake.table("readings").coverage().diff(since)
    assert f"{late.covered:,} buckets came since {since}" in html
    assert 'class="late"' in html


def test_the_lake_can_be_verified(browser):
    told = browser.post("/activity/verify").json()
    assert told["ok"] is True
    assert "whole" in browser.get("/activity")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/files?table=nope", 404),
        ("/nowhere", 404),
        ("/clocks/plane?table=companies", 400),
        ("/history/diff?a=9999", 404),
        ("/coverage/strips?table=readings&calendar=moon", 400),
        ("/files?table=readings&where=no+such", 400),
    ],
)
def test_what_goes_wrong_is_told_with_what_to_do(browser, path, status):
    html = browser.get(path, status)
    assert "Traceback" not in html
    assert re.search(r'class="next">\S', html)
    said = browser.json(path, status)["error"]
    assert said["message"]
    assert said["hint"]


def test_a_mistake_of_ours_is_no_traceback(market):
    broken = Browser(market, lake_for=lambda _: 1 / 0)
    html = broken.get("/history", 500)
    assert "Traceback" not in html
    assert "mistake in Tidelake" in html
