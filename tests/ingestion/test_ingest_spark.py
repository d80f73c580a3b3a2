"""On Spark the executors read the files, and everything is as it is here."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.ingestion import run
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def told(lake: tidelake.Lake, table: str) -> list[Any]:
    found = lake.table(table).to_arrow().to_pylist()
    rows = [{k: v for k, v in row.items() if k != "quarantined_at"} for row in found]
    return sorted(rows, key=repr)


def test_as_it_is_here(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    for number in range(5):
        lines = f"{number},0.{number}5,2024-01-0{number + 1},x\nbad,1,2024-01-01,y\n{number},1\n"
        (folder / f"{number}.csv").write_text(f"id,price,day,name\n{lines}")
    day = '"day": "2024-01-01", "name": "j"'
    (folder / "b.jsonl").write_text(
        f'{{"id": 7, "price": 1.25, {day}}}\nbroken\n{{"id": 8, "price": 0.001, {day}}}\n'
    )
    ids, days = pa.array([9, 1 << 40], pa.int64()), pa.array([date(2024, 1, 1)] * 2)
    pq.write_table(pa.table({"id": ids, "name": ["p", "q"], "day": days}), folder / "c.parquet")
    monkeypatch.setattr(run, "_FILES_OF_A_TASK", 2)  # so that there are several tasks
    lakes = [
        Place.at("sqlite", tmp_path / "here").open(),
        Place.at("sqlite", tmp_path / "there").open(engine="spark", spark=spark),
    ]
    settings = {"types": {"id": "INT", "price": "DECIMAL(9,2)"}, "entity": "name", "bucket": "1d"}
    for lake in lakes:
        done = tidelake.ingest(lake, "ns.t", folder, event_time="day", key="id", **settings)
        assert (done.files, done.rows, done.bad_records, len(done.snapshots)) == (7, 7, 13, 1)
        assert tidelake.ingest(lake, "ns.t", folder).known == 7
        assert lake.verify(deep=True).ok
    here, there = lakes
    assert told(here, "ns.t") == told(there, "ns.t")
    assert told(here, "ns.t_quarantine") == told(there, "ns.t_quarantine")
    for lake in lakes:
        covered = lake.table("ns.t").coverage("x", start="2024-01-01", end="2024-01-06")
        assert covered.is_complete
        lake.close()
