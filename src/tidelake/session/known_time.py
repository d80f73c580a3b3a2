"""A time at which somebody asks what was known."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.errors import NotFound


@dataclass(frozen=True, slots=True)
class KnownTime:
    """In nanoseconds since 1970. Some tables tell of times before their first commit, with the rows
    that they have at snapshot `at`. All others have what was committed by then: nothing, not even a
    snapshot, if that is `lost`."""

    by: int
    at: int
    lost: NotFound | None = None

    def check_there(self) -> None:
        """Raise for a time at which there was no snapshot."""
        if self.lost is not None:
            raise NotFound(self.lost.message, hint=self.lost.hint)
