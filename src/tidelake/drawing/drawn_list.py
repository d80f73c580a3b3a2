"""A list that draws itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from tidelake.drawing.amounts import quantity
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.sheet import MOST_ROWS, Sheet

T = TypeVar("T")


class DrawnList(list[T], Drawable):
    """Values of one kind: a row each, with the attributes in `show`, or a line each if none are
    named. `one` is what one of them is called."""

    def __init__(
        self,
        found: Iterable[T] = (),
        *,
        one: str = "value",
        show: Sequence[str] = (),
    ) -> None:
        super().__init__(found)
        self._called = one
        self._show = tuple(show)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _sheet(self) -> Sheet:
        sheet = Sheet.of(quantity(len(self), self._called))
        if not self._show or not self:
            return sheet.with_lines([str(each) for each in self])
        shown = self[: MOST_ROWS + 1]
        rows = [[_cell(getattr(each, name)) for name in self._show] for each in shown]
        return sheet.with_grid([name.replace("_", " ") for name in self._show], rows)


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
