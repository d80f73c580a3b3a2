"""What a write did, in numbers."""

from __future__ import annotations

from tidelake.drawing.amounts import quantity
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet


class DrawableWrite(Drawable):
    __slots__ = ()

    snapshot_id: int | None
    operation: str | None

    attempts: int
    duplicate: bool

    def __str__(self) -> str:
        return f"{self.landed}{self.counted}"

    @property
    def landed(self) -> str:
        """Where there is nothing to commit there is no new snapshot."""
        if self.snapshot_id is None:
            return "not committed yet"
        at = f"snapshot {self.snapshot_id}"
        if self.duplicate and not self.attempts:
            return f"done before, at {at}"
        return at if self.attempts else f"nothing to do; the lake is at {at}"

    @property
    def counted(self) -> str:
        """Rows and files, after a colon; nothing if there are none."""
        told = [
            f"{quantity(count, 'row')} {what}"
            for what in ("inserted", "updated", "deleted")
            if (count := getattr(self, what))
        ]
        files, size = getattr(self, "files", 0), getattr(self, "bytes", 0)
        if files:
            told.append(f"{quantity(files, 'file')} of {size:,} bytes")
        return f": {', '.join(told)}" if told else ""

    def _sheet(self) -> Sheet:
        where = "not committed yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        named = ("inserted", "updated", "deleted", "files", "bytes", "duplicate")
        told = {name: getattr(self, name) or None for name in named}
        return Sheet.of(f"{self.operation or 'write'}: {where}", **told)
