"""Whether two versions of a row differ, as a condition in DuckDB's SQL, and in which types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tidelake.model.names import quote
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS
from tidelake.model.widening import widens

PAIRS = "_tidelake_pairs"
OLD, NEW = "_tidelake_old", "_tidelake_new"
HAD, HAS = "_tidelake_had", "_tidelake_has"
"""Two images of a row side by side: the columns of each by place, and whether it was there."""


def differs(columns: Sequence[Column], one: str, other: str) -> str:
    """Some column of `one` has another value than that of `other`, which are relations."""
    names = [(column, quote(column.name)) for column in columns]
    parts = [values_differ(column, f"{one}.{name}", f"{other}.{name}") for column, name in names]
    return "(" + " OR ".join(parts) + ")"


def values_differ(column: Column, one: str, other: str) -> str:
    """Two values of a column are not the same."""
    return f"{_exact(column, one)} IS DISTINCT FROM {_exact(column, other)}"


def _exact(column: Column, value: str) -> str:
    """0.0 equals -0.0, and 1 month equals 30 days, but as texts they differ."""
    loose = FLOATS | {"interval", "timetz", "variant", "geometry"}
    if any(below.type in loose for below in column.walk()):
        return f"CAST({value} AS VARCHAR)"
    return value


def widest_columns(
    columns: Sequence[Column], types: Mapping[int, frozenset[str]]
) -> tuple[Column, ...]:
    """The columns in types that hold the values of all `types` that each has had."""
    return tuple(_widest(column, types) for column in columns)


def _widest(column: Column, types: Mapping[int, frozenset[str]]) -> Column:
    if column.children:
        children = tuple(_widest(child, types) for child in column.children)
        return replace(column, children=children)
    kinds = types.get(column.id, frozenset()) | {column.type}
    wide = (kind for kind in kinds if all(widens(each, kind) for each in kinds))
    return replace(column, type=next(wide, column.type))


def differing_sql(columns: Sequence[Column]) -> str:
    """Those of the pairs that are not twice the same."""
    unlike = "".join(
        f" OR {values_differ(column, f'{OLD}_{n}', f'{NEW}_{n}')}"
        for n, column in enumerate(columns)
    )
    return f"SELECT * FROM {PAIRS} WHERE NOT {HAD} OR NOT {HAS}{unlike}"
