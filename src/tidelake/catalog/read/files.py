"""Which files a table has at a snapshot, and what is known of their contents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.read.narrow import StatisticsRule
from tidelake.catalog.read.tables import inner_path, visible
from tidelake.catalog.read.zones import EVERYTHING, Range
from tidelake.model.file import DataFile, DeleteFile, MappedField
from tidelake.model.statistics import ColumnStats

_MANY = 5000
_AT_ONCE = 1000
_EVER = 2**62
FILE = (
    "SELECT data_file_id, path, path_is_relative, record_count, file_size_bytes,"
    " footer_size, row_id_start, begin_snapshot, partition_id, encryption_key,"
    " mapping_id, partial_max, end_snapshot FROM ducklake_data_file"
)


@dataclass(frozen=True, slots=True)
class Cut:
    """What the catalog itself may leave out: by rules on column statistics, and by ids."""

    rules: tuple[StatisticsRule, ...] = ()
    within: tuple[Range, ...] = (EVERYTHING,)


def count(reader: Reader, at: int, table_id: int) -> int:
    row = reader.row(
        f"SELECT count(*) FROM ducklake_data_file WHERE table_id = :id AND {visible()}",
        id=table_id,
        at=at,
    )
    return int(row[0]) if row else 0


def data_files(
    reader: Reader, at: int, table_id: int, table_path: str, cut: Cut | None = None
) -> list[DataFile]:
    """The files visible at a snapshot, less those that the `cut` rules out."""
    rows = _file_rows(reader, at, table_id, cut or Cut())
    gone = deletes_from(reader, at, table_id, table_path, [row[0] for row in rows])
    return build_files(reader, table_id, table_path, rows, *gone)


def deletes_from(
    reader: Reader, at: int | None, table_id: int, table_path: str, ids: Collection[int]
) -> tuple[dict[int, list[DeleteFile]], dict[int, list[tuple[int, int]]]]:
    """What was deleted from files, by their ids: in delete files, and in the catalog itself."""
    deletes = _delete_files(reader, at, table_id, table_path, ids)
    return deletes, _inlined_deletes(reader, at, table_id, ids)


def whole_life(
    reader: Reader, table_id: int, table_path: str, ids: Iterable[int]
) -> list[DataFile]:
    """These files, also those that have ended, with every delete there ever was from them."""
    found = []
    for some in chunks(ids):
        rows = reader.rows(f"{FILE} WHERE table_id = :id{among(some)}", id=table_id)
        gone = deletes_from(reader, None, table_id, table_path, some)
        found += build_files(reader, table_id, table_path, sorted(map(tuple, rows)), *gone)
    return found


def with_ended_deletes(reader: Reader, table_id: int) -> frozenset[int]:
    """Ids of files that are still there although a delete file of theirs has ended."""
    rows = reader.rows(
        "SELECT DISTINCT f.data_file_id FROM ducklake_delete_file d JOIN ducklake_data_file f"
        " ON f.data_file_id = d.data_file_id WHERE d.table_id = :id"
        " AND d.end_snapshot IS NOT NULL AND f.end_snapshot IS NULL",
        id=table_id,
    )
    return frozenset(row[0] for row in rows)


def build_files(
    reader: Reader,
    table_id: int,
    table_path: str,
    rows: Sequence[Row],
    deletes: Mapping[int, Sequence[DeleteFile]],
    positions: Mapping[int, Sequence[tuple[int, int]]],
) -> list[DataFile]:
    """Files from rows of FILE, and what was deleted from them."""
    values = _partition_values(reader, table_id, [row[0] for row in rows if row[8] is not None])
    found = [
        DataFile(
            id=row[0],
            path=inner_path(table_path, row[1], row[2]),
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
            end_snapshot=row[12],
        )
        for row in rows
    ]
    if not deletes and not positions:
        return found
    return [_with_deletes(file, deletes, positions) for file in found]


def _with_deletes(
    file: DataFile,
    deletes: Mapping[int, Sequence[DeleteFile]],
    positions: Mapping[int, Sequence[tuple[int, int]]],
) -> DataFile:
    if file.id not in deletes and file.id not in positions:
        return file
    gone = positions.get(file.id, ())
    return file._replace(
        deletes=tuple(deletes.get(file.id, ())),
        deleted_positions=tuple(position for position, _ in gone),
        deleted_at=tuple(snapshot for _, snapshot in gone),
    )


def _file_rows(reader: Reader, at: int, table_id: int, cut: Cut) -> list[Row]:
    ids = _narrowed_ids(reader, table_id, cut)
    if ids is not None and len(ids) <= _MANY:
        # Not by table: databases would then walk all files of the table instead.
        rows = reader.rows(f"{FILE} WHERE {visible()}{among(ids)}", at=at)
    else:
        by_run = f"{FILE} WHERE {_of_table(cut)} AND {visible()}{{}}"
        rows = reader.rows(_over(cut, by_run), id=table_id, at=at)
    return sorted(row for row in map(tuple, rows) if ids is None or row[0] in ids)


def _over(cut: Cut, statement: str) -> str:
    """A statement for each run of ids, as one: databases take a range of an index for each,
    but would walk the whole of it for an OR."""
    return " UNION ALL ".join(
        statement.format(
            f" AND data_file_id >= {first}"
            + ("" if last is None else f" AND data_file_id <= {last}")
        )
        for first, last in cut.within
    )


def _of_table(cut: Cut) -> str:
    """The plus sign keeps SQLite from preferring the table's index over the range of ids."""
    return "table_id = :id" if cut.within == (EVERYTHING,) else "+table_id = :id"


def _narrowed_ids(reader: Reader, table_id: int, cut: Cut) -> set[int] | None:
    """Ids of files that pass every rule; None if no rule can be applied."""
    found: set[int] | None = None
    for rule in cut.rules:
        if _has_all_statistics(reader, table_id, rule.column_id, cut):
            statement = (
                "SELECT data_file_id FROM ducklake_file_column_stats"
                f" WHERE table_id = :id AND column_id = {rule.column_id}{{}}"
            )
            rows = reader.rows(
                _over(cut, f"{statement} AND ({_doubled(rule.keep_sql)})"), id=table_id
            )
            passed = {row[0] for row in rows}
            found = passed if found is None else found & passed
    return found


def _doubled(sql: str) -> str:
    return sql.replace("{", "{{").replace("}", "}}")


def _has_all_statistics(reader: Reader, table_id: int, column_id: int, cut: Cut) -> bool:
    """Whether every file of the table has statistics for the column: one without must be kept."""
    files = f"SELECT count(*) AS n FROM ducklake_data_file WHERE {_of_table(cut)}{{}}"
    known = (
        "SELECT count(*) AS n FROM ducklake_file_column_stats"
        f" WHERE table_id = :id AND column_id = {column_id}{{}}"
    )
    sums = (f"(SELECT sum(n) FROM ({_over(cut, part)}) AS runs)" for part in (files, known))
    ((all_files, all_known),) = reader.rows(f"SELECT {', '.join(sums)}", id=table_id)
    return bool(all_files == all_known)


def among(ids: Collection[int], column: str = "data_file_id") -> str:
    """A condition that keeps the rows of these files; of many files, all rows are as cheap."""
    if len(ids) > _MANY:
        return ""
    return f" AND {column} IN ({', '.join(map(str, ids)) or 'NULL'})"


def chunks(ids: Iterable[int]) -> Iterator[list[int]]:
    """Ids in order, so many at a time as one statement should name."""
    listed = sorted(ids)
    for start in range(0, len(listed), _AT_ONCE):
        yield listed[start : start + _AT_ONCE]


def _delete_files(
    reader: Reader, at: int | None, table_id: int, table_path: str, ids: Collection[int]
) -> dict[int, list[DeleteFile]]:
    """By data file; without a snapshot, all that there are."""
    now = "1 = 1" if at is None else visible()
    rows = reader.rows(
        "SELECT data_file_id, delete_file_id, path, path_is_relative, format, delete_count,"
        " file_size_bytes, begin_snapshot, encryption_key, end_snapshot FROM ducklake_delete_file"
        f" WHERE table_id = :id AND {now}{among(ids)} ORDER BY delete_file_id",
        id=table_id,
        **({} if at is None else {"at": at}),
    )
    found: dict[int, list[DeleteFile]] = defaultdict(list)
    for row in rows:
        delete = DeleteFile(
            id=row[1],
            path=inner_path(table_path, row[2], row[3]),
            format=row[4],
            rows=row[5],
            bytes=row[6],
            begin_snapshot=row[7],
            encryption_key=row[8],
            end_snapshot=row[9],
        )
        found[row[0]].append(delete)
    return found


def _inlined_deletes(
    reader: Reader, at: int | None, table_id: int, ids: Collection[int]
) -> dict[int, list[tuple[int, int]]]:
    """Positions and the snapshots that deleted them, by data file."""
    name = f"ducklake_inlined_delete_{table_id}"
    if not ids or not reader.has_table(name):
        return {}
    rows = reader.rows(
        f'SELECT file_id, row_id, begin_snapshot FROM "{name}" WHERE begin_snapshot <= :at'
        f"{among(ids, 'file_id')} ORDER BY file_id, row_id",
        at=_EVER if at is None else at,
    )
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file_id, position, snapshot in rows:
        found[file_id].append((position, snapshot))
    return found


def _partition_values(
    reader: Reader, table_id: int, ids: Collection[int]
) -> dict[int, tuple[str | None, ...]]:
    if not ids:
        return {}
    rows = reader.rows(
        "SELECT data_file_id, partition_value FROM ducklake_file_partition_value"
        f" WHERE table_id = :id{among(ids)} ORDER BY data_file_id, partition_key_index",
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
        f"{among(column_ids, 'column_id')}{among(file_ids)}",
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
