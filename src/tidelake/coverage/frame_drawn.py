"""What draws itself, in a terminal with rich and in a notebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelake.coverage.draw import svg as strip_svg
from tidelake.coverage.draw import terminal as strip_terminal
from tidelake.coverage.values.picture import Picture

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text


class Drawn:
    """Something that a picture can be made of."""

    @abstractmethod
    def _picture(self) -> Picture: ...

    def to_svg(self) -> str:
        """The picture as a file of its own, legible in light and dark."""
        return strip_svg.svg(self._picture(), alone=True)

    def _repr_html_(self) -> str:
        return strip_svg.svg(self._picture(), alone=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        return strip_terminal.drawn(self._picture(), options)
