"""A connection to the DuckDB in this process, for one read, one write or one task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from tidelake.duck import settle
from tidelake.engine.local import catalog_rows, scan_sql
from tidelake.engine.local.empty_file import empty_file
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.engine.local.known_files import KnownFiles
from tidelake.engine.local.object_stores import allow_remote, schemes_of
from tidelake.engine.local.reshape import Source
from tidelake.engine.local.supply import Answer, Supply
from tidelake.engine.parquet.first_look import look_first
from tidelake.engine.parquet.footer_shape import named_shape, shapes
from tidelake.engine.parquet.puffin import positions
from tidelake.engine.row_source import PassingRows, RowSource
from tidelake.errors import Corrupt, Denied, NotFound, TidelakeError
from tidelake.model.file import (
    ArrowRows,
    DataFile,
    DeleteFile,
    GatheredRows,
    InlinedRows,
    PackedRows,
)
from tidelake.model.names import quote
from tidelake.model.sandbox import Confinement
from tidelake.plan.as_of import AsOfPlan, state_sql, winners_sql
from tidelake.plan.scan import ScanPlan
from tidelake.scratch import Scratch
from tidelake.store.files import Store, is_local

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tidelake.store.cache import FileCache, Links


_PATIENCE_S = 0.2
_PARQUET = (".parquet", ".pq")
_WILD = re.compile(r"[*?[]")
_INCOMING = "_tidelake_incoming"
_AT_ONCE = 61_440
"""Rows of a batch: half of one of DuckDB's row groups."""
_FEW_VALUES = 2_000
"""So many of the catalog are written into a statement: that is quicker than to hand them over, for
which DuckDB also imports pandas, if there is one."""


class Workbench:
    """A connection on which plans become views and queries run; nobody else sees them. While
    somebody has it, the folder that DuckDB spills into stays."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        storage_options: Mapping[str, str],
        scratch: Scratch,
        confinement: Confinement | None = None,
        cache: FileCache | None = None,
        known: KnownFiles | None = None,
    ) -> None:
        self.connection = connection
        self._known = known or KnownFiles()
        self.scratch = scratch
        self._confinement = confinement
        self.supply = Supply(connection)
        self._options = dict(storage_options)
        self.store = Store(storage_options, confinement)
        self._cache = cache
        self._links: Links | None = None
        self.is_far = False
        self.is_small = False
        """Whether DuckDB has one thread, little memory, and nobody else to work for."""
        self.has_run_out = False
        """Whether the memory was too little."""
        self._names = (f"_tidelake_inlined_{n}" for n in count())

    def run(
        self,
        doing: str,
        statement: Callable[[], Answer],
        undo: Callable[[Answer], object] | None = None,
    ) -> Answer:
        """Run what may take long; Ctrl-C ends it. `doing` says what it was, should it fail."""

        def run() -> Answer:
            with self._in_time(doing), translate_duckdb_errors(doing):
                return statement()

        return self.supply.run(run, undo)

    @contextmanager
    def _in_time(self, doing: str) -> Iterator[None]:
        """In a sandbox a statement that takes too long is interrupted, until it hears."""
        if self._confinement is None:
            yield
            return
        seconds, ended, late = self._confinement.sandbox.seconds, Event(), Event()

        def watch() -> None:
            wait = seconds
            while not ended.wait(wait):
                late.set()
                self.connection.interrupt()
                wait = _PATIENCE_S

        watcher = Thread(target=watch, name="tidelake clock", daemon=True)
        watcher.start()
        try:
            yield
        except TidelakeError:
            if late.is_set():
                raise Denied(
                    f"{doing}: it took more than {seconds:g} seconds, which is all that its"
                    " sandbox has",
                    hint="do it in smaller parts",
                ) from None
            raise
        finally:
            ended.set()
            watcher.join()

    def within_memory(self, do: Callable[[], Answer]) -> Answer | None:
        """What comes of it; None if DuckDB has not the memory for it."""
        import duckdb

        try:
            return do()
        except duckdb.OutOfMemoryException:
            self.has_run_out = True
            return None

    def define(self, name: str, rows: ScanPlan | AsOfPlan | RowSource) -> None:
        """A relation under a name. What is no plan is read now, once: a query may ask twice, unless
        it is known to go through it once."""
        if isinstance(rows, ScanPlan | AsOfPlan):
            self.connection.execute(f"CREATE TEMP VIEW {quote(name)} AS {self.scan(rows)}")
        elif isinstance(rows, PassingRows):
            rows.begin()
            settle(self.connection).register(name, rows)
        else:
            self._keep(quote(name), rows.to_batches())

    def scan(self, plan: ScanPlan | AsOfPlan) -> str:
        """One SELECT that reads the plan, with all it needs registered on the connection."""
        if isinstance(plan, AsOfPlan):
            return self._state(plan)
        plan = self._brought_near(plan)
        self.reach(file.path for file in plan.files)
        self._check_field_ids(plan)
        found = self._inspected([f for f in plan.files if scan_sql.needs_inspection(plan, f)])
        branches = [self._branch(plan, group) for group in scan_sql.arrange(plan, found)]
        branches += [
            scan_sql.inlined_branch(plan, inlined, self._register(inlined))
            for inlined in plan.inlined
            if inlined.rows
        ]
        return scan_sql.scan_sql(plan, branches)

    def _branch(self, plan: ScanPlan, group: scan_sql.ScanGroup) -> str:
        if group.is_one_large_file and self._confinement is None:
            group = replace(group, beside=empty_file(self.connection, self.scratch))
        return scan_sql.group_branch(plan, group, self.deletes_sql(group.files, plan.snapshot_id))

    def _brought_near(self, plan: ScanPlan) -> ScanPlan:
        """With copies of its files, and of their delete files, where there are some."""
        mine = [file for file in plan.files if file.mapping_id is None]
        if self._cache is None or all(is_local(file.path) for file in mine):
            return plan
        self._links = self._links or self._cache.links(self)
        wanted = [(file.path, file.bytes) for file in mine]
        wanted += [(gone.path, gone.bytes) for file in mine for gone in file.deletes]
        near = self._cache.near(self.store, wanted, self._links)
        return replace(plan, files=tuple(_moved(file, near) for file in plan.files))

    def keep(self) -> None:
        """Until the program ends: somebody reads of whose end we hear nothing."""
        self.scratch.keep()
        if self._links is not None:
            self._links.keep()

    def _state(self, plan: AsOfPlan) -> str:
        return state_sql(plan, winners_sql(plan, [f"({self.scan(part)})" for part in plan.parts]))

    def reach(self, paths: Iterable[str]) -> None:
        """Let the connection open these paths, wherever they are."""
        if self._confinement is not None:
            self._confinement.check(paths, to_read=True)
        elif schemes := schemes_of(paths):
            self.is_far = True
            allow_remote(self.connection, schemes, self._options)

    def reach_unknown(self, paths: Iterable[str]) -> None:
        """The same for files of others, or patterns of them, which are looked at first."""
        named = list(paths)
        self.reach(named)
        found: list[str] = []
        for path in named:
            if path.lower().endswith(_PARQUET) or _WILD.search(path):
                with suppress(NotFound):
                    found += self.store.listed(path)
        look_first(self.store, [each for each in found if each.lower().endswith(_PARQUET)])

    def _check_field_ids(self, plan: ScanPlan) -> None:
        """Columns of a file without field ids would all be missing, and so read as NULL.

        Whoever writes such files writes all of them so: the first is looked at, and those
        that are not named as DuckDB names its own.
        """
        numbered = [f for f in plan.files if f.mapping_id is None and not f.encryption_key]
        suspects = numbered[:1] + [f for f in numbered[1:] if "/ducklake-" not in f.path]
        suspects = self._known.unnumbered(suspects)
        look_first(self.store, [f.path for f in suspects if "/ducklake-" not in f.path])
        found = shapes(self.connection, [file.path for file in suspects]) if suspects else {}
        for path, fields in found.items():
            if all(field.id is None for field in fields):
                raise Corrupt(
                    f"{plan.table}: {path} has neither field ids nor a name mapping, so its"
                    " columns cannot be told apart",
                    hint="register the file again with DuckDB's ducklake_add_data_files",
                )
        self._known.have_ids(suspects)

    def _inspected(self, files: Sequence[DataFile]) -> dict[str, tuple[Source, ...]]:
        plain = [file.path for file in files if not file.encryption_key]
        look_first(self.store, [path for path in plain if "/ducklake-" not in path])
        found = shapes(self.connection, plain) if plain else {}
        for file in files:
            if file.encryption_key:
                reading = scan_sql.encrypted_read(file.path, file.encryption_key)
                found[file.path] = named_shape(settle(self.connection).sql(f"FROM {reading}"))
        return found

    def deletes_sql(self, files: Sequence[DataFile], snapshot_id: int) -> str | None:
        """A query of (file, pos): what has been deleted from the files, by their places here."""
        branches = []
        plain: list[tuple[int, DeleteFile]] = []
        for place, file in enumerate(files):
            gone = list(file.deleted_positions)
            for delete in file.deletes:
                if delete.format == "puffin":
                    gone += self._vector(delete)
                elif key := delete.encryption_key:
                    branches.append(
                        scan_sql.encrypted_delete_branch(delete.path, key, place, snapshot_id)
                    )
                else:
                    plain.append((place, delete))
            if gone:
                listed = ", ".join(str(position) for position in gone)
                branches.append(f"SELECT {place}::UBIGINT AS file, unnest([{listed}]) AS pos")
        branches += self._plain_deletes(plain, snapshot_id)
        return " UNION ALL ".join(branches) or None

    def _plain_deletes(self, deletes: list[tuple[int, DeleteFile]], snapshot_id: int) -> list[str]:
        if not deletes:
            return []
        found = self._known.columns([delete for _, delete in deletes], self._columns_of)
        by_columns: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
        for (place, delete), names in zip(deletes, found, strict=True):
            stamped = names[2:3] == ("_ducklake_internal_snapshot_id",) and not delete.is_staged
            columns = (names[1], names[2] if stamped else None)
            by_columns.setdefault(columns, []).append((place, delete.path))
        return [
            scan_sql.delete_branch(
                [path for _, path in group], [place for place, _ in group], columns, snapshot_id
            )
            for columns, group in by_columns.items()
        ]

    def _columns_of(self, deletes: Sequence[DeleteFile]) -> list[tuple[str, ...]]:
        found = shapes(self.connection, [delete.path for delete in deletes])
        return [tuple(source.name for source in found[delete.path]) for delete in deletes]

    def _vector(self, delete: DeleteFile) -> list[int]:
        return positions(self.store.read_small(delete.path), delete.path)

    def _register(self, inlined: InlinedRows) -> str:
        name = next(self._names)
        if isinstance(inlined.rows, GatheredRows):
            parts = catalog_rows.gathered_parts(inlined.rows)
            self._keep(name, parts, catalog_rows.gathered_sql(_INCOMING, parts.num_columns - 1))
            return name
        if isinstance(inlined.rows, ArrowRows):
            self._keep(name, inlined.rows.table)
            return name
        if isinstance(inlined.rows, PackedRows):
            self._keep(name, catalog_rows.packed_table(inlined.rows))
            return name
        columns = inlined.by_column()
        if sum(map(len, columns)) <= _FEW_VALUES:
            self.connection.execute(catalog_rows.small_table(name, columns))
        else:
            self._keep(name, catalog_rows.arrow_table(columns))
        return name

    def _keep(
        self, name: str, rows: pa.Table | pa.RecordBatchReader, sql: str = f"FROM {_INCOMING}"
    ) -> None:
        """A table of its own: joins push filters into scans that Arrow scans do not know. Threads
        share it by batches. For a table of Arrow DuckDB imports pandas, for a bare stream not."""
        reader = rows.to_reader(_AT_ONCE) if hasattr(rows, "to_reader") else rows
        settle(self.connection).register(_INCOMING, reader.__arrow_c_stream__())
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {sql}")
        settle(self.connection).unregister(_INCOMING)


def _moved(file: DataFile, near: Mapping[str, str]) -> DataFile:
    deletes = tuple(replace(each, path=near.get(each.path, each.path)) for each in file.deletes)
    return file._replace(path=near.get(file.path, file.path), deletes=deletes)
