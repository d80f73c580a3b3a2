"""Tables that delta-rs has written: at every version the rows that it reads itself, ours, and
those of DuckDB's ducklake extension are the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, QueryBuilder, write_deltalake
from deltalake.schema import PrimitiveType

import tidelake
from tests.delta.logs import lake_at, plain, rows, snapshots_by_version


def batch(start: int, count: int = 5) -> pa.Table:
    numbers = list(range(start, start + count))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "p": [f"p {n % 3}/%" for n in numbers],
            "v": [None if n % 4 == 0 else n / 2 for n in numbers],
            "t": pa.array([n * 1_000_003 for n in numbers], pa.timestamp("us", "UTC")),
            "l": [[n, None] for n in numbers],
            "s": [{"a": n, "b": str(n)} for n in numbers],
        }
    )


def append(root: str) -> None:
    for n in range(3):
        write_deltalake(root, batch(n * 5), mode="append")


def partitioned(root: str) -> None:
    write_deltalake(root, batch(0, 9), partition_by=["p"])
    write_deltalake(root, batch(9, 9), mode="append")
    DeltaTable(root).delete("p = 'p 2/%'")


def changed(root: str) -> None:
    append(root)
    table = DeltaTable(root)
    table.delete("id = 3")
    table.update(updates={"v": "id * 2.0"}, predicate="id > 10")
    table.merge(
        batch(12, 6), "t.id = s.id", source_alias="s", target_alias="t"
    ).when_matched_delete("s.id = 12").when_matched_update(
        {"v": "s.v"}
    ).when_not_matched_insert_all().execute()
    table.optimize.compact()
    write_deltalake(root, batch(50), mode="append")


def overwritten(root: str) -> None:
    append(root)
    write_deltalake(root, batch(7), mode="overwrite")
    write_deltalake(root, pa.table({"only": ["x"]}), mode="overwrite", schema_mode="overwrite")
    write_deltalake(root, batch(1), mode="overwrite", schema_mode="overwrite")


def evolved(root: str) -> None:
    write_deltalake(root, batch(0))
    more = batch(5).append_column("extra", pa.array(["e"] * 5))
    write_deltalake(root, more, mode="append", schema_mode="merge")
    DeltaTable(root).alter.add_columns([Field("later", PrimitiveType("integer"))])
    write_deltalake(root, batch(10), mode="append", schema_mode="merge")


def restored(root: str) -> None:
    append(root)
    table = DeltaTable(root)
    table.delete("id < 7")
    table.restore(2)
    write_deltalake(root, batch(90), mode="append")


def with_checkpoints(root: str) -> None:
    for n in range(4):
        write_deltalake(root, batch(n * 5), mode="append")
        DeltaTable(root).create_checkpoint()


QUICK = [partitioned, changed, overwritten, evolved, restored]
MAKERS = [
    *QUICK,
    *(pytest.param(each, marks=pytest.mark.slow) for each in (append, with_checkpoints)),
]


@pytest.mark.parametrize("make", MAKERS)
def test_every_version(tmp_path: Path, make: Callable[[str], None], new_duck: Any) -> None:
    root = str(tmp_path / "table")
    make(root)
    newest = DeltaTable(root).version()
    reader = new_duck()
    reader.execute("SET timezone = 'UTC'")
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, root, "fast")
        done = tidelake.import_delta(lake, root, "whole", mode="full-history")
        assert (done.first, done.last) == (0, newest)
        at = snapshots_by_version(lake, "whole")
        reader.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS l (READ_ONLY)")
        for version in range(newest + 1):
            wanted = plain(by_delta_rs(root, version))
            assert rows(lake, "whole", at[version]) == wanted
            theirs = reader.sql(f"FROM l.whole AT (VERSION => {at[version]})").to_arrow_table()
            assert plain(theirs) == wanted
        assert rows(lake, "fast") == wanted
        assert plain(reader.sql("FROM l.fast").to_arrow_table()) == wanted
        assert rows(lake, "whole") == wanted
        report = lake.verify(deep=True)
        assert report.ok, str(report)


def by_delta_rs(root: str, version: int) -> pa.Table:
    table = DeltaTable(root, version=version)
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())


def test_vacuumed(tmp_path: Path) -> None:
    root = str(tmp_path / "table")
    changed(root)
    gone = DeltaTable(root).vacuum(
        retention_hours=0, enforce_retention_duration=False, dry_run=False
    )
    assert gone
    newest = DeltaTable(root).version()
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, root, "t", mode="full-history")
        assert 0 < done.first <= newest
        assert any("need files that are gone" in note for note in done.notes)
        at = snapshots_by_version(lake, "t")
        for version in range(done.first, done.last + 1):
            assert rows(lake, "t", at[version]) == plain(by_delta_rs(root, version))


def test_what_delta_rs_writes_meanwhile_follows(tmp_path: Path) -> None:
    root = str(tmp_path / "table")
    write_deltalake(root, batch(0))
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, root, "t", mode="full-history")
        for n in range(1, 4):
            write_deltalake(root, batch(n * 5), mode="append")
            DeltaTable(root).delete(f"id = {n}")
            tidelake.import_delta(lake, root, "t", mode="full-history", resume=True)
            assert rows(lake, "t") == plain(by_delta_rs(root, 2 * n))
