"""UPDATE and DELETE for a portion of event time: other facts inside of it, the same outside, and
no answer of an earlier snapshot changes."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

import tidelake
from tests.event_time.grid import instant, rows
from tests.event_time.growth import day, fact
from tests.event_time.lived import lived, valid
from tidelake.errors import Conflict, Denied, Invalid, Unsupported
from tidelake.testing.place import Place

HOURS = [instant(day(1)) + timedelta(hours=12 * n - 36) for n in range(28)]
State = dict[str, int | None]


def facts_table(lake: tidelake.Lake, *, ends: bool = False) -> tidelake.Table:
    columns = "name VARCHAR, v INTEGER, gone BOOLEAN, ts TIMESTAMP, until TIMESTAMP"
    more = {"valid_to": "until"} if ends else {}
    return lake.create_table("t", columns, key="name", event_time="ts", tombstone="gone", **more)


def grid(t: tidelake.Table) -> list[State]:
    """The state at every moment, from the rows themselves."""
    ends = "until" if "tidelake.valid_to" in t.tags else None
    then = lived(t, ("name", "v", "gone", "ts", "until"), last=True)[-1]
    return [{row["name"]: row["v"] for row in then.held(moment, ends)} for moment in HOURS]


def asked(t: tidelake.Table, chance: Random) -> list[State]:
    """What the lake answers: by its periods, and as of some of the moments."""
    held = rows(t.between())
    found = [{row["name"]: row["v"] for row in valid(held, moment)} for moment in HOURS]
    for place in chance.sample(range(len(HOURS)), 3):
        found[place] = {row["name"]: row["v"] for row in rows(t.as_of(HOURS[place]))}
    return found


def fill(t: tidelake.Table, chance: Random, *, ends: bool = False) -> None:
    for _ in range(chance.randint(2, 4)):
        facts = []
        for _ in range(chance.randint(1, 8)):
            when = chance.randint(1, 9)
            made = fact(chance.choice("abc"), when, chance.randint(0, 9))
            if ends and chance.random() < 0.6:
                made["until"] = day(when + chance.randint(0, 4))
            facts.append(made | {"gone": chance.random() < 0.2})
        t.append(facts)


def moment(chance: Random) -> datetime | None:
    return None if chance.random() < 0.2 else day(1) + timedelta(hours=12 * chance.randint(-2, 20))


def said(value: datetime | None) -> str:
    return "NULL" if value is None else f"TIMESTAMP '{value}'"


def change(t: tidelake.Table, lake: tidelake.Lake, chance: Random) -> None:
    """One statement, after which every moment has the answer that it must have."""
    start, end = moment(chance), moment(chance)
    if start is not None and end is not None and start > end:
        start, end = end, start
    odd, deletes = chance.randint(0, 1), chance.random() < 0.4
    before = grid(t)
    portion = f"FOR PORTION OF VALID_TIME FROM {said(start)} TO {said(end)}"
    where = f"x.v % 2 = {odd} AND x.name <> 'c'"
    bare = where.replace("x.", "")
    if chance.random() < 0.5:
        verb = (
            f"DELETE FROM t {portion} AS x" if deletes else f"UPDATE t {portion} x SET v = x.v + 20"
        )
        lake.sql(f"{verb} WHERE {where}")
    elif deletes:
        t.delete(bare, portion=(start, end))
    else:
        t.update({"v": "v + 20"}, bare, portion=(start, end))
    expected = []
    for at, state in zip(HOURS, before, strict=True):
        inside = (start is None or instant(start) <= at) and (end is None or at < instant(end))
        after: State = {}
        for name, v in state.items():
            hit = inside and name != "c" and v is not None and v % 2 == odd
            if not (hit and deletes):
                after[name] = v + 20 if hit and v is not None else v
        expected.append(after)
    assert asked(t, chance) == expected == grid(t), (portion, where, deletes)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("seed", "steps"),
    [(1, 1), *(pytest.param(n, 8, marks=pytest.mark.slow) for n in range(2, 30))],
)
def test_inside_it_is_changed_and_outside_as_it_was(
    lake: tidelake.Lake, seed: int, steps: int, ends: bool
) -> None:
    chance = Random(seed)
    t = facts_table(lake, ends=ends)
    fill(t, chance, ends=ends)
    before: dict[int, Any] = {}
    for _ in range(steps):
        before[lake.snapshots()[-1].snapshot_id] = grid(t)
        change(t, lake, chance)
        if chance.random() < 0.3:
            t.compact()
    for at, states in before.items():
        assert asked(t.known_at(at), chance) == states


def test_a_worked_example(lake: tidelake.Lake) -> None:
    """What held at the end of the portion holds from there on."""
    t = facts_table(lake)
    t.put([fact("a", 1, 1), fact("a", 5, 5), fact("b", 1, 1)])
    done = t.update({"v": "v * 10"}, "name = 'a'", portion=("2024-03-03", "2024-03-07"))
    assert (done.rows, done.inserted, done.operation) == (3, 3, "update")
    held = [
        (row["v"], row["valid_from"].day, row["valid_to"] and row["valid_to"].day)
        for row in rows(t.between())
        if row["name"] == "a"
    ]
    assert held == [(1, 1, 3), (10, 3, 5), (50, 5, 7), (5, 7, None)]
    done = t.delete("name = 'a'", portion=("2024-03-04", None))
    assert done.operation == "delete"
    assert {row["name"] for row in rows(t.as_of("2024-03-05"))} == {"b"}
    assert {row["name"] for row in rows(t.as_of("2024-03-09"))} == {"b"}
    assert t.update({"v": 0}, "name = 'nobody'", portion=(None, None)).rows == 0


def test_in_a_transaction_and_beside_others(lake: tidelake.Lake, place: Place) -> None:
    t = facts_table(lake)
    t.put([fact("a", 1, 1), fact("a", 9, 9)])
    with lake.transaction() as tx:
        tx.table("t").put(fact("a", 5, 5))
        tx.sql("UPDATE t FOR PORTION OF VALID_TIME FROM '2024-03-03' TO ? SET v = v + 1", [day(8)])
        assert [row["v"] for row in rows(tx.table("t").as_of("2024-03-06"))] == [6]
    assert [row["v"] for row in rows(t.between())] == [1, 2, 6, 5, 9]
    with place.open() as other:
        for meanwhile in (
            lambda: other.table("t").put(fact("a", 4, 4)),
            lambda: other.table("t").delete("v = 9"),
        ):
            tx = lake.transaction()
            tx.table("t").delete("true", portion=("2024-03-02", None))
            meanwhile()
            with pytest.raises(Conflict):
                tx.commit()


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_NS"])
def test_all_kinds_of_times(lake: tidelake.Lake, kind: str) -> None:
    t = lake.create_table("t", f"name VARCHAR, v INTEGER, ts {kind}", key="name", event_time="ts")
    t.append([{"name": "a", "v": 1, "ts": f"2024-03-0{n}"} for n in (1, 5)])
    t.update({"v": "2"}, portion=("2024-03-03", "2024-03-05"))
    held = [int(row["v"]) for n in range(1, 7) for row in rows(t.as_of(f"2024-03-0{n}"))]
    assert held == [1, 1, 2, 2, 1, 1]
    if kind == "DATE":
        with pytest.raises(Invalid, match="does not fit"):
            t.update({"v": "2"}, portion=("2024-03-03T12:00:00", None))


PORTION = "FOR PORTION OF VALID_TIME FROM"
ALWAYS = f"{PORTION} NULL TO NULL"
BAD: list[tuple[str, type[Exception], str]] = [
    ("UPDATE t FOR PORTION OF SYSTEM_TIME FROM NULL TO NULL SET v = 1", Unsupported, "SYSTEM"),
    (f"UPDATE t {PORTION} '2024-01-01' SET v = 1", Invalid, "has no TO"),
    (f"UPDATE t {PORTION} '2025-01-01' TO '2024-01-01' SET v = 1", Invalid, "is after"),
    (f"UPDATE t {ALWAYS} SET name = 'x'", Invalid, "'name'"),
    (f"UPDATE t {ALWAYS} SET ts = now()", Invalid, "'ts'"),
    (f"UPDATE plain {ALWAYS} SET a = 1", Invalid, "no key and event"),
    (f"DELETE FROM bare {ALWAYS}", Invalid, "no tombstone"),
    (f"SELECT * FROM t {ALWAYS}", Invalid, "changes nothing"),
    (f"INSERT INTO plain SELECT 1 FROM t {ALWAYS}", Invalid, "changes nothing"),
    (f"UPDATE t {PORTION} now() TO v SET v = 1", Unsupported, "cannot tell"),
    (f"UPDATE t {ALWAYS} {ALWAYS} SET v = 1", Invalid, "two portions"),
]


@pytest.mark.parametrize(("statement", "kind", "words"), BAD)
def test_what_is_refused(
    lake: tidelake.Lake, statement: str, kind: type[Exception], words: str
) -> None:
    t = facts_table(lake)
    t.put(fact("a", 1, 1))
    lake.create_table("plain", "a INTEGER")
    lake.create_table("bare", "a INTEGER, ts DATE", key="a", event_time="ts")
    count = len(lake.snapshots())
    with pytest.raises(kind, match=words):
        lake.sql(statement)
    assert len(lake.snapshots()) == count


def test_what_is_no_portion(lake: tidelake.Lake) -> None:
    t = facts_table(lake)
    for portion in ("2024-01-01", ("2024-01-01",), (1, 2), ("2025-01-01", "2024-01-01")):
        with pytest.raises(Invalid) as told:
            t.delete("true", portion=portion)  # type: ignore[arg-type]
        assert told.value.hint
    with pytest.raises(Denied):
        t.as_of("2024-01-01").delete("true", portion=(None, None))


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(place: Place, lake: tidelake.Lake, spark: Any) -> None:
    chance = Random(3)
    t = facts_table(lake)
    fill(t, chance)
    t.append([fact(chance.choice("abc"), chance.randint(1, 9), n) for n in range(30)])
    with place.open(engine="spark", spark=spark) as on_spark:
        here = lived(t, ("name", "v", "gone", "ts", "until"))[-1]
        before = grid(t)
        on_spark.sql(
            "UPDATE t FOR PORTION OF VALID_TIME FROM '2024-03-03' TO '2024-03-06 12:00'"
            " SET v = v + 20 WHERE v % 2 = 0"
        )
        for at, state, after in zip(HOURS, before, grid(t), strict=True):
            inside = instant(day(3)) <= at < instant(day(6)) + timedelta(hours=12)
            assert after == {
                name: v + 20 if inside and v is not None and v % 2 == 0 else v
                for name, v in state.items()
            }
        assert here.rows
        on_spark.table("t").delete("name = 'a'", portion=("2024-03-02", "2024-03-05"))
        assert [("a" in state) for state in grid(t)][5:11] == [False] * 6
