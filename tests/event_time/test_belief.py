"""What is thought otherwise of a moment than it was, compared with the two answers."""

from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.event_time.grid import rows
from tests.event_time.growth import Growth, day, fact
from tidelake.errors import Invalid, NotFound
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
COLUMNS = "name VARCHAR, ts TIMESTAMP, v DOUBLE, s STRUCT(a INTEGER, b VARCHAR[]), gone BOOLEAN"


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table("t", COLUMNS, key="name", event_time="ts", tombstone="gone")


def newest(lake: tidelake.Lake) -> int:
    return lake.snapshots()[-1].snapshot_id


def told(t: tidelake.Table, moment: Any, since: Any) -> list[tuple[Any, ...]]:
    found = rows(t.as_of(moment).changes_of_belief(since=since))
    return [(r["name"], r["change"], r["v_before"], r["v_after"]) for r in found]


def test_late_rows_corrections_ends_and_deletes(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.put([fact("kept", 1, 1), fact("late", 1, 1), fact("fixed", 1, 1)])
    t.put([fact("ended", 1, 1), fact("deleted", 1, 1), fact("later", 1, 1)])
    then = newest(lake)
    t.put([fact("late", 2, 2), fact("fixed", 1, 3), fact("new", 2, 4), fact("later", 9, 9)])
    t.end("ended", at=day(3))
    t.delete("name = 'deleted'")
    assert told(t, day(5), then) == [
        ("deleted", "vanished", 1, None),
        ("ended", "vanished", 1, None),
        ("fixed", "changed", 1, 3),
        ("late", "changed", 1, 2),
        ("new", "appeared", None, 4),
    ]
    assert told(t, day(1), then) == [("deleted", "vanished", 1, None), ("fixed", "changed", 1, 3)]
    assert told(t, datetime(2024, 2, 1), then) == []
    assert told(t, day(5), newest(lake)) == []
    found = t.as_of(day(5)).changes_of_belief(then)
    assert found.to_arrow().column_names == [
        *("name", "change", "ts_before", "ts_after", "v_before", "v_after"),
        *("s_before", "s_after", "gone_before", "gone_after"),
    ]
    assert found.count() == len(found.to_pandas()) == found.to_polars().height == 5


def test_pinned_handles_tags_and_times(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.put(fact("a", 1, 1))
    lake.tag("first")
    t.put(fact("a", 2, 2))
    between = lake.snapshots()[-1]
    t.put(fact("a", 3, 3))
    assert told(t, day(5), "first") == [("a", "changed", 1, 3)]
    assert told(t, day(5), between.time) == [("a", "changed", 2, 3)]
    assert told(t.known_at(between.snapshot_id), day(5), "first") == [("a", "changed", 1, 2)]
    assert told(lake.known_at(between.snapshot_id).table("t"), day(5), "first") == [
        ("a", "changed", 1, 2)
    ]
    with pytest.raises(Invalid, match="later") as error:
        told(t.known_at("first"), day(5), between.snapshot_id)
    assert error.value.hint
    with pytest.raises(NotFound):
        told(t, day(5), 999)


def test_values_that_compare_oddly(lake: tidelake.Lake, t: tidelake.Table) -> None:
    nan = float("nan")
    nested = {"a": 1, "b": ["x", None]}
    facts = {"nan": nan, "null": None, "zero": 0.0}
    t.put([fact(name, 1, value, s=nested) for name, value in facts.items()])
    then = newest(lake)
    t.put([fact(name, 1, value, s=nested) for name, value in facts.items()])
    assert told(t, day(5), then) == []
    t.put(fact("zero", 1, -0.0, s=nested))
    t.put(fact("null", 1, None, s={"a": 1, "b": ["x"]}))
    found = rows(t.as_of(day(5)).changes_of_belief(then))
    assert [r["name"] for r in found] == ["null", "zero"]
    assert (found[0]["s_before"], found[0]["s_after"]) == (nested, {"a": 1, "b": ["x"]})
    assert [str(found[1][f"v_{word}"]) for word in ("before", "after")] == ["0.0", "-0.0"]


def test_columns_are_those_of_the_later_snapshot(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "name VARCHAR, day DATE, v INTEGER, old INTEGER")
    t.append([{"name": "a", "day": day(1).date(), "v": 1, "old": 1}])
    before = newest(lake)
    t.evolve(add="fresh INTEGER DEFAULT 7", drop="old", rename={"name": "label"})
    t.evolve(widen={"v": "BIGINT"})
    t.set_event_time("day", key="label")
    assert rows(t.as_of("2024-03-05").changes_of_belief(before)) == []
    t.put({"label": "a", "day": day(1).date(), "v": 2**40, "fresh": 8})
    (found,) = rows(t.as_of("2024-03-05").changes_of_belief(before))
    assert found == {
        "label": "a",
        "change": "changed",
        "day_before": day(1).date(),
        "day_after": day(1).date(),
        "v_before": 1,
        "v_after": 2**40,
        "fresh_before": 7,
        "fresh_after": 8,
    }
    assert rows(t.as_of("2024-03-05").changes_of_belief(0))[0]["change"] == "appeared"


def test_rows_that_had_no_key_when_it_was_not_declared(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "name VARCHAR, day DATE")
    t.append([{"name": None, "day": day(1).date()}, {"name": "a", "day": day(1).date()}])
    before = newest(lake)
    t.delete("name IS NULL")
    t.set_event_time("day", key="name")
    with pytest.raises(Invalid, match="has 1 row without a key"):
        rows(t.as_of(day(5)).changes_of_belief(before))
    assert rows(t.as_of(day(5)).changes_of_belief(before + 1)) == []


@pytest.mark.parametrize(("kind", "keys"), [("INTEGER", 450), ("DATE", 20), ("BLOB", 20)])
def test_many_keys_and_keys_that_are_not_listed(lake: tidelake.Lake, kind: str, keys: int) -> None:
    t = lake.create_table("t", f"k {kind}, part INTEGER, ts DATE, v INTEGER")
    t.set_event_time("ts", key=["k", "part"])
    made = f"SELECT {MADE[kind]} AS k, 1 AS part, DATE '2024-03-01' AS ts"
    some = f"FROM range({keys}) r(i)"
    t.append(duckdb.sql(f"{made}, 1 AS v {some}").to_arrow_table())
    then = newest(lake)
    t.append(duckdb.sql(f"{made}, (1 + i % 2)::INTEGER AS v {some}").to_arrow_table())
    found = rows(t.as_of("2024-03-02").changes_of_belief(then))
    assert len(found) == keys // 2
    assert {(row["change"], row["v_before"], row["v_after"]) for row in found} == {
        ("changed", 1, 2)
    }


MADE = {
    "INTEGER": "i::INTEGER",
    "DATE": "DATE '2024-01-01' + i::INTEGER",
    "BLOB": "encode(i::VARCHAR)",
}


def test_only_files_of_keys_with_other_rows_are_read(
    lake: tidelake.Lake, t: tidelake.Table
) -> None:
    for name in "abc":
        t.append([fact(name, n, n) for n in range(1, 21)])
    then = newest(lake)
    t.put(fact("b", 20, 99))
    (kept,) = [f.path for f in t.scan(where="name = 'b'").files()]
    for file in t.files():
        if file.path != kept:
            Path(file.path).unlink()
    assert told(t, day(25), then) == [("b", "changed", 20, 99)]


def test_names_that_are_taken(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", "change VARCHAR, v_after INTEGER, v INTEGER, ts DATE", key=["change", "v_after"]
    )
    t.set_event_time("ts", key=["change", "v_after"])
    t.put({"change": "a", "v_after": 1, "v": 5, "ts": day(1).date()})
    (found,) = rows(t.as_of(day(5)).changes_of_belief(1))
    assert list(found) == [
        *("change", "v_after", "_change", "v_before", "_v_after", "ts_before", "ts_after")
    ]
    assert (found["_change"], found["v_before"], found["_v_after"]) == ("appeared", None, 5)


def test_what_an_answer_cannot_do(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.put(fact("a", 1, 1))
    pinned = t.as_of(day(5))
    for refused in (
        lambda: t.changes_of_belief(since=1),
        lambda: pinned.changes(since=1),
        lambda: pinned.diff(1),
    ):
        with pytest.raises(Invalid) as error:
            refused()
        assert error.value.hint


def test_another_table_of_the_same_name(lake: tidelake.Lake, t: tidelake.Table) -> None:
    t.put(fact("a", 1, 1))
    before = newest(lake)
    t.drop()
    again = lake.create_table("t", COLUMNS, key="name", event_time="ts")
    with pytest.raises(NotFound, match="dropped"):
        again.as_of(day(5)).changes_of_belief(before).count()


def compared(t: tidelake.Table, moment: datetime, one: int, other: int) -> list[tuple[Any, ...]]:
    """The same, from the two answers themselves."""
    old, new = ({r["name"]: r for r in rows(t.known_at(at).as_of(moment))} for at in (one, other))
    found = []
    for name in sorted({*old, *new}):
        if repr(old.get(name)) != repr(new.get(name)):
            had, has = name in old, name in new
            kind = "changed" if had and has else "vanished" if had else "appeared"
            values = (old[name]["v"] if had else None, new[name]["v"] if has else None)
            found.append((name, kind, *values))
    return found


@pytest.mark.slow
def test_as_the_two_answers_differ(lake: tidelake.Lake, t: tidelake.Table, duck: Duck) -> None:
    t.rollup(as_of=day(1))
    Growth(t, duck, Random(3)).go(14)
    t.rollup(as_of=day(5))
    t.put(fact("a", 3, 77))
    ids = [s.snapshot_id for s in lake.snapshots()][1:]
    seen = 0
    for one, other in [(ids[0], ids[-1]), (ids[2], ids[-2]), (ids[4], ids[8]), (ids[-2], ids[-1])]:
        for moment in (day(2), day(6), day(9)):
            wanted = compared(t, moment, one, other)
            assert told(t.known_at(other), moment, one) == wanted
            seen += len(wanted)
    assert seen > 15


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(
    place: Place, lake: tidelake.Lake, t: tidelake.Table, duck: Duck, spark: Any
) -> None:
    Growth(t, duck, Random(7)).go(8)
    first = lake.snapshots()[3].snapshot_id
    nested = {"a": 1, "b": ["x", None]}
    t.put([fact("n", 1, float("nan"), s=nested), fact("m", 1, 0.0, s=nested)])
    then = newest(lake)
    t.put([fact("n", 1, float("nan"), s=nested), fact("m", 1, -0.0, s=nested)])
    with place.open(engine="spark", spark=spark) as other:
        for since in (first, then):
            found = other.table("t").as_of(day(8)).changes_of_belief(since)
            assert repr(rows(found)) == repr(rows(t.as_of(day(8)).changes_of_belief(since)))
    assert told(t, day(8), then) == [("m", "changed", 0.0, -0.0)]
    frame = t.as_of(day(8)).changes_of_belief(first).to_spark(spark)
    assert frame.count() == t.as_of(day(8)).changes_of_belief(first).count()
