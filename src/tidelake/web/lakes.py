"""The open lakes of a service: one for each role and tenant, all in a sandbox."""

from __future__ import annotations

from threading import Lock

from tidelake.engine.local.engine import LocalEngine
from tidelake.lake.lake import Lake
from tidelake.model.namespace import Namespace
from tidelake.model.sandbox import Sandbox
from tidelake.web.access import Visitor


class Lakes:
    """`lake` is the whole of it, opened in a sandbox by whoever serves it."""

    def __init__(self, lake: Lake, sandbox: Sandbox) -> None:
        self.whole = lake
        self._sandbox = sandbox
        self._open: dict[tuple[str, str | None], Lake] = {}
        self._readers: dict[int, LocalEngine] = {}
        self._lock = Lock()

    def of(self, visitor: Visitor) -> Lake:
        """The lake as this visitor may use it. NotFound if its tenant is gone."""
        key = visitor.role, visitor.tenant
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._open[key] = self._opened(visitor)
            return found

    def _opened(self, visitor: Visitor) -> Lake:
        if visitor.tenant is not None:
            return self.whole.tenant(visitor.tenant, visitor.role, sandbox=self._sandbox)
        session = self.whole.session
        return Lake(session.within(Namespace(None, visitor.role), session.local))

    def plain_reader(self, lake: Lake) -> LocalEngine:
        """For reads that call no functions: DuckDB in this process, confined as the lake's own."""
        with self._lock:
            key = id(lake.session.local)
            if key not in self._readers:
                self._readers[key] = lake.session.local.for_tasks()
            return self._readers[key]

    def every(self) -> list[Lake]:
        """All that are open."""
        with self._lock:
            return [self.whole, *self._open.values()]

    def close(self) -> None:
        with self._lock:
            for (_, tenant), lake in self._open.items():
                if tenant is not None:
                    lake.close()
            self._open.clear()
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()
        self.whole.close()
