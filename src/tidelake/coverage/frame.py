"""Coverage and gaps as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.errors import Unsupported
from tidelake.model.names import fold

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.model.schema import Column

LENGTH = "length"
"""The type of lengths of time."""
_WORDS = {"varchar": "string", "uuid": "string", "date": "date32[day]", "float64": "double"}
_WORDS |= {LENGTH: "duration[us]", "timestamp": "timestamp[us]"}


def moment_type(time: Column) -> str:
    """In which type bounds of buckets of a clock are told: also those after its last value."""
    if time.type in ("date", "timestamptz"):
        return time.type
    if time.type.startswith("timestamp"):
        return "timestamp"
    return "uint64" if time.type.startswith("u") else "int64"


def as_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Rows of columns that are given by name and type. Of two with one name, the later is followed
    by an underscore."""
    import pyarrow as pa

    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    try:
        arrays = [
            pa.array(map(_plain, each) if kind == "uuid" else each, _type(kind))
            for (_, kind), each in zip(columns, values, strict=True)
        ]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise Unsupported(
            f"a bound of the range does not fit its column in Arrow: {error}",
            hint="give start= and end= within the values of the clock",
        ) from None
    return pa.table(arrays, names=_distinct([name for name, _ in columns]))


def _type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind == "timestamptz":
        return pa.timestamp("us", "UTC")
    return pa.type_for_alias(_WORDS.get(kind, kind))


def _plain(value: object) -> str | None:
    return None if value is None else str(value)


def _distinct(names: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        while fold(name) in found:
            name += "_"
        found[fold(name)] = name
    return list(found.values())
