"""Rows as they arrive: memory stays bounded by a few batches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tidelake.cli import render
from tidelake.model import json_values

SHOWN = 50
"""Rows that people see unless they ask for more."""

_BATCH_ROWS = 122_880
_TABLE_ROWS = 1_000
"""Rows that share one drawn table; its columns are as wide as these need."""


_MORE = "use --limit"


def print_rows(source: Any, limit: int | None, as_json: bool, *, more: str = _MORE) -> None:
    """The first rows, as text or as one JSON document; a limit of 0 is none. `more` says how to
    see the others."""
    wanted = limit if limit is not None else (0 if as_json else SHOWN)
    # One row more than wanted tells whether there are more.
    size = min(wanted + 1, _BATCH_ROWS) if wanted else _BATCH_ROWS
    batches = source.to_batches(size)
    if as_json:
        print_json(batches, wanted)
    else:
        print_text(batches, wanted, more)


def print_text(batches: Any, limit: int, more: str) -> None:
    """A table of at most `limit` rows (0: of all), and whether there were more."""
    names = batches.schema.names
    found = _rows(batches)
    left = limit or None
    shown = 0
    while chunk := list(islice(found, _TABLE_ROWS if left is None else min(left, _TABLE_ROWS))):
        render.grid(names, chunk)
        shown += len(chunk)
        left = None if left is None else left - len(chunk)
    if shown == 0:
        render.grid(names, [])
    has_more = left == 0 and next(found, None) is not None
    noun = "row" if shown == 1 else "rows"
    render.line(f"({shown:,} {noun}{f'; there are more: {more}' if has_more else ''})")


def print_json(batches: Any, limit: int) -> None:
    """One JSON object, with a line for each row; `complete` tells whether those were all."""
    columns = [{"name": field.name, "type": str(field.type)} for field in batches.schema]
    names = batches.schema.names
    found = _rows(batches)
    write = sys.stdout.write  # click.echo would flush every row
    write(f'{{"columns": {_json(columns)}, "rows": [')
    shown = 0
    for row in islice(found, limit or None):
        write((",\n" if shown else "\n") + _json(dict(zip(names, row, strict=True))))
        shown += 1
    complete = next(found, None) is None
    write(f'\n], "row_count": {shown}, "complete": {_json(complete)}}}\n')


def _rows(batches: Any) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from json_values.rows(batch)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
