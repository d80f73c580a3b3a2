"""Facts one by one: put, and keys that end."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest

import tidelake
from tests.event_time.grid import rows
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.place import Place

COLUMNS = "sym VARCHAR, ts TIMESTAMP, v INTEGER, gone BOOLEAN"


def day(n: int) -> datetime:
    return datetime(2024, 3, n)


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table("t", COLUMNS, key="sym", event_time="ts", tombstone="gone")


def test_a_put_is_one_small_commit(place: Place, lake: tidelake.Lake, t: tidelake.Table) -> None:
    done = t.put({"SYM": "a", "ts": "2024-03-01T10:00:00", "v": 1})
    assert (done.operation, done.rows, done.inserted, done.files) == ("put", 1, 1, 0)
    assert done.snapshot_id == lake.snapshots()[-1].snapshot_id
    done = t.put([{"sym": "a", "ts": day(2), "v": 2}, {"sym": "b", "ts": day(2)}])
    assert (done.rows, done.files) == (2, 0)
    ended = t.end("a", at="2024-03-03")
    assert (ended.operation, ended.rows, ended.inserted, ended.files) == ("end", 1, 1, 0)
    assert [entry.operation for entry in t.snapshots()[1:]] == ["put", "put", "end"]
    assert place.files() == set()
    assert rows(t.as_of(day(3))) == [{"sym": "b", "ts": day(2), "v": None, "gone": None}]
    assert rows(t)[-1] == {"sym": "a", "ts": day(3), "v": None, "gone": True}
    t.put({"sym": "a", "ts": day(5), "v": 5})
    assert {row["sym"] for row in rows(t.as_of(day(5)))} == {"a", "b"}


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        ({"sym": "a"}, "needs ts"),
        ({"sym": "a", "ts": None}, "needs ts"),
        ({"v": 1}, "needs sym, ts"),
        ({}, "needs sym, ts"),
        ([{"sym": "a", "ts": day(1)}, {"ts": day(1)}], "needs sym"),
        ({"sym": "a", "ts": day(1), "w": 1}, "'w'"),
        ({"sym": "a", "ts": day(1), "v": "one"}, "'v'"),
        ({"sym": "a", "ts": "soon"}, "'ts'"),
        ("a", "takes a dict"),
        ([["a"]], "takes a dict"),
    ],
)
def test_facts_that_are_none(place: Place, t: tidelake.Table, fact: Any, named: str) -> None:
    before = place.state()
    with pytest.raises(Invalid, match=named) as error:
        t.put(fact)
    assert error.value.hint
    assert place.state() == before


def test_only_tables_of_facts_take_them(lake: tidelake.Lake) -> None:
    plain = lake.create_table("p", COLUMNS)
    for refused in (lambda: plain.put({"sym": "a"}), lambda: plain.end("a", at=day(1))):
        with pytest.raises(Invalid, match="no key and event time"):
            refused()
    plain.set_event_time("ts", key="sym")
    with pytest.raises(Invalid, match="tombstone") as error:
        plain.end("a", at=day(1))
    assert "set_event_time('ts', key=['sym'], tombstone=" in str(error.value.hint)


def test_the_hint_keeps_what_is_declared_already(lake: tidelake.Lake) -> None:
    """To declare anew is to declare all of it: what the hint left out would be gone."""
    t = lake.create_table(
        "t",
        f"{COLUMNS}, till TIMESTAMP, said TIMESTAMP",
        key="sym",
        event_time="ts",
        valid_to="till",
        knowledge_time="said",
    )
    for end in (lambda: t.end("a", at=day(1)), lambda: t.delete("true", portion=(day(1), day(2)))):
        with pytest.raises(Invalid, match="tombstone") as error:
            end()
        assert str(error.value.hint).endswith(
            """('ts', key=['sym'], tombstone="gone", valid_to='till', knowledge_time='said')"""
        )
    t.set_event_time("ts", key=["sym"], tombstone="gone", valid_to="till", knowledge_time="said")
    assert t.end("a", at=day(1)).rows == 1


def test_not_through_what_is_pinned(t: tidelake.Table) -> None:
    t.put({"sym": "a", "ts": day(1)})
    for pinned in (t.as_of(day(1)), t.known_at(1)):
        with pytest.raises(Denied):
            pinned.put({"sym": "a", "ts": day(1)})
        with pytest.raises(Denied):
            pinned.end("a", at=day(1))
        with pytest.raises(Denied):
            pinned.set_event_time(None)


@pytest.mark.parametrize("key", [["a"], ("a",), None, 5, {"v": 1}, {"sym": None}, {}])
def test_keys_that_are_none(t: tidelake.Table, key: Any) -> None:
    with pytest.raises(Invalid) as error:
        t.end(key, at=day(1))
    assert error.value.hint


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        ("DATE", ["2024-03-05", date(2024, 3, 5), "2024-03-05T02:00:00+02:00"], "2024-03-05T01:00"),
        ("TIMESTAMP_S", ["2024-03-05T01:02:03"], "2024-03-05T01:02:03.5"),
        ("TIMESTAMP_MS", ["2024-03-05T01:02:03.5"], "2024-03-05T01:02:03.0005"),
        ("TIMESTAMP", [datetime(2024, 3, 5, 1, 2, 3, 4)], "2024-03-05T01:02:03.0000005"),
        ("TIMESTAMPTZ", [datetime(2024, 3, 5, tzinfo=UTC)], "2024-03-05T01:02:03.0000005"),
        ("TIMESTAMP_NS", ["2024-03-05T01:02:03.000000005"], "soon"),
    ],
)
def test_the_moment_is_kept_exactly(
    lake: tidelake.Lake, kind: str, fits: list[Any], does_not: Any
) -> None:
    t = lake.create_table(
        "t", f"sym VARCHAR, ts {kind}, gone BOOLEAN", key="sym", event_time="ts", tombstone="gone"
    )
    t.put({"sym": "a", "ts": "2024-03-01"})
    for moment in fits:
        t.end("a", at=moment)
        assert t.as_of(moment).count() == 0
    assert t.as_of("2024-03-04T23:59:59.999999999").count() == 1
    with pytest.raises(Invalid, match="at="):
        t.end("a", at=does_not)


def test_what_must_have_a_value_is_what_it_was(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t",
        "a UUID, b INTEGER, ts TIMESTAMP, price DECIMAL(9,2) NOT NULL, tags VARCHAR[] NOT NULL,"
        " kind VARCHAR NOT NULL DEFAULT 'plain', note VARCHAR, gone BOOLEAN NOT NULL",
        key=["a", "b"],
        event_time="ts",
        tombstone="gone",
    )
    key = {"a": UUID(int=5), "b": 1}
    other = {"a": UUID(int=5), "b": 2}
    t.put({**key, "ts": day(1), "price": 1, "tags": ["x"], "note": "n", "kind": "odd"})
    t.put({**key, "ts": day(5), "price": 5, "tags": ["y", None]})
    t.put({**other, "ts": day(1), "price": 9, "tags": []})
    done = t.end(key, at=day(3))
    assert (done.operation, done.rows, done.files) == ("end", 1, 0)
    (row,) = [row for row in rows(t) if row["gone"]]
    assert (row["ts"], float(row["price"]), row["tags"]) == (day(3), 1.0, ["x"])
    assert (row["kind"], row["note"]) == ("plain", None)
    assert t.as_of(day(4)).count() == 1
    assert t.as_of(day(5)).count() == 2
    with pytest.raises(NotFound, match="as of 2024-02-01") as error:
        t.end(key, at="2024-02-01")
    assert error.value.hint
    with pytest.raises(NotFound):
        t.end({"a": UUID(int=6), "b": 1}, at=day(9))
    with lake.transaction() as tx:
        tx.table("t").put({"a": UUID(int=6), "b": 1, "ts": day(2), "price": 6, "tags": []})
        tx.table("t").end({"a": UUID(int=6), "b": 1}, at=day(9))
    assert t.as_of(day(9)).count() == 2
    assert t.as_of(day(8)).count() == 3


def test_several_in_one_transaction(lake: tidelake.Lake, t: tidelake.Table) -> None:
    with lake.transaction(author="ann") as tx:
        tx.table("t").put({"sym": "a", "ts": day(1), "v": 1})
        tx.table("t").end("a", at=day(2))
        tx.table("t").put({"sym": "a", "ts": day(2), "v": 2})
    assert tx.result is not None
    assert tx.result.rows == 3
    assert [row["v"] for row in rows(t.as_of(day(2)))] == [2]
    assert len(t.snapshots()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "postgresql", "mariadb"], indirect=True)
def test_on_every_catalog(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "sym VARCHAR, ts TIMESTAMPTZ, v INTEGER NOT NULL, gone BOOLEAN")
    t.append([{"sym": "a", "ts": day(1), "v": 1}, {"sym": None, "ts": day(1), "v": 1}])
    with pytest.raises(Invalid, match="1 row without 'sym'"):
        t.set_event_time("ts", key="sym", tombstone="gone")
    t.delete("sym IS NULL")
    t.set_event_time("ts", key="sym", tombstone="gone")
    before = lake.snapshots()[-1].snapshot_id
    t.put({"sym": "a", "ts": day(5), "v": 5})
    t.end("a", at=day(3))
    t.update({"v": "6"}, where="v = 5")
    assert [row["v"] for row in rows(t.history("a"))] == [1, 1, 5, 1, 6]
    (found,) = rows(t.as_of(day(4)).changes_of_belief(before))
    assert (found["sym"], found["change"], found["v_before"]) == ("a", "vanished", 1)


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(place: Place, lake: tidelake.Lake, spark: Any) -> None:
    lake.create_table(
        "t",
        "id INTEGER, ts TIMESTAMP, v DOUBLE NOT NULL, gone BOOLEAN",
    ).append([{"id": i, "ts": day(1), "v": float(i)} for i in range(30)])
    with place.open(engine="spark", spark=spark) as other:
        t = other.table("t")
        t.set_event_time("ts", key="id", tombstone="gone")
        t.put({"id": 3, "ts": day(2), "v": 33.0})
        t.end(3, at=day(4))
        assert t.as_of(day(4)).count() == 29
        with pytest.raises(NotFound):
            t.end(99, at=day(4))
    (row,) = rows(lake.table("t").scan(where="gone"))
    assert row == {"id": 3, "ts": day(4), "v": 33.0, "gone": True}
