"""What says in words what it is, draws these words."""

from __future__ import annotations

from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import Sheet


class DrawableReport(Drawable):
    """Its text, of which the first line is the title."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        first, *rest = str(self).splitlines() or [type(self).__name__]
        return Sheet.of(first).with_lines(rest)
