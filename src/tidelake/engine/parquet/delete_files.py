"""Delete files: which positions of a data file are gone, in the form that DuckDB writes.

The first delete file of a data file holds positions alone. A further one takes its place, and
holds for every position the snapshot that deleted it, so that the past stays readable from it.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.engine.parquet.footer_shape import shapes
from tidelake.engine.parquet.puffin import positions as vector_positions
from tidelake.model.change import NewDeleteFile
from tidelake.model.file import DataFile, DeleteFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_SNAPSHOT_FIELD
from tidelake.plan.target import Target
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    import duckdb

    from tidelake.engine.local.workbench import Workbench

_SNAPSHOT = "_ducklake_internal_snapshot_id"
_FIELDS = f"file_path: 2147483646, pos: 2147483645, {_SNAPSHOT}: {ROW_SNAPSHOT_FIELD}"


def write_delete_file(
    work: Workbench, target: Target, file: DataFile, positions: str, stamp: int
) -> NewDeleteFile:
    """A delete file for the positions that a query gives as `pos`, and those gone before.

    `stamp` is the snapshot that deletes them, as far as can be told. A delete file that the
    same transaction wrote before is taken up in the same form.
    """
    before = file.deletes
    owner = (file.id, file.path)
    if not before:
        return _written(work.connection, target, owner, f"SELECT pos FROM ({positions})")
    parts = [_previous(work, delete) for delete in before]
    gone = " UNION ALL ".join(rows for rows, _ in parts)
    if before[0].is_staged and not parts[0][1]:
        rows = f"SELECT pos FROM ({gone}) UNION ALL SELECT pos FROM ({positions})"
        return _written(work.connection, target, owner, rows)
    if len(before) > 1:
        gone = f"SELECT pos, min({_SNAPSHOT}) AS {_SNAPSHOT} FROM ({gone}) GROUP BY pos"
    rows = f"{gone} UNION ALL SELECT pos, {stamp}::BIGINT FROM ({positions})"
    first = work.connection.execute(f"SELECT min({_SNAPSHOT}) FROM ({gone})").fetchone()
    return replace(
        _written(work.connection, target, owner, rows, stamped=True),
        replaces=before,
        since=first[0] if first and first[0] is not None else before[0].begin_snapshot,
        stamp=stamp,
    )


def write_dated(
    work: Workbench, target: Target, owner: tuple[int, str], rows: str
) -> NewDeleteFile | None:
    """A delete file for positions that a query gives as `pos`, with the snapshot that deleted
    each as `deleted_at`; `owner` is the data file's id and path. None for no positions."""
    first, last = work.connection.execute(
        f"SELECT min(deleted_at), max(deleted_at) FROM ({rows})"
    ).fetchall()[0]
    if first is None:
        return None
    named = f"SELECT pos, deleted_at AS {_SNAPSHOT} FROM ({rows})"
    made = _written(work.connection, target, owner, named, stamped=True)
    return replace(made, since=first, stamp=last)


def restamp_file(work: Workbench, target: Target, file: NewDeleteFile, stamp: int) -> NewDeleteFile:
    """The same delete file for another snapshot than was expected, under a new name."""
    rows = (
        f"SELECT file_path, pos, CASE WHEN {_SNAPSHOT} = {file.stamp} THEN {stamp}::BIGINT"
        f" ELSE {_SNAPSHOT} END AS {_SNAPSHOT}"
        f" FROM read_parquet({text_literal(_local(file.path))}, hive_partitioning = false)"
    )
    path, size, footer, count = _copy(work.connection, target, rows, stamped=True)
    return replace(file, path=path, bytes=size, footer_size=footer, rows=count, stamp=stamp)


def move_deletes(
    work: Workbench, target: Target, delete: DeleteFile, path: str, going: str
) -> NewDeleteFile | None:
    """The same deletes for a data file of which rows are left out, at the `path` it has now; None
    if they were all of these rows. `going` is a relation of their positions: (pos, n), where n
    counts them in order."""
    before, stamped = _previous(work, delete)
    more = f", d.{_SNAPSHOT}" if stamped else ""
    rows = (
        f"SELECT d.pos - COALESCE(g.n, 0) AS pos{more} FROM ({before}) AS d"
        f" ASOF LEFT JOIN {going} AS g ON d.pos >= g.pos WHERE g.pos IS DISTINCT FROM d.pos"
    )
    if work.connection.execute(f"SELECT 1 FROM ({rows}) LIMIT 1").fetchone() is None:
        return None
    return _written(work.connection, target, (0, path), rows, stamped=stamped)


def _written(
    connection: duckdb.DuckDBPyConnection,
    target: Target,
    owner: tuple[int, str],
    rows: str,
    *,
    stamped: bool = False,
) -> NewDeleteFile:
    file_id, data_path = owner
    columns = f"{text_literal(data_path)} AS file_path, CAST(pos AS BIGINT) AS pos"
    columns += f", {_SNAPSHOT}" if stamped else ""
    path, size, footer, count = _copy(
        connection, target, f"SELECT {columns} FROM ({rows})", stamped=stamped
    )
    return NewDeleteFile(file_id, path, count, size, footer)


def _copy(
    connection: duckdb.DuckDBPyConnection, target: Target, rows: str, *, stamped: bool
) -> tuple[str, int, int, int]:
    if is_local(target.path):
        local_path(target.path).mkdir(parents=True, exist_ok=True)
    path = f"{target.path}ducklake-{uuid.uuid4()}-delete.parquet"
    fields = _FIELDS if stamped else _FIELDS.rpartition(",")[0]
    row = connection.execute(
        f"COPY ({rows} ORDER BY pos) TO {text_literal(_local(path))}"
        f" (FORMAT parquet, FIELD_IDS {{{fields}}}, RETURN_STATS)"
    ).fetchone()
    assert row is not None
    return path, row[2], row[3], row[1]


def _local(path: str) -> str:
    return str(local_path(path)) if is_local(path) else path


def _previous(work: Workbench, delete: DeleteFile) -> tuple[str, bool]:
    """A query of what is deleted already: positions and the snapshots that deleted them; and
    whether the file itself knows those."""
    if delete.format == "puffin":
        gone = vector_positions(work.store.read_small(delete.path), delete.path)
        listed = ", ".join(map(str, gone))
        rows = f"SELECT unnest([{listed}]) AS pos, {delete.begin_snapshot}::BIGINT AS {_SNAPSHOT}"
        return rows, False
    names = [source.name for source in shapes(work.connection, [delete.path])[delete.path]]
    stamped = names[2:3] == [_SNAPSHOT]
    snapshot = _SNAPSHOT if stamped else f"{delete.begin_snapshot}::BIGINT AS {_SNAPSHOT}"
    source = f"read_parquet({text_literal(delete.path)}, hive_partitioning = false)"
    return f"SELECT {quote(names[1])} AS pos, {snapshot} FROM {source}", stamped
