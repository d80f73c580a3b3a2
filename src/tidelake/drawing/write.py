"""What a write did, in numbers."""

from __future__ import annotations

from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet


class DrawableWrite(Drawable):
    __slots__ = ()

    snapshot_id: int | None
    operation: str | None

    def _sheet(self) -> Sheet:
        where = "not committed yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        named = ("inserted", "updated", "deleted", "files", "bytes", "duplicate")
        told = {name: getattr(self, name) or None for name in named}
        return Sheet.of(f"{self.operation or 'write'}: {where}", **told)
