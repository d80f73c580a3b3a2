"""A session: what everything that works on a lake needs of it.

`Lake` and `Transaction` are faces for users; behind each stands a session, and what features do
they do with that. `drafting.DraftSession` is the session of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any

from tidelake.catalog.annex import Annex
from tidelake.catalog.database.database import Database, Reader
from tidelake.catalog.read import own_snapshots, snapshots, tags
from tidelake.engine import Engine
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.session import active_session
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError
from tidelake.model.event_time import moment_text
from tidelake.model.extras import require
from tidelake.model.names import TableName
from tidelake.model.namespace import WHOLE, Namespace
from tidelake.model.snapshot import Snapshot
from tidelake.model.table import TableInfo
from tidelake.model.tuning import Tuning
from tidelake.plan.scan import ScanPlan
from tidelake.session.caches import Caches, MemoryT
from tidelake.session.draft import Observers, TableDraft
from tidelake.session.features import FeatureLoader
from tidelake.session.formats import MirrorFormat
from tidelake.session.hooks import Hook
from tidelake.session.known_time import KnownTime
from tidelake.session.planning import ALL, ReadRequest, TableMeta, plan_scan
from tidelake.session.reads import Reads
from tidelake.session.view import View
from tidelake.session.watch import NOBODY
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tidelake.engine.spark.engine import SparkEngine


class Session:
    """An open lake, at its newest state or `pinned` to a snapshot, perhaps by a `time`. Threads may
    share it."""

    def __init__(
        self,
        database: Database,
        data_path: str,
        local: LocalEngine,
        engine: str,
        spark: Any = None,
        pinned: int | None = None,
        *,
        encrypted: bool = False,
        wired: FeatureLoader,
        namespace: Namespace = WHOLE,
        time: KnownTime | None = None,
    ) -> None:
        self.wired = wired
        self.namespace = namespace
        self.database = database
        self.data_path = data_path
        self.local = local
        self.opened_for = engine
        self.spark = spark
        self.pinned = pinned
        self.time = time
        self.encrypted = encrypted
        self.view = View(data_path, namespace)
        self.caches = Caches()
        self.watch = NOBODY
        self.reads = Reads()
        self.is_marked = True
        self.has_moved = False
        """It is a copy that was sent to another process."""
        self.remembers = True
        """Whether what is found out on the way may be kept in the catalog."""
        self.is_guest = False
        """Whether the database itself holds it to its namespace."""
        self._closed = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, in this process or another, open the lake again: passwords and keys go along, a
        Spark session does not."""
        self.check_not_closed()
        opened = (self.database, self.data_path, self.local)
        settings = (self.opened_for, self.pinned, self.encrypted, self.is_marked, self.wired)
        return reopen_session, (*opened, *settings, self.namespace, self.is_guest, self.time)

    # Where it is, and what it works with.

    @property
    def tuning(self) -> Tuning:
        """The limits it works within."""
        return self.database.tuning

    @property
    def store(self) -> Store:
        return self.local.store

    @property
    def home(self) -> str:
        """The folder that is its own: the data path, or that of the tenant in it."""
        return f"{self.data_path}{self.namespace.folder}"

    @property
    def engine_name(self) -> str:
        """Executors have no Spark session, and what was opened for Spark is read there all the
        same."""
        stranded = self.has_moved and self.opened_for == "spark" and active_session() is None
        return "local" if stranded else self.opened_for

    @property
    def engine(self) -> Engine:
        """The one that works for this lake unless another is asked for."""
        return self.local if self.engine_name == "local" else self.spark_engine(None)

    @property
    def is_sandbox(self) -> bool:
        """Whether those who ask are not trusted."""
        return self.local.confinement is not None

    def spark_engine(self, spark: Any) -> SparkEngine:
        """On a Spark session, that of the lake if none is given."""
        require("spark", "the Spark engine", "pyspark")
        from tidelake.engine.spark.engine import SparkEngine

        if spark is not None and not hasattr(spark, "createDataFrame"):
            raise Invalid(f"spark={spark!r} is no Spark session", hint="give a SparkSession")
        return SparkEngine(self.spark if spark is None else spark, self.local.for_tasks())

    @property
    def annexes(self) -> tuple[Annex, ...]:
        """All that keep something beside the lake."""
        return self.wired().annexes

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All that have something to do when the lake is committed to, or tidied up."""
        return self.wired().hooks(self)

    @property
    def formats(self) -> tuple[MirrorFormat, ...]:
        """All formats in which tables can be mirrored."""
        return self.wired().formats

    def mirror_format(self, name: str) -> MirrorFormat:
        """The one of this name."""
        known = {each.name: each for each in self.formats}
        if name not in known:
            hint = f"there are: {', '.join(known)}"
            if name == "iceberg":
                hint += "; no metadata of Iceberg is written: tidelake export writes plain Parquet"
            raise Invalid(f"unknown kind of mirror {name!r}", hint=hint)
        return known[name]

    @property
    def observers(self) -> Observers:
        """All that look at files as they are written."""
        return self.wired().observers

    def memory(self, kind: type[MemoryT]) -> MemoryT:
        """What a feature remembers in this session."""
        return self.caches.memory(kind)

    def known_at(self, snapshot_id: int, time: KnownTime | None = None) -> Session:
        """The lake pinned to a snapshot; `time` is what it was asked for by, if it was that."""
        return self._again(self.local, snapshot_id, time, self.namespace)

    def within(self, namespace: Namespace, local: LocalEngine) -> Session:
        """The same lake for one tenant, or for those who may do less."""
        return self._again(local, self.pinned, self.time, namespace)

    def _again(
        self, local: LocalEngine, pinned: int | None, time: KnownTime | None, namespace: Namespace
    ) -> Session:
        found = Session(
            self.database,
            self.data_path,
            local,
            self.engine_name,
            self.spark,
            pinned,
            encrypted=self.encrypted,
            wired=self.wired,
            namespace=namespace,
            time=time,
        )
        found.watch = self.watch
        return found

    @property
    def committed(self) -> Session:
        """The lake as everybody sees it."""
        return self

    @property
    def is_transaction(self) -> bool:
        """Whether there may be writes in it that nobody else sees."""
        return self.committed is not self

    def moved(self, data_path: str) -> None:
        """The lake's files are somewhere else now."""
        self.data_path = data_path
        self.view = View(data_path, self.namespace)
        self.caches.forget()

    def close(self) -> None:
        """Give the catalog's connections back."""
        if not self._closed:
            for memory in self.caches.memories():
                with suppress(TidelakeError):
                    memory.settle(self)
        self._closed = True
        self.database.close()
        self.local.close()

    # What may be done.

    def check_not_closed(self) -> None:
        if self._closed:
            raise Invalid("this lake has been closed", hint="connect() again")

    def check_writable(self) -> None:
        self.check_not_closed()
        if self.pinned is not None:
            to = f"snapshot {self.pinned}"
            to = moment_text(self.time.by) if self.time and self.is_lost else to
            raise Denied(
                f"the lake is pinned to {to}, and the past does not change",
                hint="write to the unpinned lake",
            )
        if self.database.read_only:
            raise Denied(
                f"{self.database.url} was opened read-only", hint="connect without read_only=True"
            )
        self.namespace.check_role("write")

    # Which moment is read.

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        self.check_not_closed()
        with self.database.reading() as reader:
            yield reader

    def at(self, reader: Reader, head: int | None = None, /) -> int:
        """The snapshot that is read unless another is asked for; `head` is the newest one, where
        that is known."""
        if self.time is not None:
            self.time.check_there()
        if self.pinned is not None:
            snapshots.check_there(reader, self.pinned)
            return self.pinned
        return snapshots.head_id(reader) if head is None else head

    @property
    def is_lost(self) -> bool:
        """Whether it is pinned to a time before all snapshots."""
        return self.time is not None and self.time.lost is not None

    def witness(self, reader: Reader) -> int:
        """The snapshot whose rows tell of times before a table's first commit."""
        return self.at(reader) if self.time is None else self.time.at

    def between(self, reader: Reader, snapshot_id: int | None) -> tuple[int, int]:
        """The catalog's head, and the snapshot that is to be read."""
        head = snapshots.head_id(reader)
        if snapshot_id not in (None, head):
            snapshots.check_there(reader, snapshot_id or 0)
        return head, self.at(reader, head) if snapshot_id is None else snapshot_id

    def resolve(self, reader: Reader, moment: int | str | date) -> Snapshot:
        """The snapshot of an id, a time or a tag; for a tenant, one of its own."""
        whole = self.namespace.is_whole
        own = own_snapshots.resolve
        found = tags.resolve(reader, moment) if whole else own(reader, moment, self.namespace)
        if self.is_lost or (self.pinned is not None and found.snapshot_id > self.pinned):
            to = "a time before the lake" if self.is_lost else str(self.pinned)
            raise Denied(
                f"snapshot {found.snapshot_id} is after {to}, to which the lake is pinned",
                hint="ask the unpinned lake",
            )
        return found

    @property
    def last(self) -> int | None:
        """The snapshot up to which the past is told; None: the newest."""
        if self.time is not None:
            self.time.check_there()
        return self.pinned

    # What is there.

    def table_info(self, reader: Reader, at: int, name: TableName) -> TableInfo:
        return self.view.table_info(reader, at, name)

    def newest_info(self, name: TableName) -> TableInfo:
        """What is declared of a table now."""
        with self.reading() as reader:
            return self.table_info(reader, self.at(reader), name)

    def schema_id(self, name: str) -> int:
        with self.reading() as reader:
            known = {each.name: each.id for each in self.view.schemas(reader, self.at(reader))}
        if name not in known:
            raise NotFound(f"there is no schema {name!r}", hint=f"there are: {', '.join(known)}")
        return known[name]

    def meta(self, reader: Reader, head: int, at: int, name: TableName) -> TableMeta:
        """All that planning needs to know of a table; kept as plans are."""
        key = repr((head, at, name))
        if (kept := self.caches.metas.get(key)) is not None:
            return kept
        meta = TableMeta.gather(reader, self.table_info(reader, at, name))
        self.caches.metas.keep(key, meta)
        return meta

    def plan(self, name: TableName, snapshot_id: int | None, asked: ReadRequest = ALL) -> ScanPlan:
        """Plan a read of a table. Plans are kept as long as the catalog's head stands still:
        maintenance may change the files even of old snapshots, and it moves the head. Expiry does
        not, so the snapshot must still be there."""
        with self.reading() as reader:
            head, at = self.between(reader, snapshot_id)
            self.check_shared(reader, at, name)
            key = repr((head, at, name, asked))
            if (kept := self.caches.plans.get(key)) is not None:
                return kept
            meta = self.meta(reader, head, at, name)
            request = asked.of(meta.info.schema)
            plan = plan_scan(reader, at, meta, request, counted=asked.counted)
        self.caches.plans.keep(key, plan)
        return plan

    def check_shared(self, reader: Reader, at: int, name: TableName) -> None:
        """Raise NotFound for what was shared with a tenant, and is no longer: that makes no
        snapshot, so what is kept would still be good."""
        shared = self.namespace.is_shared(self.namespace.table(name))
        if shared and self.view.find(reader, at, "table", name) is None:
            raise self.view.unknown(reader, at, name)

    def row_count(self, name: TableName, snapshot_id: int | None) -> int | None:
        """How many rows a table has, if the catalog alone can tell."""
        with self.reading() as reader:
            at = self.at(reader) if snapshot_id is None else snapshot_id
            if snapshot_id is not None:
                snapshots.check_there(reader, at)
            return self.view.row_count(reader, at, name)

    def drafted(self, _: Reader, _name: TableName, _at: int | None, /) -> TableDraft | None:
        """The table as an open transaction has changed it; outside of one, nobody has."""
        return None

    # What is read, for those who remember it.

    def note_rows(self, name: TableName, snapshot_id: int | None, /) -> None:
        """All rows of a table are read."""

    def note_declared(self, found: TableInfo, /) -> None:
        """So is all that is declared of a table."""

    def read_meta(self, _: Reader, _name: TableName, _at: int | None, /) -> TableMeta | None:
        """What is known of a table of which rows are read, if reads are remembered."""
        return None


def reopen_session(
    database: Database,
    data_path: str,
    local: LocalEngine,
    engine: str,
    pinned: int | None,
    encrypted: bool,
    is_marked: bool,
    wired: FeatureLoader,
    namespace: Namespace = WHOLE,
    is_guest: bool = False,
    time: KnownTime | None = None,
) -> Session:
    """The catalog is not asked before something is read."""
    session = Session(
        database,
        data_path,
        local,
        engine,
        None,
        pinned,
        encrypted=encrypted,
        wired=wired,
        namespace=namespace,
        time=time,
    )
    session.has_moved = True
    session.is_marked = is_marked
    session.is_guest = is_guest
    return session
