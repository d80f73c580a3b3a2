"""What is read by name: a table, its changes or a view, at a snapshot, as of a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql.datasource import InputPartition

from tidelake.engine.arrow_rows import sendable
from tidelake.engine.export import columns_of_query
from tidelake.errors import Invalid
from tidelake.history.changes import Changes, feed_columns
from tidelake.lake.lake import Lake
from tidelake.lake.table import Table
from tidelake.model.names import TableName, quote
from tidelake.model.predicate import And, Opaque, Predicate
from tidelake.model.schema import Column
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.source import Source
from tidelake.spark.options import EARLIEST, SourceOptions
from tidelake.spark.pieces import QueryPiece, change_pieces, scan_pieces
from tidelake.sql.query import Query


@dataclass(frozen=True)
class NamedRelation:
    """What options ask for of a lake; `snapshot_id` is where it is read, and `known_by` the time
    that is meant if it is one before the lake's own record of the table."""

    lake: Lake
    options: SourceOptions
    snapshot_id: int
    known_by: int | None = None

    @staticmethod
    def of(lake: Lake, options: SourceOptions, pinned: int | None = None) -> NamedRelation:
        """At the snapshot that is given or that the options say, else at the newest."""
        said = options.moment("known_at")
        moment = said if pinned is None else pinned
        with lake.session.reading() as reader:
            early = None
            if said is not None:
                early = Source(lake.session, options.table).before_record(reader, said)
            if early is not None:
                at = early.at(reader) if pinned is None else pinned
                return NamedRelation(lake, options, at, early.known_by)
            if moment is None:
                return NamedRelation(lake, options, lake.session.at(reader))
            found = lake.session.resolve(reader, moment).snapshot_id
        return NamedRelation(lake, options, found)

    @property
    def name(self) -> TableName:
        return self.options.table

    def columns(self) -> tuple[Column, ...]:
        """All that can be asked for, in the order in which Spark shows it."""
        if self._is_view():
            found = self._view_columns(self._view())
        elif self._changes is not None:
            found = feed_columns(self._changes.plan().columns)
        else:
            found = self._table.schema.columns
            if self.options.flag("changes"):
                found = feed_columns(found)
        return self._chosen(found)

    def pieces(self, names: Sequence[str], filters: Predicate | None) -> list[InputPartition]:
        """The read of these columns in pieces."""
        if self._is_view():
            return [self._view_piece()]
        if (changes := self._changes) is not None:
            return change_pieces(changes.plan())
        return scan_pieces(self._plan(names, filters))

    def _plan(self, names: Sequence[str], filters: Predicate | None) -> ScanPlan | AsOfPlan:
        table = self._table
        if (moment := self.options.text("as_of")) is not None:
            table = table.as_of(moment)
        return table.scan(columns=names, where=self._where(filters)).plan()

    def _where(self, filters: Predicate | None) -> Predicate | None:
        said = self.options.text("where")
        parts: list[Predicate] = [] if said is None else [Opaque(said)]
        parts += [] if filters is None else [filters]
        return And(tuple(parts)) if parts else None

    @property
    def _table(self) -> Table:
        if self.known_by is None:
            return self._pinned.table(str(self.name))
        session, at = self.lake.session, self.snapshot_id
        return Table(
            Source(session, session.namespace.table(self.name), at, known_by=self.known_by)
        )

    @property
    def _pinned(self) -> Lake:
        return self.lake.known_at(self.snapshot_id)

    @property
    def _changes(self) -> Changes | None:
        since = self.options.moment("changes_since")
        if since is None:
            return None
        self.options.refuse(("where",), "when changes are read")
        Source(self.lake.session, self.name, known_by=self.known_by).check_recorded("changes")
        first = None if since == EARLIEST else since
        return Changes(self._pinned.session, self.name, first, self.snapshot_id)

    def _chosen(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        wanted = self.options.names("columns")
        if wanted is None:
            return tuple(columns)
        known = {column.name: column for column in columns}
        if unknown := [name for name in wanted if name not in known]:
            raise Invalid(
                f"{self.name} has no column {unknown[0]!r}", hint=f"there are: {', '.join(known)}"
            )
        return tuple(known[name] for name in wanted)

    def _is_view(self) -> bool:
        session = self.lake.session
        with session.reading() as reader:
            return session.view.find(reader, self.snapshot_id, "view", self.name) is not None

    def _view(self) -> Query:
        self.options.refuse(("changes_since",), "for a view")
        moment = self.options.text("as_of")
        where = self.options.text("where")
        condition = f" WHERE {where}" if where else ""
        found: Query = self._pinned.sql(f"SELECT * FROM {self.name}{condition}", as_of=moment)
        return found

    def _view_columns(self, query: Query) -> tuple[Column, ...]:
        """As Spark holds them: a sum of whole numbers, a HUGEINT of DuckDB's, is a decimal."""
        work = self.lake.session.local.workbench()
        with work.connection as connection:
            for name, plan in query.tables.items():
                work.define(name, plan)
            found = columns_of_query(connection, query.whole_sql(), None)
        return tuple(
            replace(each, type="decimal(38,0)") if each.type == "int128" else each for each in found
        )

    def _view_piece(self) -> QueryPiece:
        query = self._view()
        chosen = ", ".join(
            f"CAST({quote(c.name)} AS {c.duckdb_type}) AS {quote(c.name)}"
            for c in self._view_columns(query)
        )
        sql = f"SELECT {chosen} FROM ({query.whole_sql()}) AS _tidelake_view"
        return QueryPiece(sql, sendable(query.tables))
