"""What files cover, as the catalog keeps it: bitmaps, and of which files they are all there.

What is kept of a file holds as long as no row of it has been deleted since: whoever deletes, us or
DuckDB, leaves a trace by which that is noticed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidelake.catalog import own_tables
from tidelake.catalog.annex import Execute, Rows
from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.files import among, chunks
from tidelake.catalog.read.tables import visible
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_sets import KeptPiece
from tidelake.coverage.values.piece import Covers, FileCoverage, Piece
from tidelake.coverage.values.series import hash_of

TABLE = "tidelake_coverage"
FILES = "tidelake_coverage_file"
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, series int!, entity_hash int!, data_file_id int!, part int!,"
            " begin_snapshot int, end_snapshot int, first_bucket int, last_bucket int,"
            " bucket_count int, entity text, buckets blob",
            needed="table_id series entity_hash data_file_id part begin_snapshot first_bucket"
            " last_bucket bucket_count entity",
            index=("tidelake_coverage_of_file", "table_id, data_file_id"),
        ),
        FILES: OwnTable(
            "table_id int!, series int!, data_file_id int!, deleted_through int",
            needed="table_id series data_file_id",
        ),
    }
)
_COLUMNS = (
    "table_id",
    "series",
    "entity_hash",
    "data_file_id",
    "part",
    "begin_snapshot",
    "end_snapshot",
    "first_bucket",
    "last_bucket",
    "bucket_count",
    "entity",
    "buckets",
)
_PIECE = (
    "data_file_id, entity, buckets, first_bucket, last_bucket, bucket_count, begin_snapshot,"
    " end_snapshot"
)
_FILE_COLUMNS = ("table_id", "series", "data_file_id", "deleted_through")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which coverage is meant: of a table, as one series of it counts."""

    table_id: int
    series: int


def add(rows: Rows, table_id: int, file_id: int, covers: Covers) -> None:
    """What a new file covers. Requires both tables."""
    scope = Scope(table_id, covers.series)
    rows[TABLE, _COLUMNS] += _rows(scope, file_id, covers.pieces)
    rows[FILES, _FILE_COLUMNS].append((table_id, covers.series, file_id, 0))


def ensure(writer: Writer) -> None:
    for name in (TABLE, FILES):
        own_tables.ensure(writer, name)


def unknown(reader: Reader, scope: Scope, file_ids: Collection[int]) -> dict[int, int]:
    """Those of the files of which it is not kept what they cover, and for each up to which
    snapshot rows have been deleted from it."""
    deleted = deleted_through(reader, scope.table_id, file_ids)
    kept = _kept_through(reader, scope, file_ids)
    return {
        file_id: deleted.get(file_id, 0)
        for file_id in file_ids
        if kept.get(file_id, -1) < deleted.get(file_id, 0)
    }


def recorded_files(reader: Reader, scope: Scope, file_ids: Collection[int]) -> set[int]:
    """Those of the files of which it is kept what they cover, or covered before rows of them
    were deleted."""
    return set(_kept_through(reader, scope, file_ids)) & set(file_ids)


def state(reader: Reader, scope: Scope) -> tuple[int, int]:
    """Of how many files it is kept what they cover, and up to which snapshots, added up: it changes
    with whatever is kept anew."""
    if not reader.has_table(FILES):
        return 0, 0
    row = reader.row(
        f"SELECT count(*), sum(deleted_through) FROM {FILES}"
        " WHERE table_id = :id AND series = :series",
        id=scope.table_id,
        series=scope.series,
    )
    return (int(row[0]), int(row[1] or 0)) if row else (0, 0)


def pieces_of_files(
    reader: Reader, scope: Scope, file_ids: Collection[int]
) -> dict[int, list[Piece]]:
    """All that is kept of files, of whatever snapshots."""
    found: dict[int, list[Piece]] = {file_id: [] for file_id in file_ids}
    for row in reader.rows(
        f"SELECT {_PIECE} FROM {TABLE} WHERE table_id = :id AND series = :series{among(file_ids)}",
        id=scope.table_id,
        series=scope.series,
    ):
        if row[0] in found:
            found[row[0]].append(_piece(row))
    return found


def files(reader: Reader, scope: Scope) -> list[int]:
    """Of which files something is kept, and be it in one of the two tables only."""
    if not reader.has_table(FILES):
        return []
    found: set[int] = set()
    for name in (TABLE, FILES):
        rows = reader.rows(
            f"SELECT DISTINCT data_file_id FROM {name} WHERE table_id = :id AND series = :series",
            id=scope.table_id,
            series=scope.series,
        )
        found |= {row[0] for row in rows}
    return sorted(found)


def _kept_through(reader: Reader, scope: Scope, file_ids: Collection[int]) -> dict[int, int]:
    if not (reader.has_table(FILES) and reader.has_table(TABLE)):
        return {}
    rows = reader.rows(
        f"SELECT data_file_id, deleted_through FROM {FILES}"
        f" WHERE table_id = :id AND series = :series{among(file_ids)}",
        id=scope.table_id,
        series=scope.series,
    )
    return {row[0]: row[1] for row in rows if row[1] is not None}


def deleted_through(reader: Reader, table_id: int, file_ids: Collection[int]) -> dict[int, int]:
    """The last snapshot that deleted rows, by file; files without deletes are not told."""
    rows = reader.rows(
        "SELECT data_file_id, max(CASE WHEN partial_max > begin_snapshot THEN partial_max"
        " ELSE begin_snapshot END) FROM ducklake_delete_file"
        f" WHERE table_id = :id{among(file_ids)} GROUP BY data_file_id",
        id=table_id,
    )
    name = inline_tables.deletes_name(table_id)
    if reader.has_table(name):
        rows += reader.rows(
            f'SELECT file_id, max(begin_snapshot) FROM "{name}"'
            f" WHERE 1 = 1{among(file_ids, 'file_id')} GROUP BY file_id"
        )
    found: dict[int, int] = {}
    for file_id, last in rows:
        found[file_id] = max(found.get(file_id, 0), last)
    return found


def pieces(
    reader: Reader, scope: Scope, at: int, entities: Collection[str], files: Collection[int]
) -> Iterator[Piece]:
    """What is kept of entities in files, and holds at a snapshot. Requires files of which something
    is kept."""
    for which in _among_entities(entities):
        for row in _held(reader, scope, at, _PIECE, f"{which}{among(files)}"):
            if row[1] in entities and row[0] in files:
                yield _piece(row)


def bitmaps(
    reader: Reader,
    scope: Scope,
    at: int,
    files: Collection[int],
    entities: Collection[str] | None = None,
    *,
    few_files: bool = False,
) -> list[KeptPiece]:
    """What is kept of entities, or of all, in files, and holds at a snapshot. With `few_files` only
    these are looked up."""
    if not files:
        return []
    columns = "data_file_id, entity, first_bucket, last_bucket, bucket_count, buckets"
    inside = among(files) if few_files else ""
    if entities is None:
        rows = _held(reader, scope, at, columns, inside, everybody=True)
        return [row for row in rows if row[0] in files]
    found: list[KeptPiece] = []
    wanted = set(entities)
    for which in _among_entities(wanted):
        rows = _held(reader, scope, at, columns, f"{which}{inside}")
        found += [row for row in rows if row[0] in files and row[1] in wanted]
    return found


def _held(
    reader: Reader, scope: Scope, at: int, columns: str, which: str, *, everybody: bool = False
) -> list[Row]:
    """Rows that hold at a snapshot. Requires the table. The plus sign keeps SQLite from going
    through them in the order of entities, when they lie in that of files."""
    series = "+series" if everybody else "series"
    return reader.rows(
        f"SELECT {columns} FROM {TABLE} WHERE table_id = :id AND {series} = :series"
        f" AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at){which}",
        id=scope.table_id,
        series=scope.series,
        at=at,
    )


def _among_entities(entities: Iterable[str]) -> Iterator[str]:
    hashes = [hash_of(entity) for entity in entities]
    for some in chunks(hashes):
        yield among(some, "entity_hash")


def _piece(row: Row) -> Piece:
    _, entity, buckets, first, last, count, begin, end = row
    return Piece(entity, bytes(buckets), first + SIGN, last + SIGN, count, begin, end)


def put(writer: Writer, scope: Scope, found: Sequence[FileCoverage], *, anew: bool = False) -> None:
    """Keep what files cover, in place of what was kept of them before. What somebody else has
    found out later, unless it is done `anew`, and what is of files that have gone, is passed
    over."""
    ensure(writer)
    by_id = {each.file_id: each for each in found}
    for ids in chunks(by_id):
        kept = _kept_through(writer, scope, ids)
        there = _there(writer, scope.table_id, ids)
        some = [by_id[id_] for id_ in there if anew or kept.get(id_, -1) <= by_id[id_].through]
        _forget(writer, scope, [each.file_id for each in some])
        rows = [row for each in some for row in _rows(scope, each.file_id, each.pieces)]
        writer.insert_values(TABLE, _COLUMNS, rows)
        known = [(scope.table_id, scope.series, each.file_id, each.through) for each in some]
        writer.insert_values(FILES, _FILE_COLUMNS, known)


def _there(reader: Reader, table_id: int, ids: Collection[int]) -> list[int]:
    there = f"SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id{among(ids)}"
    return [row[0] for row in reader.rows(there, id=table_id) if row[0] in ids]


def _rows(scope: Scope, file_id: int, found: Iterable[Piece]) -> list[tuple[object, ...]]:
    parts: Counter[int] = Counter()
    rows: list[tuple[object, ...]] = []
    for piece in found:
        key = hash_of(piece.entity)
        rows.append(
            (
                scope.table_id,
                scope.series,
                key,
                file_id,
                parts[key],
                piece.begin or 0,
                piece.end,
                piece.first - SIGN,
                piece.last - SIGN,
                piece.count,
                piece.entity,
                piece.buckets,
            )
        )
        parts[key] += 1
    return rows


def strike(reader: Reader, execute: Execute, table_id: int, file_ids: Collection[int]) -> None:
    """Strike off files that go, at once or with a commit."""
    if file_ids and reader.has_table(FILES):
        for ids in chunks(file_ids):
            for name in (TABLE, FILES):
                execute(f"DELETE FROM {name} WHERE table_id = :id{among(ids)}", id=table_id)


def forget_files(writer: Writer, table_id: int, file_ids: Collection[int]) -> None:
    """Strike off files that have gone."""
    strike(writer, writer.execute, table_id, file_ids)


def strays(reader: Reader, table_id: int | None = None) -> dict[int, list[int]]:
    """Files that somebody else has removed, as DuckDB does when it merges and expires, by their
    table. Of one table only records are gone through, which are few."""
    names = (FILES,) if table_id is not None else (FILES, TABLE)
    which = "" if table_id is None else f"table_id = {table_id} AND "
    found: dict[int, set[int]] = defaultdict(set)
    for name in names if reader.has_table(FILES) else ():
        for of_table, file_id in reader.rows(
            f"SELECT DISTINCT table_id, data_file_id FROM {name} WHERE {which}"
            "data_file_id NOT IN (SELECT data_file_id FROM ducklake_data_file)"
        ):
            found[of_table].add(file_id)
    return {of_table: sorted(ids) for of_table, ids in found.items()}


def visible_files(reader: Reader, table_id: int, at: int) -> set[int]:
    """The files of a table that a snapshot sees."""
    sql = f"SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id AND {visible()}"
    return {row[0] for row in reader.rows(sql, id=table_id, at=at)}


def tables(reader: Reader) -> list[int]:
    """Those of which coverage is kept."""
    if not reader.has_table(FILES):
        return []
    both = f"SELECT table_id FROM {FILES} UNION SELECT table_id FROM {TABLE}"
    return [row[0] for row in reader.rows(both)]


def scopes(reader: Reader, table_id: int) -> list[Scope]:
    """By which series it is kept of a table."""
    if not reader.has_table(FILES):
        return []
    each = "SELECT series FROM {} WHERE table_id = :id"
    rows = reader.rows(f"{each.format(FILES)} UNION {each.format(TABLE)}", id=table_id)
    return [Scope(table_id, row[0]) for row in rows]


def forget_series(writer: Writer, scope: Scope) -> None:
    """Strike off what is kept by a series."""
    for name in (TABLE, FILES):
        writer.execute(
            f"DELETE FROM {name} WHERE table_id = :id AND series = :series",
            id=scope.table_id,
            series=scope.series,
        )


def forget_tables(writer: Writer, table_ids: Collection[int]) -> None:
    """Strike off tables that go."""
    if table_ids and writer.has_table(FILES):
        for name in (TABLE, FILES):
            writer.execute(f"DELETE FROM {name} WHERE 1 = 1{among(table_ids, 'table_id')}")


def _forget(writer: Writer, scope: Scope, ids: Collection[int]) -> None:
    for name in (TABLE, FILES):
        writer.execute(
            f"DELETE FROM {name} WHERE table_id = :id AND series = {scope.series}{among(ids)}",
            id=scope.table_id,
        )
