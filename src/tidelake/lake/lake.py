"""The lake: look around, change it, pin it to a moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tidelake.catalog import create
from tidelake.catalog.commit.commit import CommitResult
from tidelake.catalog.database.database import Database, Reader
from tidelake.catalog.read import counting, options, snapshots, tags, zones
from tidelake.catalog.read import dropped as revival
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.options import Options
from tidelake.delta.mirror.metrics import Tally
from tidelake.delta.values.mirror import MirrorStatus
from tidelake.delta.values.reports import RecoverResult
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.event_time.rollups.make import Proofs, Search, are_there, may_begin
from tidelake.event_time.values.rollup import Rollup
from tidelake.history import consumer_records as consumers
from tidelake.history import log
from tidelake.history.diff import LakeDiff, diff_lake
from tidelake.history.values import ConsumerState, LogEntry, checked_limit
from tidelake.lake.lazy_module import Later
from tidelake.lake.reopen import engine_of, how_to_reopen
from tidelake.lake.table import Table
from tidelake.model.change import Change, WriteResult
from tidelake.model.event_time import EventTime, names
from tidelake.model.extras import require
from tidelake.model.names import TableName
from tidelake.model.relocation import MoveResult
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import MacroInfo, SchemaInfo, TableInfo, ViewInfo
from tidelake.model.tag import Tag, checked_name
from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session import leases
from tidelake.session.neighbours import mark_late
from tidelake.session.plan_as_of import plan_as_of, unplaced
from tidelake.session.planning import ALL, BoundRequest, ReadRequest, TableMeta, plan_scan
from tidelake.session.reads import SNAPSHOT, Reads
from tidelake.upkeep.values import CleanupResult, CompactResult, ExpireResult
from tidelake.verify.values import VerifyReport

if TYPE_CHECKING:
    from tidelake.catalog.annex import Annex
    from tidelake.coverage.lookup import CachedCoverage
    from tidelake.delta.mirror.agenda import DeclarationCache
    from tidelake.delta.mirror.mirror import DeltaMirror
    from tidelake.engine import Engine
    from tidelake.engine.spark.engine import SparkEngine
    from tidelake.history.consumer import Consumer
    from tidelake.lake.transaction import Transaction
    from tidelake.session.draft import TableDraft
    from tidelake.session.hooks import Hook
    from tidelake.write import definitions
else:
    definitions = Later("write.definitions")

_KEPT = 64

Value = TypeVar("Value")
Declaration = tuple[TableMeta, Options, str | None]


class Lake:
    """A lake, at its newest state or (after `known_at`) pinned to a snapshot.

    Safe to share between threads for reading. Close it with `close()` or `with`.
    """

    def __init__(
        self,
        database: Database,
        data_path: str,
        local: LocalEngine,
        engine: str,
        spark: Any = None,
        snapshot_id: int | None = None,
        *,
        encrypted: bool = False,
    ) -> None:
        self.encrypted = encrypted
        self._database = database
        self._local = local
        self._spark = spark
        self._snapshot_id = snapshot_id
        self._closed = False
        self._states: OrderedDict[str, AsOfPlan] = OrderedDict()
        self._coverages: OrderedDict[str, CachedCoverage] = OrderedDict()
        self._rollups = Search(local.store, data_path, Proofs())
        self._plans: OrderedDict[str, ScanPlan] = OrderedDict()
        self._facts: OrderedDict[str, TableMeta] = OrderedDict()
        self._declarations: OrderedDict[str, Declaration] = OrderedDict()
        self._newest_known: tuple[int, int] | None = None
        self._published: dict[int, int] = {}
        self._tally = Tally()
        self._declared_mirrors: DeclarationCache | None = None
        self._reads = Reads()
        self.is_marked = True
        self.data_path = data_path
        self._engine_name = engine
        self._has_moved = False

    @property
    def engine(self) -> str:
        """`local` or `spark`. A copy that was sent to where there is no Spark session is local."""
        return engine_of(self._engine_name, has_moved=self._has_moved)

    @property
    def annexes(self) -> tuple[Annex, ...]:
        """All that keep something beside the lake."""
        from tidelake.lake.wiring import ANNEXES

        return ANNEXES

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All that have something to do when the lake is committed to, or tidied up."""
        from tidelake.lake.wiring import hooks_of

        return hooks_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, in this process or another, open the lake again."""
        return how_to_reopen(self)

    @property
    def url(self) -> str:
        """The catalog's address, without its password."""
        return str(self._database.url)

    def schemas(self) -> list[str]:
        self._reads.names("schema")
        with self._reading() as reader:
            return [s.name for s in self._schema_infos(reader, self._at(reader))]

    def tables(self) -> list[str]:
        """Qualified names, each fit for `table()`."""
        return self._names("table")

    def views(self) -> list[str]:
        return self._names("view")

    def macros(self) -> list[MacroInfo]:
        self._reads.names("macro")
        with self._reading() as reader:
            return read.macros(reader, self._at(reader))

    def _names(self, kind: str) -> list[str]:
        self._reads.names(kind)
        with self._reading() as reader:
            return [str(name) for _, name in self._object_names(reader, self._at(reader), kind)]

    def names(self) -> dict[int, str]:
        """What the numbers in a snapshot's `changes` stand for: the last name of each schema,
        table, view and macro that ever was."""
        self._reads.lake()
        with self._reading() as reader:
            return read.every_name(reader)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that has not been expired, oldest first."""
        self._reads.lake()
        with self._reading() as reader:
            at = self._at(reader)
            return [s for s in snapshots.every(reader) if s.snapshot_id <= at]

    def log(self, limit: int | None = None) -> list[LogEntry]:
        """What every snapshot did, to which tables and how many rows, oldest first; the newest
        `limit` of them."""
        self._reads.lake()
        with self._reading() as reader:
            found = snapshots.newest(reader, self._at(reader), checked_limit(limit))
            return log.entries(reader, found)

    def table(self, name: str) -> Table:
        """A table by name: `prices`, `analytics.prices`, or with SQL's quoting."""
        parsed = TableName.parse(name)
        with self._reading() as reader:
            at = self._at(reader)
            if self._find(reader, at, "table", parsed) is None:
                raise self._unknown(reader, at, parsed)
        return Table(self, parsed, self._snapshot_id)

    def view(self, name: str) -> ViewInfo:
        """A view's definition; its rows come from `sql("SELECT * FROM …")`."""
        parsed = TableName.parse(name)
        with self._reading() as reader:
            at = self._at(reader)
            view_id = self._find(reader, at, "view", parsed)
            if view_id is None:
                raise NotFound(f"there is no view {parsed} at snapshot {at}")
            return self._view_info(reader, at, view_id)

    def create_schema(self, name: str) -> WriteResult:
        return self._write(lambda tx: definitions.create_schema(tx, name))

    def drop_schema(self, name: str, *, cascade: bool = False) -> WriteResult:
        """Drop a schema; with `cascade`, also all that is in it."""
        return self._write(lambda tx: definitions.drop_schema(tx, name, cascade=cascade))

    def create_table(
        self,
        name: str,
        schema: Any,
        *,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        comment: str | None = None,
        **settings: Any,
    ) -> Table:
        """Create a table from a pyarrow, Polars or Spark schema, a dict, or a DDL string.

        `partition_by` takes columns and `year`, `month`, `day`, `hour` or `bucket(n, …)` of them.
        Settings: `key`, `event_time` and `tombstone` for tables of facts in time, `entity`,
        `bucket` and `overlap` for series whose coverage is kept.
        """
        parsed = TableName.parse(name)
        checked = definitions.known_settings(settings)
        self._write(
            lambda tx: definitions.create_table(
                tx,
                parsed,
                schema,
                partition_by=partition_by,
                sort_by=sort_by,
                comment=comment,
                settings=checked,
            )
        )
        return self.table(name)

    def create_view(
        self, name: str, sql: str, *, columns: Sequence[str] = (), replace: bool = False
    ) -> WriteResult:
        """A view in DuckDB's SQL over this lake's tables."""
        parsed = TableName.parse(name)
        return self._write(
            lambda tx: definitions.create_view(tx, parsed, sql, columns=columns, replaces=replace)
        )

    def drop(self, name: str) -> WriteResult:
        """Drop a table or a view. Its past stays readable."""
        parsed = TableName.parse(name)
        return self._write(lambda tx: definitions.drop(tx, parsed))

    def undrop(
        self, name: str, *, as_: str | None = None, known_at: int | str | datetime | None = None
    ) -> WriteResult:
        """Have a dropped table or view again: the one that was dropped last under this name, or
        that which had it at `known_at`; under another name with `as_`. A table comes with its
        rows, their ids, its settings and its past, as long as its last snapshot is kept."""
        from tidelake.write.undrop import undrop

        old = TableName.parse(name)
        new = old if as_ is None else definitions.moved(old, as_)
        return self._write(lambda tx: undrop(tx, old, new, known_at))

    def rename(self, name: str, new: str) -> WriteResult:
        """Give a table another name, in the same schema or (`schema.name`) in another."""
        old = TableName.parse(name)
        target = definitions.moved(old, new)
        return self._write(lambda tx: definitions.rename(tx, old, target))

    def set_option(
        self, name: str, value: object, *, table: str | None = None, schema: str | None = None
    ) -> None:
        """Set one of DuckLake's options for the lake, a schema or a table, such as
        `data_inlining_row_limit` or `target_file_size`. `tidelake.mirror` is `delta` where new
        tables are to be mirrored. This makes no snapshot."""
        self._check_writable()
        if table is not None and schema is not None:
            raise Invalid("an option is of a table or of a schema", hint="set it twice")
        scope, scope_id = None, None
        if table is not None:
            scope, scope_id = "table", self.table(table).info.id
        if schema is not None:
            scope, scope_id = "schema", self._schema_id(schema)
        with self._database.writing() as writer:
            options.set_option(writer, name, value, scope, scope_id)
        self._declarations.clear()

    def transaction(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        isolation: str = SNAPSHOT,
    ) -> Transaction:
        """Several writes in one snapshot, all or nothing. Use it in a `with`, which commits at the
        end; else end it with `commit()` or `rollback()`.

        Its reads see one snapshot. With `isolation="serializable"` its commit is a Conflict if
        somebody else has changed what it has read.
        """
        from tidelake.lake.transaction import Transaction

        self._check_writable()
        return Transaction(self, author=author, message=message, isolation=isolation)

    def _check_writable(self) -> None:
        self._check_not_closed()
        if self._snapshot_id is not None:
            raise Denied(
                f"the lake is pinned to snapshot {self._snapshot_id}, and the past does not change",
                hint="write to the unpinned lake",
            )
        if self._database.read_only:
            raise Denied(
                f"{self._database.url} was opened read-only", hint="connect without read_only=True"
            )

    def _write(
        self, operation: Callable[[Transaction], WriteResult], *, blind: bool = False
    ) -> WriteResult:
        from tidelake.session.replay import run

        self._check_writable()
        return run(self, operation, blind=blind)

    def known_at(self, moment: int | str | datetime) -> Lake:
        """The whole lake as it was known at a snapshot id, a time (UTC if it has no zone), or a
        tag."""
        with self._reading() as reader:
            snapshot_id = self._snapshot(reader, moment).snapshot_id
        return Lake(
            self._database,
            self.data_path,
            self._local,
            self.engine,
            self._spark,
            snapshot_id,
            encrypted=self.encrypted,
        )

    def tag(
        self,
        name: str,
        known_at: int | str | datetime | None = None,
        *,
        author: str | None = None,
        message: str | None = None,
    ) -> Tag:
        """Name a snapshot, the newest unless another is given. A tag stands wherever `known_at`
        does, and what is tagged does not expire."""
        wanted = checked_name(name)
        self._check_not_closed()
        with self._database.writing() as writer:
            at = self._at(writer) if known_at is None else known_at
            snapshot = self._snapshot(writer, at)
            return tags.put(writer, wanted, snapshot.snapshot_id, author, message)

    def tags(self) -> list[Tag]:
        """All tags, by snapshot."""
        with self._reading() as reader:
            return tags.every(reader)

    def untag(self, name: str) -> Tag:
        """Forget a tag; its snapshot may expire then. Gives what it was."""
        self._check_not_closed()
        with self._database.writing() as writer:
            return tags.remove(writer, name)

    def consumer(
        self, name: str, since: int | str | datetime | None = None, lease_seconds: float = 60
    ) -> Consumer:
        """Take hold of a named consumer of the lake's changes; use it in a `with`. A new one
        starts after `since`, else from the beginning; one that is known goes on where it was.
        Only one can hold it: until it is closed, or silent for as long as its lease."""
        from tidelake.history.consumer import Consumer

        self._check_writable()
        return Consumer(self, name, since, lease_seconds)

    def consumers(self) -> list[ConsumerState]:
        """All consumers, how far they have come and who holds them."""
        with self._reading() as reader:
            return consumers.every(reader)

    def diff(self, a: int | str | datetime, b: int | str | datetime | None = None) -> LakeDiff:
        """What differs from one snapshot, time or tag to another (None: now), table by table."""
        self._reads.lake()
        return diff_lake(self._committed, a, self._last if b is None else b)

    def sql(
        self,
        query: str,
        parameters: Sequence[object] | Mapping[str, object] | None = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | datetime | None = None,
    ) -> Any:
        """Run one statement. A SELECT gives a query with the same `to_*` methods as a Scan.

        A table in it may be followed by `FOR VALID_TIME AS OF t`, and by `FOR SYSTEM_TIME AS OF`,
        `TIMESTAMP AS OF`, `VERSION AS OF` or `AT (VERSION => n | TIMESTAMP => t)` with a snapshot
        id, a time or a tag. `as_of` and `known_at` hold for the tables of which the query does
        not say it itself. `parameters` are a list for `?` and `$1`, a dict for `$name` (on Spark
        `:name`).

        INSERT, UPDATE, DELETE, MERGE, CREATE, DROP, ALTER and COMMENT are done at once and give
        a WriteResult.
        """
        from tidelake.sql.query import run

        return run(self, query, parameters, as_of, known_at)

    def mirror(self, name: str, kind: str = "delta", *, history: bool = False) -> DeltaMirror:
        """Publish a table as a Delta table beside its files, from now on with every commit: as it
        is now, or with `history` as it was at every snapshot. A mirror that is there already, or
        was stopped, goes on in its log."""
        from tidelake.delta.mirror.mirror import mirror

        return mirror(self, TableName.parse(name), kind, history=history)

    def mirrored(self, name: str) -> DeltaMirror:
        """The mirror of a table that has one."""
        from tidelake.delta.mirror.mirror import mirrored

        return mirrored(self, TableName.parse(name))

    def sync_mirrors(self) -> list[MirrorStatus]:
        """Publish of all mirrors what has not been published yet, as commits of DuckDB are not."""
        from tidelake.delta.mirror.sync import sync_all

        self._check_writable()
        sync_all(self)
        return self.mirrors()

    def recover(
        self, from_delta: str | Sequence[str] | None = None, *, dry_run: bool = False
    ) -> RecoverResult:
        """Have the mirrored tables of a lost lake again, from their Delta logs below the data path
        or these places. Requires: this lake is new. They come back as they were published last,
        without their history, and are mirrored again in the same logs."""
        from tidelake.delta.recover import recover

        places = [from_delta] if isinstance(from_delta, str) else from_delta
        return recover(self, places, dry_run=dry_run)

    def mirrors(self) -> list[MirrorStatus]:
        """All mirrors by the names of their tables: what is published, what stands in the way, and
        how far behind they are."""
        from tidelake.delta.mirror.status import statuses

        return statuses(self)

    def delta_versions(self, known_at: int | str | datetime | None = None) -> dict[str, int | None]:
        """The Delta version of each mirrored table that shows it as of a snapshot, the newest
        unless another is given: read at these, several logs agree. None where a log has no such
        version: not yet, or because the mirror began later."""
        from tidelake.delta.mirror.status import delta_versions

        return delta_versions(self, known_at)

    def compact(self, *, dry_run: bool = False) -> CompactResult:
        """Compact every table, as `Table.compact` does."""
        from tidelake.upkeep.compact import compact_all

        self._check_compactable(dry_run)
        with self._reading() as reader:
            names = [name for _, name in self._object_names(reader, self._at(reader), "table")]
        return compact_all(self, names, dry_run=dry_run)

    def _check_compactable(self, dry_run: bool) -> None:
        if not dry_run:
            self._check_writable()

    def expire(
        self,
        older_than: str | datetime | timedelta | None = None,
        keep_last: int | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
    ) -> ExpireResult:
        """Forget snapshots, and all that no other snapshot sees: those committed before a moment
        (`older_than`, also as a span such as "7 days") that are not among the last `keep_last`.

        The newest stays, and so does what is tagged. Where a consumer still needs one of them,
        Conflict is raised, unless with `force`. The files are scheduled for `cleanup`.
        """
        from tidelake.upkeep.expire import expire

        if not dry_run:
            self._check_writable()
        return expire(
            self, older_than=older_than, keep_last=keep_last, dry_run=dry_run, force=force
        )

    def move(self, data_path: str | Path, *, force: bool = False) -> MoveResult:
        """Write down that the lake's files are at another place now. Move or copy them there first:
        only the catalog changes. All files must be there, unless `force` says that it does not
        matter. Nobody else should have the lake open."""
        from tidelake.lake.move import move

        return move(self, data_path, force=force)

    def _moved(self, data_path: str) -> None:
        self.data_path = data_path
        self._rollups = Search(self._local.store, data_path, Proofs())
        for kept in (self._states, self._coverages, self._plans, self._facts, self._declarations):
            kept.clear()

    def cleanup(
        self,
        older_than: str | datetime | timedelta | None = None,
        *,
        orphans: bool = True,
        dry_run: bool = False,
    ) -> CleanupResult:
        """Remove files that no snapshot needs since a moment (`older_than`, also as a span; without
        it the lake's option `delete_older_than`, 2 days), and `orphans` as old: files under the
        data path that DuckDB or Tidelake wrote and no snapshot ever had. Only the lake's own files
        are deleted: those that were registered or imported stay, unless they were handed over
        with `take_over`, and so does what lies outside the data path or is another lake's.

        The span protects those who are still reading or writing them: it must be longer than
        the longest read, and the longest transaction.
        """
        from tidelake.upkeep.cleanup import cleanup

        if not dry_run:
            self._check_writable()
        return cleanup(self, older_than=older_than, orphans=orphans, dry_run=dry_run)

    def verify(
        self,
        *,
        deep: bool = False,
        fingerprint: bool = False,
        tables: Sequence[str] | None = None,
    ) -> VerifyReport:
        """Check that the lake is whole: the catalog against itself, and every file's place, size
        and footer against the catalog. `deep` reads all rows too. With `fingerprint` a hash of
        every past state is kept, and compared with those kept before. Nothing is mended: each
        problem says how to."""
        from tidelake.verify.verify import verify

        return verify(self._committed, deep=deep, fingerprint=fingerprint, tables=tables)

    def reindex(self) -> None:
        """Bring up to date what makes planning fast: indexes, and summaries of many files at once.

        Nothing depends on it but speed. Worth a call for a lake that DuckDB made, or after it
        has added thousands of files.
        """
        create.equip(self._database)
        with self._reading() as reader:
            at = snapshots.head_id(reader)
            columns = {
                table_id: read.columns(reader, at, table_id)
                for table_id, _ in read.names(reader, at, "table")
            }
        for table_id, known in columns.items():
            more = True
            while more:  # in short transactions, so that writers need not wait long
                with self._database.writing() as writer:
                    more = zones.summarise(writer, table_id, known)

    def close(self) -> None:
        """Give the catalog connections back. Pinned lakes and tables made from it close too."""
        if not self._closed:
            with suppress(TidelakeError):
                self._tally.note(self)
            leases.settle(self.data_path)
        self._closed = True
        self._database.close()
        self._local.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        pinned = "" if self._snapshot_id is None else f" known at {self._snapshot_id}"
        return f"<Lake {self._database.url}{pinned}>"

    @property
    def _committed(self) -> Lake:
        """The lake as everybody sees it."""
        return self

    @property
    def _last(self) -> int | None:
        """The snapshot up to which the past is told; None: the newest."""
        return self._snapshot_id

    @property
    def _engine(self) -> Engine:
        return self._local if self.engine == "local" else self._spark_engine(None)

    def _spark_engine(self, spark: Any) -> SparkEngine:
        require("pyspark", "the Spark engine")
        from tidelake.engine.spark.engine import SparkEngine

        return SparkEngine(spark or self._spark, self._local)

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        self._check_not_closed()
        with self._database.reading() as reader:
            yield reader

    def _check_not_closed(self) -> None:
        if self._closed:
            raise Invalid("this lake has been closed", hint="connect() again")

    def _at(self, reader: Reader, /) -> int:
        if self._snapshot_id is not None:
            snapshots.check_there(reader, self._snapshot_id)
            return self._snapshot_id
        return snapshots.head_id(reader)

    def _snapshot(self, reader: Reader, moment: int | str | datetime) -> Snapshot:
        found = tags.resolve(reader, moment)
        if self._snapshot_id is not None and found.snapshot_id > self._snapshot_id:
            raise Denied(
                f"snapshot {found.snapshot_id} is after {self._snapshot_id}, to which the lake is"
                " pinned",
                hint="ask the unpinned lake",
            )
        return found

    def _note_rows(self, name: TableName, snapshot_id: int | None, /) -> None:
        """All rows of a table are read, for those who remember what they have read."""

    def _note_declared(self, found: TableInfo, /) -> None:
        """So is all that is declared of a table."""

    def _find(self, reader: Reader, at: int, kind: str, name: TableName) -> int | None:
        return read.find(reader, at, kind, name)

    def _schema_id(self, name: str) -> int:
        with self._reading() as reader:
            known = {each.name: each.id for each in self._schema_infos(reader, self._at(reader))}
        if name not in known:
            raise NotFound(f"there is no schema {name!r}", hint=f"there are: {', '.join(known)}")
        return known[name]

    def _schema_infos(self, reader: Reader, at: int) -> list[SchemaInfo]:
        return read.schemas(reader, at, self.data_path)

    def _object_names(self, reader: Reader, at: int, kind: str) -> list[tuple[int, TableName]]:
        return read.names(reader, at, kind)

    def _view_info(self, reader: Reader, at: int, view_id: int) -> ViewInfo:
        return read.view(reader, at, view_id)

    def _count_from_catalog(self, name: TableName, snapshot_id: int | None) -> int | None:
        with self._reading() as reader:
            at = self._at(reader) if snapshot_id is None else snapshot_id
            if snapshot_id is not None:
                snapshots.check_there(reader, at)
            return counting.row_count(reader, at, self._table_info(reader, at, name).id)

    def _table_info(self, reader: Reader, at: int, name: TableName) -> TableInfo:
        table_id = self._find(reader, at, "table", name)
        if table_id is None:
            raise self._unknown(reader, at, name)
        return read.table(reader, at, table_id, self.data_path)

    def _unknown(self, reader: Reader, at: int, name: TableName) -> TidelakeError:
        if self._find(reader, at, "view", name) is not None:
            return Invalid(f"{name} is a view", hint=f'lake.sql("SELECT * FROM {name}")')
        known = [str(other) for _, other in self._object_names(reader, at, "table")]
        listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        gone = [each for each in revival.named(reader, "table", name) if each.at <= at]
        if gone:
            return NotFound(
                f"there is no table {name} at snapshot {at}: snapshot {gone[0].at} dropped it",
                hint=f"lake.undrop({str(name)!r}); there are: {listed or 'none'}",
            )
        return NotFound(
            f"there is no table {name} at snapshot {at}", hint=f"there are: {listed or 'none'}"
        )

    def _plan(self, name: TableName, snapshot_id: int | None, asked: ReadRequest = ALL) -> ScanPlan:
        """Plan a read of a table. Plans are kept as long as the catalog's head stands still:
        maintenance may change the files even of old snapshots, and it moves the head. Expiry does
        not, so the snapshot must still be there."""
        with self._reading() as reader:
            head, at = self._between(reader, snapshot_id)
            key = repr((head, at, name, asked))
            if (kept := self._plans.get(key)) is not None:
                return kept
            facts = self._table_facts(reader, head, at, name)
            request = asked.of(facts.info.schema)
            plan = plan_scan(reader, at, facts, request, counted=asked.counted)
        _keep(self._plans, key, plan)
        return plan

    def _plan_as_of(
        self, name: TableName, snapshot_id: int | None, moment: int, asked: ReadRequest = ALL
    ) -> AsOfPlan:
        """Plan a read of a table's state as of a moment; kept as other plans are."""
        with self._reading() as reader:
            head, at = self._between(reader, snapshot_id)
            key = repr((head, at, name, moment, asked))
            if (kept := self._states.get(key)) is not None and self._still_stands(kept):
                return kept
            facts = self._table_facts(reader, head, at, name)
            request = asked.of(facts.info.schema)
            best = self._best_rollup(reader, at, facts.info, request, moment)
            plan = plan_as_of(
                reader, at, facts, request, moment, rollup=best, counted=asked.counted
            )
            doubtful = unplaced(reader, at, facts, plan.event)
        self._check_placed(doubtful, plan.event)
        _keep(self._states, key, plan)
        return plan

    @property
    def _mirrored(self) -> DeclarationCache:
        """How mirrored tables are declared, as far as that has been looked up."""
        if self._declared_mirrors is None:
            from tidelake.delta.mirror.agenda import DeclarationCache

            self._declared_mirrors = DeclarationCache()
        return self._declared_mirrors

    def _drafted(self, _: Reader, _name: TableName, _at: int | None, /) -> TableDraft | None:
        """The table as an open transaction has changed it; outside of one, nobody has."""
        return None

    def _keep_beside(self, key: str, beside: CachedCoverage) -> None:
        _keep(self._coverages, key, beside)

    def _between(self, reader: Reader, snapshot_id: int | None) -> tuple[int, int]:
        """The catalog's head, and the snapshot that is to be read."""
        head = snapshots.head_id(reader)
        if snapshot_id not in (None, head):
            snapshots.check_there(reader, snapshot_id or 0)
        return head, self._at(reader) if snapshot_id is None else snapshot_id

    def _best_rollup(
        self, reader: Reader, at: int, table: TableInfo, request: BoundRequest, moment: int
    ) -> Rollup | None:
        event = EventTime.maybe(table)
        if event is None or not may_begin(table, request):
            return None
        return self._rollups.best(reader, at, table, event, moment)

    def _still_stands(self, plan: AsOfPlan) -> bool:
        """Whether the files of the rollup that a plan begins with are still there."""
        return plan.rollup is None or are_there(self._local.store, plan.parts[0].files)

    def _check_placed(self, doubtful: ScanPlan | None, event: EventTime) -> None:
        """Facts without a key or a time cannot be put in order, and are not passed over."""
        count = 0 if doubtful is None else int(self._engine.read(doubtful).count())
        if doubtful is not None and count:
            listed = ", ".join(names((*event.key, event.time)))
            raise Invalid(
                f"{count} rows of {doubtful.table} have no key or no event time ({listed})",
                hint="delete or complete them, and declare the columns NOT NULL",
            )

    # What the writes of this lake remember of each other, so that one more costs little.

    def _declared(self, name: TableName, schema_version: int) -> Declaration | None:
        return self._declarations.get(repr((schema_version, name)))

    def _declare(self, name: TableName, schema_version: int, known: Declaration) -> None:
        _keep(self._declarations, repr((schema_version, name)), known)

    def _last_known(self) -> tuple[int, int] | None:
        return self._newest_known

    def _landed(self, landed: CommitResult, change: Change) -> None:
        """After a commit: remember where the lake is, and summarise files if they are many more."""
        self._newest_known = (landed.snapshot_id, landed.schema_version)
        mark_late(self)
        written = [table.table for table in change.tables if table.write.files and table.before]
        before = landed.next_file_id - sum(len(table.write.files) for table in change.tables)
        if before // zones.WIDTH == landed.next_file_id // zones.WIDTH:
            return
        with suppress(TidelakeError), self._database.writing() as writer:
            for table in written:
                zones.summarise(writer, table.id, table.schema.columns)

    def _table_facts(self, reader: Reader, head: int, at: int, name: TableName) -> TableMeta:
        key = repr((head, at, name))
        if (kept := self._facts.get(key)) is not None:
            return kept
        facts = TableMeta.gather(reader, self._table_info(reader, at, name))
        _keep(self._facts, key, facts)
        return facts


def _keep(kept: OrderedDict[str, Value], key: str, value: Value) -> None:
    kept[key] = value
    while len(kept) > _KEPT:
        kept.popitem(last=False)
