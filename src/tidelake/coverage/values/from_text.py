"""What rows cover of which only the texts of their values are there, as DuckDB spells them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tidelake.coverage.values.bitmaps import Buckets
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.series import Series
from tidelake.model import instant
from tidelake.model.types import INTEGERS


def buckets_of_texts(series: Series, rows: Iterable[Sequence[object]]) -> dict[str, Buckets] | None:
    """The buckets of every entity, from texts of the series' columns; None if one of them is
    spelled in a way that only DuckDB understands."""
    found: dict[str, Buckets] = {}
    for *entity, time in rows:
        if time is None:
            continue
        position = _position(series, str(time))
        if position is None:
            return None
        if isinstance(position, int):
            try:
                number = series.clock.number(position)
            except (ValueError, OverflowError):
                return None
            found.setdefault(_text(series, entity), Buckets()).add(series.clock.id(number))
    return found


def _position(series: Series, text: str) -> instant.Instant | None:
    if series.clock.kind == COUNT:
        return int(text)
    if series.time.type == "date":
        return instant.parse_date(text)
    return instant.parse_moment(text, zoned=series.time.type == "timestamptz")


def _text(series: Series, entity: Sequence[object]) -> str:
    values = [
        int(str(value)) if value is not None and column.type in INTEGERS else value
        for column, value in zip(series.entity, entity, strict=True)
    ]
    return json.dumps(values, separators=(",", ":"))
