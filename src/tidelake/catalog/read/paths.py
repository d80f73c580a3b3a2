"""Where files are: complete paths from what the catalog's rows say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read.files import chunks
from tidelake.catalog.read.tables import join_path

KINDS = {"ducklake_data_file": "data_file_id", "ducklake_delete_file": "delete_file_id"}
"""Tables that name files, with their keys."""

_PAGE = 50_000

Named = tuple[int, int, str, object]
"""Id, table, path, and whether the path is relative to the table's."""


def base(path: str) -> str:
    return path.rpartition("/")[2]


def folders(reader: Reader, tables: Collection[int], data_path: str) -> dict[int, str]:
    """Where tables have their files, also those that have been dropped."""
    found = {}
    for ids in chunks(tables):
        rows = reader.rows(
            "SELECT t.table_id, s.path, s.path_is_relative, t.path, t.path_is_relative"
            " FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id"
            f" WHERE t.table_id IN ({', '.join(map(str, ids))}) ORDER BY t.begin_snapshot"
        )
        for table_id, schema, schema_relative, table, table_relative in rows:
            inside = join_path(data_path, schema, schema_relative)
            found[table_id] = join_path(inside, table, table_relative)
    return found


def every(reader: Reader, kind: str, first: int = 0) -> Iterator[Named]:
    """All rows that name a file, from an id on."""
    key = KINDS[kind]
    while True:
        page = reader.rows(
            f"SELECT {key}, table_id, path, path_is_relative FROM {kind}"
            f" WHERE {key} >= :first ORDER BY {key} LIMIT {_PAGE}",
            first=first,
        )
        yield from page
        if len(page) < _PAGE:
            return
        first = page[-1][0] + 1


def complete(reader: Reader, rows: Collection[Named], data_path: str) -> dict[int, str]:
    """Complete paths by id."""
    known = folders(reader, {row[1] for row in rows}, data_path)
    return {
        row[0]: join_path(known[row[1]] if row[3] else "", row[2], row[3])
        for row in rows
        if row[1] in known or not row[3]
    }


def ids_by_path(
    reader: Reader, paths: Collection[str], data_path: str, kind: str
) -> dict[str, set[int]]:
    """By which rows each of these complete paths is named. A file may be registered twice."""
    names = {base(path) for path in paths}
    same = [row for row in every(reader, kind) if base(row[2]) in names]
    found: dict[str, set[int]] = defaultdict(set)
    for file_id, path in complete(reader, same, data_path).items():
        if path in paths:
            found[path].add(file_id)
    return found


def from_data_path(path: str, data_path: str) -> tuple[str, bool]:
    """A complete path as the schedule of deletions names it."""
    inside = path.startswith(data_path)
    return (path[len(data_path) :], True) if inside else (path, False)
