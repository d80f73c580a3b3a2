"""A browser goes through every view: it clicks, drags and types, and what it sees is what the
library answers. Nothing may be amiss in its console."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.servers.chromium import chromium
from tests.web.market import make
from tests.web.server import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.xdist_group("browser")

_DAYS = 8
_PATIENCE = 40_000


@pytest.fixture(scope="module")
def chrome() -> "Iterator[Browser]":
    with chromium() as browser:
        yield browser


class Visit:
    """A page of a browser, the lake behind it, and what its console said."""

    def __init__(self, page: "Page", lake: tidelake.Lake, address: str) -> None:
        self.page, self.lake, self.address = page, lake, address
        self.said: list[str] = []
        page.on("console", lambda message: self._hear(message))
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.said.append(message.text)

    def go(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("networkidle")

    def rows(self, where: str = "body") -> list[list[str]]:
        """The cells of the first grid there."""
        found: list[list[str]] = self.page.locator(where).evaluate(
            "box => [...box.querySelector('.grid tbody').rows].map("
            "row => [...row.cells].map(cell => cell.textContent.trim()))"
        )
        return found

    def sees(self, where: str, text: str) -> None:
        """Wait for a text somewhere."""
        from playwright.sync_api import expect

        expect(self.page.locator(where)).to_contain_text(text, timeout=_PATIENCE)

    def query(self, name: str) -> str | None:
        found: str | None = self.page.evaluate(
            "name => new URLSearchParams(location.search).get(name)", name
        )
        return found


@pytest.fixture
def visit(new_place, chrome: "Browser", request: pytest.FixtureRequest) -> Iterator[Visit]:
    with (
        make(new_place(getattr(request, "param", "sqlite")), _DAYS) as lake,
        serve(lake, writable=True) as address,
    ):
        page = chrome.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(_PATIENCE)
        found = Visit(page, lake, address)
        yield found
        page.close()
        assert found.said == []


def _drag(visit: Visit, grip: str, across: float, up: float) -> None:
    """Take a handle and move it, in parts of the picture."""
    box = visit.page.locator(".plane svg").bounding_box()
    handle = visit.page.locator(f".grip.{grip} .knob").bounding_box()
    assert box is not None
    assert handle is not None
    mouse = visit.page.mouse
    mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    mouse.down()
    mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * up, steps=6)
    mouse.up()


def _answer(visit: Visit) -> list[list[str]]:
    visit.page.wait_for_timeout(150)
    visit.page.wait_for_selector('[data-answer-box][aria-busy="false"]')
    return visit.rows("[data-answer-box] section:last-child")


def _clocks(visit: Visit) -> None:
    """Both handles are dragged, and the answer follows them."""
    visit.go("/clocks?table=main.prices")
    _answer(visit)
    _drag(visit, "e", 0.5, 0.9)
    _drag(visit, "k", 0.1, 0.5)
    rows = _answer(visit)
    as_of, known_at = visit.query("as_of"), visit.query("known_at")
    assert as_of is not None
    assert known_at is not None
    scan = visit.lake.table("prices").scan(as_of=as_of, known_at=int(known_at))
    wanted = sorted((row["symbol"], str(row["price"])) for row in scan.to_arrow().to_pylist())
    assert [(row[0], row[2]) for row in rows] == wanted
    assert wanted
    _compare(visit, as_of, int(known_at))


def _compare(visit: Visit, as_of: str, known_at: int) -> None:
    """From here to what is known now; the keyboard moves the handle there."""
    visit.page.click("[data-compare]")
    visit.page.locator(".grip.k").focus()
    visit.page.keyboard.press("End")
    _answer(visit)
    changed = visit.rows(".changes")
    beliefs = visit.lake.table("prices").as_of(as_of).changes_of_belief(known_at)
    assert [row[1] for row in changed] == beliefs.to_arrow()["symbol"].to_pylist()
    visit.page.reload()
    _answer(visit)
    assert visit.rows(".changes") == changed, "a link holds the whole state"


def _key(visit: Visit) -> None:
    visit.go("/clocks?table=main.ratings&key=ACME")
    _answer(visit)
    history = visit.lake.table("ratings").history("ACME")
    assert visit.page.locator(".belief").count() == history.count()
    visit.page.click('[data-scale-to="commits"]')
    assert visit.page.locator(".belief").count() == history.count()


def _lake(visit: Visit) -> None:
    visit.go("/")
    assert visit.page.locator(".list tbody tr").count() == len(visit.lake.tables())
    visit.page.wait_for_selector(".signals .signal")
    visit.page.locator(".signal.quiet [data-try]").click()
    visit.sees(".signal.quiet .told", "would remove")


def _history(visit: Visit) -> None:
    visit.go("/history?table=main.prices")
    log = visit.lake.table("prices").log()
    assert visit.page.locator(".layer").count() == len(log)
    first, last = log[-4].snapshot_id, log[-1].snapshot_id
    visit.page.click(f'[data-a="{first}"]')
    visit.page.click(f'[data-b="{last}"]')
    visit.page.wait_for_selector("[data-diff-box] .change")
    diff = visit.lake.table("prices").diff(first, last)
    assert str(diff.counts) in visit.page.inner_text("[data-diff-box]")
    visit.page.click(f'[data-rollback="{first}"] [data-try]')
    visit.sees(f'[data-rollback="{first}"] .told', "rows")
    visit.page.click("text=Schema over time")
    visit.page.wait_for_selector("text=column added: venue")


def _coverage(visit: Visit) -> None:
    visit.go("/coverage?table=main.readings")
    visit.page.wait_for_selector(".strip svg")
    whole = visit.lake.table("readings").coverage()
    assert whole.heading in visit.page.inner_text(".heat-head")
    box = visit.page.locator(".strip svg").first.bounding_box()
    assert box is not None
    mouse = visit.page.mouse
    mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 5)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 5, steps=4)
    mouse.up()
    visit.page.wait_for_url("**start=**")
    visit.page.wait_for_selector(".strip svg")
    part = visit.lake.table("readings").coverage(start=visit.query("start"), end=visit.query("end"))
    assert part.heading in visit.page.inner_text(".heat-head")
    assert part.expected < whole.expected


def _sql(visit: Visit) -> None:
    visit.go("/sql")
    visit.page.fill("textarea", "SELECT symbol, count(*) AS n FROM rati")
    visit.page.locator("textarea").press("End")
    visit.page.keyboard.type("n")
    visit.page.keyboard.press("Backspace")
    visit.page.wait_for_selector(".words li")
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.type(" GROUP BY symbol ORDER BY symbol")
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("Control+Enter")
    visit.page.wait_for_selector("[data-result]:not([hidden]) .grid tbody tr")
    wanted = visit.lake.sql(
        "SELECT symbol, count(*) AS n FROM ratings GROUP BY symbol ORDER BY symbol"
    ).to_arrow()
    visit.sees(".progress", " in ")
    assert visit.rows("[data-result]") == [
        [row["symbol"], str(row["n"])] for row in wanted.to_pylist()
    ]
    visit.page.click('[data-show="chart"]')
    assert visit.page.locator(".chart rect").count() == wanted.num_rows
    visit.page.click("[data-plan]")
    visit.page.wait_for_selector("text=known at snapshot")
    with visit.page.expect_download() as download:
        visit.page.click('[data-export="csv"]')
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "symbol,n"
    assert len(lines) == wanted.num_rows + 1
    visit.sees(".code", "GROUP BY symbol")


def _others(visit: Visit) -> None:
    visit.go("/files?table=main.readings")
    files = visit.lake.table("readings").files()
    assert visit.page.locator(".files tbody tr").count() == len(files)
    visit.go("/activity")
    visit.page.click("[data-look]")
    visit.page.wait_for_selector("text=The lake is whole")
    visit.page.click("[data-theme-switch]")
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize(
    "visit", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_every_view_in_a_browser(visit):
    _lake(visit)
    _clocks(visit)
    _key(visit)
    _history(visit)
    _coverage(visit)
    _sql(visit)
    _others(visit)


@pytest.mark.slow
def test_a_long_query_is_cancelled_in_a_browser(visit):
    visit.go("/sql")
    long = "SELECT sum(a.range * b.range) FROM range(4000000) a, range(4000000) b"
    visit.page.fill("textarea", long)
    visit.page.keyboard.press("Escape")
    visit.page.click("[data-run-it]")
    visit.sees(".progress", " s")
    visit.page.click("[data-cancel]")
    visit.page.wait_for_selector("text=the query was cancelled")
    assert visit.page.is_enabled("[data-run-it]")


@pytest.mark.slow
def test_a_page_is_narrow_and_dark(visit):
    visit.page.set_viewport_size({"width": 390, "height": 800})
    visit.page.emulate_media(color_scheme="dark")
    for path in ("/", "/clocks", "/history", "/files?table=main.readings", "/coverage", "/sql"):
        visit.go(path)
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
