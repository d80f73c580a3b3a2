"""What is kept is damaged by hand: `verify` says so, and `recompute_coverage` puts it right."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import tidelake
from tests.coverage.oracle import by_catalog, by_rows
from tidelake.coverage.values.bitmaps import Buckets, unpack
from tidelake.coverage.values.series import hash_of
from tidelake.errors import Corrupt, Denied, Invalid
from tidelake.testing.place import Place

NOON = datetime(2024, 3, 1, 12)
Damage = Callable[[tidelake.Lake], object]


def rows(first: int, count: int) -> list[dict[str, object]]:
    return [
        {"k": f"k{n % 3}", "ts": NOON + timedelta(minutes=n), "v": n}
        for n in range(first, first + count)
    ]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        t = lake.create_table(
            "t",
            "k VARCHAR, ts TIMESTAMP, v INTEGER",
            entity="k",
            event_time="ts",
            bucket="1m",
        )
        t.append(rows(0, 60))
        t.append(rows(60, 60))
        t.delete("v < 10")
        assert t.coverage().covered == 110
        yield lake


def execute(lake: tidelake.Lake, sql: str, **values: object) -> None:
    with lake.session.database.writing() as writer:
        writer.execute(sql, **values)


def value(lake: tidelake.Lake, sql: str) -> object:
    with lake.session.reading() as reader:
        row = reader.row(sql)
    assert row is not None
    return row[0]


def flip(lake: tidelake.Lake) -> None:
    """A bucket more in the bitmap of the present, with columns beside it that say the same."""
    which = "data_file_id = 0 AND end_snapshot IS NULL AND part = 0"
    where = f"{which} AND entity = '[\"k1\"]'"
    data = value(lake, f"SELECT buckets FROM tidelake_coverage WHERE {where}")
    assert isinstance(data, bytes)
    buckets = Buckets(unpack(data))
    buckets.add(buckets.min() + 1)
    execute(
        lake,
        "UPDATE tidelake_coverage SET buckets = :data, bucket_count = bucket_count + 1"
        f" WHERE {where}",
        data=buckets.serialize(),
    )


def scramble(lake: tidelake.Lake) -> None:
    execute(lake, "UPDATE tidelake_coverage SET buckets = :data WHERE part = 0", data=b"no")


DAMAGE: dict[str, tuple[Damage, str, bool]] = {
    "a bucket too many": (flip, "is kept as covered, and has no row", True),
    "a bitmap that is none": (scramble, "cannot be read", False),
    "a bitmap less": (
        lambda lake: execute(
            lake,
            "DELETE FROM tidelake_coverage WHERE data_file_id = 1 AND entity = '[\"k2\"]'",
        ),
        "has rows, and is not kept; 20 buckets differ",
        True,
    ),
    "a record less": (
        lambda lake: execute(lake, "DELETE FROM tidelake_coverage_file WHERE data_file_id = 1"),
        "of which it is not said that they are all",
        False,
    ),
    "deletes that have not been": (
        lambda lake: execute(lake, "UPDATE tidelake_coverage_file SET deleted_through = 99"),
        "for deletes up to snapshot 99, and the newest is 4",
        False,
    ),
    "nothing about deletes": (
        lambda lake: execute(lake, "UPDATE tidelake_coverage_file SET deleted_through = NULL"),
        "for deletes up to snapshot None",
        False,
    ),
    "other deletes": (
        lambda lake: execute(
            lake, "UPDATE tidelake_coverage SET end_snapshot = 3 WHERE end_snapshot = 4"
        ),
        "has rows, and is not kept",
        True,
    ),
    "another entity": (
        lambda lake: execute(
            lake,
            "UPDATE tidelake_coverage SET entity = :to, entity_hash = :hash"
            " WHERE entity = '[\"k2\"]' AND data_file_id = 1",
            to='["x"]',
            hash=hash_of('["x"]'),
        ),
        'of ["x"] is kept as covered',
        True,
    ),
    "an entity that is none": (
        lambda lake: execute(lake, "UPDATE tidelake_coverage SET entity = 'k' WHERE part = 0"),
        "an entity that is none",
        False,
    ),
    "another count": (
        lambda lake: execute(lake, "UPDATE tidelake_coverage SET bucket_count = bucket_count + 1"),
        "that is said to be another",
        False,
    ),
    "a time that runs backwards": (
        lambda lake: execute(
            lake, "UPDATE tidelake_coverage SET begin_snapshot = 9 WHERE end_snapshot = 4"
        ),
        "a bitmap that holds from snapshot 9 until 4",
        False,
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_put_right(what: str, lake: tidelake.Lake) -> None:
    damage, said, is_deep = DAMAGE[what]
    t = lake.table("t")
    damage(lake)
    assert not is_deep or lake.verify().ok
    problems = lake.verify(deep=is_deep).problems
    assert any(said in problem.what for problem in problems), problems
    assert {problem.check for problem in problems} == {"coverage"}
    assert all("t.recompute_coverage()" in problem.mend for problem in problems)
    assert t.recompute_coverage() == 2
    assert lake.verify(deep=True).ok
    for snapshot in t.snapshots():
        then = t.known_at(snapshot.snapshot_id)
        assert by_catalog(then) == by_rows(then)


def test_what_is_kept_is_right_before(lake: tidelake.Lake) -> None:
    assert lake.verify(deep=True).ok


def test_a_difference_names_the_file_the_entity_and_the_bucket(lake: tidelake.Lake) -> None:
    flip(lake)
    (problem,) = lake.verify(deep=True).problems
    assert problem.table == "main.t"
    assert problem.snapshot_id == 4
    assert problem.file == lake.table("t").scan().files()[0].path
    assert problem.what.startswith('the bucket of 2024-03-01 12:11:00 of ["k1"] ')


def test_what_cannot_be_read_is_no_answer(lake: tidelake.Lake) -> None:
    scramble(lake)
    with pytest.raises(Corrupt) as raised:
        lake.table("t").coverage()
    assert "recompute_coverage" in str(raised.value.hint)


def test_of_a_file_that_never_was(lake: tidelake.Lake) -> None:
    execute(lake, "UPDATE tidelake_coverage SET data_file_id = 77 WHERE data_file_id = 1")
    execute(lake, "UPDATE tidelake_coverage_file SET data_file_id = 77 WHERE data_file_id = 1")
    (problem,) = lake.verify().problems
    assert "of file 77, which there has never been" in problem.what
    lake.expire(keep_last=100)
    assert lake.verify(deep=True).ok
    assert lake.table("t").coverage().covered == 110


def test_of_a_table_that_never_was(lake: tidelake.Lake) -> None:
    execute(lake, "UPDATE tidelake_coverage_file SET table_id = 77")
    execute(lake, "UPDATE tidelake_coverage SET table_id = 77")
    assert any("of table 77" in problem.what for problem in lake.verify().problems)
    lake.expire(keep_last=100)
    assert lake.verify(deep=True).ok
    assert lake.table("t").coverage().covered == 110


def test_only_tables_that_are_asked_for(lake: tidelake.Lake) -> None:
    lake.create_table("other", "v INTEGER")
    flip(lake)
    assert lake.verify(deep=True, tables=["other"]).ok
    assert not lake.verify(deep=True, tables=["t"]).ok


@pytest.mark.parametrize("dropped", [(), ("",), ("_file",), ("", "_file")])
def test_tables_are_dropped(dropped: tuple[str, ...], lake: tidelake.Lake, tmp_path: Path) -> None:
    """Under a lake that has asked before it may fail if it is one of two; no answer is wrong."""
    t = lake.table("t")
    with lake.session.database.writing() as writer:
        for name in dropped:
            writer.execute(f"DROP TABLE tidelake_coverage{name}")
    with suppress(tidelake.errors.TidelakeError):
        assert t.coverage().covered == 110
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as other:
        assert other.table("t").coverage().covered == 110
        other.expire(keep_last=100)
        assert not [p for p in other.verify(deep=True).problems if "recompute" not in p.mend]
    assert t.coverage().covered == 110
    assert t.coverage(entity="k1").covered == 37


def test_records_go_under_a_lake_that_has_asked(lake: tidelake.Lake) -> None:
    t = lake.table("t")
    assert t.coverage().covered == 110
    for name in ("tidelake_coverage", "tidelake_coverage_file"):
        execute(lake, f"DELETE FROM {name} WHERE data_file_id = 0")
    assert t.coverage().covered == 110


def test_others_see_what_is_put_right(lake: tidelake.Lake, tmp_path: Path) -> None:
    """Though they remember what they were told."""
    with Place.at("sqlite", tmp_path).tuned(many_pieces=0).open() as other:
        t = other.table("t")
        flip(lake)
        assert t.coverage(entity="k1").covered == 38
        assert t.coverage(entity="k1").covered == 38
        lake.table("t").recompute_coverage()
        assert t.coverage(entity="k1").covered == 37


def test_recompute_is_for_those_who_may_write(lake: tidelake.Lake, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with (
        tidelake.connect(url, read_only=True) as reader,
        pytest.raises(Denied, match="read-only"),
    ):
        reader.table("t").recompute_coverage()
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("t").recompute_coverage()
    with pytest.raises(Denied, match="pinned"):
        lake.table("t").known_at(2).recompute_coverage()


def test_recompute_of_a_table_that_is_no_series(lake: tidelake.Lake) -> None:
    assert lake.create_table("other", "v INTEGER").recompute_coverage() == 0
