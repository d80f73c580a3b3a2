"""Deliveries of a market-data vendor that overlap, and what to do about it.

    python examples/vendor.py

Minutes come in deliveries. One is sent twice, one is sent again with corrections, and an hour is
missing. A table says with `overlap` what an append does with minutes that it has already:

    allow    add the rows to those that are there; also what holds if nothing is said
    reject   refuse the append, and name the first minute of each side
    skip     leave these rows out
    replace  put these rows in place of those that are there
"""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from typing import Any

import tidelake
from tidelake.errors import Overlap

POLICIES = ("allow", "reject", "skip", "replace")
OPENING = datetime(2024, 3, 12, 14, 30)
SESSION = tidelake.Calendar.sessions("14:30", "17:30")
Rows = list[dict[str, Any]]


def minutes(first: int, last: int, price: float) -> Rows:
    """What the vendor has for some minutes of ACME."""
    times = [OPENING + timedelta(minutes=n) for n in range(first, last)]
    return [{"symbol": "ACME", "ts": ts, "price": price} for ts in times]


def new_table(lake: tidelake.Lake, name: str, overlap: str) -> tidelake.Table:
    return lake.create_table(
        name,
        "symbol VARCHAR, ts TIMESTAMP, price DOUBLE",
        entity="symbol",
        event_time="ts",
        bucket="1m",
        overlap=overlap,
    )


def compare(lake: tidelake.Lake) -> dict[str, tuple[int, float]]:
    """The same two deliveries, by policy: how many rows there are, and what minute 50 cost."""
    found = {}
    for policy in POLICIES:
        bars = new_table(lake, f"bars_{policy}", policy)
        bars.append(minutes(0, 60, price=10.0))
        try:
            bars.append(minutes(50, 90, price=11.0))  # ten of them are there
        except Overlap as error:
            print(f"{policy}: {error}")
        fiftieth = bars.scan(where=tidelake.col("ts") == OPENING + timedelta(minutes=50))
        found[policy] = bars.count(), max(row["price"] for row in fiftieth.to_dicts())
    return found


def fill(bars: tidelake.Table) -> int:
    """Ask the vendor for what is missing, and only for that."""
    day = {"start": OPENING, "end": OPENING + timedelta(hours=3)}
    for gap in bars.gaps("5m", calendar=SESSION, **day):
        first, last = ((t - OPENING) // timedelta(minutes=1) for t in (gap.start, gap.end))
        bars.append(minutes(first, last, price=12.0), message=f"asked for: {gap}")
    coverage = bars.coverage("ACME", calendar=SESSION, **day)
    return coverage.expected - coverage.covered


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tidelake.connect(f"sqlite:///{folder}/lake.db", f"{folder}/data") as lake,
    ):
        for policy, (rows, price) in compare(lake).items():
            print(f"{policy:<8} {rows:>4} rows, minute 50 costs {price}")
        feed = new_table(lake, "feed", "skip")
        feed.append(minutes(0, 60, price=10.0))
        feed.append(minutes(120, 180, price=10.0))  # an hour was lost
        again = feed.append(minutes(120, 180, price=10.0))  # and this came twice
        print(f"sent twice: {again.rows} rows more")
        print(f"missing after the gap was filled: {fill(feed)} minutes")


if __name__ == "__main__":
    main()
