"""How the lake beside this file was made, by Tidelake 0.1: run it with that version, in an empty
folder. `catalog.sql` is its catalog, in which {folder} stands for where it was; `data` are its
files, and `answers.json` what it said when it was asked. In `duckdb` are the same for a catalog in
a DuckDB file, with the text of each value; it gave the same answers.
"""

import hashlib
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import tidelake

HERE = Path.cwd()
START = datetime(2024, 3, 1, tzinfo=UTC)


def prices(day: int, names: str = "ab") -> list[dict[str, object]]:
    return [
        {"name": name, "at": START + timedelta(days=day, hours=hour), "price": day + hour / 10}
        for name in names
        for hour in range(6)
    ]


def fill(lake: tidelake.Lake) -> None:
    columns = {"name": "varchar", "at": "timestamptz", "price": "double"}
    series = lake.create_table(
        "prices", columns, entity="name", event_time="at", bucket="1h", overlap="skip"
    )
    for day in range(3):
        series.append(prices(day))
    facts = lake.create_table(
        "facts", {"k": "int", "at": "timestamptz", "v": "varchar"}, key="k", event_time="at"
    )
    for day in range(3):
        facts.put([{"k": k, "at": START + timedelta(days=day), "v": f"{k}.{day}"} for k in (1, 2)])
    lake.mirror("prices")
    series.append(prices(4))
    series.delete("price > 4.4")
    series.append(prices(5, "c"))
    lake.tag("before-the-end", 5, message="as it was")
    with lake.consumer("billing") as billing:
        billing.commit(billing.poll(limit=4))
    facts.rollup(as_of=START + timedelta(days=1, hours=12))
    facts.put([{"k": 3, "at": START, "v": "late"}])
    lake.verify(fingerprint=True)


def answers(lake: tidelake.Lake) -> dict[str, object]:
    """Of both tables at every snapshot how many rows there were, and a digest of them; and which
    hours the series covers."""
    said: dict[str, object] = {}
    for name in ("prices", "facts"):
        for each in lake.snapshots():
            past = lake.known_at(each.snapshot_id)
            if f"main.{name}" in past.tables():
                rows = past.table(name).to_arrow().to_pylist()
                said[f"{name} at {each.snapshot_id}"] = [len(rows), digest(rows)]
    for name in "abc":
        runs = lake.table("prices").coverage(name).runs
        said[f"coverage of {name}"] = [[str(run.start), run.buckets] for run in runs]
    return said


def digest(rows: list[dict[str, object]]) -> str:
    texts = sorted(json.dumps(row, default=datetime.isoformat) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


if __name__ == "__main__":
    with tidelake.connect(f"sqlite:///{HERE}/lake.db", f"{HERE}/data/") as lake:
        fill(lake)
        said = answers(lake)
    with sqlite3.connect("lake.db") as catalog:
        text = "\n".join(catalog.iterdump()).replace(str(HERE), "{folder}")
    Path("catalog.sql").write_text(text + "\n")
    Path("answers.json").write_text(json.dumps(said, indent=1) + "\n")
    Path("lake.db").unlink()
