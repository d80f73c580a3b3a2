"""Event time on tables that are there already, also on DuckDB's."""

from datetime import datetime
from threading import Thread
from typing import Any

import duckdb
import pytest

import tidelake
from tests.event_time.grid import rows
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
COLUMNS = "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN"


def day(n: int) -> datetime:
    return datetime(2024, 3, n)


def facts(*ids: int | None) -> list[dict[str, Any]]:
    return [{"id": i, "ts": day(1), "v": 1} for i in ids]


def nullable(t: tidelake.Table) -> list[str]:
    return [column.name for column in t.schema if column.nullable]


def test_a_table_that_is_there_becomes_one_of_facts(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", COLUMNS, comment="kept")
    t.append(facts(1, 2) * 20)
    before = lake.snapshots()[-1].snapshot_id
    with pytest.raises(Invalid, match="no key and event time") as error:
        t.as_of(day(2))
    assert "set_event_time" in str(error.value.hint)
    assert "known_at(…)" in str(error.value.hint)
    done = t.set_event_time(event_time="TS", key=["id"], tombstone="gone")
    assert (done.snapshot_id, done.rows, done.files) == (before + 1, 0, 0)
    assert t.as_of(day(2)).count() == 2
    assert nullable(t) == ["v", "gone"]
    assert t.comment == "kept"
    with pytest.raises(Invalid):
        t.known_at(before).as_of(day(2))
    with pytest.raises(duckdb.Error, match="NOT NULL"):
        duck.execute("INSERT INTO t(id) VALUES (7)")
    duck.execute("INSERT INTO t(id, ts, gone) VALUES (1, '2024-03-02', true)")
    assert [row["id"] for row in rows(t.as_of(day(2)))] == [2]


def test_a_table_that_duckdb_made(lake: tidelake.Lake, duck: Duck) -> None:
    duck.execute('CREATE TABLE t("the id" UUID, "when" TIMESTAMPTZ, gone BOOLEAN)')
    duck.execute("INSERT INTO t SELECT uuid(), TIMESTAMPTZ '2024-03-01 00:00:00+00', NULL")
    t = lake.table("t")
    t.set_event_time("when", key="the id", tombstone="gone")
    (found,) = rows(t.as_of("2024-03-01"))
    t.end(found["the id"], at="2024-03-05")
    assert t.as_of("2024-03-05").count() == 0
    assert duck.sql("SELECT count(*) FROM t WHERE gone").fetchall() == [(1,)]
    assert t.history(found["the id"]).count() == 2


def test_rows_without_key_or_time_are_reported(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", COLUMNS)
    t.append(facts(*range(50), None, None))
    t.append([{"id": 7, "ts": None}])
    t.append([{"id": None, "ts": None}])
    before = place.state()
    with pytest.raises(Invalid, match="3 rows without 'id', 2 rows without 'ts'") as error:
        t.set_event_time("ts", key="id")
    assert '"id" IS NULL OR "ts" IS NULL' in str(error.value.hint)
    assert place.state() == before
    t.delete('"id" IS NULL OR "ts" IS NULL')
    t.set_event_time("ts", key="id")
    assert t.as_of(day(1)).count() == 50


def test_a_null_that_comes_in_between_is_noticed(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", COLUMNS)
    t.append(facts(1))
    tx = lake.transaction()
    tx.table("t").set_event_time("ts", key="id")
    duck.execute("INSERT INTO t(id) VALUES (5)")
    with pytest.raises(Conflict):
        tx.commit()
    with pytest.raises(Invalid, match="1 row without 'ts'"):
        t.set_event_time("ts", key="id")


def test_against_many_writers_no_null_slips_through(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", COLUMNS)
    refused = []

    def write(number: int) -> None:
        with place.open() as other:
            for n in range(6):
                try:
                    other.table("t").append([{"id": None if n % 2 else number, "ts": day(1)}])
                except Invalid:
                    refused.append(n)

    threads = [Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    declared = False
    try:
        t.set_event_time("ts", key="id")
        declared = True
    except Invalid:
        pass
    for thread in threads:
        thread.join()
    nulls = t.scan(where="id IS NULL").count()
    assert (nulls == 0 and len(refused) == 6) if declared else nulls == 6 - len(refused)
    assert ("id" in nullable(t)) is not declared


def test_changed_taken_away_and_rolled_back(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", f"{COLUMNS}, other INTEGER", key="id", event_time="ts", tombstone="gone"
    )
    t.append([{"id": 1, "ts": day(1), "v": 1, "other": 2}])
    first = lake.snapshots()[-1].snapshot_id
    t.set_event_time("ts", key=["id", "other"])
    assert t.history({"id": 1, "other": 2}).count() == 1
    assert t.set_event_time("ts", key=["id", "other"]).snapshot_id == first + 1
    t.set_event_time(None, key="id")
    with pytest.raises(Invalid, match="no key and event time"):
        t.as_of(day(1))
    t.merge([{"id": 1, "ts": day(2), "v": 5, "other": 2}])
    assert t.to_arrow()["v"].to_pylist() == [5]
    t.set_event_time(None)
    assert t.tags == {}
    t.evolve(nullable={"id": True})
    assert "id" in nullable(t)
    t.rollback(first)
    assert nullable(t) == ["v", "gone", "other"]
    assert rows(t.as_of(day(1)))[0]["v"] == 1
    t.end(1, at=day(2))
    assert t.as_of(day(2)).count() == 0


def test_in_a_transaction(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        t = tx.create_table("t", COLUMNS)
        t.append(facts(1, 2))
        t.set_event_time("ts", key="id", tombstone="gone")
        t.put({"id": 1, "ts": day(3), "v": 3})
        t.end(2, at=day(2))
        assert [row["v"] for row in rows(t.as_of(day(4)))] == [3]
        with pytest.raises(Invalid):
            t.append(facts(None))
    assert tx.result is not None
    assert [row["v"] for row in rows(lake.table("t").as_of(day(4)))] == [3]
    assert nullable(lake.table("t")) == ["v", "gone"]


def test_a_series_keeps_its_own_settings(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", f"{COLUMNS}, sym VARCHAR, u DATE", event_time="ts", entity="sym", bucket="1m"
    )
    series = {tag: value for tag, value in t.tags.items() if "entity" in tag or "bucket" in tag}
    t.set_event_time("ts", key="id")
    assert series.items() < t.tags.items()
    for wrong in ("u", None):
        with pytest.raises(Invalid, match="series"):
            t.set_event_time(wrong, key="id")


def test_columns_that_settings_name(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", COLUMNS, key="id", event_time="ts", tombstone="gone")
    t.append(facts(1))
    for name in ("id", "ts", "gone"):
        with pytest.raises(Invalid, match="cannot be dropped") as error:
            t.evolve(drop=name)
        assert "set_event_time" in str(error.value.hint)
    for name in ("id", "ts"):
        with pytest.raises(Invalid, match="cannot be nullable"):
            t.evolve(nullable={name: True})
    t.evolve(rename={"id": "key", "ts": "at"}, widen={"id": "BIGINT"})
    t.put({"key": 2**40, "at": day(1)})
    assert t.as_of(day(1)).count() == 2
    assert t.history(2**40).count() == 1
    duck.execute("ALTER TABLE t DROP COLUMN gone")
    for asked in (lambda: t.as_of(day(1)), lambda: t.history(1), lambda: t.put({"key": 1})):
        with pytest.raises(Invalid, match="dropped") as error:
            asked()
        assert "set_event_time" in str(error.value.hint)
    t.set_event_time("at", key="key")
    assert t.as_of(day(1)).count() == 2


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"event_time": "ts"}, Invalid),
        ({"event_time": "ts", "key": []}, Invalid),
        ({"event_time": "v", "key": "id"}, Invalid),
        ({"event_time": "ts", "key": "ts"}, Invalid),
        ({"event_time": "ts", "key": ["id", "gone"], "tombstone": "gone"}, Invalid),
        ({"event_time": "ts", "key": ["id", "id"]}, Invalid),
        ({"event_time": "ts", "key": "id", "tombstone": "v"}, Invalid),
        ({"event_time": None, "tombstone": "gone"}, Invalid),
        ({"event_time": "nothing", "key": "id"}, NotFound),
        ({"event_time": "ts", "key": "nothing"}, NotFound),
        ({"event_time": "ts", "key": "s"}, Invalid),
    ],
)
def test_settings_that_cannot_be(lake: tidelake.Lake, wrong: Any, error: Any) -> None:
    t = lake.create_table("t", f"{COLUMNS}, s STRUCT(a INTEGER)")
    before = lake.snapshots()
    with pytest.raises(error) as found:
        t.set_event_time(**wrong)
    assert found.value.hint
    assert lake.snapshots() == before
