"""Draw the coverage of a week of trading: `python examples/coverage_picture.py coverage.svg`.

A feed that begins late, one that broke off, one that drops minutes, and nights and a weekend in
which nothing is expected.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import tidelake

MONDAY = datetime(2024, 3, 11)
OPENING, MINUTES = timedelta(hours=13, minutes=30), 390


def main() -> None:
    path = Path(*sys.argv[1:] or ["coverage.svg"])
    path.write_text(picture(), encoding="utf-8")
    print(f"the picture is in {path}")


def picture() -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        tidelake.connect(f"sqlite:///{folder}/lake.db", f"{folder}/data") as lake,
    ):
        bars = lake.create_table(
            "bars", "symbol TEXT, ts TIMESTAMP", entity="symbol", event_time="ts", bucket="1m"
        )
        bars.append(list(rows()))
        trading = tidelake.Calendar.sessions("09:30", "16:00", tz="America/New_York")
        week = bars.coverage(start=MONDAY, end=MONDAY + timedelta(days=7), calendar=trading)
        return week.to_svg()


def rows() -> Iterator[dict[str, Any]]:
    for day in range(5):
        for minute in range(MINUTES):
            moment = MONDAY + timedelta(days=day, minutes=minute) + OPENING
            for symbol in traded(day, minute):
                yield {"symbol": symbol, "ts": moment}


def traded(day: int, minute: int) -> Iterator[str]:
    yield "ACME"
    if day != 2 and (day, minute // 60) != (3, 2):
        yield "BOLT"
    if (day, minute) >= (1, 150):
        yield "CRUX"
    if minute * 7 % 10 >= day:
        yield "DUNE"


if __name__ == "__main__":
    main()
