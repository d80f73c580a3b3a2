"""What a lake and a transaction can both do: look around, and read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import options, snapshots, tags
from tidelake.catalog.read import tables as read
from tidelake.drawing.drawn_list import DrawnList
from tidelake.errors import NotFound
from tidelake.lake.table import Table
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.namespace import SHARED
from tidelake.model.reflexes import OF_LAKES, Guessable, not_a_dict
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import MacroInfo, ViewInfo
from tidelake.model.tag import Tag
from tidelake.session.session import Session
from tidelake.session.source import Source, known_then

if TYPE_CHECKING:
    from tidelake.history.diff import LakeDiff
    from tidelake.history.values import ConsumerState, Log


class Browsable(Guessable):
    """`session` is for those who build on Tidelake: what features work with."""

    _reflexes = ("lake", OF_LAKES)
    _otherwise = '{it}["{name}"], if that is a table'

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def url(self) -> str:
        """The catalog's address, without its password. Tenants do not see it."""
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
        """The names of all schemas."""
        self.session.reads.names("schema")
        if self.session.is_lost:
            return list(dict.fromkeys(TableName.parse(each).schema for each in self.tables()))
        with self.session.reading() as reader:
            found = self.session.view.schemas(reader, self.session.at(reader))
            shared = self.session.view.shared(reader, self.session.at(reader))
        own = [self.session.namespace.inner(schema.name) for schema in found]
        return [*own, SHARED] if shared else own

    def tables(self) -> list[str]:
        """Qualified names, each fit for `table()`."""
        return self._names("table")

    def views(self) -> list[str]:
        """Qualified names of all views."""
        return self._names("view")

    def macros(self) -> list[MacroInfo]:
        """DuckDB's macros that are kept in the lake."""
        self.session.namespace.check_whole("macros")
        self.session.reads.names("macro")
        with self.session.reading() as reader:
            return read.macros(reader, self.session.at(reader))

    def _names(self, kind: str) -> list[str]:
        self.session.reads.names(kind)
        session, names, early = self.session, [], []
        with session.reading() as reader:
            if session.time is not None and kind == "table":
                early = known_then(session, reader, session.time)
            if not session.is_lost:
                at = session.at(reader)
                found = session.view.names(reader, at, kind)
                found += session.view.shared(reader, at) if kind == "table" else []
                names = [name for _, name in found]
        names += [name for name in early if name not in names]
        return [str(session.namespace.inner_table(name)) for name in names]

    def names(self) -> dict[int, str]:
        """The names behind the numbers in a snapshot's `changes`: the last name of every schema,
        table, view and macro.
        """
        self.session.namespace.check_whole("names")
        self.session.reads.everything()
        with self.session.reading() as reader:
            return read.every_name(reader)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that has not been expired, oldest first; for a tenant those that changed
        something of its own."""
        self.session.reads.everything()
        if not self.session.namespace.is_whole:
            return _snapshots(entry.as_snapshot() for entry in self.log())
        with self.session.reading() as reader:
            at = self.session.at(reader)
            return _snapshots(s for s in snapshots.every(reader) if s.snapshot_id <= at)

    def log(self, limit: int | None = None) -> Log:
        """Who did what in every snapshot: operation, tables and numbers of rows, oldest first.
        `limit` gives the newest ones.
        """
        from tidelake.history.values import Log, checked_limit
        from tidelake.tenants import own_log

        return Log(own_log.lake_log(self.session, checked_limit(limit)))

    def table(self, name: str) -> Table:
        """A table by name: `prices`, `analytics.prices`, or with SQL's quoting."""
        parsed = self.session.namespace.parse(name)
        with self.session.reading() as reader:
            if (early := self._early(reader, parsed)) is not None:
                return Table(early)
            at = self.session.at(reader)
            if self.session.view.find(reader, at, "table", parsed) is None:
                raise self.session.view.unknown(reader, at, parsed)
        return Table(Source(self.session, parsed, self.session.pinned))

    def _early(self, reader: Reader, name: TableName) -> Source | None:
        """A table at the time that the lake is pinned to, if that is before its first commit and
        a column of it tells."""
        time = self.session.time
        return None if time is None else Source(self.session, name).then(reader, time)

    def __getitem__(self, name: str) -> Table:
        return self.table(name)

    if not TYPE_CHECKING:

        def __iter__(self) -> object:
            """Else Python would ask for tables 0, 1, 2, …"""
            raise not_a_dict(self, "for name in lake.tables()")

        def __setitem__(self, name: str, rows: object) -> None:
            raise not_a_dict(self, "lake.append(name, rows, create=True)")

        def __delitem__(self, name: str) -> None:
            raise not_a_dict(self, "lake.drop(name)")

    def __contains__(self, name: str) -> bool:
        return self.exists(name)

    def exists(self, name: str) -> bool:
        """Whether there is a table of this name. Views do not count."""
        parsed = self.session.namespace.parse(name)
        with self.session.reading() as reader:
            if self._early(reader, parsed) is not None:
                return True
            if self.session.is_lost:
                return False
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
                found = self.session.view.names(reader, at, "view")
                inner = self.session.namespace.inner_table
                there = ", ".join(str(inner(name)) for _, name in found)
                raise NotFound(
                    f"there is no view {parsed} at snapshot {at}",
                    hint=f"there are: {there or 'none'}",
                )
            return self.session.view.view_info(reader, at, view_id)

    def diff(self, a: int | str | date, b: int | str | date | None = None) -> LakeDiff:
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
        return DrawnList(sorted(found, key=lambda each: (each.table, each.kind)), one="mirror")

    def delta_versions(self, known_at: int | str | date | None = None) -> dict[str, int | None]:
        """The Delta version of each mirrored table that shows it as of a snapshot, the newest
        unless another is given: read at these, several logs agree. None where a log has no such
        version: not yet, or because the mirror began later."""
        from tidelake.delta.mirror.status import delta_versions

        self.session.namespace.check_whole("delta_versions")
        return delta_versions(self.session, known_at)

    def consumers(self) -> list[ConsumerState]:
        """All consumers: their position, and who holds them."""
        from tidelake.history import group_records as groups

        self.session.namespace.check_whole("consumers")
        with self.session.reading() as reader:
            return DrawnList(groups.states(reader), one="consumer")

    def tags(self) -> list[Tag]:
        """All tags, by snapshot."""
        self.session.namespace.check_whole("tags")
        with self.session.reading() as reader:
            shown = ("name", "snapshot_id", "created_at", "author", "message")
            return DrawnList(tags.every(reader), one="tag", show=shown)


def _snapshots(found: Iterable[Snapshot]) -> list[Snapshot]:
    shown = ("snapshot_id", "time", "author", "changes", "message")
    return DrawnList(found, one="snapshot", show=shown)
