"""Keys that facts are about, as callers give them."""

from __future__ import annotations

import struct
from typing import Any

from tidelake.engine.incoming.python_values import converter
from tidelake.errors import Invalid
from tidelake.model.event_time import EventTime
from tidelake.model.predicate import And, Compare, Predicate
from tidelake.model.schema import Column


def key_is(event: EventTime, given: object) -> Predicate:
    """The condition that a row is about a key; Invalid if no row can be."""
    parts = []
    for column, value in zip(event.key, event.key_values(given).values(), strict=True):
        try:
            found = converter(column)(value)
        except ValueError as error:
            raise Invalid(
                f"key: column {column.name!r}: {error}", hint=f"the column is {column.duckdb_type}"
            ) from None
        parts.append(Compare(column.name, "=", _kept(column, found)))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _kept(column: Column, value: Any) -> Any:
    """The value as the column keeps it, which of 0.1 is not quite that in a FLOAT."""
    return struct.unpack("<f", struct.pack("<f", value))[0] if column.type == "float32" else value
