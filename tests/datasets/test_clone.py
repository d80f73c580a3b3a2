"""A clone has exactly the rows that the table had, and neither harms the other."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Denied, Invalid, NotFound
from tidelake.testing.agreement import assert_same
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    names = ["rowid", *table.schema.names]
    found = table.scan(names).to_arrow().to_pylist()
    return sorted(tuple(map(repr, row.values())) for row in found)


def many(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": ids, "name": [f"n{n % 3}" for n in ids]})


def lived(lake: tidelake.Lake) -> tidelake.Table:
    """Whole files, files with deletes, updates, small writes, and columns that changed."""
    lake.set_option("data_inlining_row_limit", 10)
    t = lake.create_table("t", "id BIGINT, name VARCHAR", partition_by=["name"], comment="words")
    t.append(many(0, 300))
    t.append(many(1000, 300))
    t.append([{"id": 5000, "name": "small"}, {"id": 5001, "name": None}])
    t.delete("id < 20")
    t.update({"name": "'new'"}, where="id = 1100")
    t.delete("id = 5000")
    t.compact()
    t.append(many(2000, 300))
    t.evolve(add={"extra": "INTEGER"}, rename={"name": "label"})
    t.append(pa.table({"id": [1], "label": ["z"], "extra": [3]}))
    t.evolve(drop=["extra"])
    t.append(pa.table({"id": range(3000, 3100), "label": ["q"] * 100}))
    return t


@pytest.mark.slow
@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_clone_of_every_snapshot_is_exact(place: Place, lake: tidelake.Lake) -> None:
    t = lived(lake)
    for snapshot in t.snapshots()[1:]:
        at = snapshot.snapshot_id
        u = t.clone(f"u{at}", known_at=at)
        assert rows_of(u) == rows_of(t.known_at(at))
        assert [(c.name, c.type) for c in u.schema] == [
            (c.name, c.type) for c in t.known_at(at).schema
        ]
        assert (u.comment, u.partitioning.keys) == ("words", t.known_at(at).partitioning.keys)
    assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_duckdb_reads_clones_too(place: Place, lake: tidelake.Lake, oracle: Oracle) -> None:
    t = lived(lake)
    t.clone("u")
    t.known_at(4).clone("v")
    lake.table("u").append(pa.table({"id": [7], "label": ["later"]}))
    lake.table("v").evolve(add={"more": "INTEGER"})
    lake.table("v").append(pa.table({"id": [7], "name": ["later"], "more": [1]}))
    assert_same(place, oracle, lake)


def test_whole_files_are_not_written_again(place: Place, lake: tidelake.Lake) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "id BIGINT, name VARCHAR")
    for start in range(0, 300, 100):
        t.append(many(start, 100))
    u = t.clone("u")
    before = {Path(file.path).stat().st_ino for file in t.files()}
    assert {Path(file.path).stat().st_ino for file in u.files()} == before
    assert {file.path for file in u.files()}.isdisjoint({file.path for file in t.files()})
    t.delete("id = 150")
    v = t.clone("v")
    assert len({Path(file.path).stat().st_ino for file in v.files()} & before) == 2
    assert rows_of(v) == rows_of(t)


@pytest.mark.parametrize("gone", ["t", "u"])
def test_neither_takes_files_from_the_other(place: Place, lake: tidelake.Lake, gone: str) -> None:
    """Whoever tidies up."""
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "id BIGINT, name VARCHAR")
    t.append(many(0, 100))
    t.append(many(100, 100))
    wanted = rows_of(t)
    u = t.clone("u")
    other = u if gone == "t" else t
    lake.drop(gone)
    with place.duck() as duck:
        duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    lake.expire(keep_last=1)
    lake.cleanup("0s")
    assert rows_of(other) == wanted
    assert lake.verify(deep=True).ok
    assert len(place.files()) == 2


def test_of_two_facts_the_same_one_wins(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", "id BIGINT, ts TIMESTAMP, v INTEGER", key="id", event_time="ts", sort_by=["v"]
    )
    moment = datetime(2024, 1, 1)
    for v in (5, 3, 9, 1):
        t.append(pa.table({"id": [1, 2], "ts": [moment] * 2, "v": pa.array([v, v], pa.int32())}))
    t.delete("v = 9 AND id = 2")
    t.put({"id": 2, "ts": moment, "v": 4})
    u = t.clone("u")
    for each in (t, u):
        state = sorted(each.as_of("2024-02-01").to_arrow()["v"].to_pylist())
        assert state == [1, 4]
        assert sorted(each.as_of("2024-02-01").to_arrow()["id"].to_pylist()) == [1, 2]
    w = t.clone("w", as_of="2024-02-01", known_at=3)
    assert w.to_arrow()["v"].to_pylist() == [3, 3]
    w.put({"id": 1, "ts": datetime(2024, 3, 1), "v": 7})
    assert sorted(w.as_of("2024-04-01").to_arrow()["v"].to_pylist()) == [3, 7]
    u.append(pa.table({"id": [1], "ts": [moment], "v": pa.array([8], pa.int32())}))
    assert sorted(u.as_of("2024-02-01").to_arrow()["v"].to_pylist()) == [4, 8]


def test_a_series_keeps_its_coverage(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", "s VARCHAR, ts TIMESTAMP", event_time="ts", bucket="1d", entity=["s"], overlap="reject"
    )
    t.append([{"s": "a", "ts": datetime(2024, 1, day)} for day in (1, 2, 5)])
    u = t.clone("u")
    assert str(u.coverage()) == str(t.coverage()).replace("main.t", "main.u")
    with pytest.raises(tidelake.errors.Overlap):
        u.append([{"s": "a", "ts": datetime(2024, 1, 2)}])


def test_a_frozen_set_becomes_a_table_again(lake: tidelake.Lake) -> None:
    lake.create_table("t", "id BIGINT").append([{"id": 1}])
    lake.freeze("s", "SELECT * FROM t")
    u = lake.table("frozen.s").clone("u")
    u.append([{"id": 2}])
    assert (u.count(), lake.frozen("s").count()) == (2, 1)
    assert lake.verify(deep=True).ok


def test_what_is_refused(place: Place, lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT")
    t.append([{"id": 1}])
    with place.refuses(Invalid, "already"):
        t.clone("t")
    with place.refuses(NotFound, "nowhere"):
        t.clone("nowhere.u")
    with place.refuses(NotFound, "77"):
        t.clone("u", known_at=77)
    with place.refuses(Invalid, "event time"):
        t.clone("u", as_of="2024-01-01")
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        tx.table("t").clone("u")
    with place.refuses(Denied):
        lake.known_at(2).table("t").clone("u")


@pytest.mark.slow
def test_in_an_object_store_the_store_copies(s3_server: "S3Server", tmp_path: Path) -> None:
    lake = tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db",
        data_path=f"s3://{s3_server.new_bucket()}/lake",
        storage_options=s3_server.storage_options,
    )
    with lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", "id BIGINT, name VARCHAR")
        t.append(many(0, 100))
        u = t.clone("u")
        assert rows_of(u) == rows_of(t)
        lake.drop("t")
        lake.expire(keep_last=1)
        lake.cleanup("0s")
        assert u.count() == 100
