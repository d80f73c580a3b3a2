"""What a lake and a transaction can both do: look around, read, define and query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Unpack

from tidelake.catalog.read import options, snapshots, tags
from tidelake.catalog.read import tables as read
from tidelake.errors import NotFound
from tidelake.lake.table import Table
from tidelake.model.change import WriteResult
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.namespace import SHARED
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import MacroInfo, ViewInfo
from tidelake.model.tag import Tag
from tidelake.model.terms import CommitTerms, Purpose, Terms
from tidelake.session.session import Session
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.history.diff import LakeDiff
    from tidelake.history.values import ConsumerState, LogEntry
    from tidelake.session.drafting import DraftSession


class Browsable:
    """`session` is for those who build on Tidelake: what features work with."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def url(self) -> str:
        """The catalog's address, without its password; a tenant is not told it."""
        tenant = self.session.namespace.tenant
        return str(self.session.database.url) if tenant is None else f"tenant {tenant}"

    @property
    def data_path(self) -> str:
        """The folder that the lake's files are in, or the tenant's."""
        return self.session.home

    @property
    def encrypted(self) -> bool:
        """Whether files are encrypted, as DuckDB does it."""
        return self.session.encrypted

    @property
    def engine(self) -> str:
        """`local` or `spark`. A copy that was sent to where there is no Spark session is local."""
        return self.session.engine_name

    def schemas(self) -> list[str]:
        self.session.reads.names("schema")
        with self.session.reading() as reader:
            found = self.session.view.schemas(reader, self.session.at(reader))
            shared = self.session.view.shared(reader, self.session.at(reader))
        own = [self.session.namespace.inner(schema.name) for schema in found]
        return [*own, SHARED] if shared else own

    def tables(self) -> list[str]:
        """Qualified names, each fit for `table()`."""
        return self._names("table")

    def views(self) -> list[str]:
        return self._names("view")

    def macros(self) -> list[MacroInfo]:
        self.session.namespace.check_whole("macros")
        self.session.reads.names("macro")
        with self.session.reading() as reader:
            return read.macros(reader, self.session.at(reader))

    def _names(self, kind: str) -> list[str]:
        self.session.reads.names(kind)
        with self.session.reading() as reader:
            found = self.session.view.names(reader, self.session.at(reader), kind)
            if kind == "table":
                found += self.session.view.shared(reader, self.session.at(reader))
        return [str(self.session.namespace.inner_table(name)) for _, name in found]

    def names(self) -> dict[int, str]:
        """What the numbers in a snapshot's `changes` stand for: the last name of each schema,
        table, view and macro that ever was."""
        self.session.namespace.check_whole("names")
        self.session.reads.everything()
        with self.session.reading() as reader:
            return read.every_name(reader)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that has not been expired, oldest first; for a tenant those that changed
        something of its own."""
        self.session.reads.everything()
        if not self.session.namespace.is_whole:
            return [entry.as_snapshot() for entry in self.log()]
        with self.session.reading() as reader:
            at = self.session.at(reader)
            return [s for s in snapshots.every(reader) if s.snapshot_id <= at]

    def log(self, limit: int | None = None) -> list[LogEntry]:
        """What every snapshot did, to which tables and how many rows, oldest first; the newest
        `limit` of them."""
        from tidelake.history.values import checked_limit
        from tidelake.tenants import own_log

        return own_log.lake_log(self.session, checked_limit(limit))

    def table(self, name: str) -> Table:
        """A table by name: `prices`, `analytics.prices`, or with SQL's quoting."""
        parsed = self.session.namespace.parse(name)
        with self.session.reading() as reader:
            at = self.session.at(reader)
            if self.session.view.find(reader, at, "table", parsed) is None:
                raise self.session.view.unknown(reader, at, parsed)
        return Table(Source(self.session, parsed, self.session.pinned))

    def __getitem__(self, name: str) -> Table:
        return self.table(name)

    __iter__ = None
    """Else Python would ask for tables 0, 1, 2, …; `tables()` lists them."""

    def __contains__(self, name: str) -> bool:
        return self.exists(name)

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name. Views are none."""
        parsed = self.session.namespace.parse(name)
        with self.session.reading() as reader:
            at = self.session.at(reader)
            return self.session.view.find(reader, at, "table", parsed) is not None

    def options(self, *, table: str | None = None, schema: str | None = None) -> dict[str, str]:
        """The options that hold for the lake, or for a schema or a table of it, as they were set
        with `set_option` there or above, or by default."""
        self.session.namespace.check_owner("options")
        if table is not None:
            info = self.table(table).info
            table_id, schema = info.id, info.name.schema
        schema_id = None if schema is None else self.session.schema_id(schema)
        with self.session.reading() as reader:
            return options.in_force(reader, None if table is None else table_id, schema_id)

    def view(self, name: str) -> ViewInfo:
        """A view's definition; its rows come from `sql("SELECT * FROM …")`."""
        parsed = self.session.namespace.parse(name)
        with self.session.reading() as reader:
            at = self.session.at(reader)
            view_id = self.session.view.find(reader, at, "view", parsed)
            if view_id is None:
                raise NotFound(f"there is no view {parsed} at snapshot {at}")
            return self.session.view.view_info(reader, at, view_id)

    def create_schema(self, name: str, **terms: Unpack[CommitTerms]) -> WriteResult:
        from tidelake.write import definitions

        return self._write(
            "create_schema", name, terms, lambda tx: definitions.create_schema(tx, name)
        )

    def drop_schema(
        self, name: str, *, cascade: bool = False, **terms: Unpack[CommitTerms]
    ) -> WriteResult:
        """Drop a schema; with `cascade`, also all that is in it."""
        from tidelake.write import definitions

        return self._write(
            "drop_schema",
            name,
            terms,
            lambda tx: definitions.drop_schema(tx, name, cascade=cascade),
        )

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        comment: str | None = None,
        if_not_exists: bool = False,
        once: str | None = None,
        expected: int | str | datetime | None = None,
        author: str | None = None,
        message: str | None = None,
        **settings: Any,
    ) -> Table:
        """Create a table from a pyarrow, Polars or Spark schema, a dict, or a DDL string.

        `partition_by` takes columns and `year`, `month`, `day`, `hour` or `bucket(n, …)` of them.
        Settings: `key`, `event_time` and `tombstone` for tables of facts in time, `knowledge_time`
        for history from before the lake, `entity`, `bucket` and `overlap` for series whose
        coverage is kept. A table of this name is an error; with `if_not_exists` it is given as it
        is, whatever its columns are.
        """
        from tidelake.write import definitions

        parsed = self.session.namespace.parse(name)
        checked = definitions.known_settings(settings)
        self._write(
            "create_table",
            parsed,
            {"once": once, "expected": expected, "author": author, "message": message},
            lambda tx: (
                definitions.DONE
                if if_not_exists and tx.has_table(parsed)
                else definitions.create_table(
                    tx,
                    parsed,
                    schema,
                    partition_by=partition_by,
                    sort_by=sort_by,
                    comment=comment,
                    settings=checked,
                )
            ),
        )
        return self.table(name)

    def create_view(
        self,
        name: str,
        sql: str,
        *,
        columns: Sequence[str] = (),
        replace: bool = False,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """A view in DuckDB's SQL over this lake's tables."""
        from tidelake.sql.query import check_view
        from tidelake.write import definitions

        parsed = self.session.namespace.parse(name)
        return self._write(
            "create_view",
            parsed,
            terms,
            lambda tx: definitions.create_view(
                tx, parsed, sql, columns=columns, replaces=replace, check=check_view
            ),
        )

    def drop(self, name: str, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Drop a table or a view. Its past stays readable."""
        from tidelake.write import definitions

        parsed = self.session.namespace.parse(name)
        self.session.namespace.check_own(parsed)
        return self._write("drop", parsed, terms, lambda tx: definitions.drop(tx, parsed))

    def undrop(
        self,
        name: str,
        *,
        as_: str | None = None,
        known_at: int | str | datetime | None = None,
        **terms: Unpack[CommitTerms],
    ) -> WriteResult:
        """Have a dropped table or view again: the one that was dropped last under this name, or
        that which had it at `known_at`; under another name with `as_`. A table comes with its
        rows, their ids, its settings and its past, as long as its last snapshot is kept."""
        from tidelake.sql.query import check_view
        from tidelake.write import definitions
        from tidelake.write.undrop import undrop

        old = self.session.namespace.parse(name)
        new = old if as_ is None else definitions.target_name(old, as_)
        return self._write(
            "undrop", old, terms, lambda tx: undrop(tx, old, new, known_at, check_view)
        )

    def rename(self, name: str, new: str, **terms: Unpack[CommitTerms]) -> WriteResult:
        """Give a table another name, in the same schema or (`schema.name`) in another."""
        from tidelake.write import definitions

        old = self.session.namespace.parse(name)
        target = definitions.target_name(old, new)
        return self._write("rename", old, terms, lambda tx: definitions.rename(tx, old, target))

    def sql(
        self,
        query: str,
        parameters: Sequence[object] | Mapping[str, object] | None = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | datetime | None = None,
        **terms: Unpack[CommitTerms],
    ) -> Any:
        """Run one statement. A SELECT gives a query with the same `to_*` methods as a Scan.

        A table in it may be followed by `FOR VALID_TIME AS OF t`, and by `FOR SYSTEM_TIME AS OF`,
        `TIMESTAMP AS OF`, `VERSION AS OF` or `AT (VERSION => n | TIMESTAMP => t)` with a snapshot
        id, a time or a tag. `as_of` and `known_at` hold for the tables of which the query does
        not say it itself. `parameters` are a list for `?` and `$1`, a dict for `$name` (on Spark
        `:name`).

        INSERT, UPDATE, DELETE, MERGE, CREATE, DROP, ALTER and COMMENT are done at once and give
        a WriteResult; they take the terms of other writes. `CALL compact('t')` and its like give
        what the method of that name gives.
        """
        from tidelake.sql.parameters import Bindings
        from tidelake.sql.procedure import is_call
        from tidelake.sql.run import run

        beside = Bindings(parameters, as_of, known_at)
        if is_call(query):
            from tidelake.lake.procedures import call

            return call(self, query, beside, dict(terms))
        return run(self.session, query, beside, Terms.of(terms))

    def diff(self, a: int | str | datetime, b: int | str | datetime | None = None) -> LakeDiff:
        """What differs from one snapshot, time or tag to another (None: now), table by table."""
        from tidelake.history.diff import diff_lake

        self.session.namespace.check_whole("diff")
        self.session.reads.everything()
        return diff_lake(self.session.committed, a, self.session.last if b is None else b)

    def mirrors(self) -> list[MirrorStatus]:
        """All mirrors by the names of their tables: what is published, what stands in the way, and
        how far behind they are."""
        self.session.namespace.check_whole("mirrors")
        found = [one for each in self.session.formats for one in each.statuses(self.session)]
        return sorted(found, key=lambda each: (each.table, each.kind))

    def delta_versions(self, known_at: int | str | datetime | None = None) -> dict[str, int | None]:
        """The Delta version of each mirrored table that shows it as of a snapshot, the newest
        unless another is given: read at these, several logs agree. None where a log has no such
        version: not yet, or because the mirror began later."""
        from tidelake.delta.mirror.status import delta_versions

        self.session.namespace.check_whole("delta_versions")
        return delta_versions(self.session, known_at)

    def consumers(self) -> list[ConsumerState]:
        """All consumers, how far they have come and who holds them."""
        from tidelake.history import group_records as groups

        self.session.namespace.check_whole("consumers")
        with self.session.reading() as reader:
            return groups.states(reader)

    def tags(self) -> list[Tag]:
        """All tags, by snapshot."""
        self.session.namespace.check_whole("tags")
        with self.session.reading() as reader:
            return tags.every(reader)

    def _write(
        self,
        doing: str,
        to: str | TableName,
        terms: CommitTerms,
        operation: Callable[[DraftSession], WriteResult],
    ) -> WriteResult:
        from tidelake.session.replay import write

        purpose = Purpose(doing, (str(to),))
        return write(self.session, operation, terms=Terms.of(terms), purpose=purpose)
