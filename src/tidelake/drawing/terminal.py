"""A sheet in a terminal, by rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.drawing.sheet import Grid, Sheet

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def renderable(sheet: Sheet) -> RenderableType:
    """Texts are taken as they are: nothing in them is markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(sheet.title, style="bold")]
    if sheet.facts:
        facts = Table.grid(padding=(0, 2))
        for name, value in sheet.facts:
            facts.add_row(Text(name, style="dim"), Text(value))
        parts.append(facts)
    if sheet.grid is not None:
        parts.append(_grid(sheet.grid))
        if sheet.grid.more:
            parts.append(Text("… and more", style="dim"))
    parts += [Text(line) for line in sheet.lines]
    if sheet.note is not None:
        parts.append(Text(sheet.note, style="dim"))
    return Group(*parts)


def _grid(grid: Grid) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in grid.columns:
        table.add_column(Text(name))
    for row in grid.rows:
        table.add_row(*(Text(value) for value in row))
    return table
