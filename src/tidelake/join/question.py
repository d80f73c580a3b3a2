"""What a point-in-time join is asked for: which columns meet, how times compare, what is near."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidelake.errors import Invalid
from tidelake.model import instant
from tidelake.model.age import as_span
from tidelake.model.names import quote
from tidelake.model.numpy_scalar import python_value
from tidelake.model.schema import Column
from tidelake.model.types import (
    FLOATS,
    INTEGERS,
    SIGNED,
    TIMESTAMPS,
    UNSIGNED,
    WIDE_INTEGERS,
    is_decimal,
)

DIRECTIONS = ("backward", "forward", "nearest")

_SMALL_UNSIGNED = UNSIGNED - {"uint64"}
_INTEGERS = INTEGERS | WIDE_INTEGERS
_TEXTS = {"varchar", "uuid", "json"}
_TIMES = TIMESTAMPS | {"date"}
_NO_KEYS = {"struct", "list", "map", "variant", "geometry", "interval"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A column of the left side and one of the right that are compared, and the SQL type in which
    they are; None if they have the same. `native` says that any engine casts alike."""

    left: Column
    right: Column
    cast: str | None = None
    native: bool = True


@dataclass(frozen=True, slots=True)
class TimeComparison:
    """How times are compared. `kind`: `number`, `date` or `moment`; `nanoseconds` says that the
    numbers are such."""

    times: Pair
    kind: str
    nanoseconds: bool = False

    def reading(self, column: Column) -> str:
        """The time of a column as it is compared."""
        name = quote(column.name)
        if self.nanoseconds:
            if self.times.left.type == self.times.right.type:
                return f"epoch_ns({name})"
            if column.type == "timestamp_ns":
                return f"CAST(epoch_ns({name}) AS HUGEINT)"
            return f"CAST(epoch_us(CAST({name} AS TIMESTAMP)) AS HUGEINT) * 1000"
        return f"CAST({name} AS {self.times.cast})" if self.times.cast else name

    @property
    def is_plain(self) -> bool:
        """Whether times are compared as they stand in their columns."""
        return self.times.cast is None and not self.nanoseconds


def key_pair(left: Column, right: Column) -> Pair:
    for column in (left, right):
        if column.type in _NO_KEYS:
            raise Invalid(
                f"{column.name!r} is a {column.type}, by which rows cannot be joined",
                hint="join by a number, a text, a date or a time",
            )
    if left.type == right.type:
        return Pair(left, right)
    kinds = {left.type, right.type}
    if kinds <= _TEXTS:
        return Pair(left, right, "VARCHAR", native=False)
    if kinds <= _TIMES:
        return Pair(left, right, "TIMESTAMP", native=False)
    if kinds <= _INTEGERS:
        return Pair(left, right, _whole(kinds))
    if all(_is_number(kind) for kind in kinds):
        return Pair(left, right, "DOUBLE")
    raise Invalid(
        f"{left.name!r} of the left side is {left.duckdb_type}, {right.name!r} of the right side"
        f" {right.duckdb_type}: they are never equal",
        hint="cast one of them, or join by other columns",
    )


def clock_of(left: Column, right: Column) -> TimeComparison:
    for side, column in (("left", left), ("right", right)):
        if column.type not in _TIMES and column.type not in _INTEGERS:
            raise Invalid(
                f"{column.name!r} of the {side} side is {column.duckdb_type}, which is no time",
                hint=f"{side}_time must be a date, a timestamp or a whole number",
            )
    kinds = {left.type, right.type}
    if kinds & _TIMES and kinds & _INTEGERS:
        raise Invalid(
            f"{left.name!r} of the left side is {left.duckdb_type}, {right.name!r} of the right"
            f" side {right.duckdb_type}: a time and a number do not compare",
            hint="make a timestamp of the number, for example with to_timestamp(…)",
        )
    if "timestamp_ns" in kinds:
        return TimeComparison(Pair(left, right, None, native=False), "number", nanoseconds=True)
    if kinds <= _INTEGERS:
        cast = None if len(kinds) == 1 else _whole(kinds)
        return TimeComparison(Pair(left, right, cast), "number")
    if len(kinds) == 1:
        return TimeComparison(Pair(left, right), "date" if kinds == {"date"} else "moment")
    return TimeComparison(Pair(left, right, "TIMESTAMP", native=False), "moment")


def _whole(kinds: set[str]) -> str:
    if kinds <= SIGNED | _SMALL_UNSIGNED:
        return "BIGINT"
    return "HUGEINT" if "int128" in kinds or "uint128" in kinds else "DECIMAL(20, 0)"


def _is_number(kind: str) -> bool:
    return kind in _INTEGERS or kind in FLOATS or is_decimal(kind)


def knowledge_type(column: Column) -> str:
    """The SQL type in which a column says when something was known; Invalid if it cannot."""
    if column.type in SIGNED | _SMALL_UNSIGNED:
        return "BIGINT"
    if column.type in _TIMES:
        return "TIMESTAMPTZ" if column.type == "timestamptz" else "TIMESTAMP"
    raise Invalid(
        f"known_at={column.name!r} is {column.duckdb_type}, which is neither a time nor a"
        " snapshot id",
        hint="name a column of timestamps or of snapshot ids",
    )


def checked_tolerance(tolerance: object) -> timedelta | int | None:
    """A span of time, or a number for clocks that are numbers."""
    tolerance = python_value(tolerance)
    if tolerance is None or (isinstance(tolerance, int) and not isinstance(tolerance, bool)):
        if tolerance is not None and tolerance < 0:
            raise Invalid(f"tolerance={tolerance!r} is negative", hint=_TOLERANCE)
        return tolerance
    if isinstance(tolerance, str | timedelta):
        return as_span(tolerance, name="tolerance")
    raise Invalid(f"tolerance={tolerance!r} is no distance in time", hint=_TOLERANCE)


_TOLERANCE = 'give a timedelta, a text such as "5m", or for times that are numbers a number'


def distance_within(clock: TimeComparison, tolerance: timedelta | int) -> str:
    """The greatest distance that still counts, as SQL to compare `plan.asof_join.distance` with."""
    span = isinstance(tolerance, timedelta)
    if span is (clock.kind == "number" and not clock.nanoseconds):
        kind = clock.times.left.duckdb_type
        raise Invalid(f"tolerance={tolerance!r} does not go with times of {kind}", hint=_TOLERANCE)
    if not isinstance(tolerance, timedelta):
        return str(tolerance)
    micros = tolerance // timedelta(microseconds=1)
    nanos = micros * 1000 + getattr(tolerance, "nanoseconds", 0)
    if clock.nanoseconds:
        return str(nanos)
    if clock.kind == "date":
        return str(nanos // instant.DAY)
    return f"INTERVAL '{micros}' MICROSECOND"
