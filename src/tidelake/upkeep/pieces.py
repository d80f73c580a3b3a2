"""A table as compaction finds it, and the pieces of work that come of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import file_ids
from tidelake.catalog.read import files, inlined_data, options, snapshots
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.inlined_data import KeptHistory
from tidelake.catalog.read.options import Options
from tidelake.model.change import KeptTable
from tidelake.model.file import DataFile, InlinedRows, MappedField
from tidelake.model.names import TableName
from tidelake.model.schema import ROW_BEGAN, ROW_NUMBER, Column
from tidelake.model.table import PartitionSpec, TableInfo
from tidelake.plan.partitioning.folders import Folders
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target
from tidelake.session.planning import TableMeta, mappings_of, plan_all
from tidelake.session.session import Session
from tidelake.upkeep.choose import (
    FileFacts,
    KeptRows,
    Partition,
    Situation,
    sort_column,
    sort_point,
)
from tidelake.upkeep.rebuild import partition_sizes
from tidelake.upkeep.rebuild_task import Carry, Gather, Rewrite

_ONE_FILE = 1 << 60
"""A size that no file has: what is merged comes out as one."""


@dataclass(frozen=True, slots=True)
class _Versions:
    """The versions of a table's columns, as (snapshot with which it began, version), in order."""

    begins: tuple[tuple[int, int], ...]

    def at(self, snapshot_id: int) -> int:
        """The version that rows of a snapshot have; -1 if nobody knows."""
        place = bisect_right(self.begins, snapshot_id, key=lambda each: each[0])
        return self.begins[place - 1][1] if place else -1

    def listed(self, version: int) -> int:
        """What stands for a version that is not listed: the newest before it."""
        return max((known for _, known in self.begins if known <= version), default=-1)


@dataclass(frozen=True, slots=True)
class TableState:
    """What the catalog said of a table at one moment. `stuck` are files whose deletes cannot move,
    `keys` are the least values of what the table is sorted by, by file, `columns` are those of
    each version that anything is left of."""

    base: int
    schema_version: int
    facts: TableMeta
    options: Options
    files: Mapping[int, DataFile]
    stuck: frozenset[int]
    kept: tuple[KeptHistory, ...]
    keys: Mapping[int, str | None]
    versions: _Versions
    columns: Mapping[int, tuple[Column, ...]]
    mappings: Mapping[int, tuple[MappedField, ...]]
    snapshots: tuple[int, ...]

    @property
    def info(self) -> TableInfo:
        return self.facts.info


def look(session: Session, name: TableName, *, every: bool = False) -> TableState:
    """The table with the files of its newest snapshot; or with `every` one that there is of it,
    each with its whole life."""
    with session.reading() as reader:
        base, schema_version = snapshots.head(reader)
        info = session.table_info(reader, base, name)
        if every:
            found = files.whole_life(reader, info.id, info.path, file_ids(reader, info.id))
        else:
            found = files.data_files(reader, base, info.id, info.path)
        kept = tuple(inlined_data.kept_history(reader, base, info.id))
        versions = _Versions(tuple(read.versions(reader, info.id)))
        needed = {versions.at(file.begin_snapshot) for file in found}
        needed |= {versions.listed(each.schema_version) for each in kept}
        return TableState(
            base=base,
            schema_version=schema_version,
            facts=TableMeta.gather(reader, info),
            options=options.of_table(reader, info.id, read.schema_of(reader, info.id)),
            files={file.id: file for file in found},
            stuck=files.with_ended_deletes(reader, info.id),
            kept=kept,
            keys=_keys(reader, info, found),
            versions=versions,
            columns={
                version: read.columns_of_version(reader, info.id, version) for version in needed
            },
            mappings=mappings_of(reader, found),
            snapshots=tuple(snapshots.ids(reader)),
        )


def _keys(reader: Reader, info: TableInfo, found: Iterable[DataFile]) -> dict[int, str | None]:
    """The least value, in each file, of what the table is sorted by first."""
    column_id = sort_column(info.sorting, info.schema)
    if column_id is None:
        return {}
    known = files.statistics(reader, info.id, [column_id], [file.id for file in found])
    return {file_id: stats[column_id].min for file_id, stats in known.items()}


def situation(session: Session, found: TableState) -> Situation:
    """What of it matters to the choice of what to do."""
    sorted_by = sort_column(found.info.sorting, found.info.schema)
    kind = next((c.type for c in found.info.schema if c.id == sorted_by), "")
    return Situation(
        table=str(found.info.name),
        version=found.versions.at(found.base),
        files=tuple(_file_facts(found, file, kind) for file in found.files.values()),
        kept=tuple(part for kept in found.kept for part in _kept_rows(session, found, kept)),
        target_bytes=found.options.file_bytes,
        threshold=found.options.rewrite_threshold,
    )


def _file_facts(found: TableState, file: DataFile, key_type: str) -> FileFacts:
    version = found.versions.at(file.begin_snapshot)
    return FileFacts(
        id=file.id,
        version=version,
        partition=(file.partition_id, file.partition_values),
        rows=file.rows,
        deleted=sum(delete.rows for delete in file.deletes) + len(file.deleted_positions),
        bytes=file.bytes,
        begin=file.begin_snapshot,
        first_row=file.row_id_start,
        key=sort_point(key_type, found.keys.get(file.id)),
        position_count=len(file.deleted_positions),
        fixed=version < 0 or _is_encrypted(file),
        portable=file.id not in found.stuck,
    )


def _is_encrypted(file: DataFile) -> bool:
    return bool(file.encryption_key or any(delete.encryption_key for delete in file.deletes))


def _kept_rows(session: Session, found: TableState, kept: KeptHistory) -> list[KeptRows]:
    """What the catalog keeps, by the files that it will come to."""
    version = found.versions.listed(kept.schema_version)
    spec = _spec(found, kept)
    rows = len(kept.rows.rows)
    if spec is None:
        whole: Partition = (None, ())
        return [KeptRows(kept.table_name, version, whole, rows, len(kept.ends))]
    task = flush(found, kept)
    work = session.local.workbench()
    try:
        sizes = partition_sizes(work, task.plan, task.target.columns, task.target)
    finally:
        work.connection.close()
    share = len(kept.ends) / rows
    return [
        KeptRows(kept.table_name, version, (spec.id, values), count, round(count * share))
        for values, count in sizes
    ]


def _spec(found: TableState, kept: KeptHistory) -> PartitionSpec | None:
    """The table's partitioning, if the columns that it goes by were there, and the same."""
    spec = found.info.partitioning
    if spec is None:
        return None
    then = {column.id: column.type for column in kept.rows.columns}
    now = {column.id: column.type for column in found.info.schema}
    same = all(then.get(key.column_id) == now[key.column_id] for key in spec.keys)
    return spec if same else None


def flush(found: TableState, kept: KeptHistory) -> Carry:
    """The rows of one of the catalog's own tables, into files."""
    version = found.versions.listed(kept.schema_version)
    columns = _named(found, found.columns[version])
    target = replace(
        _target(found, columns),
        partitioning=_spec(found, kept),
        folders=_folders(found, _spec(found, kept), version),
    )
    plan = replace(_plan(found, columns), inlined=(kept.rows,))
    return Carry(plan, target, ends=kept.ends, snapshots=_since(found, span(kept.rows)[0]))


def kept_table(kept: KeptHistory) -> KeptTable:
    return KeptTable(kept.table_name, len(kept.rows.rows), len(kept.ends))


def spec_of_flush(found: TableState, kept: KeptHistory) -> int | None:
    spec = _spec(found, kept)
    return spec.id if spec else None


def span(rows: InlinedRows) -> tuple[int, int]:
    """The first and the last snapshot that rows are from."""
    begins = [int(str(row[1])) for row in rows.rows]
    return min(begins), max(begins)


def merge(found: TableState, sources: Sequence[DataFile]) -> Carry:
    """Files that are to be one, with the columns that they have always had."""
    (version,) = {found.versions.at(file.begin_snapshot) for file in sources}
    columns = _named(found, found.columns[version])
    bare = tuple(file.as_written() for file in sources)
    plan = replace(_plan(found, columns), files=bare, mappings=_mappings(found, sources))
    target = replace(
        _target(found, columns),
        file_bytes=_ONE_FILE,
        folders=_folders(found, _spec_of(found, sources[0]), version),
        partition=None if sources[0].partition_id is None else sources[0].partition_values,
    )
    deleted = tuple(file for file in sources if file.has_deletes)
    first = min((file.begin_snapshot for file in deleted), default=found.base)
    return Carry(plan, target, deleted, snapshots=_since(found, first))


def _spec_of(found: TableState, file: DataFile) -> PartitionSpec | None:
    return None if file.partition_id is None else found.facts.specs.get(file.partition_id)


def _folders(found: TableState, spec: PartitionSpec | None, version: int) -> Folders | None:
    """By the names that the columns had in that version, as DuckDB has it."""
    return Folders.of(spec, found.columns[version], wanted=found.options.hive_folders)


def _since(found: TableState, first: int) -> tuple[int, ...]:
    """The snapshots that can see rows from a snapshot on."""
    return found.snapshots[bisect_left(found.snapshots, first) :]


def _mappings(found: TableState, sources: Iterable[DataFile]) -> dict[int, tuple[MappedField, ...]]:
    ids = {file.mapping_id for file in sources if file.mapping_id is not None}
    return {mapping_id: found.mappings[mapping_id] for mapping_id in ids}


def rewrite(found: TableState, sources: Sequence[DataFile]) -> Rewrite:
    """What is left of files, as the table is now."""
    columns = found.info.schema.columns
    output = (*(column.name for column in columns), ROW_NUMBER)
    plan = replace(
        plan_all(found.base, found.facts, columns, output),
        files=tuple(sources),
        mappings=_mappings(found, sources),
    )
    spec = found.info.partitioning
    folders = Folders.of(spec, columns, wanted=found.options.hive_folders)
    target = replace(_target(found, columns), partitioning=spec, folders=folders)
    return Rewrite(plan, target)


def gather(found: TableState, file: DataFile) -> Gather:
    return Gather(file, _target(found, found.info.schema.columns))


def _named(found: TableState, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Columns of an earlier time under the names that they have now, which sorting goes by."""
    now = {column.id: column.name for column in found.info.schema}
    return tuple(
        replace(column, name=now.get(column.id, f"_tidelake_dropped_{column.id}"))
        for column in columns
    )


def _plan(found: TableState, columns: tuple[Column, ...]) -> ScanPlan:
    output = (*(column.name for column in columns), ROW_NUMBER, ROW_BEGAN)
    return plan_all(found.base, found.facts, columns, output)


def _target(found: TableState, columns: tuple[Column, ...]) -> Target:
    return Target(
        table=found.info.name,
        path=found.info.path,
        columns=columns,
        physical=found.facts.history.named(columns),
        sorting=found.info.sorting,
        file_bytes=found.options.file_bytes,
        compression=found.options.compression,
        row_group_rows=found.options.row_group_rows,
    )
