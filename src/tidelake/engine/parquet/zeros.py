"""Keeps `-0.0` apart from `0.0` in data files.

DuckDB's writer makes dictionaries of equal values, and to it the two are equal: of a column with
both only the one that came first would stay. So each `-0.0` is written as a number that nobody
has, drawn anew for each write and so low that a file's statistics tell whether it may be there.
A file that has it is then written once more, with the zeros and without dictionaries.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelake.engine.local.errors import refusal
from tidelake.engine.local.reshape import Source, rebuild
from tidelake.model.change import NewFile
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import Column
from tidelake.model.types import FLOATS

_MET = text_literal(
    refusal("a value is the very number that was drawn to stand for -0.0", "do it once more")
)
_ROUNDING = 1 - 2**-20
_Number = Callable[[Column], str]


@dataclass(frozen=True, slots=True)
class ZeroMark:
    """The numbers that stand for `-0.0` in one write: of a DOUBLE and of a FLOAT."""

    double: float
    single: float

    @staticmethod
    def drawn() -> ZeroMark:
        """Among the lowest numbers there are, and not the lowest."""
        double = 0xFFE << 52 | secrets.randbelow(2**52 - 1)
        single = 0x1FE << 23 | secrets.randbelow(2**23 - 1)
        return ZeroMark(
            *struct.unpack("<d", struct.pack("<Q", double)),
            *struct.unpack("<f", struct.pack("<I", single)),
        )

    def marked_sql(self, column: Column, reference: str) -> str:
        """The column's values, with the mark for each `-0.0`."""

        def leaf(below: Column, ref: str) -> str:
            if below.type not in FLOATS:
                return ref
            mark = self._number(below)
            return (
                f"CASE WHEN {ref} = 0 AND signbit({ref}) THEN {mark}"
                f" WHEN {ref} = {mark} THEN error({_MET}) ELSE {ref} END"
            )

        return _changed(column, reference, leaf, (_zero, self._number))

    def restored_sql(self, column: Column, reference: str) -> str:
        """The column's values, with `-0.0` for each mark."""

        def leaf(below: Column, ref: str) -> str:
            if below.type not in FLOATS:
                return ref
            zero = f"CAST('-0.0' AS {below.duckdb_type})"
            return f"CASE WHEN {ref} = {self._number(below)} THEN {zero} ELSE {ref} END"

        return _changed(column, reference, leaf, (self._number,))

    def found_sql(self, columns: Iterable[Column]) -> str:
        """Whether a mark is among the values of the columns: over all rows."""
        found = (_holds(c, quote(c.name), self._number) for c in columns if has_floats(c))
        return " OR ".join(f"bool_or(coalesce({each}, false))" for each in found)

    def may_be_in(self, columns: Iterable[Column], file: NewFile) -> bool:
        """What the file's statistics say: little else but an infinity is as low. They have no
        bounds if a row group has no number, whatever the others have."""
        kinds = {below.id: below.type for column in columns for below in column.walk()}
        return any(
            facts.values != 0
            if facts.min is None
            else float(facts.min) <= self._of(kinds[facts.column_id]) * _ROUNDING
            for facts in file.columns
            if kinds.get(facts.column_id) in FLOATS
        )

    def _of(self, kind: str) -> float:
        return self.double if kind == "float64" else self.single

    def _number(self, column: Column) -> str:
        exact = f"CAST('{self._of(column.type)!r}' AS DOUBLE)"
        return exact if column.type == "float64" else f"CAST({exact} AS FLOAT)"


def has_floats(column: Column) -> bool:
    return any(below.type in FLOATS for below in column.walk())


def _zero(column: Column) -> str:
    return f"CAST(0 AS {column.duckdb_type})"


def _changed(
    column: Column,
    reference: str,
    leaf: Callable[[Column, str], str],
    numbers: tuple[_Number, ...],
) -> str:
    """What is nested is taken apart only where one of the numbers is inside: that takes long."""
    if not column.is_nested:
        return leaf(column, reference)
    concerned = " OR ".join(f"({_holds(column, reference, number)})" for number in numbers)
    rebuilt = rebuild(column, Source.of(column), reference, leaf)
    return f"CASE WHEN {concerned} THEN {rebuilt} ELSE {reference} END"


def _holds(column: Column, reference: str, number: _Number, depth: int = 0) -> str:
    """Whether a value of the column, at whatever depth, is the number of its type."""
    if column.type in FLOATS:
        return f"{reference} = {number(column)}"
    if column.type == "struct":
        inside = (
            _holds(child, f"{reference}.{quote(child.name)}", number, depth)
            for child in column.children
            if has_floats(child)
        )
        return " OR ".join(f"({each})" for each in inside)
    lists = [reference]
    if column.type == "map":
        lists = [f"map_keys({reference})", f"map_values({reference})"]
    below = zip(column.children, lists, strict=True)
    inside = (_in_list(child, each, number, depth) for child, each in below if has_floats(child))
    return " OR ".join(f"({each})" for each in inside)


def _in_list(child: Column, items: str, number: _Number, depth: int) -> str:
    if child.type in FLOATS:
        return f"list_contains({items}, {number(child)})"
    item = f"y{depth}"
    found = _holds(child, item, number, depth + 1)
    return f"list_contains(list_transform({items}, lambda {item}: {found}), true)"
