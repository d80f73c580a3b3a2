"""On Spark the executors read the files, and everything is as it is here: in this process, on
Connect, and on a cluster whose executors and drivers die."""

from __future__ import annotations

import time
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
    from tests.servers.spark import SparkCluster

pytestmark = pytest.mark.spark


def told(lake: tidelake.Lake, table: str) -> list[Any]:
    found = lake.table(table).to_arrow().to_pylist()
    rows = [{k: v for k, v in row.items() if k != "quarantined_at"} for row in found]
    return sorted(rows, key=repr)


@pytest.mark.parametrize(
    "session", ["spark", pytest.param("spark_connect", marks=pytest.mark.slow)]
)
def test_as_it_is_here(
    session: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = request.getfixturevalue(session)
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


FILES, LINES = 24, 50
PROGRAM = """
import sys
from pyspark.sql import SparkSession
import tidelake
from tidelake.ingestion import run

run._FILES_OF_A_TASK = 2  # so that there are several tasks
url, folder = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
with tidelake.connect(url, engine="spark", spark=spark) as lake:
    done = tidelake.ingest(lake, "t", folder, batch_files=6)
print(done.files, done.known)
"""
TWICE = {
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1ms",
}


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    for number in range(FILES):
        lines = [f"{number * LINES + line},x" for line in range(LINES)] + ["bad"]
        (folder / f"{number:02}.csv").write_text("\n".join(["id,v", *lines, ""]))
    return folder


def check_taken(place: Place, incoming: Path) -> None:
    """Every record once, and nothing is left of what did not land."""
    with place.open() as lake:
        ids = sorted(lake.table("t").to_arrow()["id"].to_pylist())
        assert ids == list(range(FILES * LINES))
        bad = lake.table("t_quarantine").to_arrow().to_pylist()
        assert {(Path(row["file"]).name, row["line"]) for row in bad} == {
            (path.name, LINES + 2) for path in incoming.iterdir()
        }
        assert len(bad) == FILES
        assert lake.verify(deep=True).ok
        assert tidelake.ingest(lake, "t", incoming).known == FILES
        lake.cleanup(older_than="0 seconds")
        known = {
            Path(file.path).name for name in lake.tables() for file in lake.table(name).files()
        }
    left = {path.name for path in map(Path, place.files()) if path.suffix == ".parquet"}
    assert left == known


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["speculation", "an executor dies", "the driver dies"])
def test_on_two_workers(
    what: str, place: Place, incoming: Path, spark_cluster: SparkCluster
) -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR")
        before = len(lake.snapshots())
    conf = TWICE if what == "speculation" else {}
    with spark_cluster.start_python(PROGRAM, place.url, str(incoming), conf=conf) as child:
        while what != "speculation" and snapshots(place) == before:
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
        if what == "an executor dies":
            spark_cluster.executors()[0].kill()
        if what != "the driver dies":
            out, err = child.communicate(timeout=300)
            assert child.returncode == 0, err[-5000:]
            assert out.split() == [str(FILES), "0"]
    if what == "the driver dies":
        taken, known = map(int, spark_cluster.run_python(PROGRAM, place.url, str(incoming)).split())
        assert taken + known == FILES
        assert known > 0
    check_taken(place, incoming)


def snapshots(place: Place) -> int:
    found: int = place.catalog("SELECT count(*) FROM ducklake_snapshot")[0][0]
    return found
