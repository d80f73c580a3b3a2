"""From a request to a plan: ask the catalog once, then prune without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import files, inlined_data
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.column_history import ColumnHistory, column_history
from tidelake.catalog.read.narrow import statistics_rules
from tidelake.catalog.read.zones import ZoneMap, from_id
from tidelake.errors import Invalid
from tidelake.model.file import DataFile, MappedField
from tidelake.model.predicate import Predicate
from tidelake.model.schema import LINEAGE, Column, Schema
from tidelake.model.table import PartitionSpec, TableInfo
from tidelake.plan.prune import prune
from tidelake.plan.scan import PruneStep, ScanPlan
from tidelake.plan.where import Where, as_where


@dataclass(frozen=True, slots=True)
class BoundRequest:
    """What a caller wants of a table at a snapshot.

    `filter` decides which rows come back; `prune_by` may only be used to skip files, because
    whoever asks applies it later (a WHERE clause around this table in a larger query). Of a
    state, rows that do not meet `facts` are none.
    """

    columns: tuple[str, ...] | None = None
    filter: Where | None = None
    prune_by: Predicate | None = None
    facts: Predicate | None = None

    @property
    def predicate(self) -> Predicate | None:
        return self.filter.predicate if self.filter else self.prune_by

    @property
    def hint(self) -> Where | None:
        """`prune_by` as a filter, for whoever knows that it may be applied early."""
        given = self.prune_by
        return None if given is None else Where(given, given.sql(), given.columns())


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request as a caller spells it, before anybody has looked at the table. `counted`: also
    how many files the table has, which costs a count of all of them. `facts`: of a state, rows that
    do not meet it are no facts, whatever else is asked."""

    columns: Sequence[str] | None = None
    where: str | Predicate | None = None
    prune_by: str | Predicate | None = None
    counted: bool = False
    facts: Predicate | None = None

    def of(self, schema: Schema) -> BoundRequest:
        columns = None if self.columns is None else tuple(self.columns)
        hint = as_where(self.prune_by, schema)
        where, prune_by = as_where(self.where, schema), hint.predicate if hint else None
        return BoundRequest(columns, where, prune_by, self.facts)

    def __repr__(self) -> str:
        """Conditions by their SQL: to Python 1 == True == 1.0, to a database they differ."""
        where, hint = (
            each.sql() if isinstance(each, Predicate) else each
            for each in (self.where, self.prune_by)
        )
        columns = None if self.columns is None else tuple(self.columns)
        facts = None if self.facts is None else self.facts.sql()
        return repr((columns, where, hint, self.counted, facts))


ALL = ReadRequest()


@dataclass(frozen=True, slots=True)
class TableMeta:
    """What a plan needs to know of a table whatever is asked of it."""

    info: TableInfo
    history: ColumnHistory
    specs: Mapping[int, PartitionSpec]
    zones: ZoneMap = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "zones", ZoneMap(self.info.id))

    @staticmethod
    def gather(reader: Reader, info: TableInfo) -> TableMeta:
        return TableMeta(
            info, column_history(reader, info.id), read.partition_specs(reader, info.id)
        )

    def evolved(self, info: TableInfo) -> TableMeta:
        """The facts of the table with other columns, which no snapshot has yet."""
        return TableMeta(info, self.history.evolved(info.schema), self.specs)


def plan_scan(
    reader: Reader,
    at: int,
    facts: TableMeta,
    request: BoundRequest,
    *,
    counted: bool = False,
    since: int = 0,
    rows: bool = True,
) -> ScanPlan:
    """Everything an engine needs to answer the request.

    With `counted`, also how many files the table has, which costs a count of all of them. Only
    files from the id `since` on are read, and without `rows` nothing that the catalog keeps.
    """
    table = facts.info
    output = output_of(table.schema, request.columns)
    columns = _columns_read(table.schema, output, request.filter)
    kept, pruned, total = _pruned_files(reader, at, facts, request.predicate, counted, since)
    ids = {column.id for column in columns}
    return replace(
        plan_all(at, facts, columns, output),
        files=kept,
        inlined=tuple(inlined_data.inlined_rows(reader, at, table.id, ids)) if rows else (),
        where=request.filter.sql if request.filter else None,
        predicate=request.filter.predicate if request.filter else None,
        mappings=mappings_of(reader, kept),
        total_files=total,
        pruned=pruned,
    )


def plan_all(
    at: int, facts: TableMeta, columns: tuple[Column, ...], output: tuple[str, ...]
) -> ScanPlan:
    """How these columns of the table are to be read; from which files is not said yet."""
    history = facts.history
    former = _former_types(columns, history.types)
    return ScanPlan(
        table=facts.info.name,
        snapshot_id=at,
        columns=columns,
        output=output,
        reshaped=history.reshaped,
        promoted=frozenset(former),
        former_types=former,
        renamed=history.renamed,
        former_names=history.names,
        original=tuple(c for c in facts.info.schema if c.id in history.original),
    )


def mappings_of(reader: Reader, found: Iterable[DataFile]) -> dict[int, tuple[MappedField, ...]]:
    """How those of the files that have no field ids are to be read."""
    ids = {file.mapping_id for file in found if file.mapping_id is not None}
    return files.name_mappings(reader, sorted(ids))


def _former_types(
    columns: Sequence[Column], types: Mapping[int, frozenset[str]]
) -> dict[int, tuple[str, ...]]:
    """The types that columns, at any depth, have at other snapshots."""
    below = [child for column in columns for child in column.walk()]
    others = {child.id: types.get(child.id, frozenset()) - {child.type} for child in below}
    return {column_id: tuple(sorted(kinds)) for column_id, kinds in others.items() if kinds}


def _constant_types(types: Mapping[int, frozenset[str]]) -> dict[int, str]:
    """The types of columns that have only ever had one, whenever it was that files were written."""
    return {column_id: kind for column_id, (kind, *others) in types.items() if not others}


def _pruned_files(
    reader: Reader,
    at: int,
    facts: TableMeta,
    predicate: Predicate | None,
    counted: bool,
    since: int,
) -> tuple[tuple[DataFile, ...], tuple[PruneStep, ...], int]:
    table = facts.info
    if predicate is None:
        found = tuple(files.data_files(reader, at, table.id, table.path))
        return found, (), len(found)
    cut = files.Cut(
        tuple(statistics_rules(predicate, table.schema, reader.dialect)),
        from_id(facts.zones.candidates(reader, predicate, table.schema), since),
    )
    candidates = files.data_files(reader, at, table.id, table.path, cut)
    total = files.count(reader, at, table.id) if counted else len(candidates)
    kept, steps = _pruned(reader, facts, candidates, predicate)
    return kept, _with_narrowed(steps, total - len(candidates)), total


def without_others(
    reader: Reader, facts: TableMeta, candidates: Sequence[DataFile], predicate: Predicate
) -> list[DataFile]:
    """Those of the files that may hold rows for which the condition is true."""
    return list(_pruned(reader, facts, candidates, predicate)[0])


def _pruned(
    reader: Reader, facts: TableMeta, candidates: Sequence[DataFile], predicate: Predicate
) -> tuple[tuple[DataFile, ...], tuple[PruneStep, ...]]:
    table = facts.info
    wanted = {table.schema.column(n).id for n in predicate.columns() if _is_column(table.schema, n)}
    known = files.statistics(reader, table.id, wanted, [file.id for file in candidates])
    return prune(
        candidates,
        predicate=predicate,
        schema=table.schema,
        statistics=known,
        specs=facts.specs,
        types_then=dict.fromkeys(facts.specs, _constant_types(facts.history.types)),
    )


def _with_narrowed(steps: Sequence[PruneStep], narrowed: int) -> tuple[PruneStep, ...]:
    """Files that the catalog's own SQL ruled out were ruled out by column statistics too."""
    counts = {step.reason: step.files for step in steps}
    if narrowed:
        counts["column statistics"] = counts.get("column statistics", 0) + narrowed
    return tuple(PruneStep(reason, number) for reason, number in counts.items())


def _is_column(schema: Schema, name: str) -> bool:
    return any(column.name == name for column in schema)


def output_of(schema: Schema, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    if wanted is None:
        return tuple(schema.names)
    if not wanted:
        raise Invalid("columns=[] asks for nothing", hint="leave columns out to read all of them")
    if not all(isinstance(name, str) for name in wanted):
        raise Invalid(f"columns={list(wanted)!r} must be names", hint='columns=["a", "b"]')
    output = tuple(_spelled(schema, name) for name in wanted)
    if len(set(output)) != len(output):
        raise Invalid(
            f"a column is named twice in columns={list(wanted)!r}", hint="name each column once"
        )
    return output


def _spelled(schema: Schema, name: str) -> str:
    if name in LINEAGE and not _is_column(schema, name):
        return name
    return schema.column(name).name


def _columns_read(
    schema: Schema, output: tuple[str, ...], where: Where | None
) -> tuple[Column, ...]:
    used = {*output, *(where.columns if where else ())}
    return tuple(column for column in schema if column.name in used)
