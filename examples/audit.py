"""An audit: repeat a report exactly, and tell what has changed since, by whom, and why.

    python examples/audit.py

A report names the tag that it was made at. Whoever reads it later can have the same numbers again,
whatever was corrected since; can see each correction, with its author and reason; and can have it
proven that nobody has changed the past.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import tidelake

MOMENT = "2024-03-31"
REPORT = f"SELECT sum(millions) AS total FROM revenue FOR VALID_TIME AS OF DATE '{MOMENT}'"


def total(lake: tidelake.Lake, known_at: str | None = None) -> float:
    """The report: the revenue of all companies at the end of March."""
    return float(lake.sql(REPORT, known_at=known_at).to_dicts()[0]["total"])


def corrections(lake: tidelake.Lake, since: str) -> Iterator[str]:
    """The companies whose answer is different now, and what it was."""
    for row in lake.table("revenue").as_of(MOMENT).changes_of_belief(since=since).to_dicts():
        yield f"{row['symbol']}: {row['millions_before']} then, {row['millions_after']} now"


def commits(lake: tidelake.Lake, since: str) -> Iterator[str]:
    """Who has committed what to the table since then, and why."""
    (first,) = (tag.snapshot_id for tag in lake.tags() if tag.name == since)
    for entry in lake.table("revenue").log():
        if entry.snapshot_id > first:
            yield f"{entry.operation} by {entry.author}: {entry.message}"


def beliefs(lake: tidelake.Lake, symbol: str) -> list[dict[str, Any]]:
    """All that the lake has ever answered about one company, and from when until when."""
    return lake.table("revenue").history(symbol).to_dicts()


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tidelake.connect(f"sqlite:///{folder}/lake.db", f"{folder}/data") as lake,
    ):
        lake.set_option("require_commit_message", True)
        revenue = lake.create_table(
            "revenue",
            "symbol VARCHAR, reported DATE, millions DOUBLE",
            key="symbol",
            event_time="reported",
            message="what companies report",
        )
        filed = [
            {"symbol": "ACME", "reported": "2024-01-25", "millions": 861.0},
            {"symbol": "BOLT", "reported": "2024-02-01", "millions": 151.0},
        ]
        revenue.append(filed, author="filings", message="fourth quarter")
        lake.tag("report", message="the annual report")
        lake.verify(fingerprint=True)  # a hash of what every snapshot holds
        reported = total(lake)

        fix = {"symbol": "ACME", "reported": "2024-01-25", "millions": 790.0}
        revenue.put(fix, author="ann", message="ACME has restated")
        late = {"symbol": "CRUX", "reported": "2024-03-30", "millions": 40.0}
        revenue.put(late, author="filings", message="CRUX was late")
        lake.compact(author="upkeep")

        print(f"the report said {reported}, and says {total(lake, 'report')} again")
        print(f"today it would say {total(lake)}")
        for line in (*corrections(lake, "report"), *commits(lake, "report")):
            print(f"  {line}")
        print(f"beliefs about ACME: {len(beliefs(lake, 'ACME'))}")
        proof = lake.verify(fingerprint=True)
        print("nobody has changed the past" if proof.ok else str(proof))
        assert total(lake, "report") == reported


if __name__ == "__main__":
    main()
