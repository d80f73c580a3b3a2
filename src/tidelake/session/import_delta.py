"""Bringing Delta tables into a lake: their files become part of it where they lie."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelake.engine.delta_checkpoint import read_checkpoint, row_counts
from tidelake.errors import Corrupt, Invalid
from tidelake.mirror.adopt import (
    facts_of,
    is_told_by_folders,
    mapping_of,
    parsed_stats,
    row_count,
)
from tidelake.mirror.features import check_readable, mapping_mode
from tidelake.mirror.log import Listing, listing, state_at
from tidelake.mirror.names import located
from tidelake.mirror.replay import State
from tidelake.mirror.types import Field, fields_of
from tidelake.mirror.vectors import decoded
from tidelake.model.change import ColumnFacts, NewFile, WriteResult
from tidelake.model.delta import Add, Key
from tidelake.model.names import TableName, quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_POSITION, Column, Schema
from tidelake.model.table import PartitionKey
from tidelake.session.definitions import create
from tidelake.session.draft import TableDraft
from tidelake.session.staging import plan_of
from tidelake.store.files import is_local, local_path

if TYPE_CHECKING:
    from tidelake.session.lake import Lake
    from tidelake.session.transaction import Transaction

_WALKED = 1000
"""From so many files on, the whole table is listed instead of looking at each."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What was brought in: Delta versions from `first` to `last`, as snapshots up to
    `snapshot_id`."""

    table: str
    first: int
    last: int
    snapshot_id: int | None
    files: int
    rows: int
    rewritten: int = 0


@dataclass(frozen=True, slots=True)
class _Source:
    """A Delta table at a version, and how its files are to be read."""

    root: str
    state: State
    fields: tuple[Field, ...]
    partitioned_by: tuple[str, ...]
    sizes: Mapping[str, int]


def import_delta(
    lake: Lake, path: str, table: str, *, up_to_version: int | None = None, dry_run: bool = False
) -> ImportResult:
    """Make a Delta table, as it is at a version, a new table of the lake, in one commit."""
    name = TableName.parse(table)
    root = _root(path)
    log = listing(lake._local.store, root)
    version = log.newest if up_to_version is None else up_to_version
    source = _source(lake, log, version)
    if dry_run:
        rows = sum(row_count(parsed_stats(add.stats)) or 0 for add in source.state.files.values())
        return ImportResult(str(name), version, version, None, len(source.state.files), rows)
    done = lake._write(lambda tx: _imported(tx, name, source))
    return ImportResult(str(name), version, version, done.snapshot_id, done.files, done.rows)


def _root(path: str) -> str:
    if not path or not isinstance(path, str):
        raise Invalid(f"{path!r} is no place", hint="give the folder that _delta_log is in")
    if is_local(path):
        return f"{Path(local_path(path)).absolute()}/".replace("//", "/")
    return path.rstrip("/") + "/"


def _source(lake: Lake, log: Listing, version: int) -> _Source:
    store = lake._local.store
    state = state_at(store, log, version, lambda paths: read_checkpoint(lake._local, paths))
    protocol, metadata = state.checked(log.root)
    check_readable(protocol)
    if metadata.provider != "parquet":
        raise Invalid(f"the files are {metadata.provider}", hint="Delta tables are of Parquet")
    fields = fields_of(metadata.schema, mapping_mode(protocol, metadata))
    sizes = _sizes(lake, log.root, [located(add.path, log.root) for add in state.files.values()])
    return _Source(log.root, state, fields, metadata.partition_columns, sizes)


def _sizes(lake: Lake, root: str, paths: Sequence[str]) -> dict[str, int]:
    """How large the files are. Corrupt if one is missing."""
    store = lake._local.store
    wanted = set(paths)
    if len(wanted) < _WALKED or not all(path.startswith(root) for path in wanted):
        found = store.sizes(sorted(wanted)) if wanted else {}
    else:
        found = {each.uri: each.bytes for each in store.walk(root) if each.uri in wanted}
    missing = sorted(wanted - found.keys())
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Corrupt(
            f"{missing[0]}{more} is missing, which the log says is part of the table",
            hint="was it removed by VACUUM? Import a version whose files are there",
        )
    return found


def _imported(tx: Transaction, name: TableName, source: _Source) -> WriteResult:
    draft = _declared(tx, name, source)
    files = list(_files(tx, draft, source))
    draft.add_files(files)
    rows = sum(file.rows for file in files)
    return WriteResult(
        None,
        rows=rows,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        inserted=rows,
        operation="import",
    )


def _declared(tx: Transaction, name: TableName, source: _Source) -> TableDraft:
    columns = tuple(field.column for field in source.fields)
    metadata = source.state.metadata
    by_name = {column.name: column for column in columns}
    keys = tuple(PartitionKey(by_name[each].id, "identity") for each in source.partitioned_by)
    comment = metadata.description if metadata else None
    return create(tx, name, Schema(columns), keys, {"comment": comment} if comment else {})


def _files(tx: Transaction, draft: TableDraft, source: _Source) -> Iterator[NewFile]:
    """The files of the table as they become part of it, and those that cannot, written anew."""
    mapping = mapping_of(source.fields, source.partitioned_by)
    adds = list(source.state.files.values())
    counts = _counts(tx, source, adds)
    partitioned = {
        field.physical: field.column
        for field in source.fields
        if field.column.name in source.partitioned_by
    }
    with tx._local.job(f"cannot import {draft.after.name}") as job:
        for add in adds:
            path = located(add.path, source.root)
            if is_told_by_folders(path, add.partition_values, partitioned):
                values = tuple(add.partition_values.get(each) or None for each in partitioned)
                file = NewFile(
                    path=path,
                    rows=counts[add.key],
                    bytes=source.sizes[path],
                    footer_size=None,
                    columns=_facts(source, add, counts[add.key]),
                    partition_values=values if partitioned else None,
                    mapping=mapping,
                )
                yield _with_deletes(tx, draft, job, file, add, source)
            else:
                yield from _rewritten(tx, draft, job, add, source)


def _counts(tx: Transaction, source: _Source, adds: Sequence[Add]) -> dict[Key, int]:
    """How many rows each file has; where the log does not say, its footer does."""
    known = {add.key: row_count(parsed_stats(add.stats)) for add in adds}
    asked = {add.key: located(add.path, source.root) for add in adds if known[add.key] is None}
    counted = row_counts(tx._local, sorted(set(asked.values()))) if asked else {}
    return {key: counted[asked[key]] if count is None else count for key, count in known.items()}


def _facts(source: _Source, add: Add, rows: int) -> tuple[ColumnFacts, ...]:
    return tuple(facts_of(source.fields, parsed_stats(add.stats), rows))


def _with_deletes(
    tx: Transaction, draft: TableDraft, job: Any, file: NewFile, add: Add, source: _Source
) -> NewFile:
    if add.vector is None:
        return file
    positions = decoded(add.vector, source.root, tx._local.store.read)
    staged = draft.as_staged(-1, file)
    gone = f"SELECT CAST(-1 AS BIGINT) AS {ROW_FILE}, unnest({positions}) AS {ROW_POSITION}"
    (deletes,) = job.delete(gone, draft.target, [staged], draft.stamp)
    tx.wrote([deletes.path])
    return replace(file, deletes=deletes)


def _rewritten(
    tx: Transaction, draft: TableDraft, job: Any, add: Add, source: _Source
) -> list[NewFile]:
    """A file whose partition values nobody would find, written anew with them inside."""
    inside = [field for field in source.fields if field.column.name not in source.partitioned_by]
    path = located(add.path, source.root)
    file = NewFile(path, 0, source.sizes[path], None, mapping=mapping_of(inside, ()))
    name = f"import_{uuid.uuid4().hex}"
    job.scan(name, plan_of(tx, draft, files=(draft.as_staged(-1, file),), mapping=file))
    sql = f"SELECT * REPLACE ({_constants(add, source)}) FROM {name}"
    if add.vector is not None:
        gone = decoded(add.vector, source.root, tx._local.store.read)
        sql += f" WHERE {ROW_POSITION} NOT IN (SELECT unnest({gone}))"
    made: list[NewFile] = list(job.write(sql, draft.target))
    tx.wrote([each.path for each in made])
    return made


def _constants(add: Add, source: _Source) -> str:
    found = []
    for field in source.fields:
        if field.column.name in source.partitioned_by:
            value = add.partition_values.get(field.physical) or None
            found.append(f"{_constant(field.column, value)} AS {quote(field.column.name)}")
    return ", ".join(found)


def _constant(column: Column, value: str | None) -> str:
    if value is None:
        return f"CAST(NULL AS {column.duckdb_type})"
    if column.type == "blob":
        return f"from_hex('{value.encode().hex()}')"
    return f"CAST({text_literal(value)} AS {column.duckdb_type})"
