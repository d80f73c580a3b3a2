"""Streams that Spark really runs: classic and Connect, killed and started again, in pipelines."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.servers.spark import ENVIRONMENT
from tidelake.testing.place import Place

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(params=["spark", "spark_connect"])
def session(request: pytest.FixtureRequest) -> Any:
    found = request.getfixturevalue(request.param)
    tidelake.spark.register(found)
    return found


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("t", {"id": "BIGINT", "s": "VARCHAR"})
        lake.create_table("copy", {"id": "BIGINT", "s": "VARCHAR"})
        yield lake


def feed(folder: Path, number: int, count: int = 10) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f'{{"id": {number * count + i}, "s": "x"}}\n' for i in range(count)]
    (folder / f".{number}").write_text("".join(lines))
    (folder / f".{number}").rename(folder / f"{number}.json")


def finish(query: Any) -> None:
    query.awaitTermination(300)
    assert query.exception() is None, query.exception()


def ids(place: Place, table: str) -> list[int]:
    with place.duck() as connection:
        return [r[0] for r in connection.sql(f"SELECT id FROM lake.{table} ORDER BY 1").fetchall()]


def test_from_files_into_a_table_and_on(
    session: Any, place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    """The second run of each query goes on where the first one was."""
    for number in range(2):
        feed(tmp_path / "in", number)
        source = session.readStream.schema("id BIGINT, s STRING").json(str(tmp_path / "in"))
        for frame, target in (
            (source, "t"),
            (session.readStream.format("tidelake").option("catalog", place.url).load("t"), "copy"),
        ):
            writer = frame.writeStream.format("tidelake").option("catalog", place.url)
            writer = writer.option("checkpointLocation", str(tmp_path / f"to_{target}"))
            finish(writer.trigger(availableNow=True).start(target))
            assert ids(place, target) == list(range(10 * number + 10))


def test_for_each_batch_with_handles_of_a_lake(
    session: Any, place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    feed(tmp_path / "in", 0)
    table = lake.table("copy")

    def write(rows: Any, number: int) -> None:
        lake.table("t").merge(rows, on="id", once=f"q/{number}")
        table.append(rows, once=f"p/{number}")

    for checkpoint in ("a", "b"):  # the second one brings batch 0 again
        stream = session.readStream.schema("id BIGINT, s STRING").json(str(tmp_path / "in"))
        writer = stream.writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / checkpoint))
        finish(writer.trigger(availableNow=True).start())
    assert ids(place, "t") == ids(place, "copy") == list(range(10))


PROGRAM = """
import sys

from pyspark.sql import SparkSession

import tidelake.spark

folder, url = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
spark = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
tidelake.spark.register(spark)
rows = spark.readStream.schema("id BIGINT, s STRING").option("maxFilesPerTrigger", 1)
sink = rows.json(f"{folder}/in").writeStream.format("tidelake").option("catalog", url)
query = sink.option("checkpointLocation", f"{folder}/checkpoint").start("t")
print("running", flush=True)
query.awaitTermination()
"""


def test_a_stream_that_is_killed_again_and_again(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    dice = random.Random(14)
    files = 0
    for kill in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), place.url],
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            for _ in range(15):
                feed(tmp_path / "in", files)
                files += 1
            assert process.stdout is not None
            assert process.stdout.readline() == b"running\n"
            if kill == 1:
                lake.table("t").compact()
            wait_for(partial(reaches, lake, 10 * (files - 10)))
            time.sleep(dice.random() if kill < 4 else 0)
            if kill == 4:
                wait_for(partial(reaches, lake, 10 * files))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert ids(place, "t") == list(range(10 * files))
    assert lake.verify(deep=True).ok


def reaches(lake: tidelake.Lake, count: int) -> bool:
    return lake.table("t").count() >= count


def wait_for(is_so: Callable[[], bool], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it does not go on"
        time.sleep(0.1)


FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
dp.create_sink("into_the_lake", format="tidelake", options={"table": "copy"})


@dp.append_flow(target="into_the_lake")
def some():
    return spark.readStream.format("tidelake").load("t").where("id >= 5")


@dp.materialized_view
def counted():
    return spark.read.format("tidelake").load("t").groupBy("s").count()
"""


def test_a_declarative_pipeline(place: Place, lake: tidelake.Lake, tmp_path: Path) -> None:
    """Nothing is registered: Spark finds the source, and the driver has the address."""
    import pyspark

    (tmp_path / "flows.py").write_text(FLOWS)
    (tmp_path / "spark-pipeline.yml").write_text(
        f"name: test\nstorage: file://{tmp_path}/storage\n"
        "libraries:\n  - glob:\n      include: flows.py\n"
    )
    home = Path(pyspark.__file__).parent
    for run in range(2):
        lake.table("t").append([{"id": 10 * run + n, "s": "x"} for n in range(10)])
        conf = {
            "spark.sql.warehouse.dir": f"file://{tmp_path}/warehouse{run}",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path}",
            "spark.ui.enabled": "false",
        }
        options = [part for item in conf.items() for part in ("--conf", "=".join(item))]
        done = subprocess.run(
            [home / "bin" / "spark-pipelines", "run", *options],
            cwd=tmp_path,
            env={
                **os.environ,
                **ENVIRONMENT,
                "SPARK_HOME": str(home),
                "TIDELAKE_CATALOG": place.url,
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Run is COMPLETED" in done.stdout + done.stderr, done.stdout + done.stderr
        assert ids(place, "copy") == list(range(5, 10 * run + 10))
