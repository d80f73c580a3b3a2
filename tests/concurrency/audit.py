"""Whether a lake is whole: its numbers, its files, and what DuckDB sees in it."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import tidelake
from tidelake.testing.place import Place, files_below

_NAMED = (
    "SELECT s.path, t.path, f.path FROM {files} f"
    " JOIN ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL"
    " JOIN ducklake_schema s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL"
)


def rows(lake: tidelake.Lake, sql: str) -> list[tuple[Any, ...]]:
    """What a query of the catalog's own tables gives."""
    with lake.session.database.reading() as reader:
        return [tuple(row) for row in reader.rows(sql)]


def check(place: Place, *tables: str) -> None:
    """Everything that must hold of any lake, however it came about."""
    with place.open() as lake:
        _check_numbers(lake)
        for table in tables:
            _check_row_ids(lake, table)
        check_files(place, lake)
        if place.shared:
            _check_duck(place, lake, tables)


def _check_numbers(lake: tidelake.Lake) -> None:
    ids = [row[0] for row in rows(lake, "SELECT snapshot_id FROM ducklake_snapshot")]
    assert sorted(ids) == list(range(len(ids)))
    changes = [row[0] for row in rows(lake, "SELECT snapshot_id FROM ducklake_snapshot_changes")]
    assert sorted(changes) == sorted(ids)
    _check_times(lake)
    files = rows(lake, "SELECT data_file_id FROM ducklake_data_file")
    files += rows(lake, "SELECT delete_file_id FROM ducklake_delete_file")
    assert len(set(files)) == len(files)
    next_file = rows(lake, "SELECT max(next_file_id) FROM ducklake_snapshot")[0][0]
    assert all(file < next_file for (file,) in files)


def _check_times(lake: tidelake.Lake) -> None:
    """A commit of ours is never before the one that it follows. (DuckDB's can be: it takes the
    time at which its transaction began.)"""
    extras = dict(
        rows(lake, "SELECT snapshot_id, commit_extra_info FROM ducklake_snapshot_changes")
    )
    for before, after in pairwise(lake.snapshots()):
        assert after.time >= before.time or "tidelake" not in (extras[after.snapshot_id] or "")


def _check_row_ids(lake: tidelake.Lake, table: str) -> None:
    ids = lake.table(table).scan(columns=["rowid"]).to_arrow()["rowid"].to_pylist()
    assert len(set(ids)) == len(ids) == lake.table(table).count()
    table_id = lake.table(table).info.id
    after = rows(lake, f"SELECT next_row_id FROM ducklake_table_stats WHERE table_id = {table_id}")
    assert not ids or max(ids) < after[0][0]


def check_files(place: Place, lake: tidelake.Lake) -> int:
    """No file that the catalog names is missing, and one that it does not name can be told to
    be a leftover. How many of those there are."""
    known = named(place, lake)
    missing = [path for path in known if not path.exists()]
    assert not missing
    folders = {Path(lake.table(name).info.path) for name in lake.tables()}
    left = set(files_below(place.data)) - known
    for path in left:
        assert folders & set(path.parents), path
        assert path.match("ducklake-*.parquet"), path
    return len(left)


def named(place: Place, lake: tidelake.Lake) -> set[Path]:
    tables = ("ducklake_data_file", "ducklake_delete_file")
    found = [row for table in tables for row in rows(lake, _NAMED.format(files=table))]
    going = rows(lake, "SELECT path FROM ducklake_files_scheduled_for_deletion")
    return {place.data.joinpath(*parts) for parts in found + going}


def _check_duck(place: Place, lake: tidelake.Lake, tables: Sequence[str]) -> None:
    with place.duck() as duck:
        for table in tables:
            theirs = duck.execute(f"SELECT rowid, * FROM lake.{table} ORDER BY rowid").fetchall()
            names = [column.name for column in lake.table(table).schema]
            found = lake.table(table).scan(columns=["rowid", *names]).to_arrow()
            ours = sorted(tuple(row.values()) for row in found.to_pylist())
            assert ours == theirs
            count = duck.execute(f"SELECT count(*) FROM lake.{table}").fetchone()
            assert count == (len(ours),)


def settle(lake: tidelake.Lake) -> None:
    """A database server may still be busy with what a dead client asked of it."""
    with lake.session.database.writing():
        pass
