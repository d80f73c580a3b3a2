"""Which rows, and which of their columns, a command is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names
from tidelake.cli.render.stream import SHOWN
from tidelake.model.names import fold
from tidelake.model.types import INTEGERS, WIDE_INTEGERS

if TYPE_CHECKING:
    from tidelake.lake.table import Table
    from tidelake.model.schema import Column

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Stop after N rows, 0 for all of them [default: {SHOWN}; all with --json].",
)

where_option = click.option(
    "--where",
    "conditions",
    metavar="SQL",
    multiple=True,
    shell_complete=lake_names.columns,
    help="Keep rows that meet this condition; given again, all conditions must hold.",
)

columns_option = click.option(
    "--columns",
    "lists",
    metavar="A,B",
    multiple=True,
    shell_complete=lake_names.columns,
    help="Only these columns; given again, these too.",
)


def all_of(conditions: Sequence[str]) -> str | None:
    """One condition that is true where all of them are."""
    if len(conditions) <= 1:
        return conditions[0] if conditions else None
    return " AND ".join(f"({condition}\n)" for condition in conditions)


def listed_columns(lists: Sequence[str]) -> list[str] | None:
    """The columns that one or more options name; None if there is no such option."""
    return [name for text in lists for name in split_columns(text)] if lists else None


def split_columns(text: str) -> list[str]:
    """`a,"b,c"` as its names; quoted as in SQL where a name holds a comma."""
    import csv

    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names]


def value_of(column: Column | None, text: str) -> Any:
    """A word as a value of a column, or as text if it is none."""
    kind = column.type if column else "varchar"
    try:
        if kind in INTEGERS | WIDE_INTEGERS:
            return int(text)
        if kind.startswith("float"):
            return float(text)
        if kind.startswith("decimal"):
            return Decimal(text)
        if kind == "blob":
            return bytes.fromhex(text)
    except (ValueError, ArithmeticError):
        return text
    return {"true": True, "false": False}.get(text, text) if kind == "boolean" else text


def key_of(table: Table, words: Sequence[str]) -> Any:
    """A value, or values by column; each as the column has it, or as text if it is none."""
    from tidelake.model.event_time import EventTime

    event = EventTime.maybe(table.info)
    columns = {fold(column.name): column for column in event.key} if event else {}
    pairs = [word.partition("=") for word in words]
    named = all(mark and fold(name) in columns for name, mark, _ in pairs)
    if len(words) == 1 and len(columns) <= 1 and not named:
        return value_of(next(iter(columns.values()), None), words[0])
    if not all(mark for _, mark, _ in pairs):
        listed = " ".join(f"{column.name}=…" for column in columns.values())
        raise click.UsageError(f"give the KEY as {listed or 'NAME=VALUE pairs'}")
    return {name: value_of(columns.get(fold(name)), value) for name, _, value in pairs}
