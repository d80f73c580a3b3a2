"""A lake whose catalog is lost comes back from its mirrors' logs, and goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.delta import others
from tests.delta.readers import delta_rs
from tidelake import Lake, Table
from tidelake.errors import Conflict, NotFound
from tidelake.testing.duck import duck_connection

START = datetime(2024, 1, 1)
COLUMNS = """
    id BIGINT NOT NULL, s VARCHAR DEFAULT 'none', u UINTEGER, n STRUCT(a INTEGER, b VARCHAR),
    ts TIMESTAMP NOT NULL
"""


@contextmanager
def opened(folder: Path, name: str = "lake") -> Iterator[Lake]:
    url, data = f"sqlite:///{folder}/{name}.db", f"{folder}/data"
    with tidelake.connect(url, data_path=data, share_data_path=True) as lake:
        yield lake


def rows(*numbers: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "ts": START + timedelta(hours=n), **more} for n in numbers]


def sorted_rows(found: Any) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=lambda row: (row["id"], str(row)))


def lived(lake: Lake) -> Table:
    """Every kind of file, and columns that were renamed, dropped and given again."""
    lake.create_schema("ns")
    table = lake.create_table(
        "ns.t",
        COLUMNS,
        key="id",
        event_time="ts",
        partition_by=["bucket(2, id)"],
        sort_by="ts",
        comment="all of it",
    )
    table.append(rows(*range(9), s="first", u=7, n={"a": 1, "b": "b"}))
    lake.mirror("ns.t")
    table.delete("id = 3")
    table.append(rows(0, 1, 2, s="corrected"))
    table.evolve(rename={"s": "name", "n.a": "aa"}, drop=["u", "n.b"])
    table.evolve(add={"u": "VARCHAR", "z": "INTEGER DEFAULT 5"})
    table.compact()
    table.append(rows(20, 1, name="last", u="text", n={"aa": 2}, z=1))
    table.delete("id = 20")
    return table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a lake is whose catalog will be lost."""
    with opened(tmp_path) as lake:
        lived(lake)
        lake.create_table("plain", "x INTEGER").append([{"x": 1}])
        lake.mirror("plain")
        lake.create_table("unseen", "x INTEGER").append([{"x": 1}])
        lake.create_table("gone", "x INTEGER").append([{"x": 1}])
        lake.mirror("gone")
        lake.drop("gone")
    return tmp_path


def told(table: Table) -> dict[str, Any]:
    info = table.info
    return {
        "rows": sorted_rows(table.to_arrow()),
        "as of": sorted_rows(table.as_of("2024-02-01").to_arrow()),
        "schema": info.schema,
        "tags": dict(info.tags),
        "sorting": info.sorting,
        "keys": info.partitioning and info.partitioning.keys,
        "uuid": info.uuid,
    }


def test_the_tables_are_back_and_go_on(folder: Path) -> None:
    with opened(folder) as lake:
        before, head = told(lake.table("ns.t")), lake.snapshots()[-1].snapshot_id
        version = lake.mirrored("ns.t").state.version
    (folder / "lake.db").unlink()
    with opened(folder, "new") as lake:
        found = lake.recover()
        assert [each.table for each in found.tables] == ["main.plain", "ns.t"]
        assert [Path(each.root).name for each in found.skipped] == ["gone"]
        assert "was dropped" in found.skipped[0].reason
        table = lake.table("ns.t")
        assert told(table) == before
        assert lake.snapshots()[-1].snapshot_id > head
        mirror = lake.mirrored("ns.t")
        assert mirror.state.version >= version
        assert mirror.diff().exit_code == 0
        assert lake.verify(deep=True).problems == ()
        check_readers(lake, folder / "new.db")
        table.append(rows(30, name="after"))
        table.evolve(add={"b": "INTEGER", "s": "INTEGER"})
        table.merge([{"id": 4, "ts": START, "s": 1}], on=["id", "ts"])
        table.delete("id = 5")
        table.compact()
        check_readers(lake, folder / "new.db")
        assert mirror.diff().exit_code == 0
        assert lake.verify(deep=True).problems == ()


def check_readers(lake: Lake, catalog: Path) -> None:
    """DuckDB and delta-rs see what Tidelake does."""
    table = lake.table("ns.t")
    expected = sorted_rows(table.to_arrow())
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{catalog}' AS l")
        assert sorted_rows(duck.sql("FROM l.ns.t").to_arrow_table()) == expected
        ids = duck.sql("SELECT count(*), count(DISTINCT rowid) FROM l.ns.t").fetchone()
        assert ids == (len(expected), len(expected))
    assert sorted_rows(delta_rs(lake.mirrored("ns.t").root)) == expected


def test_a_dry_run_does_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as lake:
        lake.create_table("t", "x INTEGER").append([{"x": 1}])
        lake.mirror("t")
    with opened(tmp_path, "new") as lake:
        found = lake.recover(f"{tmp_path}/data/main", dry_run=True)
        assert (found.snapshot_id, [each.rows for each in found.tables]) == (None, [1])
        assert lake.tables() == []
        assert len(lake.snapshots()) == 1


def test_what_cannot_be_recovered_is_told(tmp_path: Path) -> None:
    with opened(tmp_path) as lake:
        for name in ("ours", "theirs", "broken"):
            lake.create_table(name, "x INTEGER").append([{"x": 1}])
            lake.mirror(name)
        others.commit(lake.mirrored("theirs").root)
        (file,) = others.shown(lake.mirrored("broken").root)
        Path(lake.mirrored("broken").root, file["path"]).unlink()
    with opened(tmp_path, "new") as lake:
        found = lake.recover()
        assert [each.table for each in found.tables] == ["main.ours"]
        reasons = {Path(each.root).name: each.reason for each in found.skipped}
        assert "written by somebody else" in reasons["theirs"]
        assert "is missing" in reasons["broken"]


def test_only_a_new_lake_can_be_filled(tmp_path: Path) -> None:
    with opened(tmp_path) as lake:
        with pytest.raises(NotFound, match="no Delta logs"):
            lake.recover()
        lake.create_table("t", "x INTEGER")
        with pytest.raises(Conflict, match="history of its own"):
            lake.recover()
