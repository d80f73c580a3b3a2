"""A token makes a write one that is done once, whoever asks for it again; `expected` makes it one
that is refused if somebody else has come first."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.lake.changeable import Changeable
from tidelake.lake.table_writes import TableWrites
from tidelake.model.change import WriteResult
from tidelake.testing.faults import Meanwhile, watch_database
from tidelake.testing.place import Place

Doing = Callable[[tidelake.Lake, Path, dict[str, Any]], object]


def parquet(folder: Path) -> str:
    path = folder / "there.parquet"
    if not path.exists():
        pq.write_table(pa.table({"k": ["x"], "v": pa.array([7], pa.int64())}), path)
    return str(path)


FACT = {"k": "a", "ts": datetime(2024, 1, 2), "gone": False}

TABLE: dict[str, Doing] = {
    "append": lambda lake, _, terms: lake.table("t").append([{"k": "c", "v": 3}], **terms),
    "put": lambda lake, _, terms: lake.table("facts").put(FACT, **terms),
    "end": lambda lake, _, terms: lake.table("facts").end("a", at="2024-02-01", **terms),
    "overwrite": lambda lake, _, terms: lake.table("t").overwrite([{"k": "z", "v": 9}], **terms),
    "delete": lambda lake, _, terms: lake.table("t").delete("k = 'a'", **terms),
    "update": lambda lake, _, terms: lake.table("t").update({"v": "v + 1"}, **terms),
    "merge": lambda lake, _, terms: lake.table("t").merge([{"k": "a", "v": 5}], on="k", **terms),
    "merge_builder": lambda lake, _, terms: (
        lake.table("t")
        .merge_builder([{"k": "a"}], on="k", **terms)
        .when_matched_update({"v": "target.v + 1"})
        .execute()
    ),
    "add_files": lambda lake, path, terms: lake.table("t").add_files(parquet(path), **terms),
    "evolve": lambda lake, _, terms: lake.table("t").evolve(add={"w": "int32"}, **terms),
    "set_partitioning": lambda lake, _, terms: lake.table("t").set_partitioning("k", **terms),
    "set_sorting": lambda lake, _, terms: lake.table("t").set_sorting("v", **terms),
    "set_coverage": lambda lake, _, terms: lake.table("facts").set_coverage(
        "1d", event_time="ts", **terms
    ),
    "set_calendar": lambda lake, _, terms: lake.table("series").set_calendar("weekdays", **terms),
    "set_event_time": lambda lake, _, terms: lake.table("facts").set_event_time(
        None, key="k", **terms
    ),
    "set_comment": lambda lake, _, terms: lake.table("t").set_comment("said", **terms),
    "rollback": lambda lake, _, terms: lake.table("t").rollback(1, **terms),
    "drop": lambda lake, _, terms: tidelake.Table(TABLES[lake.url]).drop(**terms),
}
LAKE: dict[str, Doing] = {
    "append": lambda lake, _, terms: lake.append("u", [{"n": 1}], create=True, **terms),
    "create_schema": lambda lake, _, terms: lake.create_schema("new", **terms),
    "drop_schema": lambda lake, _, terms: lake.drop_schema("empty", **terms),
    "create_table": lambda lake, _, terms: lake.create_table("u", "n INT", **terms),
    "create_view": lambda lake, _, terms: lake.create_view("seen", "SELECT * FROM t", **terms),
    "drop": lambda lake, _, terms: lake.drop("t", **terms),
    "undrop": lambda lake, _, terms: lake.undrop("gone", **terms),
    "rename": lambda lake, _, terms: lake.rename("t", "renamed", **terms),
    "sql": lambda lake, _, terms: lake.sql("UPDATE t SET v = v + 1 WHERE v > 0", **terms),
}
WRITES = {f"table.{name}": do for name, do in TABLE.items()} | {
    f"lake.{name}": do for name, do in LAKE.items()
}
TABLES: dict[str, Any] = {}


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    with place.open() as lake:
        lake.create_table("t", "k VARCHAR, v BIGINT").append(
            [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
        )
        facts = lake.create_table(
            "facts", "k VARCHAR, ts TIMESTAMP, gone BOOLEAN",
            key="k", event_time="ts", tombstone="gone",
        )  # fmt: skip
        facts.append([FACT | {"ts": datetime(2024, 1, 1)}])
        lake.create_table("series", "ts TIMESTAMP", event_time="ts", bucket="1d")
        lake.create_schema("empty")
        lake.create_table("gone", "n INT")
        lake.drop("gone")
        TABLES[lake.url] = lake.table("t").source
        yield lake


GIVEN = ("WriteResult", "Merge", "object", "Table")


def public(face: type) -> set[str]:
    """What takes the terms of a commit, or should: all that gives what a write did."""
    return {
        name
        for name, value in vars(face).items()
        if not name.startswith("_")
        and callable(value)
        and inspect.signature(value).return_annotation in GIVEN
    } - {"table"}


def test_every_write_is_tried_here() -> None:
    assert public(TableWrites) == TABLE.keys()
    assert public(Changeable) == LAKE.keys()


def some_of_them(*names: str) -> list[Any]:
    """All writes; those with other names are slow."""
    return [
        pytest.param(each, marks=() if each.partition(".")[2] in names else pytest.mark.slow)
        for each in WRITES
    ]


LIKE_OTHERS = (
    *("set_sorting", "set_comment", "set_coverage", "set_calendar", "end"),
    *("create_schema", "drop_schema"),
)


@pytest.mark.parametrize("name", some_of_them(*({*TABLE, *LAKE} - {*LIKE_OTHERS})))
def test_twice_is_once(lake: tidelake.Lake, place: Place, tmp_path: Path, name: str) -> None:
    do = WRITES[name]
    before = len(lake.snapshots())
    first = do(lake, tmp_path, {"once": "job-7/2024-03-12", "author": "ann", "message": "why"})
    assert len(lake.snapshots()) == before + 1
    assert (lake.snapshots()[-1].author, lake.snapshots()[-1].message) == ("ann", "why")
    state = place.state()
    with place.open() as other:
        again = do(other, tmp_path, {"once": "job-7/2024-03-12"})
    assert place.state() == state
    if isinstance(first, WriteResult):
        assert isinstance(again, WriteResult)
        assert (first.duplicate, again.duplicate) == (False, True)
        own = {"attempts": 0, "duplicate": True, "commit_ms": 0.0}
        assert asdict(again) == asdict(first) | own
    wrong = Invalid if name in ("lake.create_table", "lake.append") else TypeError
    with pytest.raises(wrong, match="onec"):
        do(lake, tmp_path, {"onec": "x"})


@pytest.mark.parametrize(
    "name", some_of_them("append", "delete", "evolve", "create_table", "undrop")
)
def test_what_has_changed_is_refused(
    lake: tidelake.Lake, place: Place, tmp_path: Path, name: str
) -> None:
    """Whatever it is that is written to, somebody else has changed it after snapshot `then`."""
    parquet(tmp_path)
    then = lake.snapshots()[-1].snapshot_id
    if name.startswith(("lake.create", "lake.append")):
        lake.create_schema("new")
        lake.create_table("u", "n INT")
        lake.create_view("seen", "SELECT 1")
        then = lake.snapshots()[-1].snapshot_id
        lake.drop_schema("new")
        lake.drop("u")
        lake.drop("seen")
    if name == "lake.drop_schema":
        lake.drop_schema("empty")
        lake.create_schema("empty")
    if name == "lake.undrop":
        lake.undrop("gone")
        lake.drop("gone")
    lake.table("t").append([{"k": "d", "v": 4}])
    lake.table("facts").append([FACT | {"k": "d"}])
    lake.table("series").append([{"ts": datetime(2024, 1, 2)}])
    now = lake.snapshots()[-1].snapshot_id
    do = WRITES[name]
    with place.refuses(Conflict, f"since snapshot {then}"):
        do(lake, tmp_path, {"expected": then})
    do(lake, tmp_path, {"expected": now})
    assert lake.snapshots()[-1].snapshot_id == now + 1


def test_a_write_that_changes_nothing_is_done_too(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    before = len(lake.snapshots())
    first = t.delete("k = 'new'", once="clean/1")
    assert (first.deleted, first.duplicate) == (0, False)
    t.append([{"k": "new", "v": 0}])
    again = t.delete("k = 'new'", once="clean/1")
    assert (again.deleted, again.duplicate, again.snapshot_id) == (0, True, first.snapshot_id)
    assert t.count() == 3
    assert len(lake.snapshots()) == before + 1


def test_a_token_is_for_one_thing(lake: tidelake.Lake, place: Place) -> None:
    t = lake.table("t")
    t.append([{"k": "c", "v": 3}], once="x")
    for other in (
        lambda: t.delete("k = 'c'", once="x"),
        lambda: lake.table("facts").append([FACT], once="x"),
        lambda: lake.sql("INSERT INTO facts SELECT * FROM facts", once="x"),
        lambda: lake.create_schema("s", once="x"),
    ):
        with place.refuses(Invalid, "'x' was used for append of main.t"):
            other()
    lake.sql("INSERT INTO t VALUES ('d', 4)", once="y")
    with place.refuses(Invalid, "'y' was used for insert of main.t"):
        lake.sql("INSERT INTO facts SELECT * FROM facts", once="y")
    assert lake.sql("WITH q AS (SELECT 1) INSERT INTO main.T SELECT 'e', 5", once="y").duplicate
    tx = lake.transaction(once="x")
    tx.table("facts").append([FACT])
    with place.refuses(Invalid, "'x' was used for append of main.t"):
        tx.commit()


@pytest.mark.parametrize("token", ["", "  ", " x", "x\n", "x" * 201, 7, b"x", "a\x00b"])
def test_tokens_are_text(lake: tidelake.Lake, place: Place, token: Any) -> None:
    with place.refuses(Invalid, "token"):
        lake.table("t").append([{"k": "c", "v": 3}], once=token)
    with place.refuses(Invalid, "token"):
        lake.transaction(once=token)


CATALOGS = ["sqlite", "duckdb", "postgresql", "mariadb"]


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_tokens_differ_by_every_sign(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    for token in ("x", "X", "é", "e", "e\u0301", "x" * 200, "x/1", "x/01", "'", "%"):
        assert not t.append([{"k": "c", "v": 3}], once=token).duplicate
    assert t.count() == 12


def test_a_transaction_over_two_tables(lake: tidelake.Lake, place: Place) -> None:
    def body(tx: Any) -> None:
        tx.table("t").append([{"k": "c", "v": 3}] * 50)
        tx.table("facts").append([FACT])
        tx.create_table("fresh" if "main.fresh" not in tx.tables() else "other", "n INT")

    with lake.transaction(once="load/7") as first:
        assert not first.is_done
        body(first)
    assert first.result is not None
    assert not first.result.duplicate
    state = place.state()
    with lake.transaction(once="load/7") as skipped:
        assert skipped.is_done
    assert asdict(skipped.result) == asdict(first.result) | {
        "attempts": 0,
        "duplicate": True,
        "commit_ms": 0.0,
    }
    with lake.transaction(once="load/7") as run:
        run.table("t").append([{"k": "c", "v": 3}] * 50)
        run.table("facts").append([FACT])
    assert run.result == skipped.result
    assert place.state() == state
    with place.refuses(Invalid, "main.other"), lake.transaction(once="load/7") as wrong:
        body(wrong)
    assert lake.table("t").append([{"k": "c", "v": 3}], once="load/7").duplicate
    assert not place.unknown_files()


def test_inside_of_a_transaction_it_is_refused(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        for name, value in {"once": "x", "expected": 1, "author": "a", "message": "m"}.items():
            with pytest.raises(Invalid, match=f"{name}= is of a whole commit") as told:
                tx.table("t").append([{"k": "c", "v": 3}], **{name: value})
            assert "give it to the transaction" in (told.value.hint or "")
            with pytest.raises(Invalid, match=f"{name}= is of a whole commit"):
                tx.create_schema("s", **{name: value})
        tx.rollback()


def test_what_fails_leaves_the_token(lake: tidelake.Lake) -> None:
    with lake.transaction(once="x") as tx:
        tx.table("t").append([{"k": "c", "v": 3}])
        tx.rollback()
    with pytest.raises(Invalid):
        lake.table("t").append([{"strange": 1}], once="x")
    assert not lake.table("t").append([{"k": "c", "v": 3}], once="x").duplicate


def test_a_rollback_does_not_free_it(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    before = lake.snapshots()[-1].snapshot_id
    t.append([{"k": "c", "v": 3}], once="x")
    t.rollback(before)
    assert t.append([{"k": "c", "v": 3}], once="x").duplicate
    assert t.count() == 2


def test_a_query_takes_none(lake: tidelake.Lake) -> None:
    with pytest.raises(Invalid, match="a query is not committed"):
        lake.sql("SELECT 1", once="x")


@pytest.mark.parametrize("rows", [1, 50])
def test_who_comes_second_finds_it_inside_the_lock(
    lake: tidelake.Lake, place: Place, rows: int
) -> None:
    """The first look saw nothing, and then somebody else was faster."""
    lake.set_option("data_inlining_row_limit", 10)
    data = [{"k": "c", "v": 3}] * rows
    with place.open() as other:

        def faster() -> None:
            assert not other.table("t").append(data, once="x").duplicate

        def in_a_thread() -> None:
            thread = threading.Thread(target=faster)
            thread.start()
            thread.join()

        meanwhile = Meanwhile("write", in_a_thread)
        with watch_database(lake, meanwhile):
            done = lake.table("t").append(data, once="x")
        assert meanwhile.happened
    assert done.duplicate
    assert lake.table("t").count() == 2 + rows
    assert not place.unknown_files()


def test_who_fails_because_of_the_first_is_a_duplicate(lake: tidelake.Lake, place: Place) -> None:
    """A table that is there by now cannot be created: because it has been, under the token."""
    with place.open() as other:
        meanwhile = Meanwhile("write", lambda: other.create_table("u", "n INT", once="x"))
        with watch_database(lake, meanwhile):
            assert lake.create_table("u", "n INT", once="x").count() == 0
        assert meanwhile.happened


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_expiry(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    for number in (1, 2, 10, 9):
        t.append([{"k": "s", "v": number}], once=f"stream/{number}")
    t.append([{"k": "j", "v": 0}], once="job-7/2024-03-12")
    t.delete("k = 'nobody'", once="nothing")
    t.append([{"k": "o", "v": 0}], once="other/part/5")
    lake.tag("kept")
    t.append([{"k": "z", "v": 0}], once="z")

    def kept() -> set[str]:
        with lake.session.reading() as reader:
            return {row[0] for row in reader.rows("SELECT token FROM tidelake_once")}

    lake.expire(keep_last=1)
    assert kept() == {"stream/10", "other/part/5", "z"}
    assert t.append([{"k": "s", "v": 10}], once="stream/10").duplicate
    assert not t.append([{"k": "s", "v": 1}], once="stream/1").duplicate
    t.append([{"k": "s", "v": 11}], once="stream/11")
    lake.untag("kept")
    lake.expire(keep_last=1)
    assert kept() == {"stream/11", "other/part/5"}


@pytest.mark.slow
def test_without_the_table_the_lake_is_whole(lake: tidelake.Lake, place: Place) -> None:
    lake.table("t").append([{"k": "c", "v": 3}], once="x")
    place.catalog("DROP TABLE tidelake_once")
    assert lake.verify().ok
    assert not lake.table("t").append([{"k": "c", "v": 3}], once="x").duplicate
    assert lake.table("t").append([{"k": "c", "v": 3}], once="x").duplicate
    with place.duck() as duck:
        assert duck.execute("SELECT count(*) FROM lake.t").fetchone() == (4,)
    place.catalog("UPDATE tidelake_once SET result = 'rubbish'")
    with pytest.raises(tidelake.errors.Corrupt, match="tidelake_once"):
        lake.table("t").append([{"k": "c", "v": 3}], once="x")


def test_upkeep_is_no_change_for_those_who_expect_one(lake: tidelake.Lake) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.table("t")
    for number in range(3):
        t.append([{"k": "c", "v": number}])
    then = lake.snapshots()[-1]
    assert t.compact().snapshots
    lake.table("facts").append([FACT])  # nor is what happens to others
    t.update({"v": "0"}, expected=then.snapshot_id)
    with pytest.raises(Conflict, match=r"main.t has changed \(snapshot \d+, update\)"):
        t.update({"v": "1"}, expected=then.time)
    lake.tag("present")
    t.set_comment("a comment is declared too", expected="present")
    with pytest.raises(Conflict, match="alter table"):
        t.append([{"k": "c", "v": 3}], expected="present")
    with pytest.raises(NotFound, match="99"):
        t.append([{"k": "c", "v": 3}], expected=99)
    lake.untag("present")
    before, last = (each.snapshot_id for each in lake.snapshots()[-2:])
    lake.tag("held", before - 1)
    lake.expire(keep_last=1)
    with pytest.raises(Conflict, match="nobody can tell"):
        t.append([{"k": "c", "v": 3}], expected="held")
    assert t.append([{"k": "c", "v": 3}], expected=last).attempts == 1


def test_a_transaction_expects_it_of_all_its_tables(lake: tidelake.Lake, place: Place) -> None:
    then = lake.snapshots()[-1].snapshot_id
    with lake.transaction(expected=then) as tx:
        tx.table("t").delete("k = 'nobody'")
        tx.table("facts").append([FACT])
    with lake.transaction(expected=then) as tx:
        tx.table("t").append([{"k": "c", "v": 3}])
        with place.refuses(Conflict, "main.facts"):
            tx.table("facts").append([FACT])
        tx.rollback()
    tx = lake.transaction(expected=then + 1)
    tx.table("t").append([{"k": "c", "v": 3}] * 50)
    lake.table("t").append([{"k": "d", "v": 3}])
    with pytest.raises(Conflict, match=r"main\.t"):
        tx.commit()
    assert not place.unknown_files()


def test_who_comes_again_expects_what_was_before(lake: tidelake.Lake) -> None:
    """The table has changed since, by the first time that it was done."""
    then = lake.snapshots()[-1].snapshot_id
    for duplicate in (False, True):
        done = lake.table("facts").append([FACT], once="single", expected=then)
        assert done.duplicate is duplicate
        with lake.transaction(once="both", expected=then) as tx:
            tx.table("t").append([{"k": "c", "v": 3}])
        assert tx.result is not None
        assert tx.result.duplicate is duplicate
    with pytest.raises(Conflict, match="has changed"):
        lake.table("t").append([{"k": "c", "v": 3}], once="other", expected=then)


def test_what_is_expected_is_looked_at_inside_the_lock(lake: tidelake.Lake, place: Place) -> None:
    then = lake.snapshots()[-1].snapshot_id
    with place.open() as other:
        faster = Meanwhile("write", lambda: other.table("t").append([{"k": "d", "v": 3}]))
        with watch_database(lake, faster), pytest.raises(Conflict, match="has changed"):
            lake.table("t").append([{"k": "c", "v": 3}] * 50, expected=then)
        assert faster.happened
    assert lake.table("t").count() == 3
    assert not place.unknown_files()
    assert datetime.now(UTC) > lake.snapshots()[-1].time
