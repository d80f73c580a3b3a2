"""Consumers: what they are given, how far they have come, and who holds them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tidelake
from tests.concurrency.crowd import start, together
from tests.history.following import commit_a_share, hold_until_killed
from tidelake.errors import Conflict, Denied, Invalid, NotFound
from tidelake.model.tag import LONGEST_NAME
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


@pytest.fixture
def lake(place: Place) -> Iterator[tidelake.Lake]:
    """Snapshot 1 creates a table, 2 and 3 append a row each."""
    with place.open() as lake:
        lake.create_table("t", {"i": "int64"})
        lake.table("t").append([{"i": 1}])
        lake.table("t").append([{"i": 2}])
        yield lake


def span(batch: Any) -> tuple[int | None, int]:
    return batch.since, batch.until


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_poll_commit_and_go_on(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer("billing") as consumer:
        assert consumer.position is None
        batch = consumer.poll()
        assert batch is not None
        assert span(batch) == (None, 3)
        assert [s.snapshot_id for s in batch.snapshots] == [0, 1, 2, 3]
        assert batch.tables == ("main.t",)
        assert span(consumer.poll()) == (None, 3)
        consumer.commit()
        assert consumer.position == 3
        assert consumer.poll() is None
    lake.table("t").append([{"i": 3}])
    (state,) = lake.consumers()
    assert (state.name, state.snapshot_id, state.owner, state.lag) == ("billing", 3, None, 1)
    lake.close()
    with place.open() as again, again.consumer("billing", since=1) as consumer:
        assert span(consumer.poll()) == (3, 4)
        (state,) = again.consumers()
        assert state.owner == consumer.owner
        assert 50 < seconds_left(again) < 61
        consumer.drop()
        assert again.consumers() == []


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_only_one_holds_it(lake: tidelake.Lake, place: Place) -> None:
    first = lake.consumer("billing")
    with pytest.raises(Conflict, match=f"held by {first.owner} until ") as refused:
        lake.consumer("billing")
    assert "lease" in str(refused.value.hint)
    with lake.consumer("Billing"):
        pass
    first.close()
    lake.consumer("billing", lease_seconds=0.01)
    time.sleep(0.02)
    lake.consumer("billing").close()


def test_whoever_was_overtaken_gets_no_further(lake: tidelake.Lake, place: Place) -> None:
    slow = lake.consumer("billing", lease_seconds=0.01)
    slow.poll()
    time.sleep(0.02)
    quick = lake.consumer("billing")
    before = lake.consumers()
    for call in (slow.commit, slow.poll, slow.renew, slow.drop, partial(slow.seek, 1)):
        with place.refuses(Conflict, f"{quick.owner} has taken it"):
            call()
    with place.refuses(Conflict):
        _ = slow.position
    slow.close()
    assert lake.consumers() == before
    assert span(quick.poll(limit=2)) == (None, 1)
    quick.close()
    lake.consumer("billing").close()
    with place.refuses(Conflict, "another had it since"):
        quick._closed = False
        quick.commit()


def test_a_lease_that_is_over_still_holds_while_nobody_wants_it(lake: tidelake.Lake) -> None:
    with lake.consumer("billing", lease_seconds=0.01) as consumer:
        consumer.poll()
        time.sleep(0.02)
        consumer.commit()
        assert consumer.position == 3


def test_polling_renews_the_lease(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer("billing", since=3) as consumer:
        soon = (datetime.now(UTC) + timedelta(seconds=20)).isoformat()
        place.catalog("UPDATE tidelake_consumer SET lease_until = ?", soon)
        assert consumer.poll() is None
        assert seconds_left(lake) > 50
        place.catalog("UPDATE tidelake_consumer SET lease_until = ?", soon)
        consumer.renew()
        assert seconds_left(lake) > 50


def seconds_left(lake: tidelake.Lake) -> float:
    (state,) = lake.consumers()
    assert state.lease_until is not None
    return (state.lease_until - datetime.now(UTC)).total_seconds()


def test_a_few_at_a_time(lake: tidelake.Lake) -> None:
    seen = []
    with lake.consumer("billing", since=0) as consumer:
        while batch := consumer.poll(limit=2):
            seen.append((batch.since, batch.until))
            consumer.commit(batch)
        for wrong in (0, -1, 1.5, "all"):
            with pytest.raises(Invalid):
                consumer.poll(limit=wrong)  # type: ignore[arg-type]
    assert seen == [(0, 2), (2, 3)]


def test_batches_are_committed_in_order_and_once(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer("billing", since=0) as consumer:
        with place.refuses(Invalid, "nothing to commit"):
            consumer.commit()
        first = consumer.poll(limit=1)
        assert first is not None
        consumer.commit(first)
        consumer.commit(first)
        assert consumer.position == 1
        second = consumer.poll(limit=1)
        assert second is not None
        consumer.commit(second)
        with pytest.raises(Conflict, match="is at 2, and the batch begins after 0"):
            consumer.commit(first)
        assert consumer.position == 2


def test_starting_somewhere_else(lake: tidelake.Lake, place: Place) -> None:
    lake.tag("here", 2)
    with lake.consumer("by tag", since="here") as consumer:
        assert consumer.position == 2
    with lake.consumer("by time", since=lake.snapshots()[1].time) as consumer:
        assert consumer.position == 1
        consumer.seek("here")
        assert span(consumer.poll()) == (2, 3)
        consumer.seek(None)
        assert span(consumer.poll()) == (None, 3)
        with pytest.raises(NotFound):
            consumer.seek(9)
    with place.refuses(NotFound):
        lake.consumer("nowhere", since=9)


def test_only_tables_whose_rows_may_have_changed(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    lake.create_schema("other")
    lake.create_table("other.u", {"i": "int64"}).append([{"i": 1}])
    with lake.consumer("billing") as consumer:
        assert consumer.poll().tables == ("main.t", "other.u")
        consumer.commit()
        lake.table("t").delete("i = 1")
        duck.execute("CALL ducklake_flush_inlined_data('lake', schema_name => 'other')")
        assert lake.snapshots()[-1].changes == (f"inline_flush:{lake.table('other.u').info.id}",)
        lake.create_table("v", {"i": "int64"})
        assert consumer.poll().tables == ("main.t", "main.v")
        consumer.commit()
        lake.rename("v", "w")
        lake.drop("t")
        assert consumer.poll().tables == ("main.w",)


def test_overtaken_by_expiry(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    with lake.consumer("at 1", since=1) as behind, lake.consumer("new") as new:
        duck.execute("CALL ducklake_expire_snapshots('lake', versions => [1, 2])")
        with pytest.raises(NotFound, match="expired: 1, 2 ") as told:
            behind.poll()
        assert "seek(None)" in str(told.value.hint)
        behind.seek(None)
        assert span(behind.poll()) == (None, 3)
        assert span(new.poll()) == (None, 3)
    with lake.consumer("between", since=0) as consumer, pytest.raises(NotFound, match=": 1, 2 "):
        consumer.poll()


def test_its_own_snapshot_is_gone(lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> None:
    with lake.consumer("billing", since=2) as consumer:
        duck.execute("CALL ducklake_expire_snapshots('lake', versions => [2])")
        with pytest.raises(NotFound, match="expired: 2 "):
            consumer.poll()


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * (LONGEST_NAME + 1), None])
def test_names_that_are_refused(lake: tidelake.Lake, place: Place, name: str) -> None:
    with place.refuses(Invalid):
        lake.consumer(name)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "60", None])
def test_leases_that_are_none(lake: tidelake.Lake, place: Place, seconds: Any) -> None:
    with place.refuses(Invalid):
        lake.consumer("billing", lease_seconds=seconds)


def test_not_where_nothing_may_be_written(lake: tidelake.Lake, place: Place) -> None:
    with lake.consumer("7") as consumer:
        consumer.poll()
    with place.open(read_only=True) as reader:
        assert [state.name for state in reader.consumers()] == ["7"]
        with place.refuses(Denied):
            reader.consumer("7")
    with place.refuses(Denied):
        lake.known_at(1).consumer("7")
    with place.refuses(Invalid), lake.transaction() as tx:
        tx.consumer("7")
    with place.refuses(Invalid, "has been closed"):
        consumer.poll()
    place.catalog("DROP TABLE tidelake_consumer")
    assert lake.consumers() == []


def test_the_changes_of_all_batches_make_the_table(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    copy: dict[int, Any] = {}
    with lake.consumer("copy", since=1) as consumer:
        for write in (
            lambda: lake.table("t").update({"i": "i + 10"}, where="i = 1"),
            lambda: duck.execute("INSERT INTO t SELECT range FROM range(100, 200)"),
            lambda: lake.table("t").delete("i % 3 = 0"),
            lambda: duck.execute("CALL ducklake_flush_inlined_data('lake')"),
            lambda: lake.table("t").compact(),
            lambda: lake.rename("t", "u"),
        ):
            write()
            while batch := consumer.poll(limit=2):
                for name in batch.tables:
                    for change in batch.changes(name).to_arrow().to_pylist():
                        follow(copy, change)
                consumer.commit()
    assert sorted(copy.values()) == sorted(lake.table("u").to_arrow()["i"].to_pylist())


def follow(copy: dict[int, Any], change: dict[str, Any]) -> None:
    if change["change_type"] == "insert":
        assert change["rowid"] not in copy
    else:
        assert change["rowid"] in copy
    if change["change_type"] in ("insert", "update_postimage"):
        copy[change["rowid"]] = change["i"]
    elif change["change_type"] == "delete":
        del copy[change["rowid"]]


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_two_workers_commit_every_snapshot_once(lake: tidelake.Lake, place: Place) -> None:
    """Also where a lease is too short for the work, and the other takes over again and again."""
    for number in range(5):
        lake.table("t").append([{"i": number}])
    done = together(*[partial(commit_a_share, place, 4) for _ in range(2)])
    spans = sorted(span for each in done for span in each)
    assert spans == [(since, since + 1) for since in range(8)]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_killed_holder_is_taken_over(lake: tidelake.Lake, place: Place, tmp_path: Path) -> None:
    sign = tmp_path / "polled"
    process = start(partial(hold_until_killed, place, sign))
    while not sign.exists():
        time.sleep(0.02)
    process.kill()
    process.join()
    with pytest.raises(Conflict, match=sign.read_text()):
        lake.consumer("billing")
    deadline = time.monotonic() + 300
    while True:
        try:
            consumer = lake.consumer("billing")
            break
        except Conflict:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert span(consumer.poll()) == (1, 3)
