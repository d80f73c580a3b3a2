"""What a session remembers, so that the next read or write costs little."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from tidelake.catalog.database.database import Database
from tidelake.catalog.read.options import Options
from tidelake.plan.scan import ScanPlan
from tidelake.session.planning import TableMeta

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 64

Value = TypeVar("Value")
Declaration = tuple[TableMeta, Options, str | None]
"""What is declared of a table, its options, and the table that keeps its rows in the catalog."""


class Recent(Generic[Value]):
    """The values that were kept last, by what they belong to."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Value] = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key: str) -> Value | None:
        found = self._kept.get(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def keep(self, key: str, value: Value) -> None:
        self._kept[key] = value
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)


class HasDatabase(Protocol):
    """Whoever has a catalog open, as sessions have."""

    @property
    def database(self) -> Database: ...


class Memory:
    """What a feature remembers for as long as a session lives. One is made without arguments."""

    def forget(self) -> None:
        """The lake's files are somewhere else now."""

    def settle(self, session: HasDatabase) -> None:
        """The lake is going to be closed: what the catalog should be told, it is told now."""


MemoryT = TypeVar("MemoryT", bound=Memory)


class Caches:
    """Plans and what is known of tables are kept by snapshot and stay right as long as the
    catalog's head stands still; what is declared, by the version of that."""

    def __init__(self) -> None:
        self.plans: Recent[ScanPlan] = Recent()
        self.metas: Recent[TableMeta] = Recent()
        self.declarations: Recent[Declaration] = Recent()
        self.newest: tuple[int, int] | None = None
        """The snapshot, and the version of what is declared, that a write here last made."""
        self._memories: dict[type[Memory], Memory] = {}

    def memory(self, kind: type[MemoryT]) -> MemoryT:
        """The one that a feature has in this session."""
        found = self._memories.get(kind)
        if found is None:
            found = self._memories.setdefault(kind, kind())
        assert isinstance(found, kind)
        return found

    def memories(self) -> list[Memory]:
        return list(self._memories.values())

    def forget(self) -> None:
        for kept in (self.plans, self.metas, self.declarations):
            kept.clear()
        for memory in self._memories.values():
            memory.forget()
