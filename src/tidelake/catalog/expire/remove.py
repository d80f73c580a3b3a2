"""Taking what no snapshot sees out of the catalog, a little at a time.

Each function is one short transaction's worth, and what it finds gone already is no matter. Files
go first, then tables, then definitions, because the former are found by way of the latter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.annex import Annexes
from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.expire.unseen_data import Gap
from tidelake.catalog.read import paths, registrations, zones
from tidelake.catalog.read.files import chunks

SCHEDULE = "ducklake_files_scheduled_for_deletion"
KEPT = datetime(9999, 1, 1, tzinfo=UTC)
"""When files are to be deleted that are not."""

_OF_TABLES = (
    "ducklake_table",
    "ducklake_table_stats",
    "ducklake_table_column_stats",
    "ducklake_partition_info",
    "ducklake_partition_column",
    "ducklake_column",
    "ducklake_column_tag",
    "ducklake_sort_info",
    "ducklake_sort_expression",
    "ducklake_schema_versions",
    "ducklake_inlined_data_tables",
    "ducklake_column_mapping",
)
_PARTS = {
    "ducklake_name_mapping": ("mapping_id", "ducklake_column_mapping"),
    "ducklake_macro_impl": ("macro_id", "ducklake_macro"),
    "ducklake_macro_parameters": ("macro_id", "ducklake_macro"),
}
"""Rows that belong to one of another table, by what they name it."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Files that were taken out of the catalog and scheduled for deletion: the lake's own."""

    files: int
    bytes: int


def files(
    writer: Writer,
    kind: str,
    ids: Sequence[int],
    data_path: str,
    annexes: Annexes,
    shared: Collection[int] = (),
) -> Removal:
    """Take files out, with all that is known of them. The lake's own are scheduled for deletion:
    all but the `shared` ones, which another row names too."""
    rows = _rows(writer, kind, ids)
    if not rows:
        return Removal(0, 0)
    going = paths.complete(writer, [tuple(row[:4]) for row in rows], data_path)
    rows = [row for row in rows if row[0] in going]
    free = {id_: path for id_, path in going.items() if id_ not in shared}
    ours = registrations.deletable(writer, free, data_path, _mapped(rows))
    tables = {row[0]: row[1] for row in rows}
    others = {id_: (tables[id_], path) for id_, path in free.items() if id_ not in ours}
    if released := registrations.release(writer, others, data_path):
        own_tables.ensure(writer, registrations.TABLE)
        registrations.put(writer, released)
    schedule(writer, {id_: free[id_] for id_ in sorted(ours)}, data_path)
    writer.execute(f"DELETE FROM {kind} WHERE {paths.KINDS[kind]} IN ({_listed(going)})")
    if kind == "ducklake_data_file":
        by_table: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            by_table[row[1]].append(row[0])
        for table_id, some in by_table.items():
            _facts(writer, table_id, some)
            for annex in annexes:
                annex.files_gone(writer, writer.execute, table_id, some)
    freed = [row for row in rows if row[0] in ours]
    return Removal(len(freed), sum(row[4] or 0 for row in freed))


def _rows(reader: Reader, kind: str, ids: Collection[int]) -> list[Row]:
    """Id, table, path, whether that is relative, size, and the mapping of files by name."""
    mapping = "mapping_id" if kind == "ducklake_data_file" else "NULL"
    return [
        row
        for some in chunks(ids)
        for row in reader.rows(
            f"SELECT {paths.KINDS[kind]}, table_id, path, path_is_relative, file_size_bytes,"
            f" {mapping} FROM {kind} WHERE {paths.KINDS[kind]} IN ({_listed(some)})"
        )
    ]


def _mapped(rows: Iterable[Row]) -> set[int]:
    return {row[0] for row in rows if row[5] is not None}


def deletable_files(reader: Reader, kind: str, ids: Collection[int], data_path: str) -> set[int]:
    """Which of these files `files` would schedule, were none of them shared."""
    rows = _rows(reader, kind, ids)
    going = paths.complete(reader, [tuple(row[:4]) for row in rows], data_path)
    return registrations.deletable(reader, going, data_path, _mapped(rows))


def schedule(writer: Writer, files: Mapping[int, str], data_path: str) -> None:
    """Have `cleanup` remove files, complete paths by id, once nobody can be reading them."""
    moment = writer.dialect.moment(own_tables.clock(writer))
    rows = [(id_, *paths.from_data_path(path, data_path), moment) for id_, path in files.items()]
    columns = ("data_file_id", "path", "path_is_relative", "schedule_start")
    writer.insert_values(SCHEDULE, columns, rows)


def _facts(writer: Writer, table_id: int, ids: Sequence[int]) -> None:
    """What is known of data files of a table. Statistics are named by column too, for then they
    are found by their index."""
    columns = writer.rows(
        "SELECT DISTINCT column_id FROM ducklake_column WHERE table_id = :id", id=table_id
    )
    of_columns = f"column_id IN ({_listed(row[0] for row in columns)})"
    for name, more in {
        "ducklake_file_column_stats": f" AND {of_columns}",
        "ducklake_file_variant_stats": "",
        "ducklake_file_partition_value": "",
    }.items():
        writer.execute(
            f"DELETE FROM {name} WHERE table_id = :id{more} AND data_file_id IN ({_listed(ids)})",
            id=table_id,
        )
    deletes = inline_tables.deletes_name(table_id)
    if writer.has_table(deletes):
        writer.execute(f'DELETE FROM "{deletes}" WHERE file_id IN ({_listed(ids)})')
    zones.forget(writer, table_id, ids)


def tables(writer: Writer, ids: Collection[int], annexes: Annexes) -> set[int]:
    """Take tables out whose files have gone; which of them were still there. Tables of rows are
    dropped first: MySQL commits then, and only the rest tells a later run of them."""
    there = f"SELECT DISTINCT table_id FROM ducklake_table WHERE table_id IN ({_listed(ids)})"
    found = {row[0] for row in writer.rows(there)}
    names = [name for id_ in ids for name in inline_tables.names(writer, id_)]
    for name in [*names, *map(inline_tables.deletes_name, ids)]:
        writer.execute(f'DROP TABLE IF EXISTS "{name}"')
    own = [zones.TABLE] if writer.has_table(zones.TABLE) else []
    for name in (*_OF_TABLES, *own):
        writer.execute(f"DELETE FROM {name} WHERE table_id IN ({_listed(ids)})")
    for annex in annexes:
        annex.tables_gone(writer, ids)
    return found


def rows(writer: Writer, name: str, gaps: Sequence[Gap]) -> None:
    """Take rows out of a table of the catalog that lie between two snapshots. The table itself
    may have gone meanwhile."""
    if not writer.has_table(name):
        return
    for first, last in gaps:
        writer.execute(
            f'DELETE FROM "{name}" WHERE begin_snapshot > :first AND end_snapshot <= :last',
            first=first,
            last=last,
        )


def parts(reader: Reader) -> dict[str, list[int]]:
    """What belonged to mappings and macros that have gone, by table and the owner's id."""
    found = {}
    for name, (key, owner) in _PARTS.items():
        if not reader.has_table(name):
            continue
        held = {row[0] for row in reader.rows(f"SELECT DISTINCT {key} FROM {name}")}
        if held:
            held -= {row[0] for row in reader.rows(f"SELECT {key} FROM {owner}")}
        found[name] = sorted(held)
    return found


def part(writer: Writer, name: str, owners: Sequence[int]) -> None:
    writer.execute(f"DELETE FROM {name} WHERE {_PARTS[name][0]} IN ({_listed(owners)})")


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids)) or "NULL"
