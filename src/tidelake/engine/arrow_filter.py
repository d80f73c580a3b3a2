"""Filters that other engines push down, as our conditions.

An expression of pyarrow cannot be taken apart, so its text is read; what came of that is built
anew, and only if it is the same expression is it understood.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelake.errors import TidelakeError, Unsupported
from tidelake.model.literal import plain
from tidelake.model.predicate import And, Compare, In, IsNull, Not, Or, Predicate

_OPERATORS = {"==": "=", "!=": "!=", "<=": "<=", ">=": ">=", "<": "<", ">": ">"}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_OPERATOR = re.compile(r" (==|!=|<=|>=|<|>) ")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SET = re.compile(r", \{value_set=[^\n]*?:\[(.*?)\], null_matching_behavior=\w+\}\)", re.DOTALL)
_SHORT = 200
_NATURAL = pa.null()
"""Of a decimal number: as many digits as it has."""
_WAYS: tuple[dict[str, pa.DataType], ...] = (
    {},
    {"decimal": _NATURAL},
    {"int": pa.int64(), "float": pa.float64(), "decimal": _NATURAL},
    {"int": pa.int64(), "float": pa.float64()},
    {"int": pa.int64(), "float": pa.int64(), "decimal": pa.int64()},
    {"timestamp": pa.timestamp("ns")},
)
"""The types that literals may have, where they have not those of their columns."""


class _Unknown(Exception):
    """What is not understood."""


def as_condition(expression: Any, schema: pa.Schema) -> Predicate | None:
    """The condition that means the same in SQL; None if nobody can tell."""
    for types in _WAYS:
        reader = _Reader(str(expression), schema, types)
        try:
            condition, again = reader.whole()
            if expression.equals(again):
                return condition
        except (_Unknown, ValueError, ArithmeticError, TypeError, pa.ArrowException, TidelakeError):
            continue
    return None


def check_same(expression: Any, schema: pa.Schema) -> None:
    """Unsupported if pyarrow, which has to apply what is not understood, would mean another thing
    by it than the engines that ask: of NaN, and of nulls that are not in a list."""
    text = str(expression)
    floats = (field.name for field in schema if pa.types.is_floating(field.type))
    named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in floats)
    if named or ("invert(" in text and "is_in(" in text):
        short = text if len(text) < _SHORT else f"{text[:_SHORT]}…"
        raise Unsupported(
            f"the filter {short} cannot be told in SQL",
            hint="read with t.scan(where=…) or lake.sql(…), which take any condition",
        )


@dataclass
class _Reader:
    """Reads the text from left to right. Literals of some kinds have other `types` than their
    columns."""

    text: str
    schema: pa.Schema
    types: Mapping[str, pa.DataType]
    at: int = 0

    def whole(self) -> tuple[Predicate, Any]:
        found = self._expression()
        if self.at != len(self.text):
            raise _Unknown
        return found

    def _expression(self) -> tuple[Predicate, Any]:
        if self._takes("invert("):
            inner, again = self._expression()
            self._needs(")")
            return Not(inner), ~again
        if self._takes("is_null("):
            name = self._name()
            self._needs(", {nan_is_null=false})")
            return IsNull(name), pc.field(name).is_null()
        if self._takes("is_valid("):
            name = self._name()
            self._needs(")")
            return IsNull(name, negated=True), pc.field(name).is_valid()
        if self._takes("is_nan("):
            name = self._name()
            self._needs(")")
            return Compare(name, "=", math.nan), pc.is_nan(pc.field(name))
        if self._takes("is_in("):
            return self._membership()
        if self._takes("if_else(is_valid("):
            return self._where_valid()
        if self.text[self.at : self.at + 1] == "(":
            return self._pair()
        name = self._name()
        if not pa.types.is_boolean(self.schema.field(name).type):
            raise _Unknown
        return Compare(name, "=", True), pc.field(name)

    def _pair(self) -> tuple[Predicate, Any]:
        """Two conditions, or a column and a literal, in brackets."""
        start = self.at
        for name in self._names(start + 1):
            self.at = start + 1 + len(name)
            if operator := _OPERATOR.match(self.text, self.at):
                self.at = operator.end()
                sign, (value, scalar) = operator[1], self._literal(name)
                self._needs(")")
                return Compare(name, _OPERATORS[sign], value), _COMPARED[sign](
                    pc.field(name), scalar
                )
        self.at = start + 1
        left, first = self._expression()
        if self._takes(" and "):
            right, second = self._expression()
            self._needs(")")
            return And((left, right)), first & second
        self._needs(" or ")
        right, second = self._expression()
        self._needs(")")
        return Or((left, right)), first | second

    def _membership(self) -> tuple[Predicate, Any]:
        name = self._name()
        found = _SET.match(self.text, self.at)
        if found is None:
            raise _Unknown
        self.at = found.end()
        values = self._array(name, [_bare(each) for each in _items(found[1])])
        known = tuple(plain(each) for each in values.to_pylist())
        return In(name, known), pc.field(name).isin(values)

    def _where_valid(self) -> tuple[Predicate, Any]:
        """DuckDB 2 says so that NULL is neither in a list nor not in it."""
        name = self._name()
        self._needs("), is_in(")
        inner, again = self._membership()
        self._needs(", null[bool])")
        if not isinstance(inner, In) or inner.column != name:
            raise _Unknown
        unknown = pc.scalar(pa.scalar(None, pa.bool_()))
        return inner, pc.if_else(pc.field(name).is_valid(), again, unknown)

    def _literal(self, name: str) -> tuple[Any, pa.Scalar]:
        quoted = _TEXT.match(self.text, self.at)
        end = quoted.end() if quoted else self.text.index(")", self.at)
        written, self.at = self.text[self.at : end], end
        scalar = self._array(name, [_unquoted(written)])[0]
        value = plain(scalar.as_py())
        if value is None:
            raise _Unknown
        return value, scalar

    def _array(self, name: str, written: Sequence[str]) -> pa.Array:
        kind = self.schema.field(name).type
        kind = self.types.get(_family(kind), kind)
        if kind == _NATURAL:
            return pa.array([Decimal(each) for each in written])
        return pa.array(written, pa.string()).cast(kind)

    def _name(self) -> str:
        name = next(self._names(self.at), None)
        if name is None:
            raise _Unknown
        self.at += len(name)
        return name

    def _names(self, at: int) -> Iterator[str]:
        """Columns that the text may name there, the longest first."""
        known = (name for name in self.schema.names if name and self.text.startswith(name, at))
        yield from sorted(known, key=len, reverse=True)

    def _takes(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _needs(self, text: str) -> None:
        if not self._takes(text):
            raise _Unknown


def _family(kind: pa.DataType) -> str:
    found = re.match("u?(int|float|double|decimal|timestamp)", str(kind))
    return found[1].replace("double", "float") if found else ""


def _items(text: str) -> Iterator[str]:
    """The values of an array as pyarrow prints it, each on a line."""
    for line in text.split("\n"):
        if written := line.strip().removesuffix(","):
            yield written


def _unquoted(written: str) -> str:
    return str(json.loads(written)) if written.startswith('"') else written


def _bare(written: str) -> str:
    """A value of an array, in which nothing is escaped."""
    if written in ("null", "..."):
        raise _Unknown
    return written[1:-1] if written.startswith('"') else written
