"""Settings of the session: what is read and written where they cannot be set, and what a DataFrame
does when they change after it was made."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.cases import every
from tidelake.engine.spark.settings import FIELD_IDS
from tidelake.errors import Unsupported
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

SCHEMA = "id BIGINT, v DOUBLE, s STRUCT(f FLOAT, t VARCHAR), l DOUBLE[]"
TIMES = "spark.sql.timeType.enabled"


@pytest.fixture
def refusing(spark_connect: Any) -> Iterator[Any]:
    """A Connect session as a declarative pipeline has it: nothing can be set."""
    from pyspark.pipelines.block_session_mutations import block_session_mutations

    spark_connect.conf.set(FIELD_IDS, "false")
    spark_connect.conf.set(TIMES, "false")
    with block_session_mutations():
        yield spark_connect


@pytest.fixture
def without_ids(spark: Any) -> Iterator[Any]:
    before = spark.conf.get(FIELD_IDS)
    spark.conf.set(FIELD_IDS, "false")
    yield spark
    spark.conf.set(FIELD_IDS, before)


def rows(session: Any, start: int, end: int) -> Any:
    return session.sql(
        "SELECT id, IF(id % 7 = 0, double('NaN'), id / 2D) AS v,"
        " named_struct('f', float(id), 't', string(id)) AS s, array(double(id), NULL) AS l"
        f" FROM range({start}, {end}, 1, 2)"
    )


def seen(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(repr(tuple(row)) for row in frame.collect())


def plan_of(frame: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain()
    return capsys.readouterr().out


@pytest.mark.slow
def test_all_of_it_where_nothing_can_be_set(
    refusing: Any, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with place.open(engine="spark", spark=refusing) as lake:
        table = lake.create_table("t", SCHEMA)
        table.append(rows(refusing, 0, 60))
        table.delete("id BETWEEN 10 AND 30")
        table.merge(rows(refusing, 50, 70), on="id")
        table.update({"v": "v + 1"}, where="id = 3")
        table.compact()
        found = table.to_spark()
        assert "Arrow" not in plan_of(found, capsys)
        past = table.known_at(2).scan(columns=["rowid", "id"]).to_spark()
        with place.open() as local:
            assert seen(found) == seen(refusing.createDataFrame(local.table("t").to_arrow()))
            then = local.table("t").known_at(2).scan(columns=["rowid", "id"]).to_arrow()
        assert seen(past) == seen(refusing.createDataFrame(then))


@pytest.mark.slow
def test_renamed_columns_where_nothing_can_be_set(
    refusing: Any, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are read by DuckDB; the others, asked for alone, by Spark."""
    with place.open(engine="spark", spark=refusing) as lake:
        table = lake.create_table("t", SCHEMA)
        table.append(rows(refusing, 0, 9))
        table.evolve(rename={"v": "w", "s.f": "g"})
        table.append(rows(refusing, 9, 20).selectExpr("id", "v AS w", "l"))
        found = table.to_spark()
        assert "MapInArrow" in plan_of(found, capsys)
        with place.open() as local:
            assert seen(found) == seen(refusing.createDataFrame(local.table("t").to_arrow()))
        others = table.scan(columns=["id", "l"]).to_spark()
        assert "MapInArrow" not in plan_of(others, capsys)
        assert others.count() == 20


@pytest.mark.slow
def test_times_where_nothing_can_be_set(refusing: Any, place: Place) -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, moment TIME").append([{"id": 1, "moment": None}])
    with place.open(engine="spark", spark=refusing) as lake:
        with pytest.raises(Unsupported, match=f"'moment' holds times of day.*{TIMES}"):
            lake.table("t").to_spark()
        assert lake.table("t").scan(columns=["id"]).to_spark().collect() == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "witness", every(4, ["id BIGINT", "id TIMESTAMPTZ", "id VARCHAR", "id DOUBLE"])
)
def test_the_setting_is_switched_off_before_a_dataframe_runs(
    without_ids: Any, place: Place, witness: str
) -> None:
    """Columns that only their ids find must not come out as NULL."""
    with place.open(engine="spark", spark=without_ids) as lake:
        table = lake.create_table("t", f"{witness}, v VARCHAR, w INTEGER")
        moment = {"id TIMESTAMPTZ": "timestamp_seconds(id)", "id VARCHAR": "string(id)"}.get(
            witness, "id"
        )
        table.append(
            without_ids.sql(f"SELECT {moment} AS id, string(id) AS v, int(id) AS w FROM range(9)")
        )
        table.evolve(rename={"w": "x"}, add={"y": "VARCHAR"})
        frame = table.scan(columns=["x", "y"]).to_spark()
        assert without_ids.conf.get(FIELD_IDS) == "true"
        assert sorted(row.x for row in frame.collect()) == [*range(9)]
        again = table.scan(columns=["x", "y"]).to_spark()
        without_ids.conf.set(FIELD_IDS, "false")
        with pytest.raises(Exception, match=f"{FIELD_IDS} has been switched off"):
            again.collect()
        assert again.count() == 9
        without_ids.conf.set(FIELD_IDS, "true")
        assert sorted(row.x for row in again.select("x").collect()) == [*range(9)]


def test_nothing_is_set_for_columns_that_kept_their_names(without_ids: Any, place: Place) -> None:
    """Filters on floats are still not judged by statistics, which leave NaN out."""
    with place.open(engine="spark", spark=without_ids) as lake:
        table = lake.create_table("t", SCHEMA)
        table.append(rows(without_ids, 0, 60))
        frame = table.to_spark()
        for switched in ("false", "true"):
            without_ids.conf.set(FIELD_IDS, switched)
            assert frame.where("v > 1e300").count() == 9
            assert frame.where("s.f > 57").count() == 2
            assert frame.where("s.t = '3'").selectExpr("s.f").collect() == [(3.0,)]
            text = frame.where("v > 1e300 AND id > 3")._jdf.queryExecution().toString()
            pushed = next(line for line in text.splitlines() if "PushedFilters" in line)
            assert "GreaterThan(id,3)" in pushed
            assert "GreaterThan(v" not in pushed


@pytest.mark.slow
def test_many_files_are_looked_at_by_few_tasks(
    spark: Any, place: Place, request: pytest.FixtureRequest
) -> None:
    """Spark would have a task look at each; what the session had set it has again."""
    most = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    request.addfinalizer(partial(spark.conf.set, most, spark.conf.get(most)))
    spark.conf.set(most, "32")
    tasks = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    before = spark.conf.get(tasks)
    with place.open(engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "id BIGINT")
        table.append(spark.range(0, 40, 1, 40))
        frame = table.to_spark()
        assert len(table.files()) == 40
        assert sorted(row.id for row in frame.collect()) == [*range(40)]
        jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
        found = [jobs.apply(number) for number in range(jobs.size())]
        described = [job for job in found if job.description().isDefined()]
        wanted = "Listing leaf files and directories for 40 paths"
        listed = [job for job in described if job.description().get().startswith(wanted)]
        assert [job.numTasks() for job in listed] == [16]
    assert spark.conf.get(tasks) == before
