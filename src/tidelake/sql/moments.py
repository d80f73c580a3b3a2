"""Which moment a clause names: a literal, a parameter, or a time that must be computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from tidelake.errors import Invalid, TidelakeError, Unsupported
from tidelake.event_time.values.ranges import SystemRange, ValidRange
from tidelake.model.event_time import as_moment
from tidelake.model.literal import Value, sql_literal
from tidelake.model.moment import from_now
from tidelake.model.tag import parse_moment
from tidelake.sql.clauses import MomentClause
from tidelake.sql.parameters import put_literals

if TYPE_CHECKING:
    from sqlglot import exp

    from tidelake.engine.local.engine import LocalEngine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "TIMESTAMP_NS", "DATETIME"}
_LITERALLY = "write a time, a snapshot id or a tag as a literal, or bind it as a parameter"


@dataclass(frozen=True, slots=True)
class MomentReader:
    """Tells the moments of one statement: `now` is the same throughout."""

    local: LocalEngine
    values: Mapping[str, Value]
    now: datetime

    def valid_time(self, clause: MomentClause) -> int:
        """In nanoseconds since 1970."""
        value = self._settled(clause)
        if isinstance(value, int) or not isinstance(value, str | date):
            raise Invalid(
                f"{clause.written} names no time",
                hint="name one such as TIMESTAMP '2024-03-15 14:30:00'",
            )
        return as_moment(value, clause.written.split(" AS ")[0])

    def valid_range(self, clause: MomentClause) -> ValidRange:
        """What a clause of two times, or of ALL, names."""
        if clause.kind == "all":
            return ValidRange()
        start, end = (
            None if each is None else self.valid_time(each) for each in self._bounds(clause)
        )
        return ValidRange(start, end, closed=clause.kind == "between")

    def system_range(self, clause: MomentClause) -> SystemRange:
        """The same of snapshots, times or tags."""
        if clause.kind == "all":
            return SystemRange()
        start, end = (
            None if each is None else self.system_time(each) for each in self._bounds(clause)
        )
        return SystemRange(start, end, closed=clause.kind == "between")

    def _bounds(self, clause: MomentClause) -> Iterator[MomentClause | None]:
        """Both bounds of a range; None where NULL stands for no bound."""
        from sqlglot import exp

        assert clause.until is not None
        for moment in (clause.moment, clause.until):
            found = moment.unnest()
            absent = isinstance(found, exp.Null)
            if isinstance(found, exp.Placeholder):
                absent = self.values[found.name] is None
            yield None if absent else replace(clause, moment=moment)

    def system_time(self, clause: MomentClause) -> int | str | date:
        """A snapshot id, a time or a tag."""
        value = self._settled(clause)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if isinstance(value, bool) or not isinstance(value, int | str | date):
            raise Invalid(f"{clause.written} names no moment", hint=_LITERALLY)
        if clause.kind == "version" and isinstance(parse_moment(value), datetime):
            raise Invalid(
                f"{clause.written}: {value} is not a snapshot id, nor a tag",
                hint="name a time with TIMESTAMP AS OF",
            )
        return value

    def _settled(self, clause: MomentClause) -> object:
        return from_now(self._value(clause), self.now)

    def _value(self, clause: MomentClause) -> object:
        from sqlglot import exp

        moment = clause.moment.unnest()
        if isinstance(moment, exp.Placeholder):
            return self.values[moment.name]
        if isinstance(moment, exp.Cast) and moment.to.this.name in _TIMES:
            inner = moment.this.unnest()
            if isinstance(inner, exp.Literal) and inner.is_string:
                return as_text(inner)
        if isinstance(moment, exp.Literal):
            return as_text(moment) if moment.is_string or not moment.is_int else int(moment.this)
        if clause.kind == "version":
            raise Invalid(
                f"{clause.written} is not a snapshot id, nor a tag", hint="write it as a literal"
            )
        return self._computed(clause)

    def _computed(self, clause: MomentClause) -> datetime:
        """A constant expression of time; DuckDB's answer, in UTC, whichever the engine."""
        from sqlglot import exp

        if any(not _is_constant(node) for node in clause.moment.walk()):
            raise Unsupported(f"cannot tell the moment in {clause.written}", hint=_LITERALLY)
        tree = put_literals(clause.moment, self.values)
        now: exp.Expr = exp.maybe_parse(f"({sql_literal(self.now)})", dialect="duckdb")
        text = tree.transform(lambda n: now.copy() if _is_now(n) else n).sql("duckdb")
        query = f"SELECT epoch_us(CAST({text} AS TIMESTAMPTZ)) AS moment"
        try:
            found = self.local.query(query, {}).to_arrow()["moment"][0].as_py()
        except TidelakeError as error:
            raise Invalid(f"{clause.written}: {error.message}", hint=_LITERALLY) from error
        try:
            return _EPOCH + timedelta(microseconds=found)
        except (OverflowError, TypeError):
            raise Invalid(f"{clause.written} is no time", hint=_LITERALLY) from None


def as_text(literal: exp.Expr) -> str:
    return str(literal.this)


def _is_now(node: exp.Expr) -> bool:
    from sqlglot import exp

    named = isinstance(node, exp.Anonymous) and node.name.upper() == "NOW" and not node.expressions
    return named or isinstance(node, exp.CurrentTimestamp)


def _is_constant(node: exp.Expr) -> bool:
    from sqlglot import exp

    sums = (exp.Add, exp.Sub, exp.Neg, exp.Paren, exp.TimestampTrunc, exp.DateTrunc)
    values = (exp.Literal, exp.Placeholder, exp.CurrentDate, exp.Interval, exp.Var)
    kinds = (exp.Cast, exp.DataType, exp.DataTypeParam, exp.AtTimeZone)
    return isinstance(node, (*sums, *values, *kinds)) or _is_now(node)
