"""The moments that all reads of a shell are made at, until they are set anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake


@dataclass(slots=True)
class Clocks:
    """Both as they were typed; None is now."""

    as_of: str | None = None
    known_at: str | None = None

    def set_as_of(self, moment: str | None) -> None:
        """Invalid if it is no time."""
        if moment is not None:
            from tidelake.model.event_time import as_moment

            as_moment(moment)
        self.as_of = moment

    def set_known_at(self, lake: Lake, moment: str | None) -> None:
        """NotFound if there is no such snapshot or tag."""
        if moment is not None:
            lake.known_at(moment)
        self.known_at = moment

    def __str__(self) -> str:
        told = [("as of", self.as_of), ("known at", self.known_at)]
        return ", ".join(f"{name} {moment}" for name, moment in told if moment is not None)

    @property
    def wish(self) -> dict[str, Any]:
        """As `lake.sql` takes them."""
        told = {"as_of": self.as_of, "known_at": self.known_at}
        return {name: moment for name, moment in told.items() if moment is not None}
