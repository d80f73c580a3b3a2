"""The same table of all tenants as one, for the lake's owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import many_tables
from tidelake.drawing.amounts import quantity
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid, NotFound
from tidelake.event_time.state import plan_state
from tidelake.model.event_time import moment_text
from tidelake.model.names import TableName, fold, quote, text_literal
from tidelake.model.namespace import Namespace
from tidelake.model.predicate import And, Predicate
from tidelake.model.schema import LINEAGE, Column, Schema
from tidelake.model.statistics import ColumnStats, matcher
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.plan.where import Where, as_where
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.planning import ReadRequest, output_of
from tidelake.session.session import Session
from tidelake.tenants import records
from tidelake.tenants.common_schema import common_columns

Plan = ScanPlan | AsOfPlan


@dataclass(frozen=True, slots=True)
class AcrossRequest:
    """Which table of the tenants, at which moments, and what of it. `tenants` are those wanted, all
    unless they are named; `column` is what the column is called that says whose a row is."""

    name: TableName
    snapshot_id: int | None = None
    as_of: int | None = None
    column: str = "tenant"
    tenants: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    where: str | Predicate | None = None


@dataclass(frozen=True, slots=True)
class AcrossExplanation:
    """How tables of tenants would be read together; print it, or use the numbers. `tenants` are
    read, `pruned` need not be, and `missing` have no such table."""

    table: TableName
    snapshot_id: int
    engine: str
    columns: tuple[str, ...]
    where: str | None
    tenants: tuple[str, ...]
    pruned: tuple[str, ...]
    missing: tuple[str, ...]
    files: int
    total_files: int
    bytes: int
    inlined_rows: int
    as_of: str | None = None

    def __str__(self) -> str:
        moment = f" as of {self.as_of}" if self.as_of else ""
        every = len(self.tenants) + len(self.pruned)
        lines = [
            f"scan {self.table}{moment} of tenants known at snapshot {self.snapshot_id}"
            f" on {self.engine}",
            f"  columns  {', '.join(self.columns)}",
            *([f"  where    {self.where}"] if self.where else []),
            f"  tenants  {len(self.tenants):,} of {every:,}",
            f"  pruned   {len(self.pruned):,} tenants by the condition on them",
        ]
        if self.missing:
            lines.append(f"  missing  {len(self.missing):,} tenants have no such table")
        lines.append(f"  files    {self.files:,} of {self.total_files:,} ({self.bytes:,} bytes)")
        if self.inlined_rows:
            lines.append(f"  inlined  {quantity(self.inlined_rows, 'row')} from the catalog")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Found:
    """What is there at one snapshot: the tenants' tables, and the schema that they have in
    common, whose first column is the tenant's."""

    at: int
    tables: Mapping[str, tuple[TableName, Schema]]
    missing: tuple[str, ...]
    schema: Schema


class AcrossTenants(LazyRows):
    """The rows of one table of every tenant, each with its tenant's name. All are of one snapshot:
    that which the lake has when rows are asked for, unless another is named."""

    def __init__(self, session: Session, request: AcrossRequest) -> None:
        session.namespace.check_whole("across_tenants")
        self._session = session
        self._request = request
        self._find()

    def scan(
        self, columns: Sequence[str] | None = None, where: str | Predicate | None = None
    ) -> AcrossTenants:
        """A read of some columns and rows; `where` may name the tenants too."""
        chosen = (columns,) if isinstance(columns, str) else columns
        wanted = None if chosen is None else tuple(chosen)
        return AcrossTenants(self._session, replace(self._request, columns=wanted, where=where))

    @property
    def tenants(self) -> tuple[str, ...]:
        """Those who have such a table, by name."""
        return tuple(self._find().tables)

    @property
    def missing(self) -> tuple[str, ...]:
        """Those who have none, and are left out."""
        return self._find().missing

    @property
    def schema(self) -> Schema:
        """The columns that all have in common, or some of them; the tenant's comes first."""
        return self._find().schema

    def explain(self) -> AcrossExplanation:
        """Which tenants and how many of their files would be read."""
        found = self._find()
        where = as_where(self._request.where, found.schema)
        kept = self._kept(found, where)
        plans = [self._plan(found, each, where, counted=True) for each in kept]
        as_of = self._request.as_of
        return AcrossExplanation(
            table=self._request.name,
            snapshot_id=found.at,
            engine=self._session.engine_name,
            columns=output_of(found.schema, self._request.columns),
            where=where.sql if where else None,
            tenants=tuple(kept),
            pruned=tuple(each for each in found.tables if each not in kept),
            missing=found.missing,
            files=sum(len(plan.files) for plan in plans),
            total_files=sum(plan.total_files for plan in plans),
            bytes=sum(file.bytes for plan in plans for file in plan.files),
            inlined_rows=sum(len(part.rows) for plan in plans for part in plan.inlined),
            as_of=None if as_of is None else moment_text(as_of),
        )

    def count(self) -> int:
        """How many rows; from the catalog alone where it knows."""
        if self._request.where is None and self._request.as_of is None:
            found = self._find()
            known = [self._session.row_count(name, found.at) for name, _ in found.tables.values()]
            if None not in known:
                return sum(each or 0 for each in known)
        return super().count()

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        found = self._find()
        where = as_where(self._request.where, found.schema)
        output = output_of(found.schema, self._request.columns)
        plans = {
            f"_tidelake_{place}": (tenant, self._plan(found, tenant, where))
            for place, tenant in enumerate(self._kept(found, where))
        }
        needed = {*output, *(where.columns if where else ())}
        columns = [each for each in found.schema if each.name in needed]
        parts = [
            _select(handle, tenant, found.tables[tenant][1], columns, self._request.column)
            for handle, (tenant, _) in plans.items()
        ]
        chosen = ", ".join(map(quote, output))
        rows = _union(parts) if parts else _nothing(columns)
        condition = f" WHERE {where.sql}" if where else ""
        sql = f"SELECT {chosen} FROM ({rows}) AS _tidelake_across{condition}"
        return engine.query(sql, {handle: plan for handle, (_, plan) in plans.items()})

    def _find(self) -> _Found:
        """Look at the lake once, for all tenants."""
        with self._session.reading() as reader:
            _, at = self._session.between(reader, self._request.snapshot_id)
            homes, missing = self._homes(reader, at)
            columns = many_tables.columns(reader, at, [table_id for table_id, _ in homes.values()])
        tables = {
            tenant: (name, Schema(columns.get(table_id, ())))
            for tenant, (table_id, name) in homes.items()
        }
        schemas = {tenant: schema for tenant, (_, schema) in tables.items()}
        self._check_column(schemas)
        first = Column(0, self._request.column, "varchar")
        found = _Found(at, tables, missing, Schema((first, *common_columns(schemas))))
        self._check_asked(found)
        return found

    def _homes(
        self, reader: Reader, at: int
    ) -> tuple[dict[str, tuple[int, TableName]], tuple[str, ...]]:
        known = [each.name for each in records.every(reader)]
        asked = self._request.tenants
        if asked is not None and (unknown := sorted(set(asked) - set(known))):
            raise NotFound(
                f"there is no tenant {unknown[0]!r}",
                hint=f"there are: {', '.join(known[:8]) or 'none'}",
            )
        there = {
            (fold(name.schema), fold(name.name)): (table_id, name)
            for table_id, name in self._session.view.names(reader, at, "table")
        }
        wanted = [each for each in known if asked is None or each in asked]
        inner = {each: Namespace(each).table(self._request.name) for each in wanted}
        found = {
            tenant: there[fold(name.schema), fold(name.name)]
            for tenant, name in inner.items()
            if (fold(name.schema), fold(name.name)) in there
        }
        if not found:
            raise NotFound(
                f"no tenant has a table {self._request.name} at snapshot {at}",
                hint=f"the tenants are: {', '.join(known[:8]) or 'none'}; lake.tables() has all",
            )
        return found, tuple(each for each in wanted if each not in found)

    def _check_column(self, schemas: Mapping[str, Schema]) -> None:
        taken = fold(self._request.column)
        if not taken:
            raise Invalid("column='' is no name", hint='column="tenant"')
        for tenant, schema in schemas.items():
            if any(fold(name) == taken for name in schema.names):
                raise Invalid(
                    f"{self._request.name} of tenant {tenant} has a column"
                    f" {self._request.column!r} of its own",
                    hint='call the one for the tenant something else: column="whose"',
                )

    def _check_asked(self, found: _Found) -> None:
        """Of the rows of many tables there are no ids."""
        where = as_where(self._request.where, found.schema)
        output = output_of(found.schema, self._request.columns)
        unknown = {*output, *(where.columns if where else ())} - set(found.schema.names)
        if named := sorted(unknown & set(LINEAGE)):
            raise Invalid(
                f"rows of several tenants have no {named[0]}",
                hint="ask the table of one tenant: lake.table(…)",
            )

    def _kept(self, found: _Found, where: Where | None) -> list[str]:
        """The tenants of whom a row may meet the condition."""
        if where is None:
            return list(found.tables)
        may_match = matcher(where.predicate, found.schema)
        return [each for each in found.tables if may_match({0: _exactly(each)})]

    def _plan(
        self, found: _Found, tenant: str, where: Where | None, *, counted: bool = False
    ) -> Plan:
        name, schema = found.tables[tenant]
        hint = None if where is None else _shared_part(where.predicate, schema, found.schema)
        asked = ReadRequest(prune_by=hint, counted=counted)
        if self._request.as_of is None:
            return self._session.plan(name, found.at, asked)
        return plan_state(self._session, name, found.at, self._request.as_of, asked)

    def __repr__(self) -> str:
        return f"<{self._request.name} across tenants>"


def _exactly(tenant: str) -> ColumnStats:
    return ColumnStats(min=tenant, max=tenant, null_count=0, value_count=1)


def _shared_part(predicate: Predicate, schema: Schema, common: Schema) -> Predicate | None:
    """What of a condition on all means the same on one tenant's table: that which is about columns
    that it has, with the type that all have in common."""
    own = {fold(each.name): each.duckdb_type for each in schema}
    same = {each.name for each in common if own.get(fold(each.name)) == each.duckdb_type}
    parts = predicate.parts if isinstance(predicate, And) else (predicate,)
    found = tuple(each for each in parts if each.columns() and each.columns() <= same)
    return And(found) if found else None


def _select(handle: str, tenant: str, schema: Schema, columns: Sequence[Column], first: str) -> str:
    """A tenant's rows, in the columns that all have."""
    own = {fold(each.name): each for each in schema}
    listed = []
    for column in columns:
        there = own.get(fold(column.name))
        if column.name == first:
            value = text_literal(tenant)
        elif there is None:
            value = f"CAST(NULL AS {column.duckdb_type})"
        elif there.duckdb_type == column.duckdb_type:
            value = quote(there.name)
        else:
            value = f"CAST({quote(there.name)} AS {column.duckdb_type})"
        listed.append(f"{value} AS {quote(column.name)}")
    return f"SELECT {', '.join(listed)} FROM {quote(handle)}"


def _nothing(columns: Sequence[Column]) -> str:
    listed = (f"CAST(NULL AS {each.duckdb_type}) AS {quote(each.name)}" for each in columns)
    return f"SELECT {', '.join(listed)} WHERE FALSE"


def _union(parts: Sequence[str]) -> str:
    """In halves: a thousand of them in a row would be a thousand deep to a parser."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_union(parts[:half])}) UNION ALL ({_union(parts[half:])})"
