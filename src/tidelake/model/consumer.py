"""Consumers: how far somebody who follows the lake's changes has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """A named consumer. It has taken everything up to `snapshot_id`, which must not be expired
    before it goes on. None: nothing yet; then the rows of the oldest snapshot come first, and no
    expiry can overtake it. `owner` holds it until `lease_until`.
    """

    name: str
    snapshot_id: int | None
    owner: str | None = None
    lease_until: datetime | None = None
