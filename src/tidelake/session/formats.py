"""Formats in which tables are mirrored. Each is a folder of its own, as `delta/` is, and a line in
`lake/wiring.py`: nobody else knows which there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from tidelake.catalog.annex import Annex
from tidelake.catalog.database.database import Reader
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.terms import Terms
from tidelake.session.hooks import Hook

if TYPE_CHECKING:
    from tidelake.catalog.inventory import Inventory
    from tidelake.verify.values import Problem


class TableMirror(Protocol):
    """The mirror of one table in one format."""

    @property
    def name(self) -> str: ...

    @property
    def root(self) -> str:
        """Where readers of the format find the table."""

    @property
    def status(self) -> MirrorStatus:
        """What is published, and how far behind the table it is."""

    def sync(self) -> object:
        """Publish what has not been published yet."""

    def stop(self) -> None:
        """Publish no more. What is there stays as it is."""


class MirrorFormat(Protocol):
    """One format: what it keeps, what it does along with commits, and what can be asked of it.
    A `session` is a Session. A table is mirrored in a format while its tag says so
    (`write/mirror_tag.py`)."""

    @property
    def name(self) -> str:
        """As whoever asks for a mirror calls it, and the tag of a table."""

    @property
    def annex(self) -> Annex: ...

    def hook(self, session: Any, /) -> Hook: ...

    def mirror(
        self, session: Any, name: TableName, /, *, history: bool, terms: Terms
    ) -> TableMirror:
        """Publish a table from now on, or as it was at every snapshot. What is committed for it is
        on these terms."""

    def mirrored(self, session: Any, name: TableName, /) -> TableMirror:
        """The mirror of a table that has one."""

    def sync_all(self, session: Any, /) -> object:
        """Publish of all mirrors what has not been published yet, and begin those that are
        missing."""

    def renew(self, session: Any, table_id: int, /) -> None:
        """Remove what has been published of a table of which rows were erased, and publish it
        anew. It may be called again, and for a table without a mirror."""

    def statuses(self, session: Any, /) -> list[MirrorStatus]:
        """Of all mirrors, by the names of their tables."""

    def check(self, known: Inventory, reader: Reader, /) -> Iterable[Problem]:
        """What is wrong with what the catalog says of mirrors."""
