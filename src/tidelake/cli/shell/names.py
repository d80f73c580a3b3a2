"""What there is in the lake by name, for Tab: asked once, and again after a statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelake.errors import TidelakeError

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_MAIN = "main."
_MANY_TABLES = 200
"""More than these are not asked for their columns, unless the statement names them."""


class Names:
    """Tables, views, columns and tags of a lake that is open."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.forget()

    def forget(self) -> None:
        """A statement may have made others."""
        self._relations: list[str] | None = None
        self._tags: list[str] | None = None
        self._columns: dict[str, list[str]] = {}

    def relations(self) -> list[str]:
        """As a query names them: those of `main` by their own name."""
        if self._relations is None:
            names = [*self._lake.tables(), *self._lake.views()]
            self._relations = [name.removeprefix(_MAIN) for name in names]
        return self._relations

    def tags(self) -> list[str]:
        if self._tags is None:
            self._tags = [tag.name for tag in self._lake.tags()]
        return self._tags

    def columns(self, text: str) -> Iterator[str]:
        """Those of the tables that a text names; of all, if it names none and they are few."""
        relations = self.relations()
        named = [name for name in relations if name in text]
        for name in named or (relations if len(relations) <= _MANY_TABLES else ()):
            yield from self._columns_of(name)

    def _columns_of(self, name: str) -> list[str]:
        if name not in self._columns:
            try:
                self._columns[name] = [column.name for column in self._lake.table(name).schema]
            except TidelakeError:  # a view, or it was dropped just now
                self._columns[name] = []
        return self._columns[name]
