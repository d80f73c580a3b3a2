"""`python -m tests.web.pictures FOLDER`: pictures of the page for the documentation, taken of a
lake that is made for them."""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import tidelake
from tests.servers.chromium import chromium
from tests.web.market import make
from tests.web.server import serve
from tidelake.testing.place import Place

_MOST_BYTES = 200_000
_SQL = (
    "SELECT p.symbol, c.name, date_trunc('day', ts) AS day, avg(price) AS price\n"
    "FROM prices p JOIN companies c USING (symbol)  -- both clocks are below\n"
    "WHERE symbol = 'ACME'\nGROUP BY ALL\nORDER BY day"
)


def views(lake: tidelake.Lake) -> dict[str, tuple[str, int]]:
    """The address of each picture, and how high it is."""
    log = lake.table("prices").log()
    late = next(each.snapshot_id for each in log if each.message == "CRUX of the 10th, late")
    filled = lake.table("readings").log()
    since = next(each.snapshot_id for each in filled if each.operation == "delete")
    point = {"table": "main.prices", "as_of": "2024-03-10T20:00:00Z"}
    compared = {"from_as_of": point["as_of"], "from_known_at": late - 5}
    key = {"table": "main.ratings", "key": "ACME", "as_of": "2024-03-12T12:00:00Z"}
    strips = {"table": "main.readings", "known_at": since + 2, "late_since": since}
    return {
        "lake": ("/", 900),
        "clocks": (f"/clocks?{urlencode({**point, 'known_at': late + 5, **compared})}", 1060),
        "clocks-of-a-key": (f"/clocks?{urlencode({**key, 'known_at': late})}", 800),
        "history": (f"/history?{urlencode({'table': 'main.prices'})}", 760),
        "files": (f"/files?{urlencode({'table': 'main.readings', 'where': _CONDITION})}", 720),
        "coverage": (f"/coverage?{urlencode(strips)}", 760),
        "sql": (f"/sql?{urlencode({'sql': _SQL})}", 970),
    }


_CONDITION = "ts >= TIMESTAMP '2024-03-18' AND sensor = 'buoy-03'"


def take(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="tidelake-pictures-") as place,
        make(Place.at("sqlite", Path(place) / "market")) as lake,
        serve(lake) as address,
        chromium() as browser,
    ):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for name, (path, high) in views(lake).items():
                if scheme == "dark" and name != "clocks":
                    continue
                page.set_viewport_size({"width": 1280, "height": high})
                page.goto(address + path)
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(400)
                if name == "sql":
                    page.click('[data-show="chart"]')
                target = folder / f"{name}{'-dark' if scheme == 'dark' else ''}.png"
                page.screenshot(path=target)
                assert target.stat().st_size <= _MOST_BYTES, f"{target} is too large"
                print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
