"""How mirrors stand, whatever their format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["active", "blocked", "drifted", "stopped"]


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """How a mirror stands. `published` is the last version in the log, which shows the table as of
    `snapshot_id`; `behind` commits of the table are not in it yet, the first of them since
    `lag_seconds`."""

    table: str
    kind: str
    status: Status
    reason: str | None
    root: str
    version: int
    published: int
    snapshot_id: int
    behind: int
    lag_seconds: float
