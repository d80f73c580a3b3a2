"""All of it on a cluster: tasks that run twice, executors that die, a driver that dies, and
executors that have no Tidelake of their own.
"""

import shutil
import sys
import sysconfig
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import subprocess

    from tests.servers.spark import SparkCluster

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "10ms",
}
BEGIN = """
import sys, time
from pyspark.sql import SparkSession, functions as F
import tidelake, tidelake.spark

spark = SparkSession.builder.getOrCreate()
tidelake.spark.register(spark)
url, folder = sys.argv[1:3]
lake = tidelake.connect(url, engine="spark", spark=spark)


def rows(first, last, tasks=4):
    return spark.range(first, last, 1, tasks).selectExpr("id", "concat('v', id) AS v")


def slowly(batches):
    for batch in batches:
        time.sleep(1.5)
        yield batch

"""
PIPELINE = """
t = lake.create_table("t", "id BIGINT, v VARCHAR", key="id")
t.append(rows(0, 1000))
t.append(rows(1000, 1400, 8).mapInArrow(slowly, "id LONG, v STRING"))
t.merge(rows(900, 1500).selectExpr("id", "concat('m', id) AS v"), on="id")
t.update({"v": "'u' || id"}, where="id % 10 = 0")
t.delete("id BETWEEN 100 AND 199")
lake.create_table("source", "id BIGINT, v VARCHAR")
write = rows(2000, 2300).write.format("tidelake").option("catalog", url)
write.mode("append").save("t")
write.mode("append").save("source")
read = spark.readStream.format("tidelake").option("catalog", url).load("source")
sink = read.selectExpr("id + 1000 AS id", "v").writeStream.format("tidelake").option("catalog", url)
query = sink.option("checkpointLocation", f"{folder}/checkpoint")
query.trigger(availableNow=True).start("t").awaitTermination()
t.compact()
print(t.to_spark().count())
"""


def truth() -> dict[int, str]:
    found = {n: f"v{n}" for n in range(1400)}
    found |= {n: f"m{n}" for n in range(900, 1500)}
    found |= {n: f"u{n}" for n in found if n % 10 == 0}
    found = {n: v for n, v in found.items() if not 100 <= n < 200}
    found |= {n: f"v{n}" for n in range(2000, 2300)}
    return found | {n + 1000: f"v{n}" for n in range(2000, 2300)}


def read(place: Place) -> list[tuple[int, str]]:
    """As DuckDB and the local engine read it, which must be the same."""
    with place.open() as lake:
        found = lake.table("t").to_arrow().to_pylist()
        assert lake.verify(deep=True).ok
    with place.duck() as duck:
        theirs = duck.execute("SELECT id, v FROM lake.t ORDER BY ALL").fetchall()
    ours = sorted((row["id"], row["v"]) for row in found)
    assert ours == theirs
    return ours


def ended(child: "subprocess.Popen[str]") -> str:
    out, err = child.communicate(timeout=600)
    assert child.returncode == 0, err[-5000:]
    return out


def until_files(place: Place, count: int) -> None:
    """Wait until a write has put so many more files."""
    wanted = len(place.files()) + count
    while len(place.files()) < wanted:
        time.sleep(0.02)


@pytest.fixture
def place(new_place: Any) -> Place:
    found: Place = new_place("postgresql")
    return found


def test_a_pipeline_with_speculation(
    place: Place, spark_cluster: "SparkCluster", tmp_path: Path
) -> None:
    """Tasks that seem slow run twice: what the second one writes is nobody's."""
    place.open().close()
    program = BEGIN + PIPELINE
    with spark_cluster.start_python(program, place.url, str(tmp_path), conf=SPECULATION) as child:
        ended(child)
    assert read(place) == sorted(truth().items())
    with place.open() as lake:
        lake.cleanup(older_than="0 seconds")


APPEND = """
t = lake.table("t")
done = t.append(rows(0, 4000, 8).mapInArrow(slowly, "id LONG, v STRING"), once="job/1")
print(done.rows, done.duplicate)
"""


def test_an_executor_dies(place: Place, spark_cluster: "SparkCluster", tmp_path: Path) -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR")
    with spark_cluster.start_python(BEGIN + APPEND, place.url, str(tmp_path)) as child:
        until_files(place, 2)
        spark_cluster.executors()[0].kill()
        assert ended(child).split() == ["4000", "False"]
    assert read(place) == [(n, f"v{n}") for n in range(4000)]


def test_the_driver_dies(place: Place, spark_cluster: "SparkCluster", tmp_path: Path) -> None:
    """Nothing has happened; the same job is done again, and a third time is told that it was."""
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR")
    before = place.files()
    with spark_cluster.start_python(BEGIN + APPEND, place.url, str(tmp_path)):
        until_files(place, 2)
    assert read(place) == []
    for again in ("False", "True"):
        with spark_cluster.start_python(BEGIN + APPEND, place.url, str(tmp_path)) as child:
            assert ended(child).split() == ["4000", again]
    assert read(place) == [(n, f"v{n}") for n in range(4000)]
    with place.open() as lake:
        known = {Path(file.path) for file in lake.table("t").files()}
        lake.cleanup(older_than="0 seconds")
    left = {path for path in map(Path, place.files() - before) if path.suffix == ".parquet"}
    assert {path.name for path in left} == {path.name for path in known}


CHANGES = """
from tidelake.errors import Unavailable

t = lake.table("t")
slow = "left(md5(repeat({}, 20000)), 0)"
print(t.update({"v": slow.format("v") + " || 'u' || id"}, where="id < 8000 AND id % 2 = 0").updated)
print(t.delete("id % 10 = 3 AND " + slow.format("v") + " = ''").deleted)
source = rows(9000, 12000).selectExpr("id", "concat('m', id) AS v").where("id % 3 > 0")
set_v = {"v": slow.format("source.v") + " || source.v"}
merge = t.merge_builder(source, on="id").when_matched_update(set_v)
try:
    merge.execute()
except Unavailable as error:
    print(error.message)
merge.execute()
"""


def put_rows(place: Place) -> None:
    """In files of which a few are for one task."""
    with place.open() as lake:
        t = lake.create_table("t", "id BIGINT, v VARCHAR")
        for first in range(0, 20_000, 500):
            t.append([{"id": n, "v": f"v{n}"} for n in range(first, first + 500)])


def test_executors_die_when_some_files_of_a_write_are_there(
    place: Place, spark_cluster: "SparkCluster", tmp_path: Path
) -> None:
    """A task has written delete files; another does all of it again. Rows of a source, once they
    have been taken, are on executors alone: without them the write fails, and may be repeated."""
    put_rows(place)
    found = {n: f"v{n}" for n in range(20_000)}
    found |= {n: f"u{n}" for n in range(0, 8_000, 2)}
    found |= {n: f"m{n}" for n in range(9_000, 12_000) if n % 3}
    told = ("4000", "2000", "cannot merge into main.t: an executor has died that held rows of it")
    with spark_cluster.start_python(BEGIN + CHANGES, place.url, str(tmp_path)) as child:
        assert child.stdout is not None
        for line in told:
            until_files(place, 1)
            for executor in spark_cluster.executors():
                executor.kill()
            assert child.stdout.readline().strip() == line
        ended(child)
    assert read(place) == sorted((n, v) for n, v in found.items() if n % 10 != 3)
    with place.open() as lake:
        lake.cleanup(older_than="0 seconds")
        assert lake.verify().ok


def test_the_driver_dies_when_some_files_of_a_write_are_there(
    place: Place, spark_cluster: "SparkCluster", tmp_path: Path
) -> None:
    put_rows(place)
    before = place.files()
    with spark_cluster.start_python(BEGIN + CHANGES, place.url, str(tmp_path)):
        until_files(place, 1)
    while spark_cluster.executors():  # they hear of it
        time.sleep(0.1)
    assert read(place) == [(n, f"v{n}") for n in range(20_000)]
    with place.open() as lake:
        lake.cleanup(older_than="0 seconds")
    assert place.files() == before


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with all packages of this one but Tidelake."""
    here = Path(sysconfig.get_path("purelib"))
    folder = tmp_path / "python"
    packages = folder / "packages"
    packages.mkdir(parents=True)
    for entry in here.iterdir():
        if "tidelake" not in entry.name.lower():
            (packages / entry.name).symlink_to(entry)
    found = folder / "python"
    text = f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys._base_executable} -s "$@"\n'
    found.write_text(text)
    found.chmod(0o755)
    return found


SHIPPED = """
spark.addArtifacts(sys.argv[3], pyfile=True)
"""


def test_executors_without_tidelake(
    place: Place, spark_cluster: "SparkCluster", tmp_path: Path, bare_python: Path
) -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR")
    source = Path(tidelake.__file__).parent
    bundle = tmp_path / "tidelake.zip"
    with zipfile.ZipFile(bundle, "w") as zipped:
        for path in source.rglob("*.py"):
            zipped.write(path, f"tidelake/{path.relative_to(source)}")
    python = {"python": bare_python, "conf": {"spark.executorEnv.PYTHONPATH": ""}}
    arguments = (place.url, str(tmp_path), str(bundle))
    with spark_cluster.start_python(BEGIN + APPEND, *arguments, **python) as child:
        _, err = child.communicate(timeout=300)
        assert child.returncode != 0
        assert "tidelake is not there" in err
        assert "addArtifact" in err
    program = BEGIN + SHIPPED + APPEND
    with spark_cluster.start_python(program, *arguments, **python) as child:
        assert ended(child).split() == ["4000", "False"]
    assert read(place) == [(n, f"v{n}") for n in range(4000)]
    shutil.rmtree(bare_python.parent)
