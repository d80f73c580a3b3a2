"""A `ScanPlan` as one DuckDB query: a branch per group of files read alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from tidelake.engine.local.disguise import exact_sql, misled_files, seekable_sql
from tidelake.engine.local.reshape import Source, by_id, missing_sql, rebuild, renumber
from tidelake.errors import Corrupt, Unsupported
from tidelake.model.file import DataFile, InlinedRows, MappedField
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import (
    LINEAGE,
    ROW_BEGAN,
    ROW_ENDED,
    ROW_FILE,
    ROW_ID,
    ROW_ID_FIELD,
    ROW_NUMBER,
    ROW_POSITION,
    ROW_SNAPSHOT,
    ROW_SNAPSHOT_FIELD,
    Column,
)
from tidelake.model.types import TIMESTAMPS
from tidelake.model.widening import widens
from tidelake.plan.scan import ScanPlan

_ROW_ID = Column(ROW_ID_FIELD, ROW_ID, "int64")
_ROW_SNAPSHOT = Column(ROW_SNAPSHOT_FIELD, ROW_SNAPSHOT, "int64")
_LINEAGE_FIELDS = {
    "_ducklake_internal_row_id": ROW_ID_FIELD,
    "_ducklake_internal_snapshot_id": ROW_SNAPSHOT_FIELD,
}
_DISTINCT = re.compile(r"\bDISTINCT\s+FROM\b", re.IGNORECASE)
_ROWS_AT_ONCE = 40_960
_PLACES = ("file_index", "file_row_number")
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# Fields of Parquet delete files: the position, and the snapshot that deleted it.
_POSITION = Column(2147483645, "pos", "int64")


FileShape = tuple[Source, ...]
Partition = tuple[tuple[int, str | None], ...]


@dataclass(frozen=True, slots=True)
class ScanGroup:
    """Files that one `read_parquet` call reads. `shape` is set when footers were inspected;
    `partition` then holds column values that are spelled in the path, and `names` all columns of
    the one file if some of them hide what DuckDB calls the place of a row. `beside` is a file
    without rows: where DuckDB is told the columns, it reads one file on one core alone, and two on
    all."""

    files: tuple[DataFile, ...]
    shape: FileShape | None = None
    partition: Partition = ()
    names: tuple[str, ...] = ()
    beside: str | None = None

    @property
    def is_one_large_file(self) -> bool:
        """Whether it is one file that several cores could read, of which the columns are told."""
        (first, *others), told = self.files, self.shape is None
        return told and not others and first.rows > _ROWS_AT_ONCE and not first.encryption_key


def needs_inspection(plan: ScanPlan, file: DataFile) -> bool:
    """Whether a file's own footer must be read to know which of its fields is which."""
    if file.mapping_id is not None:
        return True
    return bool(plan.reshaped) and any(column.id in plan.reshaped for column in plan.columns)


def arrange(plan: ScanPlan, shapes: Mapping[str, tuple[Source, ...]]) -> list[ScanGroup]:
    """Sort the plan's files into groups; `shapes` holds the inspected footers by path."""
    groups: dict[tuple[object, ...], list[DataFile]] = defaultdict(list)
    parts: dict[tuple[object, ...], ScanGroup] = {}
    for file, misled in zip(plan.files, misled_files(plan, plan.files), strict=True):
        shape, partition = _shape(plan, file, shapes)
        names = _hiding(shapes.get(file.path, ()))
        partial = file.is_partial_at(plan.snapshot_id)
        alone = file.path if names else None
        treatment = (file.encryption_key, file.has_deletes, partial, misled, alone)
        parts[shape, partition, treatment] = ScanGroup((), shape, partition, names)
        groups[shape, partition, treatment].append(file)
    return [replace(parts[which], files=tuple(files)) for which, files in groups.items()]


def _hiding(sources: Sequence[Source]) -> tuple[str, ...]:
    """All columns of a file of which one is called as the place of a row is. DuckDB would give the
    column for it."""
    names = tuple(source.name for source in sources)
    return names if any(fold(name) in _PLACES for name in names) else ()


def _shape(
    plan: ScanPlan, file: DataFile, shapes: Mapping[str, tuple[Source, ...]]
) -> tuple[FileShape | None, Partition]:
    if not needs_inspection(plan, file):
        return None, ()
    shape = shapes[file.path]
    if file.encryption_key:
        return _named(plan, plan.columns, shape) + _lineage_fields(shape), ()
    if file.mapping_id is None:
        return shape, ()
    mapped = plan.mappings.get(file.mapping_id)
    if mapped is None:
        raise Corrupt(
            f"{plan.table}: {file.path} needs name mapping {file.mapping_id}, which is gone",
            hint="the catalog lost a row of ducklake_column_mapping; restore it from a backup",
        )
    return renumber(shape, mapped), _partition_values(file.path, mapped)


def _named(
    plan: ScanPlan, columns: Sequence[Column], sources: Sequence[Source]
) -> tuple[Source, ...]:
    """The fields of an encrypted file, whose ids only DuckDB sees, with ids by their names."""
    found = []
    for column in columns:
        names = plan.former_names.get(column.id)
        if names is None:
            raise Unsupported(
                f"{plan.table}: another column has been called {column.name!r} too, and the ids"
                " in encrypted files cannot be seen",
                hint="leave that column out with columns=[…], or read the lake with DuckDB",
            )
        source = next((source for source in sources if source.name in names), None)
        if source is not None:
            found.append(_with_id(plan, column, source))
    return tuple(found)


def _lineage_fields(sources: Sequence[Source]) -> tuple[Source, ...]:
    return tuple(
        replace(source, id=_LINEAGE_FIELDS[source.name])
        for source in sources
        if source.name in _LINEAGE_FIELDS
    )


def _with_id(plan: ScanPlan, column: Column, source: Source) -> Source:
    if column.type == "struct":
        below = _named(plan, column.children, source.children)
    else:
        pairs = zip(column.children, source.children, strict=True)
        below = tuple(_with_id(plan, child, field) for child, field in pairs)
    return replace(source, id=column.id, children=below)


def _partition_values(path: str, mapped: Sequence[MappedField]) -> Partition:
    folders = dict(part.split("=", 1) for part in path.split("/") if "=" in part)
    values = []
    for field in mapped:
        if field.is_partition:
            value = folders.get(field.source_name, _NULL_PARTITION)
            known = None if value == _NULL_PARTITION else unquote(value)
            values.append((field.field_id, known))
    return tuple(values)


def scan_sql(plan: ScanPlan, branches: Sequence[str]) -> str:
    """Unite the branches, filter the rows, and name what the caller asked for."""
    wanted = ", ".join(quote(name) for name in plan.output)
    if not branches:
        branches = [_empty(plan)]
    united = "\nUNION ALL\n".join(branches)
    where = f"\nWHERE {_applied(plan.where)}" if plan.where else ""
    return f"SELECT {wanted or '1'} FROM (\n{united}\n) AS _tidelake_rows{where}"


def _applied(where: str) -> str:
    """The condition, in brackets. DuckDB takes no row of a file in which a column has only NULLs
    for one that meets `x = 1 OR x IS DISTINCT FROM 2`: such a condition is not for its reader."""
    return f"(CAST(({where}) AS BOOLEAN) = true)" if _DISTINCT.search(where) else f"({where})"


def group_branch(plan: ScanPlan, group: ScanGroup, deletes: str | None) -> str:
    """One SELECT over a group's files, giving the plan's columns under their own names.

    `deletes` is a query of (file, pos): positions to leave out, by the file's place in the group.
    """
    if group.shape is None:
        columns, lineage, source = _by_field_id(plan, group)
    else:
        columns, lineage, source = _by_shape(plan, group, group.shape)
    if deletes:
        source += f" ANTI JOIN ({deletes}) AS gone"
        source += " ON gone.file = f.file_index AND gone.pos = f.file_row_number"
    where = ""
    if any(file.is_partial_at(plan.snapshot_id) for file in group.files):
        where = f" WHERE {lineage[ROW_SNAPSHOT]} <= {plan.snapshot_id}"
    misled = any(misled_files(plan, group.files))
    named = {c.name: seekable_sql(c, columns[c.name], misled=misled) for c in plan.columns}
    named |= {name: lineage[name] for name in _virtual(plan)}
    chosen = ", ".join(f"{expression} AS {quote(name)}" for name, expression in named.items())
    return f"SELECT {chosen} FROM {source}{where}"


def _virtual(plan: ScanPlan) -> list[str]:
    names = {fold(column.name) for column in plan.columns}
    return [name for name in LINEAGE if name not in names]


def _by_field_id(plan: ScanPlan, group: ScanGroup) -> tuple[dict[str, str], dict[str, str], str]:
    """DuckDB itself maps ids to columns, fills in defaults and casts."""
    widest = (_at_its_widest(plan, group, column) for column in plan.columns)
    read = [*widest, _ROW_ID, _ROW_SNAPSHOT]
    fields = ", ".join(_schema_entry(column) for column in read)
    columns = {
        column.name: exact_sql(plan, column, _narrowed(column, wide, f'f."c{column.id}"'))
        for column, wide in zip(plan.columns, read, strict=False)
    }
    lineage = _lineage(group, f'f."c{ROW_ID_FIELD}"', f'f."c{ROW_SNAPSHOT_FIELD}"')
    rows = sum(file.rows for file in group.files)
    option = f"schema = MAP {{{fields}}}, explicit_cardinality = {rows}"
    return columns, lineage, _read_parquet(group.files, option, group.beside)


def _at_its_widest(plan: ScanPlan, group: ScanGroup, column: Column) -> Column:
    """A column that has been wider at another snapshot. Rows of that time may be in merged files,
    with values that it does not hold."""
    formers = plan.former_types.get(column.id, ())
    if not formers or all(file.partial_max is None for file in group.files):
        return column
    for former in formers:
        if not column.is_nested and widens(column.type, former):
            column = replace(column, type=former)
    return column


def _narrowed(column: Column, wide: Column, value: str) -> str:
    """Rows that the snapshot does not see may become NULL here. DuckDB has no way from some
    timestamps to others but through those of microseconds."""
    if wide == column:
        return value
    if wide.type in TIMESTAMPS:
        value = f"TRY_CAST({value} AS TIMESTAMP)"
    return f"TRY_CAST({value} AS {column.duckdb_type})"


def _schema_entry(column: Column) -> str:
    default = column.initial_default
    value = "NULL::VARCHAR" if default is None else text_literal(default)
    kind = text_literal(column.duckdb_type)
    return f"{column.id}: {{name: 'c{column.id}', type: {kind}, default_value: {value}}}"


def _by_shape(
    plan: ScanPlan, group: ScanGroup, shape: tuple[Source, ...]
) -> tuple[dict[str, str], dict[str, str], str]:
    partition = dict(group.partition)
    called = {name: f"c{place}" for place, name in enumerate(group.names)}
    columns = {}
    for column in plan.columns:
        source = by_id(shape, column.id)
        if column.id in partition:
            value = partition[column.id]
            text = "NULL" if value is None else text_literal(value)
            columns[column.name] = f"CAST({text} AS {column.duckdb_type})"
        elif source is None:
            columns[column.name] = missing_sql(column)
        else:
            value = f"f.{quote(called.get(source.name, source.name))}"
            wide = _at_its_widest(plan, group, column)
            columns[column.name] = (
                rebuild(column, source, value) if wide == column else _narrowed(column, wide, value)
            )
    row_id, snapshot = (
        f"f.{quote(called.get(source.name, source.name))}"
        if (source := by_id(shape, field))
        else "NULL"
        for field in (ROW_ID_FIELD, ROW_SNAPSHOT_FIELD)
    )
    source_sql = _read_parquet(group.files, "hive_partitioning = false")
    renamed = f"({', '.join(called.values())})" if called else ""
    return columns, _lineage(group, row_id, snapshot), source_sql + renamed


def _lineage(group: ScanGroup, row_id: str, snapshot: str) -> dict[str, str]:
    """No row is older than its file, whatever it says: files of a lake that was recovered tell of
    snapshots that are lost."""
    starts = _of_file([f.row_id_start for f in group.files])
    number = f"COALESCE({row_id}, {starts} + f.file_row_number)"
    began = f"greatest({snapshot}, {_of_file([f.begin_snapshot for f in group.files])})"
    return {
        ROW_FILE: _of_file([f.id for f in group.files]),
        ROW_POSITION: "f.file_row_number",
        ROW_NUMBER: number,
        ROW_ID: number,
        ROW_SNAPSHOT: began,
        ROW_BEGAN: began,
        ROW_ENDED: _of_file([f.end_snapshot for f in group.files]),
    }


def _of_file(values: Sequence[int | None]) -> str:
    """What is known of the file that a row is in."""
    told = ["NULL" if value is None else str(value) for value in values]
    if len(told) == 1:
        return f"CAST({told[0]} AS BIGINT)"
    listed = ", ".join(told)
    return f"([{listed}]::BIGINT[])[CAST(f.file_index AS BIGINT) + 1]"


def _read_parquet(files: Sequence[DataFile], option: str, beside: str | None = None) -> str:
    named = [file.path for file in files] + ([beside] if beside else [])
    paths = ", ".join(map(text_literal, named))
    key = files[0].encryption_key
    return f"read_parquet([{paths}], {option}{encryption(key)}) AS f"


def encrypted_read(path: str, key: str) -> str:
    return f"read_parquet({text_literal(path)}, hive_partitioning = false{encryption(key)})"


def encryption(key: str | None) -> str:
    if not key:
        return ""
    return f", encryption_config = {{footer_key_value: from_base64({text_literal(key)})}}"


def delete_branch(
    paths: Sequence[str], owners: Sequence[int], columns: tuple[str, str | None], snapshot_id: int
) -> str:
    """Positions in Parquet delete files; `owners` are the places of their data files.

    `columns` name the position and, where rows carry one, the snapshot that deleted them.
    """
    position, deleted_at = columns
    listed = ", ".join(text_literal(path) for path in paths)
    places = ", ".join(str(owner) for owner in owners)
    since = f" WHERE {quote(deleted_at)} <= {snapshot_id}" if deleted_at else ""
    return (
        f"SELECT ([{places}]::UBIGINT[])[CAST(file_index AS BIGINT) + 1] AS file,"
        f" {quote(position)} AS pos FROM read_parquet([{listed}], hive_partitioning = false){since}"
    )


def encrypted_delete_branch(path: str, key: str, owner: int, snapshot_id: int) -> str:
    return (
        f"SELECT {owner}::UBIGINT AS file, pos FROM {encrypted_deletions(path, key)}"
        f" WHERE COALESCE(stamp, 0) <= {snapshot_id}"
    )


def encrypted_deletions(path: str, key: str) -> str:
    """A subquery of `pos` and, where rows carry one, the `stamp` of an encrypted delete file."""
    fields = ", ".join(_schema_entry(column) for column in (_POSITION, _ROW_SNAPSHOT))
    return (
        f"(SELECT c{_POSITION.id} AS pos, c{ROW_SNAPSHOT_FIELD} AS stamp"
        f" FROM read_parquet([{text_literal(path)}], schema = MAP {{{fields}}}{encryption(key)}))"
    )


def inlined_branch(plan: ScanPlan, inlined: InlinedRows, relation: str) -> str:
    """Rows kept in the catalog; `relation` holds them as text in columns c0 (row id), c1, …"""
    sources = {column.id: (index, column) for index, column in enumerate(inlined.columns, 2)}
    chosen = []
    for column in plan.columns:
        index, source = sources.get(column.id, (0, None))
        if source is None:
            expression = missing_sql(column)
        else:
            typed = _typed(f"c{index}", source)
            expression = rebuild(column, Source.of(source), f"({typed})")
        chosen.append(f"{expression} AS {quote(column.name)}")
    lineage = dict.fromkeys((ROW_ID, ROW_POSITION, ROW_NUMBER), "c0")
    lineage |= dict.fromkeys((ROW_SNAPSHOT, ROW_BEGAN), "c1")
    lineage |= dict.fromkeys((ROW_FILE, ROW_ENDED), "NULL")
    chosen += [f"CAST({lineage[name]} AS BIGINT) AS {name}" for name in _virtual(plan)]
    return f"SELECT {', '.join(chosen)} FROM {relation}"


def _typed(reference: str, column: Column) -> str:
    if column.type == "variant":
        return f"variant_bytes_to_variant({reference})"
    return f"CAST({reference} AS {column.duckdb_type})"


def _empty(plan: ScanPlan) -> str:
    nothing = [f"CAST(NULL AS {c.duckdb_type}) AS {quote(c.name)}" for c in plan.columns]
    nothing += [f"CAST(NULL AS BIGINT) AS {name}" for name in _virtual(plan)]
    return f"SELECT {', '.join(nothing)} WHERE false"
