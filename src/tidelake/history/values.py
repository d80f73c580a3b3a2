"""Consumers: how far somebody who follows the lake's changes has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """A named consumer. It has taken everything up to `snapshot_id`; neither that snapshot nor a
    later one may be expired before it goes on. None: nothing yet; then the rows of the oldest
    snapshot come first, and it needs all there are. `owner` holds it until `lease_until`. `lag`
    counts the snapshots that it has still to take.
    """

    name: str
    snapshot_id: int | None
    owner: str | None = None
    lease_until: datetime | None = None
    lag: int = 0

    def __str__(self) -> str:
        at = "nothing yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        held = f", held by {self.owner} until {self.lease_until}" if self.owner else ""
        return f"{self.name}: {at}, {self.lag} behind{held}"
