"""The two ways in which coverage lies in the catalog: a row for each piece, and pages.

Of a file with few pieces each has a row, as Tidelake 0.1 has it, in which another program finds an
entity by itself. Many are put into pages, so that a commit writes few rows. 0.1 does not look at
pages: it takes such a file for one of which nothing is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tidelake.catalog import own_tables
from tidelake.catalog.annex import Rows
from tidelake.catalog.database.database import Reader, Row
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.files import among, chunks
from tidelake.coverage.values.bitmaps import as_listed
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_pages import KeptPage
from tidelake.coverage.values.kept_sets import KeptPiece
from tidelake.coverage.values.page import kept_pieces, pages_of, pieces_in, slots_of_entities
from tidelake.coverage.values.piece import FileCoverage, Piece
from tidelake.coverage.values.series import hash_of

TABLE = "tidelake_coverage"
FILES = "tidelake_coverage_file"
PAGES = "tidelake_coverage_page"
PAGE_FILES = "tidelake_coverage_page_file"
LAYOUTS = {FILES: TABLE, PAGE_FILES: PAGES}
"""The two ways in which it is kept: the files, and what they cover."""
TABLES = (TABLE, FILES, PAGES, PAGE_FILES)
_OF_FILE = "table_id int!, series int!, data_file_id int!, deleted_through int"
_NEEDED_OF_FILE = "table_id series data_file_id"
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
        FILES: OwnTable(_OF_FILE, needed=_NEEDED_OF_FILE),
        PAGES: OwnTable(
            "table_id int!, series int!, slot int!, data_file_id int!, part int!,"
            " begin_snapshot int, end_snapshot int, entities text, spans blob, buckets blob",
            needed="table_id series slot data_file_id part begin_snapshot entities spans buckets",
            index=("tidelake_coverage_page_of_file", "table_id, data_file_id"),
        ),
        PAGE_FILES: OwnTable(_OF_FILE, needed=_NEEDED_OF_FILE),
    }
)
FEW_PIECES = 32
"""So many of a file have a row each."""
COLUMNS = (
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
_PAGE_COLUMNS = (
    "table_id",
    "series",
    "slot",
    "data_file_id",
    "part",
    "begin_snapshot",
    "end_snapshot",
    "entities",
    "spans",
    "buckets",
)
PIECE = (
    "data_file_id, entity, buckets, first_bucket, last_bucket, bucket_count, begin_snapshot,"
    " end_snapshot"
)
PAGE = "data_file_id, begin_snapshot, end_snapshot, entities, spans, buckets"
FILE_COLUMNS = ("table_id", "series", "data_file_id", "deleted_through")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which coverage is meant: of a table, as one series of it counts."""

    table_id: int
    series: int


def put_rows(rows: Rows, scope: Scope, found: FileCoverage) -> None:
    """What a file covers, as rows to be written."""
    is_small = len(found.pieces) <= FEW_PIECES
    if is_small:
        rows[TABLE, COLUMNS] += listed_rows(scope, found.file_id, found.pieces)
    else:
        rows[PAGES, _PAGE_COLUMNS] += _pages(scope, found.file_id, found.pieces)
    of_file = (scope.table_id, scope.series, found.file_id, found.through)
    rows[FILES if is_small else PAGE_FILES, FILE_COLUMNS].append(of_file)


def listed_rows(scope: Scope, file_id: int, found: Iterable[Piece]) -> list[tuple[object, ...]]:
    """Each piece as a row, with a bitmap of what is covered."""
    parts: Counter[int] = Counter()
    rows: list[tuple[object, ...]] = []
    for piece in chain.from_iterable(map(as_listed, found)):
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


def _pages(scope: Scope, file_id: int, found: Iterable[Piece]) -> list[tuple[object, ...]]:
    parts: Counter[int] = Counter()
    rows: list[tuple[object, ...]] = []
    for page in pages_of(found):
        slot = page.slot
        rows.append((scope.table_id, scope.series, slot, file_id, parts[slot], *page[1:]))
        parts[slot] += 1
    return rows


BITMAP = "data_file_id, entity, first_bucket, last_bucket, bucket_count, buckets"
Which = tuple[Collection[str] | None, str]
"""Of which entities, or of all; and a condition more."""


def rows_of_entities(
    reader: Reader, scope: Scope, at: int, columns: str, which: Which
) -> Iterator[Row]:
    entities, inside = which
    if not reader.has_table(TABLE):
        return
    if entities is None:
        yield from _held(reader, scope, at, (TABLE, columns), inside, everybody=True)
        return
    for some in chunks(hash_of(entity) for entity in entities):
        where = f"{among(some, 'entity_hash')}{inside}"
        yield from _held(reader, scope, at, (TABLE, columns), where)


def pages_of_entities(reader: Reader, scope: Scope, at: int, which: Which) -> Iterator[Row]:
    entities, inside = which
    if not reader.has_table(PAGES):
        return
    if entities is None:
        yield from _held(reader, scope, at, (PAGES, PAGE), inside, everybody=True)
        return
    largest = reader.row(
        f"SELECT max(slot) FROM {PAGES} WHERE table_id = :id AND series = :series",
        id=scope.table_id,
        series=scope.series,
    )
    if largest is not None and largest[0] is not None:
        for some in chunks(slots_of_entities(entities, largest[0])):
            yield from _held(reader, scope, at, (PAGES, PAGE), f"{among(some, 'slot')}{inside}")


def _held(
    reader: Reader,
    scope: Scope,
    at: int,
    chosen: tuple[str, str],
    which: str,
    *,
    everybody: bool = False,
) -> list[Row]:
    """Rows that hold at a snapshot: `chosen` columns of a table. The plus sign keeps SQLite from
    going through them in the order of entities, when they lie in that of files."""
    series = "+series" if everybody else "series"
    table, columns = chosen
    return reader.rows(
        f"SELECT {columns} FROM {table} WHERE table_id = :id AND {series} = :series"
        f" AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at){which}",
        id=scope.table_id,
        series=scope.series,
        at=at,
    )


def piece_of(row: Row) -> Piece:
    _, entity, buckets, first, last, count, begin, end = row
    return Piece(entity, bytes(buckets), first + SIGN, last + SIGN, count, begin, end)


def _page(row: Row) -> tuple[str, bytes, bytes]:
    entities, spans, buckets = row[3:6]
    return entities, bytes(spans), bytes(buckets)


def pieces_of(row: Row, entities: Collection[str] | None = None) -> Iterator[Piece]:
    return pieces_in(row[0], (row[1], row[2]), _page(row), entities)


def kept_of_row(row: Row) -> KeptPiece:
    """Of the columns of `BITMAP`."""
    file_id, entity, first, last, count, buckets = row
    return file_id, entity, first, last, count, bytes(buckets), False


def kept_of_page(row: Row, entities: Collection[str]) -> Iterator[KeptPiece]:
    return kept_pieces(row[0], _page(row), entities)


def kept_page(row: Row) -> KeptPage:
    return row[0], _page(row)
