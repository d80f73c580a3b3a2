"""How the answers of a shell are wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidelake.cli.shell.clocks import Clocks

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_ROWS = 1000
"""What is shown of an answer, unless `\\limit` says otherwise."""


@dataclass(slots=True)
class Settings:
    """What commands change. `limit` is how many rows are shown, 0 all."""

    lake: Lake
    clocks: Clocks = field(default_factory=Clocks)
    timing: bool = False
    limit: int = _ROWS

    def pinned(self) -> Lake:
        """The lake as it was known when reads want it."""
        moment = self.clocks.known_at
        return self.lake if moment is None else self.lake.known_at(moment)
