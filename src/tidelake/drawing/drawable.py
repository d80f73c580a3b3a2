"""What draws itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tidelake.drawing.html import html_of
from tidelake.drawing.sheet import Sheet, printable
from tidelake.drawing.terminal import renderable
from tidelake.errors import TidelakeError

if TYPE_CHECKING:
    from rich.console import RenderableType


class Drawable(ABC):
    """Draws itself in notebooks (HTML) and with rich (`rich.print`, its pretty-printed REPL)."""

    __slots__ = ()

    @abstractmethod
    def _sheet(self) -> Sheet:
        """What is to be seen; a few rows are read for it at most."""

    def _repr_html_(self) -> str:
        return html_of(self._safe_sheet())

    def __rich__(self) -> RenderableType:
        return renderable(self._safe_sheet())

    def _safe_sheet(self) -> Sheet:
        """Nobody wants a traceback for a look at something."""
        try:
            return self._sheet()
        except TidelakeError as error:
            return Sheet.of(type(self).__name__).with_note(printable(str(error)))
