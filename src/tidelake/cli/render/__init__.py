"""Values as text for people or JSON for programs.

Everything is printed as a `document`, a `line`, a `grid` or `facts`. `stream` prints rows, with
values as JSON has them; `log`, `describe`, `coverage` and `result` say what they are called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE = 1_000_000
"""Columns of a line that goes to a file or another program: nothing is cut or folded there."""

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_ESCAPES |= {ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}


def document(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=_encoded))


def _encoded(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no form in JSON")


def line(text: str) -> None:
    click.echo(text)


def cell(value: Any) -> str:
    """One value on one line: control characters are spelled out, nested values are JSON."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


@cache
def console() -> Console:
    from rich.console import Console

    found = Console(markup=False, highlight=False, emoji=False)
    return (
        found
        if found.is_terminal
        else Console(width=_WIDE, markup=False, highlight=False, emoji=False, no_color=True)
    )


def grid(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table; where the terminal is too narrow for it, one line per value."""
    from rich.measure import Measurement

    output = console()
    drawn = _drawn(names, rows)
    if Measurement.get(output, output.options.update(width=_WIDE), drawn).maximum <= output.width:
        output.print(drawn, no_wrap=True, crop=False)
        return
    for number, row in enumerate(rows, 1):
        output.rule(f"row {number}", align="left", style="dim")
        facts(None, dict(zip(names, map(cell, row), strict=True)))


def _drawn(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, name in enumerate(names):
        number = bool(rows) and all(_is_number(row[place]) for row in rows)
        table.add_column(
            Text(cell(name)), justify="right" if number else "left", no_wrap=True, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell(value), style="dim" * (value is None)) for value in row))
    return table


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def facts(title: str | None, values: Mapping[str, Any]) -> None:
    """Names and values, one pair on a line."""
    if title:
        line(title)
    width = max(map(len, values), default=0)
    for name, value in values.items():
        text = f"{value:,}" if isinstance(value, int) and name != "snapshot_id" else cell(value)
        line(f"  {name:<{width}}  {text}")
