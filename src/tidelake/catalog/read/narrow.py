"""A coarse first cut in the catalog's own SQL, so that planning need not fetch every file.

Each rule is a condition on the statistics of one column that is TRUE for every file which
may hold a wanted row. It may keep too much: the exact judgement follows in Python.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tidelake.catalog.database.dialect import Dialect, StatisticsSql
from tidelake.model.comparable import Comparable, comparable, comparables
from tidelake.model.instant import SECOND
from tidelake.model.literal import Value
from tidelake.model.normal_form import conjuncts
from tidelake.model.predicate import And, Compare, In, IsNull, Like, Or, Predicate, StartsWith
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import UNCOUNTED, like_prefix, single_column
from tidelake.model.types import FLOATS, TIMESTAMPS

_EPOCH = datetime(1970, 1, 1)
_FEW = 20
_LONGEST_TEXT = 1000
_HARMLESS = re.compile(r"[0-9A-Za-z _.~+-]*", re.ASCII)
# Databases read and round decimal text in their own ways, and '0.1' of a float32 column
# stands for a number that is not 0.1.
_SLACK = 1e-12
_FLOAT_SLACK = 1e-6
_TINIEST = 1e-40
# How moments with four-digit years AD look; a zone other than UTC is not in this order.
_SHAPES = {"date": "____-__-__", "timestamptz": "____-__-__ __:__:__%+00"} | dict.fromkeys(
    TIMESTAMPS - {"timestamptz"}, "____-__-__ __:__:__%"
)


@dataclass(frozen=True, slots=True)
class StatisticsRule:
    """Keep a file if `keep_sql` is TRUE for its statistics of the column, or it has none."""

    column_id: int
    keep_sql: str


def statistics_rules(
    predicate: Predicate, schema: Schema, dialect: Dialect, *, alias: str = ""
) -> list[StatisticsRule]:
    """The parts of the condition that the catalog can judge; a file must pass all of them.
    `alias` names the statistics table."""
    found: dict[int, list[str]] = defaultdict(list)
    for part in conjuncts(predicate):
        column = single_column(part, schema)
        if column is not None and column.type not in UNCOUNTED:
            sql = _Rule(column, dialect.statistics, f"{alias}." if alias else "").keep(part)
            if sql is not None:
                found[column.id].append(sql)
    return [StatisticsRule(column_id, " AND ".join(parts)) for column_id, parts in found.items()]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Conditions on the statistics of one column. None stands for "the catalog cannot say"."""

    column: Column
    spelling: StatisticsSql
    prefix: str

    def keep(self, predicate: Predicate) -> str | None:
        """Requires: the predicate is in positive form and about this column alone."""
        if isinstance(predicate, And):
            known = [sql for part in predicate.parts if (sql := self.keep(part))]
            return f"({' AND '.join(known)})" if known else None
        if isinstance(predicate, Or):
            return _any_of([self.keep(part) for part in predicate.parts])
        if isinstance(predicate, IsNull):
            count = "value_count" if predicate.negated else "null_count"
            return f"({self.prefix}{count} IS NULL OR {self.prefix}{count} <> 0)"
        return self._with_values(self._keep_values(predicate))

    def _with_values(self, sql: str | None) -> str | None:
        count = f"{self.prefix}value_count"
        return sql and f"(({count} IS NULL OR {count} <> 0) AND {sql})"

    def _keep_values(self, predicate: Predicate) -> str | None:
        if isinstance(predicate, Compare):
            operand = comparable(self.column, predicate.value)
            return None if operand is None else self._compare(predicate.op, operand)
        if isinstance(predicate, In):
            return self._member([value for value in predicate.values if value is not None])
        if isinstance(predicate, Like):
            return self._starts_with(like_prefix(predicate))
        return self._starts_with(predicate.prefix) if isinstance(predicate, StartsWith) else None

    def _compare(self, op: str, operand: Comparable) -> str | None:
        if op == "!=":
            return None
        low = self._at_most(operand) if op in ("<", "<=", "=") else "TRUE"
        high = self._at_least(operand) if op in (">", ">=", "=") else "TRUE"
        if low is None or high is None:
            return None
        both = " AND ".join(sql for sql in (low, high) if sql != "TRUE")
        if self.column.type in FLOATS and op in (">", ">="):
            nan = f"{self.prefix}contains_nan"
            return f"({nan} IS NULL OR {nan} OR {both})"
        return f"({both})"

    def _member(self, values: list[Value]) -> str | None:
        operands = comparables(self.column, values)
        if not operands or any(operand.value != operand.value for operand in operands):
            return None
        if len(operands) <= _FEW:
            return _any_of([self._compare("=", operand) for operand in operands])
        ordered: list[Comparable] = sorted(operands, key=_order)
        low, high = self._at_most(ordered[-1]), self._at_least(ordered[0])
        return f"({low} AND {high})" if low and high else None

    def _at_most(self, operand: Comparable) -> str | None:
        """The column's least value may be at or below the operand."""
        return self._bounded("min_value", "<=", operand)

    def _at_least(self, operand: Comparable) -> str | None:
        """The column's greatest value may be at or above the operand."""
        return self._bounded("max_value", ">=", operand)

    def _bounded(self, statistic: str, op: str, operand: Comparable) -> str | None:
        build: Callable[[str, str, Comparable], str | None] = {
            "exact": self._number,
            "rounded": self._number,
            "instant": self._moment,
            "text": self._text,
        }[operand.kind]
        name = self.prefix + statistic
        sql = build(name, op, operand)
        return sql and f"({name} IS NULL OR {sql})"

    def _number(self, name: str, op: str, operand: Comparable) -> str | None:
        try:
            value = float(operand.value)
        except OverflowError:
            return None
        slack = _FLOAT_SLACK if self.column.type in FLOATS else _SLACK
        edge = value + (abs(value) * slack + _TINIEST) * (1 if op == "<=" else -1)
        if not math.isfinite(edge):
            return None
        odd = self.spelling.odd_number.format(v=name)
        number = self.spelling.number.format(v=name)
        return f"CASE WHEN {odd} THEN TRUE ELSE {number} {op} {edge:.17e} END"

    def _moment(self, name: str, op: str, operand: Comparable) -> str | None:
        """Compares text, which within four-digit years AD sorts as time does.

        A text that goes on after the seconds of the operand is later in the order than
        they are, so an upper edge ends in a character after all those.
        """
        second = _second(operand.value)
        shape = _SHAPES.get(self.column.type)
        if second is None or shape is None:
            return None
        spelled = shape.replace("_", self.spelling.any_character)
        spelled = spelled.replace("%", self.spelling.any_text)
        odd = self.spelling.odd_moment.format(v=name, x=spelled)
        edge = second[:10] if self.column.type == "date" else second
        text = self.spelling.in_order.format(v=name)
        return f"({text} {op} '{edge}{'~' if op == '<=' else ''}' OR {odd})"

    def _text(self, name: str, op: str, operand: Comparable) -> str | None:
        literal = self._text_literal(str(operand.value))
        sql = literal and f"{self.spelling.in_order.format(v=name)} {op} {literal}"
        if self.column.type == "uuid":
            return sql and f"CASE WHEN {name} = lower({name}) THEN {sql} ELSE TRUE END"
        return sql

    def _starts_with(self, text: str | None) -> str | None:
        literal = self._text_literal(text) if text else None
        if literal is None or text is None or self.column.type != "varchar":
            return None
        low, high = f"{self.prefix}min_value", f"{self.prefix}max_value"
        start = self.spelling.in_order.format(v=f"substr({low}, 1, {len(text)})")
        whole = self.spelling.in_order.format(v=high)
        before = f"({low} IS NULL OR {start} <= {literal})"
        return f"({before} AND ({high} IS NULL OR {whole} >= {literal}))"

    def _text_literal(self, text: str) -> str | None:
        """Plain only if no database and no driver could read it as anything else."""
        if len(text) > _LONGEST_TEXT or "\0" in text:
            return None
        if _HARMLESS.fullmatch(text):
            return f"'{text}'"
        try:
            return self.spelling.hex_text.format(x=text.encode().hex())
        except UnicodeEncodeError:
            return None


def _order(operand: Comparable) -> Any:
    return operand.value


def _any_of(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return f"({' OR '.join(known)})" if known and len(known) == len(parts) else None


def _second(nanos: object) -> str | None:
    """The second in which an instant lies, as DuckDB writes it; None outside the years 1-9999."""
    if not isinstance(nanos, int):
        return None
    try:
        return (_EPOCH + timedelta(seconds=nanos // SECOND)).isoformat(sep=" ")
    except OverflowError:
        return None
