"""Whether buckets that a write has found free are free still.

Told from what the catalog keeps of the files and rows that have come since; where it does not
say, they count as taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import inlined_data
from tidelake.catalog.read.files import chunks
from tidelake.coverage import records as coverage
from tidelake.coverage.layouts import Scope
from tidelake.coverage.values.bitmaps import Buckets, ids_of
from tidelake.coverage.values.from_text import buckets_of_texts
from tidelake.coverage.values.piece import Covers, Piece
from tidelake.coverage.values.series import Series
from tidelake.model.table import TableInfo

Claimed = Mapping[str, Collection[Piece]]


def are_free(
    reader: Reader, table: TableInfo, claims: Iterable[Covers], base: int, head: int
) -> bool:
    """Whether no row that has come to the table after `base` lies in one of the buckets. New files
    are found by their ids: a table may have very many others."""
    rows = reader.rows(
        "SELECT data_file_id FROM ducklake_data_file WHERE +table_id = :id AND data_file_id >="
        " coalesce((SELECT next_file_id FROM ducklake_snapshot WHERE snapshot_id = :base), 0)"
        " AND end_snapshot IS NULL AND (begin_snapshot > :base OR partial_max > :base)",
        id=table.id,
        base=base,
    )
    files = [row[0] for row in rows]
    for claim in claims:
        claimed: dict[str, list[Piece]] = {}
        for piece in claim.pieces:
            claimed.setdefault(piece.entity, []).append(piece)
        scope = Scope(table.id, claim.series)
        if not _free_of_files(reader, scope, claimed, files, head):
            return False
        if not _free_of_rows(reader, table, scope, claimed, (base, head)):
            return False
    return True


def _free_of_files(
    reader: Reader, scope: Scope, claimed: Claimed, files: Collection[int], head: int
) -> bool:
    if files and coverage.recorded_files(reader, scope, files) != set(files):
        return False
    for ids in chunks(files):
        for piece in coverage.pieces(reader, scope, head, claimed.keys(), ids):
            near = [p for p in claimed[piece.entity] if _near(p, piece)]
            if near and _meet(near, _ids(piece)):
                return False
    return True


def _free_of_rows(
    reader: Reader, table: TableInfo, scope: Scope, claimed: Claimed, since: tuple[int, int]
) -> bool:
    """The catalog's own rows have no record: what they cover is read from them."""
    series = Series.maybe(table)
    if series is None or series.number != scope.series:
        return False
    wanted = [column.id for column in series.columns]
    for kept in inlined_data.begun_between(reader, *since, table.id, wanted):
        places = {column.id: place for place, column in enumerate(kept.columns, 2)}
        if places.keys() != set(wanted):
            return False
        found = buckets_of_texts(
            series, ([row[places[id_]] for id_ in wanted] for row in kept.rows)
        )
        if found is None:
            return False
        if any(_meet(claimed.get(entity, ()), ids) for entity, ids in found.items()):
            return False
    return True


def _near(one: Piece, other: Piece) -> bool:
    return one.first <= other.last and other.first <= one.last


def _meet(claimed: Iterable[Piece], buckets: Buckets) -> bool:
    return any(_ids(piece) & buckets for piece in claimed)


def _ids(piece: Piece) -> Buckets:
    return ids_of(piece.buckets, piece.first, piece.last, lacking=piece.lacking)
