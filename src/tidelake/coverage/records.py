"""What files cover, as the catalog keeps it: bitmaps, and of which files they are all there.

What is kept of a file holds as long as no row of it has been deleted since: whoever deletes, us or
DuckDB, leaves a trace by which that is noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tidelake.catalog import own_tables
from tidelake.catalog.annex import Execute, Rows
from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read.files import among, chunks
from tidelake.catalog.read.tables import visible
from tidelake.coverage.layouts import (
    BITMAP,
    FILES,
    LAYOUTS,
    PAGE,
    PAGE_FILES,
    PAGES,
    PIECE,
    TABLE,
    TABLES,
    Scope,
    kept_of_page,
    kept_of_row,
    kept_page,
    pages_of_entities,
    piece_of,
    pieces_of,
    put_rows,
    rows_of_entities,
)
from tidelake.coverage.values.kept_pages import KeptPage, KeptPages
from tidelake.coverage.values.kept_sets import KeptPiece
from tidelake.coverage.values.piece import Covers, FileCoverage, Piece


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files of which it is kept what they cover: row by row, or in pages."""

    rows: frozenset[int] = frozenset()
    pages: frozenset[int] = frozenset()


def add(rows: Rows, table_id: int, file_id: int, covers: Covers) -> None:
    """What a new file covers. Requires all tables."""
    put_rows(rows, Scope(table_id, covers.series), FileCoverage(file_id, 0, covers.pieces))


def ensure(writer: Writer) -> None:
    for name in TABLES:
        own_tables.ensure(writer, name)


def look_up(
    reader: Reader, scope: Scope, file_ids: Collection[int]
) -> tuple[KeptFiles, dict[int, int]]:
    """Of which files it is kept what they cover, and of which it is not; of each of these, up to
    which snapshot rows have been deleted from it. If 0.1 has kept it too, of a file that is in
    pages, both may hold, or one of them."""
    if not file_ids:
        return KeptFiles(), {}
    deleted = deleted_through(reader, scope.table_id, file_ids)
    wanted = {file_id: deleted.get(file_id, 0) for file_id in file_ids}
    valid = {
        files: {id_ for id_, through in known.items() if id_ in wanted and through >= wanted[id_]}
        for files, known in _kept_through(reader, scope, file_ids).items()
    }
    pages = frozenset(valid.get(PAGE_FILES, ()))
    kept = KeptFiles(frozenset(valid.get(FILES, ())) - pages, pages)
    return kept, {id_: wanted[id_] for id_ in wanted.keys() - kept.rows - kept.pages}


def unknown(reader: Reader, scope: Scope, file_ids: Collection[int]) -> dict[int, int]:
    """Those of the files of which it is not kept what they cover, and for each up to which
    snapshot rows have been deleted from it."""
    return look_up(reader, scope, file_ids)[1]


def recorded_files(reader: Reader, scope: Scope, file_ids: Collection[int]) -> set[int]:
    """Those of the files of which it is kept what they cover, or covered before rows of them
    were deleted."""
    known = _kept_through(reader, scope, file_ids)
    return {id_ for files in known.values() for id_ in files} & set(file_ids)


def state(reader: Reader, scope: Scope) -> tuple[int, int]:
    """Of how many files it is kept what they cover, and up to which snapshots, added up: it changes
    with whatever is kept anew."""
    many = total = 0
    for name in filter(reader.has_table, LAYOUTS):
        ((count, through),) = reader.rows(
            f"SELECT count(*), sum(deleted_through) FROM {name}"
            " WHERE table_id = :id AND series = :series",
            id=scope.table_id,
            series=scope.series,
        )
        many += int(count)
        total += int(through or 0)
    return many, total


def pieces_of_files(
    reader: Reader, scope: Scope, file_ids: Collection[int]
) -> dict[int, list[Piece]]:
    """All that is kept of files, of whatever snapshots."""
    found: dict[int, list[Piece]] = {file_id: [] for file_id in file_ids}
    kept, _ = look_up(reader, scope, file_ids)
    for layout, columns, ids in ((TABLE, PIECE, kept.rows), (PAGES, PAGE, kept.pages)):
        if not ids:
            continue
        for row in reader.rows(
            f"SELECT {columns} FROM {layout} WHERE table_id = :id AND series = :series{among(ids)}",
            id=scope.table_id,
            series=scope.series,
        ):
            if row[0] in ids:
                found[row[0]] += [piece_of(row)] if layout == TABLE else pieces_of(row)
    return found


def files(reader: Reader, scope: Scope) -> list[int]:
    """Of which files something is kept, and be it in one of the tables only."""
    found: set[int] = set()
    for name in filter(reader.has_table, TABLES):
        rows = reader.rows(
            f"SELECT DISTINCT data_file_id FROM {name} WHERE table_id = :id AND series = :series",
            id=scope.table_id,
            series=scope.series,
        )
        found |= {row[0] for row in rows}
    return sorted(found)


def _kept_through(
    reader: Reader, scope: Scope, file_ids: Collection[int]
) -> dict[str, dict[int, int]]:
    """By the table that says so."""
    found: dict[str, dict[int, int]] = {}
    for name, layout in LAYOUTS.items():
        if reader.has_table(name) and reader.has_table(layout):
            rows = reader.rows(
                f"SELECT data_file_id, deleted_through FROM {name}"
                f" WHERE table_id = :id AND series = :series{among(file_ids)}",
                id=scope.table_id,
                series=scope.series,
            )
            found[name] = {row[0]: row[1] for row in rows if row[1] is not None}
    return found


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
    inside = among(files)
    for row in rows_of_entities(reader, scope, at, PIECE, (entities, inside)):
        if row[1] in entities and row[0] in files:
            yield piece_of(row)
    for row in pages_of_entities(reader, scope, at, (entities, inside)):
        if row[0] in files:
            yield from pieces_of(row, entities)


def bitmaps(
    reader: Reader,
    scope: Scope,
    at: int,
    kept: KeptFiles,
    entities: Collection[str] | None = None,
    *,
    few_files: bool = False,
) -> KeptPages:
    """What is kept of entities, or of all, in files, and holds at a snapshot. With `few_files` only
    these are looked up."""
    found: list[KeptPiece] = []
    pages: list[KeptPage] = []
    wanted = None if entities is None else set(entities)
    if kept.rows:
        inside = among(kept.rows) if few_files else ""
        rows = rows_of_entities(reader, scope, at, BITMAP, (wanted, inside))
        there = (row for row in rows if row[0] in kept.rows)
        found += [kept_of_row(row) for row in there if wanted is None or row[1] in wanted]
    if kept.pages:
        inside = among(kept.pages) if few_files else ""
        for row in pages_of_entities(reader, scope, at, (wanted, inside)):
            if row[0] in kept.pages:
                if wanted is None:
                    pages.append(kept_page(row))
                else:
                    found += kept_of_page(row, wanted)
    return KeptPages(pages, found)


def put(writer: Writer, scope: Scope, found: Sequence[FileCoverage], *, anew: bool = False) -> None:
    """Keep what files cover, in place of what was kept of them before. What somebody else has
    found out later, unless it is done `anew`, and what is of files that have gone, is passed
    over."""
    ensure(writer)
    by_id = {each.file_id: each for each in found}
    for ids in chunks(by_id):
        kept = _kept_through(writer, scope, ids).values()
        later = {id_ for known in kept for id_ in ids if known.get(id_, -1) > by_id[id_].through}
        there = _there(writer, scope.table_id, ids)
        some = [by_id[id_] for id_ in there if anew or id_ not in later]
        _forget(writer, scope, [each.file_id for each in some])
        rows: Rows = defaultdict(list)
        for each in some:
            put_rows(rows, scope, each)
        for (name, columns), values in rows.items():
            writer.insert_values(name, columns, values)


def _there(reader: Reader, table_id: int, ids: Collection[int]) -> list[int]:
    there = f"SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id{among(ids)}"
    return [row[0] for row in reader.rows(there, id=table_id) if row[0] in ids]


def strike(reader: Reader, execute: Execute, table_id: int, file_ids: Collection[int]) -> None:
    """Strike off files that go, at once or with a commit."""
    names = list(filter(reader.has_table, TABLES))
    for ids in chunks(file_ids) if names else ():
        for name in names:
            execute(f"DELETE FROM {name} WHERE table_id = :id{among(ids)}", id=table_id)


def forget_files(writer: Writer, table_id: int, file_ids: Collection[int]) -> None:
    """Strike off files that have gone."""
    strike(writer, writer.execute, table_id, file_ids)


def strays(reader: Reader, table_id: int | None = None) -> dict[int, list[int]]:
    """Files that somebody else has removed, as DuckDB does when it merges and expires, by their
    table. Of one table only records are gone through, which are few."""
    names = TABLES if table_id is None else LAYOUTS
    which = "" if table_id is None else f"table_id = {table_id} AND "
    found: dict[int, set[int]] = defaultdict(set)
    for name in filter(reader.has_table, names):
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
    found: set[int] = set()
    for name in filter(reader.has_table, TABLES):
        found |= {row[0] for row in reader.rows(f"SELECT DISTINCT table_id FROM {name}")}
    return sorted(found)


def scopes(reader: Reader, table_id: int) -> list[Scope]:
    """By which series it is kept of a table."""
    found: set[int] = set()
    for name in filter(reader.has_table, TABLES):
        sql = f"SELECT DISTINCT series FROM {name} WHERE table_id = :id"
        found |= {row[0] for row in reader.rows(sql, id=table_id)}
    return [Scope(table_id, series) for series in sorted(found)]


def forget_series(writer: Writer, scope: Scope) -> None:
    """Strike off what is kept by a series."""
    _forget(writer, scope)


def forget_tables(writer: Writer, table_ids: Collection[int]) -> None:
    """Strike off tables that go."""
    for name in filter(writer.has_table, TABLES) if table_ids else ():
        writer.execute(f"DELETE FROM {name} WHERE 1 = 1{among(table_ids, 'table_id')}")


def _forget(writer: Writer, scope: Scope, ids: Collection[int] | None = None) -> None:
    which = "" if ids is None else among(ids)
    for name in filter(writer.has_table, TABLES):
        writer.execute(
            f"DELETE FROM {name} WHERE table_id = :id AND series = {scope.series}{which}",
            id=scope.table_id,
        )
