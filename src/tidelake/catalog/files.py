"""Which files a table has at a snapshot, and what is known of their contents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from tidelake.catalog.database import Reader, Row
from tidelake.catalog.narrow import Narrowing
from tidelake.catalog.read import join_path, visible
from tidelake.model.file import DataFile, DeleteFile, MappedField
from tidelake.model.statistics import ColumnStats

_MANY = 500


def count(reader: Reader, at: int, table_id: int) -> int:
    row = reader.row(
        f"SELECT count(*) FROM ducklake_data_file WHERE table_id = :id AND {visible()}",
        id=table_id,
        at=at,
    )
    return int(row[0]) if row else 0


def data_files(
    reader: Reader, at: int, table_id: int, table_path: str, narrowing: Sequence[Narrowing] = ()
) -> list[DataFile]:
    """The files visible at a snapshot, less those that `narrowing` rules out."""
    rows = _file_rows(reader, at, table_id, narrowing)
    ids = [row[0] for row in rows]
    deletes = _delete_files(reader, at, table_id, table_path, ids)
    positions = _inlined_deletes(reader, at, table_id, ids)
    values = _partition_values(reader, table_id, [row[0] for row in rows if row[8] is not None])
    return [
        DataFile(
            id=row[0],
            path=join_path(table_path, row[1], row[2]),
            rows=row[3],
            bytes=row[4],
            footer_size=row[5],
            row_id_start=row[6],
            begin_snapshot=row[7],
            partition_id=row[8],
            partition_values=values.get(row[0], ()),
            encryption_key=row[9],
            mapping_id=row[10],
            partial_max=row[11],
            deletes=deletes.get(row[0]),
            deleted_positions=positions.get(row[0], ()),
        )
        for row in rows
    ]


def _file_rows(reader: Reader, at: int, table_id: int, narrowing: Sequence[Narrowing]) -> list[Row]:
    conditions = "".join(
        f" AND d.data_file_id IN (SELECT data_file_id FROM ducklake_file_column_stats"
        f" WHERE table_id = :id AND column_id = {rule.column_id} AND ({rule.keep_sql}))"
        for rule in narrowing
        if _has_all_statistics(reader, table_id, rule.column_id)
    )
    return reader.rows(
        "SELECT d.data_file_id, d.path, d.path_is_relative, d.record_count, d.file_size_bytes,"
        " d.footer_size, d.row_id_start, d.begin_snapshot, d.partition_id, d.encryption_key,"
        " d.mapping_id, d.partial_max FROM ducklake_data_file d"
        f" WHERE d.table_id = :id AND {visible('d')}{conditions} ORDER BY d.data_file_id",
        id=table_id,
        at=at,
    )


def _has_all_statistics(reader: Reader, table_id: int, column_id: int) -> bool:
    """Whether every file of the table has statistics for the column: one without must be kept."""
    files, known = reader.rows(
        "SELECT (SELECT count(*) FROM ducklake_data_file WHERE table_id = :id),"
        " (SELECT count(*) FROM ducklake_file_column_stats"
        " WHERE table_id = :id AND column_id = :column)",
        id=table_id,
        column=column_id,
    )[0]
    return bool(files == known)


def _among(ids: Collection[int], column: str = "data_file_id") -> str:
    """A condition that keeps the rows of these files; of many files, all rows are as cheap."""
    if len(ids) > _MANY:
        return ""
    return f" AND {column} IN ({', '.join(map(str, ids)) or 'NULL'})"


def _delete_files(
    reader: Reader, at: int, table_id: int, table_path: str, ids: Collection[int]
) -> dict[int, DeleteFile]:
    rows = reader.rows(
        "SELECT data_file_id, delete_file_id, path, path_is_relative, format, delete_count,"
        " file_size_bytes, begin_snapshot, encryption_key FROM ducklake_delete_file"
        f" WHERE table_id = :id AND {visible()}{_among(ids)} ORDER BY delete_file_id",
        id=table_id,
        at=at,
    )
    return {
        row[0]: DeleteFile(
            id=row[1],
            path=join_path(table_path, row[2], row[3]),
            format=row[4],
            rows=row[5],
            bytes=row[6],
            begin_snapshot=row[7],
            encryption_key=row[8],
        )
        for row in rows
    }


def _inlined_deletes(
    reader: Reader, at: int, table_id: int, ids: Collection[int]
) -> dict[int, tuple[int, ...]]:
    name = f"ducklake_inlined_delete_{table_id}"
    if not ids or not reader.has_table(name):
        return {}
    rows = reader.rows(
        f'SELECT file_id, row_id FROM "{name}" WHERE begin_snapshot <= :at'
        f"{_among(ids, 'file_id')} ORDER BY file_id, row_id",
        at=at,
    )
    found: dict[int, list[int]] = defaultdict(list)
    for file_id, position in rows:
        found[file_id].append(position)
    return {file_id: tuple(positions) for file_id, positions in found.items()}


def _partition_values(
    reader: Reader, table_id: int, ids: Collection[int]
) -> dict[int, tuple[str | None, ...]]:
    if not ids:
        return {}
    rows = reader.rows(
        "SELECT data_file_id, partition_value FROM ducklake_file_partition_value"
        f" WHERE table_id = :id{_among(ids)} ORDER BY data_file_id, partition_key_index",
        id=table_id,
    )
    found: dict[int, list[str | None]] = defaultdict(list)
    for file_id, value in rows:
        found[file_id].append(value)
    return {file_id: tuple(values) for file_id, values in found.items()}


def statistics(
    reader: Reader, table_id: int, column_ids: Collection[int], file_ids: Collection[int]
) -> dict[int, dict[int, ColumnStats]]:
    """Column statistics by file and column, as stored."""
    if not column_ids or not file_ids:
        return {}
    rows = reader.rows(
        "SELECT data_file_id, column_id, min_value, max_value, null_count, value_count,"
        " contains_nan FROM ducklake_file_column_stats WHERE table_id = :id"
        f"{_among(column_ids, 'column_id')}{_among(file_ids)}",
        id=table_id,
    )
    found: dict[int, dict[int, ColumnStats]] = defaultdict(dict)
    for file_id, column_id, low, high, nulls, values, nan in rows:
        known = None if nan is None else bool(nan)
        found[file_id][column_id] = ColumnStats(low, high, nulls, values, known)
    return found


def name_mappings(reader: Reader, mapping_ids: Iterable[int]) -> dict[int, tuple[MappedField, ...]]:
    """How files without field ids map to columns, by mapping id."""
    return {mapping_id: _name_mapping(reader, mapping_id) for mapping_id in mapping_ids}


def _name_mapping(reader: Reader, mapping_id: int) -> tuple[MappedField, ...]:
    rows = reader.rows(
        "SELECT column_id, parent_column, source_name, target_field_id, is_partition"
        " FROM ducklake_name_mapping WHERE mapping_id = :id ORDER BY column_id",
        id=mapping_id,
    )
    below: dict[int | None, list[Row]] = defaultdict(list)
    for row in rows:
        below[row[1]].append(row)

    def build(row: Row) -> MappedField:
        children = tuple(build(child) for child in below[row[0]])
        return MappedField(row[2], row[3], children, bool(row[4]))

    return tuple(build(row) for row in below[None])
