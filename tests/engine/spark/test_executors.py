"""What is checked of executors before they work for us, what their Python keeps from task to task,
and what jobs are called."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.executors import UNKNOWN, differences, versions
from tidelake.engine.spark.job_names import naming
from tidelake.engine.spark.worker import Worker
from tidelake.errors import Invalid
from tidelake.testing.place import Place


def test_what_differs() -> None:
    here = versions()
    assert set(here) == {"Python", "tidelake", "duckdb", "pyarrow"}
    assert list(differences(here, here)) == []
    said = list(differences(here, {**here, "duckdb": "0.9", "tidelake": "", "Python": "3.8"}))
    assert said == [
        f"Python 3.8, and {here['Python']} on the driver",
        f"tidelake is not there, and {here['tidelake']} on the driver",
        f"duckdb 0.9, and {here['duckdb']} on the driver",
    ]
    major = here["pyarrow"].split(".")[0]
    assert list(differences(here, {**here, "pyarrow": f"{major}.99", "tidelake": UNKNOWN})) == []


def test_tasks_of_a_worker_share_a_duckdb_and_nothing_in_it() -> None:
    worker = Worker()
    with worker.engine(LocalEngine()) as first:
        work = first.workbench()
        work.connection.execute("CREATE TEMP TABLE t AS SELECT 1")
        (threads,) = work.connection.execute("SELECT current_setting('threads')").fetchone() or ()
        assert threads == 1
        work.connection.close()
    with worker.engine(LocalEngine()) as second:
        assert second is first
        tables = second.workbench().connection.execute("SHOW ALL TABLES").fetchall()
        assert tables == []
    with worker.engine(LocalEngine({"region": "x"})) as other:
        assert other is not first
    with pytest.raises(ValueError, match="broken"), worker.engine(LocalEngine({"region": "x"})):
        raise ValueError("broken")
    with worker.engine(LocalEngine({"region": "x"})) as after:
        assert after is not other


def test_what_a_worker_has_loaded_is_not_looked_through_after_every_task() -> None:
    worker = Worker()
    gc.unfreeze()
    try:
        for _ in range(2):
            assert gc.get_freeze_count() == 0
            with worker.engine(LocalEngine()):
                pass
        settled = gc.get_freeze_count()
        assert settled > 1000
        with worker.engine(LocalEngine()):
            assert gc.get_freeze_count() <= settled
    finally:
        gc.unfreeze()


@pytest.fixture
def lake(spark: Any, place: Place) -> Iterator[Any]:
    with place.open(engine="spark", spark=spark) as lake:
        yield lake


@pytest.mark.spark
@pytest.mark.slow
def test_a_worker_keeps_its_duckdb_also_after_a_task_failed(lake: Any, spark: Any) -> None:
    """Values that do not fit make tasks fail; those that come after them are right."""
    table = lake.create_table("t", "id INTEGER")
    for _ in range(3):
        with pytest.raises(Invalid, match="'id'"):
            table.append(spark.range(2**40, 2**40 + 4, 1, 4))
        table.append(spark.range(0, 4, 1, 4))
    assert sorted(row.id for row in table.to_spark().collect()) == sorted([*range(4)] * 3)


@pytest.mark.slow
@pytest.mark.spark
def test_jobs_have_names(lake: Any, spark: Any) -> None:
    """Jobs that a user starts in the same thread keep theirs."""
    context = spark.sparkContext
    context.setJobDescription("mine")
    try:
        seen = []
        with naming(spark, "cannot append to main.t"):
            seen.append(context.getLocalProperty("spark.job.description"))
            assert spark.getTags() == {"tidelake: append to main.t"}
            spark.range(3).count()
        seen.append(context.getLocalProperty("spark.job.description"))
        assert seen == ["tidelake: append to main.t", "mine"]
        assert spark.getTags() == set()
        table = lake.create_table("t", "id BIGINT")
        table.append(spark.range(3))
        names = _names_of_jobs(spark)
        assert "tidelake: append to main.t" in names
        assert table.scan().count() == 3
    finally:
        context.setLocalProperty("spark.job.description", None)


def _names_of_jobs(spark: Any) -> set[str]:
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs = store.jobsList(None)
    found = (jobs.apply(place).description() for place in range(jobs.size()))
    return {name.get() for name in found if name.isDefined()}


@pytest.mark.spark
@pytest.mark.slow
def test_jobs_have_tags_on_connect(spark_connect: Any) -> None:
    with naming(spark_connect, "cannot merge into main.a,b"):
        assert spark_connect.getTags() == {"tidelake: merge into main.a b"}
        assert spark_connect.range(3).count() == 3
    assert spark_connect.getTags() == set()
