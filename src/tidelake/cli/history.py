"""What was answered about a key: `history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import limit_option, value_of
from tidelake.model.names import fold

if TYPE_CHECKING:
    from tidelake.lake.table import Table


@click.command()
@click.argument("table")
@click.argument("key", nargs=-1, required=True)
@limit_option
@as_of_option
@known_at_option
@global_options
@pass_options
def history(
    options: Options,
    table: str,
    key: tuple[str, ...],
    limit: int | None,
    as_of: str | None,
    known_at: str | None,
) -> None:
    """Print all that the lake ever answered about KEY in TABLE: each row with the times for
    which it was the answer (valid_from, valid_to), and while the lake knew no better
    (known_from, known_to). A key of several columns is given as NAME=VALUE pairs.

    \b
    Example:
        tidelake history prices ACME
        tidelake history prices ACME --as-of 2024-03-15T14:30:00 --json
        tidelake history positions account=7 symbol=ACME --known-at eod-friday
    """
    with options.lake(known_at) as lake:
        found = lake.table(table)
        chosen = found if as_of is None else found.as_of(as_of)
        print_rows(chosen.history(_key(found, key)), limit, options.as_json)


def _key(table: Table, words: Sequence[str]) -> Any:
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
