"""A lake in a real Spark session: the data source and the names in SQL, classic and Connect."""

from collections.abc import Iterator
from typing import Any

import pytest

import tidelake
from tidelake.errors import Invalid
from tidelake.testing import canonical
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

KINDS = [
    "spark",
    pytest.param("spark_connect", marks=pytest.mark.slow),
]


@pytest.fixture(params=KINDS)
def session(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_schema("ns")
        table = lake.create_table(
            "ns.t", "id BIGINT, s VARCHAR, ts TIMESTAMP", key="id", event_time="ts"
        )
        rows = [
            {"id": n % 50, "s": f"row {n}", "ts": f"2024-01-{1 + n // 50:02}"} for n in range(100)
        ]
        table.append(rows)
        table.delete("id = 7")
        lake.create_table("ns.other", "id BIGINT, s VARCHAR")
        lake.create_view("ns.v", "SELECT s, count(*) AS n FROM ns.t GROUP BY s")
        yield lake


def rows(frame: Any) -> Any:
    return canonical.rows(frame.toArrow())


@pytest.mark.slow
def test_read_write_and_read_again(session: Any, place: Place, lake: tidelake.Lake) -> None:
    tidelake.spark.register(session)
    table = lake.table("ns.t")
    read = session.read.format("tidelake").option("catalog", place.url)
    assert rows(read.load("ns.t")) == canonical.rows(table.to_arrow())
    found = read.load("ns.t").where("id > 40 AND s LIKE 'row 4%'")
    assert rows(found) == canonical.rows(table.scan(where="id > 40 AND s LIKE 'row 4%'").to_arrow())
    data = session.range(200, 210).selectExpr("id", "concat('new ', id) AS s")
    write = data.write.format("tidelake").option("catalog", place.url)
    write.mode("append").save("ns.other")
    write.mode("append").option("once", "a").save("ns.other")
    write.mode("append").option("once", "a").save("ns.other")
    assert lake.table("ns.other").count() == 20
    data.limit(3).write.format("tidelake").mode("overwrite").options(catalog=place.url).save(
        "ns.other"
    )
    with place.duck() as connection:
        theirs = connection.execute("SELECT id, s FROM lake.ns.other ORDER BY id").fetchall()
    assert theirs == [(n, f"new {n}") for n in (200, 201, 202)]
    assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_what_is_wrong_is_told_in_our_words(
    session: Any, place: Place, lake: tidelake.Lake
) -> None:
    tidelake.spark.register(session)
    read = session.read.format("tidelake").option("catalog", place.url)
    with pytest.raises(Exception, match=r"tidelake.errors.NotFound: there is no table ns.nope"):
        _ = read.load("ns.nope").schema
    with pytest.raises(Exception, match=r"tidelake.errors.Invalid: there is no option 'as_off'"):
        _ = read.option("as_off", "2024-01-01").load("ns.t").schema
    strange = session.range(3).selectExpr("id", "id AS strange")
    with pytest.raises(Exception, match=r"tidelake.errors.Invalid: ns.t: there is no 'strange'"):
        strange.write.format("tidelake").mode("append").option("catalog", place.url).save("ns.t")
    assert lake.table("ns.t").count() == 98
    assert not place.unknown_files()


def test_names_in_sql(session: Any, place: Place, lake: tidelake.Lake) -> None:
    table = lake.table("ns.t")
    with tidelake.spark.attach(session, lake) as attached:
        assert set(attached.tables) == {"lake_ns.t", "lake_ns.other", "lake_ns.v"}
        assert set(attached.views) == {"lake_ns_t", "lake_ns_other", "lake_ns_v"}
        for name in ("lake_ns.t", "lake_ns_t"):
            found = session.sql(f"SELECT * FROM {name} WHERE id < 9")
            assert rows(found) == canonical.rows(table.scan(where="id < 9").to_arrow())
        views = lake.sql("SELECT * FROM ns.v").to_arrow()
        for name in ("lake_ns.v", "lake_ns_v"):
            assert rows(session.sql(f"SELECT * FROM {name}")) == canonical.rows(views)
        table.append([{"id": 500, "s": "late", "ts": "2024-01-01"}])
        lake.create_table("ns.fresh", "id BIGINT")
        count = "SELECT count(*) FROM {} WHERE id = 500"
        assert session.sql(count.format("lake_ns.t")).first()[0] == 1, "live"
        assert session.sql(count.format("lake_ns_t")).first()[0] == 0, "as it was"
        attached.refresh()
        assert session.sql(count.format("lake_ns_t")).first()[0] == 1
        assert session.table("lake_ns.fresh").columns == ["id"]
    assert not [each for each in session.catalog.listDatabases() if each.name.startswith("lake")]
    assert not [each for each in session.catalog.listTables() if each.name.startswith("lake")]


@pytest.mark.slow
def test_names_at_a_moment(session: Any, lake: tidelake.Lake) -> None:
    table = lake.table("ns.t")
    before = lake.snapshots()[-1].snapshot_id
    table.append([{"id": 500, "s": "late", "ts": "2024-01-01"}])
    moments = {"known_at": before, "as_of": "2024-01-01T12:00"}
    wanted = table.as_of(moments["as_of"]).known_at(before).to_arrow()
    with tidelake.spark.attach(session, lake, "old", **moments):
        for name in ("old_ns.t", "old_ns_t"):
            assert rows(session.sql(f"SELECT * FROM {name}")) == canonical.rows(wanted), name


@pytest.mark.slow
def test_an_insert_never_goes_to_another_table(session: Any, lake: tidelake.Lake) -> None:
    """What is selected from a table bears its label, and Spark keeps it on the way."""
    with tidelake.spark.attach(session, lake), pytest.raises(Exception, match="Unsupported"):
        session.sql("INSERT INTO lake_ns.other SELECT id, s FROM lake_ns.t").collect()
    assert lake.table("ns.t").count() == 98
    assert lake.table("ns.other").count() == 0


@pytest.mark.slow
def test_a_database_of_somebody_else_stays(session: Any, lake: tidelake.Lake) -> None:
    session.sql("CREATE DATABASE mine_ns")
    try:
        with pytest.raises(Invalid, match="of its own"):
            tidelake.spark.attach(session, lake, "mine")
        assert "mine_ns" in {each.name for each in session.catalog.listDatabases()}
    finally:
        session.sql("DROP DATABASE mine_ns")
    for name in ("", "a b", "1x", "a.b"):
        with pytest.raises(Invalid, match="is no name"):
            tidelake.spark.attach(session, lake, name)


@pytest.mark.slow
def test_tables_of_sparks_own_catalog(session: Any, place: Place, lake: tidelake.Lake) -> None:
    tidelake.spark.register(session)
    session.sql(
        f"CREATE TABLE kept USING tidelake OPTIONS (catalog '{place.url}', table 'ns.t',"
        " as_of '2024-01-01')"
    )
    try:
        wanted = lake.table("ns.t").as_of("2024-01-01").to_arrow()
        assert rows(session.sql("SELECT * FROM kept")) == canonical.rows(wanted)
    finally:
        session.sql("DROP TABLE kept")


@pytest.mark.slow
def test_odd_names_and_a_far_away_session(session: Any, place: Place, lake: tidelake.Lake) -> None:
    lake.create_schema("odd schema")
    table = lake.create_table('"odd schema"."odd.table"', "id BIGINT, ts TIMESTAMPTZ")
    table.append([{"id": n, "ts": f"2024-01-01T{n:02}:00:00Z"} for n in range(24)])
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with tidelake.spark.attach(session, lake, "x") as attached:
            assert list(attached.skipped) == ['"odd schema"."odd.table"']
            assert session.sql("SELECT count(*) FROM `x_odd schema_odd.table`").first()[0] == 24
        read = session.read.format("tidelake").option("catalog", place.url)
        found = read.load('"odd schema"."odd.table"')
        assert found.where("ts >= TIMESTAMP'2024-01-01 10:00:00'").count() == 24 - 15
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")
