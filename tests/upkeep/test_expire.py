"""What goes, what stays and why, and what is said of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest

import tidelake
from tests.upkeep.histories import foreign, many
from tidelake.catalog import own_tables
from tidelake.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from tidelake.testing.agreement import rows
from tidelake.testing.faults import Meanwhile, watch_database
from tidelake.testing.place import Place

CATALOGS = ("sqlite", "duckdb", "postgresql", "mariadb")


def ids(lake: tidelake.Lake) -> list[int]:
    return [each.snapshot_id for each in lake.snapshots()]


def grown(lake: tidelake.Lake, count: int = 5) -> tidelake.Table:
    """A table that is overwritten again and again: snapshots 1 to count + 1."""
    t = lake.create_table("t", "i BIGINT, s VARCHAR")
    for number in range(count):
        t.overwrite(many(number, 20))
    return t


def at_position(lake: tidelake.Lake, name: str, snapshot_id: int) -> None:
    """A consumer that has come so far."""
    with lake.consumer(name, since=snapshot_id):
        pass


def test_by_number(lake: tidelake.Lake) -> None:
    grown(lake)
    result = lake.expire(keep_last=2)
    assert result.snapshots == (0, 1, 2, 3, 4)
    assert ids(lake) == [5, 6]
    assert (result.files, result.tables, result.kept) == (3, (), ())
    assert lake.known_at(5).table("t").count() == lake.table("t").count() == 20


def test_by_age(place: Place, lake: tidelake.Lake) -> None:
    grown(lake)
    for number in range(7):
        old = datetime.now(UTC) - timedelta(days=7 - number)
        place.catalog(
            "UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?",
            old.isoformat(),
            number,
        )
    assert lake.expire("150 hours", dry_run=True).snapshots == (0,)
    assert lake.expire(timedelta(days=5.5), dry_run=True).snapshots == (0, 1)
    moment = datetime.now(UTC) - timedelta(days=4.5)
    assert lake.expire(moment, dry_run=True).snapshots == (0, 1, 2)
    assert lake.expire(moment.isoformat(), dry_run=True).snapshots == (0, 1, 2)
    assert lake.expire("5 days 12:00:00", keep_last=6, dry_run=True).snapshots == (0,)
    assert lake.expire("0 seconds", keep_last=3, dry_run=True).snapshots == (0, 1, 2, 3)
    assert lake.expire("1 second", dry_run=True).snapshots == (0, 1, 2, 3, 4, 5)
    assert ids(lake) == list(range(7))
    lake.set_option("expire_older_than", "3 days 12 hours")
    assert lake.expire().snapshots == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "was not told"),
        ({"keep_last": 0}, "keep_last=0"),
        ({"keep_last": True}, "keep_last=True"),
        ({"keep_last": "3"}, "keep_last='3'"),
        ({"older_than": "yesterday"}, "yesterday"),
        ({"older_than": 7}, "older_than=7"),
        ({"older_than": timedelta(days=-1)}, "future"),
        ({"older_than": "9000 years"}, "9000 years"),
    ],
)
def test_bad_wishes(place: Place, lake: tidelake.Lake, given: dict[str, Any], match: str) -> None:
    grown(lake, 1)
    with place.refuses(Invalid, match):
        lake.expire(**given)


def test_not_from_the_past_nor_read_only_nor_in_a_transaction(
    place: Place, lake: tidelake.Lake
) -> None:
    grown(lake, 2)
    with place.refuses(Denied):
        lake.known_at(1).expire(keep_last=1)
    with place.refuses(Denied), place.open(read_only=True) as reader:
        reader.expire(keep_last=1)
    with place.open(read_only=True) as reader:
        assert reader.expire(keep_last=1, dry_run=True).snapshots == (0, 1, 2)
    for doing in (lambda tx: tx.expire(keep_last=1), lambda tx: tx.cleanup()):
        with place.refuses(Invalid, "transaction"), lake.transaction() as tx:
            doing(tx)


def test_a_dry_run_changes_nothing_and_says_the_same(place: Place, lake: tidelake.Lake) -> None:
    grown(lake)
    lake.create_table("gone", "a BIGINT").append([{"a": 1}])
    lake.drop("gone")
    lake.tag("important", 3)
    before = place.state()
    would = lake.expire(keep_last=1, dry_run=True)
    assert place.state() == before
    done = lake.expire(keep_last=1)
    told = (would.snapshots, would.files, would.bytes, would.tables, would.rows, would.kept)
    assert told == (done.snapshots, done.files, done.bytes, done.tables, done.rows, done.kept)
    assert (done.rows, done.tables) == (1, ("main.gone",))
    assert "would expire" in str(would)
    assert "tagged important" in str(done)


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_what_is_tagged_stays(lake: tidelake.Lake) -> None:
    grown(lake)
    lake.tag("second", 2)
    lake.tag("also the second", 2)
    lake.tag("fourth", 4)
    expected = {each: rows(lake.known_at(each).table("t")) for each in (2, 4, 6)}
    result = lake.expire(keep_last=1)
    assert [(each.snapshot_id, set(each.tags)) for each in result.kept] == [
        (2, {"second", "also the second"}),
        (4, {"fourth"}),
    ]
    lake.cleanup("0 seconds")
    assert ids(lake) == [2, 4, 6]
    assert {each: rows(lake.known_at(each).table("t")) for each in (2, 4, 6)} == expected
    lake.untag("fourth")
    assert lake.expire(keep_last=1).snapshots == (4,)


@pytest.mark.parametrize("place", CATALOGS, indirect=True)
def test_a_consumer_is_not_overtaken(lake: tidelake.Lake) -> None:
    grown(lake)
    at_position(lake, "billing", 4)
    at_position(lake, "slow one", 6)
    for dry_run in (False, True):
        with pytest.raises(Conflict, match=r"'billing' \(at snapshot 4, 2 behind\)") as caught:
            lake.expire(keep_last=1, dry_run=dry_run)
        assert "slow one" not in str(caught.value)
    assert ids(lake) == list(range(7))
    assert lake.expire(keep_last=3).snapshots == (0, 1, 2, 3)
    assert lake.expire(keep_last=1, force=True).overtaken == ("billing",)
    assert ids(lake) == [6]


def test_a_consumer_that_has_taken_nothing_yet_needs_all(lake: tidelake.Lake) -> None:
    grown(lake)
    with lake.consumer("new"):
        pass
    with pytest.raises(Conflict, match=r"'new' \(at the beginning, 7 behind\)"):
        lake.expire(keep_last=1)
    assert len(ids(lake)) == 7
    assert len(lake.expire(keep_last=1, force=True).snapshots) == 6
    with lake.consumer("new") as consumer:
        batch = consumer.poll()
        assert batch is not None
        assert (batch.since, batch.until) == (None, 6)


def test_a_tag_or_consumer_that_comes_in_between_is_seen(lake: tidelake.Lake) -> None:
    """After the choice has been made, and before the snapshots go."""
    grown(lake)
    tag_first = Meanwhile("write", lambda: lake.tag("just in time", 2))
    with watch_database(lake, tag_first):
        result = lake.expire(keep_last=3)
    assert tag_first.happened
    assert [each.snapshot_id for each in result.kept] == [2]
    assert ids(lake) == [2, 4, 5, 6]

    follow_first = Meanwhile("write", lambda: at_position(lake, "just in time", 5))
    with watch_database(lake, follow_first), pytest.raises(Conflict, match="just in time"):
        lake.expire(keep_last=1)
    assert ids(lake) == [2, 4, 5, 6]


def test_what_is_pinned_to_an_expired_snapshot_says_so(place: Place, lake: tidelake.Lake) -> None:
    """Also when the plan had been made before: it makes no new snapshot, so plans stay."""
    t = grown(lake)
    pinned, whole = t.known_at(3), lake.known_at(3)
    assert pinned.to_arrow().num_rows == whole.table("t").count() == 20
    with place.open() as other:
        other.expire(keep_last=1)
        other.cleanup("0 seconds")
    for read in (
        pinned.to_arrow,
        pinned.count,
        lambda: pinned.schema,
        whole.tables,
        lambda: whole.table("t"),
        lambda: whole.sql("SELECT * FROM t").to_arrow(),
        lambda: lake.sql("SELECT * FROM t VERSION AS OF 3").to_arrow(),
        lambda: lake.known_at(3),
    ):
        with pytest.raises(NotFound, match="no snapshot 3"):
            read()
    assert t.count() == 20


def test_a_transaction_whose_base_is_gone_begins_again(place: Place, lake: tidelake.Lake) -> None:
    t = grown(lake)
    tx = lake.transaction()
    with place.open() as other:
        other.table("t").append([{"i": 1000, "s": "new"}])
        other.expire(keep_last=1)
    with pytest.raises(Conflict, match="expired"):
        tx.table("t").update({"s": "'x'"}, where="i < 1000")
    tx.rollback()
    assert t.update({"s": "'x'"}, where="i < 1000").updated == 20
    assert t.count() == 21


def test_a_write_that_others_overtook_is_not_lost_with_their_snapshots(
    place: Place, lake: tidelake.Lake
) -> None:
    """What landed since its base cannot be read any more, so everything counts as changed."""
    grown(lake)
    tx = lake.transaction()
    tx.table("t").delete("i > 10")
    with place.open() as other:
        other.table("t").update({"i": "i + 1"}, where="i > 10")
        other.table("t").append([{"i": 1, "s": "one more"}])
        other.expire(keep_last=1)
    with pytest.raises(Conflict):
        tx.commit()
    with lake.transaction() as tx:
        tx.table("t").append(many(500, 30))
        with place.open() as other:
            other.table("t").append([{"i": 2, "s": "two more"}])
            other.expire(keep_last=1)
    assert lake.table("t").count() == 20 + 1 + 1 + 30


def test_a_time_of_which_the_snapshot_is_gone_finds_no_other(lake: tidelake.Lake) -> None:
    """Of a snapshot that a tag kept, nobody can tell how long it was the newest."""
    grown(lake)
    times = {each.snapshot_id: each.time for each in lake.snapshots()}
    lake.tag("kept", 2)
    lake.expire(keep_last=2)
    assert ids(lake) == [2, 5, 6]
    for gone in (3, 4):
        with pytest.raises(NotFound, match="expired") as caught:
            lake.known_at(times[gone])
        assert "2, of" in str(caught.value.hint)
        assert "5, of" in str(caught.value.hint)
    for there in (2, 5, 6):
        assert repr(lake.known_at(times[there])).endswith(f"known at {there}>")
    assert repr(lake.known_at(times[5] + (times[6] - times[5]) / 2)).endswith("known at 5>")
    assert repr(lake.known_at(datetime(9000, 1, 1))).endswith("known at 6>")


def test_a_commit_of_which_nobody_knows_is_not_made_twice(lake: tidelake.Lake) -> None:
    """Its reply was lost, and what landed since has been expired."""
    from tidelake.catalog.commit.commit import landed_since

    grown(lake)
    with lake.session.reading() as reader:
        assert landed_since(reader, "no such token", 2) is None
    lake.expire(keep_last=2)
    with lake.session.reading() as reader, pytest.raises(Unavailable, match="nobody can tell"):
        landed_since(reader, "no such token", 2)


def test_a_file_that_is_registered_twice_is_scheduled_when_nobody_reads_it(
    place: Place, lake: tidelake.Lake
) -> None:
    path = foreign(place.folder / "found" / "x.parquet")
    for name in ("one", "two"):
        lake.create_table(name, "a BIGINT, b VARCHAR").add_files(path, take_over=True)
    lake.drop("one")
    assert lake.expire(keep_last=1).files == 0
    assert place.catalog("SELECT path FROM ducklake_files_scheduled_for_deletion") == []
    assert lake.cleanup("0 seconds").files == 0
    assert rows(lake.table("two")) == [{"a": 7, "b": "f"}]
    lake.drop("two")
    lake.expire(keep_last=1)
    assert lake.cleanup("0 seconds").paths == (path,)


def test_renamed_and_moved_tables_live_on(lake: tidelake.Lake) -> None:
    """DuckDB once took all of a table whose old name had expired."""
    t = lake.create_table("t", "i BIGINT, s VARCHAR")
    t.append(many(0, 30))
    t.append([{"i": 100, "s": "few"}])
    lake.create_schema("s")
    lake.rename("t", "u")
    lake.rename("u", "s.v")
    v = lake.table("s.v")
    v.evolve(rename={"s": "text"}, add={"n": "BIGINT"})
    v.delete("i = 3")
    before = rows(v)
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")
    assert rows(lake.table("s.v")) == before
    v.append([{"i": 101, "text": "more", "n": 1}])
    assert v.count() == 31


def test_what_duckdb_expired_half_is_finished(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, place: Place
) -> None:
    """Rows in the catalog that nobody can see; and the next expiry has nothing to do."""
    t = lake.create_table("t", "i BIGINT, s VARCHAR")
    t.append([{"i": n, "s": "few"} for n in range(5)])
    t.delete("i < 4")
    duck.execute("CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2])")
    result = lake.expire(keep_last=1)
    assert (result.snapshots, result.rows) == ((), 4)
    assert rows(t) == [{"i": 4, "s": "few"}]


def test_zones_and_fingerprints_of_what_is_gone_go_too(place: Place, lake: tidelake.Lake) -> None:
    grown(lake, 2)
    lake.create_table("gone", "a BIGINT").append([{"a": n} for n in range(20)])
    gone = lake.table("gone").info.id
    kept = lake.table("t").info.id
    lake.drop("gone")
    last = ids(lake)[-1]
    with lake.session.database.writing() as writer:
        own_tables.ensure(writer, "tidelake_fingerprint")
        marks = [(kept, 2), (kept, last), (gone, last)]
        writer.insert("tidelake_fingerprint", [{"table_id": t, "snapshot_id": s} for t, s in marks])
        zones = [(kept, 0), (kept, -1), (gone, 0), (gone, -1)]
        writer.insert(
            "tidelake_zone", [{"table_id": t, "column_id": c, "zone": 0} for t, c in zones]
        )
    lake.expire(keep_last=1)
    found = place.catalog("SELECT table_id, snapshot_id FROM tidelake_fingerprint")
    assert found == [(kept, last)]
    assert place.catalog("SELECT table_id, column_id FROM tidelake_zone ORDER BY 2") == [
        (kept, -1),
        (kept, 0),
    ]
    lake.table("t").delete("true")
    lake.expire(keep_last=1)
    assert place.catalog("SELECT table_id, column_id FROM tidelake_zone") == [(kept, -1)]


def test_many_batches(lake: tidelake.Lake, place: Place) -> None:
    """The same result whatever the size of a transaction."""
    grown(lake, 8)
    for number in range(3):
        lake.create_table(f"gone{number}", "i BIGINT, s VARCHAR").append(many(0, 20))
        lake.table(f"gone{number}").delete("i < 5")
        lake.drop(f"gone{number}")
    would = lake.expire(keep_last=1, dry_run=True)
    with place.tuned(batch=2).open() as other:
        done = other.expire(keep_last=1)
    assert (done.files, done.bytes, done.tables) == (would.files, would.bytes, would.tables)
    assert len(ids(lake)) == 1
    assert lake.cleanup("0 seconds").files == done.files


@pytest.mark.parametrize("place", ["mariadb"], indirect=True)
def test_mysql_drops_before_it_forgets(lake: tidelake.Lake) -> None:
    """A DROP commits there at once; the tables of rows of a dropped table are gone all the same."""
    lake.create_table("gone", "a BIGINT").append([{"a": 1}])
    table_id = lake.table("gone").info.id
    lake.drop("gone")
    lake.expire(keep_last=1)
    with lake.session.reading() as reader:
        left = reader.rows("SELECT * FROM ducklake_inlined_data_tables")
        assert left == []
        assert not reader.has_table(f"ducklake_inlined_data_{table_id}_1")
