"""SQL of the page: it only reads, in a sandbox, and can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from tidelake.engine.cell.engine import CellEngine
from tidelake.errors import Denied, Invalid, TidelakeError
from tidelake.model import json_values
from tidelake.model.sandbox import Confinement, Sandbox
from tidelake.session.caches import Memory
from tidelake.sql.run import is_query

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.session.session import Session

MOST_ROWS = 10_000_000
_LIMITS = Sandbox(memory=2 * 1024**3, seconds=300.0, rows=MOST_ROWS)


class _Walls(Memory):
    """The engine with the cells in which the page asks a lake that is not in a sandbox itself."""

    def __init__(self) -> None:
        self._engine: CellEngine | None = None
        self._lock = Lock()

    def around(self, session: Session) -> CellEngine:
        with self._lock:
            if self._engine is None:
                options, temp, _ = session.local.identity
                walls = Confinement.around(_LIMITS, session.data_path)
                self._engine = CellEngine(options, temp, walls)
            return self._engine

    def forget(self) -> None:
        self._engine = None

    def settle(self, _: object) -> None:
        if self._engine is not None:
            self._engine.close()


@dataclass(frozen=True, slots=True)
class Grid:
    """Some rows, as JSON has their values; `more`: there are others."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False


def grid_of(batches: Any, limit: int, *, whole: bool = True) -> Grid:
    """The first rows of a stream of batches. The `whole` of it is read where somebody else would
    have to stop who sends it."""
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        if len(found) <= limit:
            found += json_values.rows(batch)
        elif not whole:
            break
    types = tuple(str(each.type) for each in batches.schema)
    shown = tuple(found[:limit])
    return Grid(tuple(batches.schema.names), types, shown, len(found) > limit)


@dataclass(frozen=True, slots=True)
class AskedLake:
    """A query that has been asked, and the lake that it is asked of."""

    lake: Lake
    engine: CellEngine

    def batches(self, sql: str, rows: int, as_of: str, known_at: int | str | None) -> Any:
        """A stream of its rows, so many at a time."""
        return self.asked(sql, as_of, known_at).to_batches(rows)

    def asked(self, sql: str, as_of: str, known_at: int | str | None) -> Any:
        """The query, planned and not yet run."""
        check_reads(sql)
        return self.lake.sql(sql, as_of=as_of or None, known_at=known_at)


@dataclass
class Queries:
    """Those that run, by the name that the browser gave them."""

    _running: dict[str, CellEngine] = field(default_factory=dict)
    _warm: set[int] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def one(self, lake: Lake, name: str = "") -> Iterator[AskedLake]:
        """A lake to be asked one query, in a sandbox."""
        session = lake.session
        engine = self._walls(lake).apart()
        if name:
            with self._lock:
                if name in self._running:
                    raise Invalid(f"a query {name!r} runs already", hint="cancel it first")
                self._running[name] = engine
        try:
            yield AskedLake(type(lake)(session.within(session.namespace, engine)), engine)
        finally:
            with self._lock:
                self._running.pop(name, None)

    def warm(self, lake: Lake) -> None:
        """Have a cell ready by the time that the first question comes."""
        walls = self._walls(lake)
        with self._lock:
            if id(walls) in self._warm:
                return
            self._warm.add(id(walls))
        Thread(target=self._first, args=(lake,), daemon=True).start()

    def _first(self, lake: Lake) -> None:
        with suppress(TidelakeError, OSError), self.one(lake) as reading:  # or it is closed by then
            reading.asked("SELECT 1", "", None).to_arrow()

    @staticmethod
    def _walls(lake: Lake) -> CellEngine:
        session = lake.session
        local = session.local
        if isinstance(local, CellEngine):
            return local
        return session.memory(_Walls).around(session)

    def cancel(self, name: str) -> bool:
        """End a query; False if it is over."""
        with self._lock:
            engine = self._running.get(name)
        if engine is not None:
            engine.cancel()
        return engine is not None


def check_reads(sql: str) -> None:
    """Denied for what is no query: the page changes nothing by SQL."""
    if not is_query(sql):
        raise Denied(
            "the page runs queries, and this statement changes something",
            hint="run it with `tidelake sql`, or with lake.sql(…)",
        )
