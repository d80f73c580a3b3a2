"""One schema for tables of several tenants: columns by name, each of a type that holds all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelake.errors import Invalid
from tidelake.model.names import fold
from tidelake.model.schema import Column, Schema
from tidelake.model.types import BITS, INTEGERS, decimal_shape, is_decimal
from tidelake.model.widening import widens

_MOST_DIGITS = 38
_TOLD = 3

Owned = tuple[str, Column]
"""A column, and the tenant whose it is."""


def common_columns(schemas: Mapping[str, Schema]) -> tuple[Column, ...]:
    """The columns that tables of these tenants have, in the order in which they come up. One that
    is missing somewhere is NULL there. Invalid, with the tenants that differ, where no type holds
    the values of all."""
    owned = [(tenant, column) for tenant, schema in schemas.items() for column in schema]
    return tuple(_merged(owned, ""))


def _merged(owned: Iterable[Owned], above: str) -> Iterator[Column]:
    groups: dict[str, list[Owned]] = {}
    for tenant, column in owned:
        groups.setdefault(fold(column.name), []).append((tenant, column))
    for place, group in enumerate(groups.values(), 1):
        yield replace(_common(group, above), id=place)


def _common(group: Sequence[Owned], above: str) -> Column:
    """One column that holds the values of all of them."""
    first = group[0][1]
    path = f"{above}{first.name}"
    kinds = {column.type for _, column in group}
    plain = Column(0, first.name, first.type)
    if not any(column.is_nested for _, column in group):
        kind = common_type(kinds)
        if kind is None:
            raise _incompatible(path, group)
        return replace(plain, type=kind)
    if len(kinds) > 1:
        raise _incompatible(path, group)
    below = [(tenant, child) for tenant, column in group for child in column.children]
    return replace(plain, children=tuple(_merged(below, f"{path}.")))


def common_type(kinds: Iterable[str]) -> str | None:
    """The narrowest type that every value of these scalar types fits in unchanged, if there is
    one: one of their own, an integer, or a decimal."""
    listed = sorted(set(kinds))
    integers = sorted(INTEGERS, key=lambda kind: (BITS[kind], kind))
    candidates = [*listed, *integers, *_decimal(listed)]
    fitting = (each for each in candidates if all(widens(kind, each) for kind in listed))
    return next(fitting, None)


def _decimal(kinds: Sequence[str]) -> Iterator[str]:
    """The decimal that has all digits of integers and decimals before and after the point."""
    if not all(kind in INTEGERS or is_decimal(kind) for kind in kinds):
        return
    shapes = [decimal_shape(kind) if is_decimal(kind) else _digits(kind) for kind in kinds]
    scale = max(scale for _, scale in shapes)
    width = max(width - scale for width, scale in shapes) + scale
    if width <= _MOST_DIGITS:
        yield f"decimal({width},{scale})"


def _digits(kind: str) -> tuple[int, int]:
    return len(str(2 ** BITS[kind])), 0


def _incompatible(path: str, group: Sequence[Owned]) -> Invalid:
    by_type: dict[str, list[str]] = {}
    for tenant, column in group:
        by_type.setdefault(column.duckdb_type, []).append(tenant)
    told = "; ".join(f"{kind} for {_listed(tenants)}" for kind, tenants in by_type.items())
    return Invalid(
        f"column {path!r} has types that no one type holds: {told}",
        hint="name tenants that agree with tenants=[…], or have the others' column changed",
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")
