"""Which rows of data files were ever deleted, and when: history as delete files tell it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelake.duck import arrow_source
from tidelake.engine.local.scan_sql import encrypted_deletions
from tidelake.engine.parquet.footer_shape import shapes
from tidelake.engine.parquet.puffin import positions as vector_positions
from tidelake.model.file import DataFile, DeleteFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_POSITION, Column

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

DELETED_AT = "deleted_at"
COLUMNS = tuple(Column(0, name, "int64") for name in (ROW_FILE, ROW_POSITION, DELETED_AT))
_SNAPSHOT = "_ducklake_internal_snapshot_id"
_NOTHING = (
    f"SELECT 0::BIGINT AS {ROW_FILE}, 0::BIGINT AS {ROW_POSITION}, 0::BIGINT AS {DELETED_AT}"
    " WHERE false"
)


def deletions_sql(work: Workbench, files: Sequence[DataFile]) -> str:
    """A query of every position ever deleted from these files, each once, with the first
    snapshot that deleted it."""
    work.reach(delete.path for file in files for delete in file.deletes)
    branches = [branch for file in files for branch in _own_branches(work, file)]
    branches += _plain_branches(
        work,
        [
            (file.id, delete)
            for file in files
            for delete in file.deletes
            if delete.format != "puffin" and not delete.encryption_key
        ],
    )
    united = " UNION ALL ".join(branches) or _NOTHING
    return (
        f"SELECT {ROW_FILE}, {ROW_POSITION}, min({DELETED_AT}) AS {DELETED_AT}"
        f" FROM ({united}) GROUP BY {ROW_FILE}, {ROW_POSITION}"
    )


def batches(work: Workbench, files: Sequence[DataFile], rows: int) -> Iterator[pa.RecordBatch]:
    """The same as a stream of Arrow batches."""
    found = arrow_source(work.connection, deletions_sql(work, files))
    yield from found.to_arrow_reader(rows)


def _own_branches(work: Workbench, file: DataFile) -> Iterator[str]:
    """Deletes that a query of their own is needed for, or none at all."""
    if file.deleted_positions:
        yield _listed(file.id, file.deleted_positions, file.deleted_at)
    for delete in file.deletes:
        if delete.format == "puffin":
            gone = vector_positions(work.store.read_small(delete.path), delete.path)
            yield _listed(file.id, gone, [delete.begin_snapshot] * len(gone))
        elif delete.encryption_key:
            found = encrypted_deletions(delete.path, delete.encryption_key)
            yield _dated(f"{file.id}", "pos", f"{delete.begin_snapshot}", "stamp", found)


def _listed(file_id: int, positions: Sequence[int], snapshots: Sequence[int]) -> str:
    return (
        f"SELECT {file_id}::BIGINT AS {ROW_FILE}, unnest({list(positions)}::BIGINT[])"
        f" AS {ROW_POSITION}, unnest({list(snapshots)}::BIGINT[]) AS {DELETED_AT}"
    )


def _plain_branches(work: Workbench, deletes: Sequence[tuple[int, DeleteFile]]) -> list[str]:
    """One query for all Parquet delete files whose columns have the same names."""
    found = shapes(work.connection, [delete.path for _, delete in deletes]) if deletes else {}
    alike: dict[tuple[str, bool], list[tuple[int, DeleteFile]]] = defaultdict(list)
    for file_id, delete in deletes:
        names = [source.name for source in found[delete.path]]
        alike[names[1], names[2:3] == [_SNAPSHOT]].append((file_id, delete))
    branches = []
    for (position, is_stamped), group in alike.items():
        paths = ", ".join(text_literal(delete.path) for _, delete in group)
        branches.append(
            _dated(
                _of_file([file_id for file_id, _ in group]),
                quote(position),
                _of_file([delete.begin_snapshot for _, delete in group]),
                _SNAPSHOT if is_stamped else "NULL",
                f"read_parquet([{paths}], hive_partitioning = false)",
            )
        )
    return branches


def _of_file(values: Sequence[int]) -> str:
    return f"({list(values)}::BIGINT[])[CAST(file_index AS BIGINT) + 1]"


def _dated(file: str, position: str, begin: str, stamp: str, source: str) -> str:
    """A delete counts from when its file begins, or later if it is stamped so."""
    return (
        f"SELECT CAST({file} AS BIGINT) AS {ROW_FILE}, {position} AS {ROW_POSITION},"
        f" greatest(CAST({begin} AS BIGINT), {stamp}) AS {DELETED_AT} FROM {source}"
    )
