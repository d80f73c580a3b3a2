"""Partition transforms: what the value of a column is put into a partition by.

A class each, with all that is known of it: how users and the catalog spell it, which columns it is
for, the partition of a row in DuckDB and in Spark, and what the partition of a file says about the
rows in it. Nobody else looks at a transform's text: a new one is a class here, listed in `KINDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from tidelake.errors import Invalid, Unsupported
from tidelake.model.comparable import Comparable, domain, lower_bound
from tidelake.model.schema import Column
from tidelake.model.statistics import ColumnStats
from tidelake.model.types import TIMESTAMPS
from tidelake.plan.partitioning.bucket_hash import buckets_of, keeps_buckets
from tidelake.plan.partitioning.bucket_sql import MACROS, bucket_sql
from tidelake.plan.partitioning.calendar_span import span_of_parts
from tidelake.plan.partitioning.interface import Reader, Transform, Values

if TYPE_CHECKING:
    import duckdb

_NULLS_ONLY = ColumnStats(null_count=1, value_count=0)
_NO_NULLS = ColumnStats(null_count=0)


class Identity(Transform):
    """The value itself."""

    word = "identity"
    usage = "the column's name alone"

    def shown(self, column: str) -> str:
        return column

    def check(self, column: Column, text: str) -> None:
        if column.type in _WITHOUT_TEXT:
            raise Invalid(
                f"cannot partition by {column.name!r}: {_article(column)} has no name for a folder",
                hint="partition by bucket(8, …) of it"
                if column.type == "blob"
                else "partition by another column",
            )

    def sql(self, column: Column, reference: str) -> str:
        return f"CAST({reference} AS VARCHAR)"

    def spark_sql(self, value: str, kind: str) -> str | None:
        return value

    def reader(self, column: Column, places: Mapping[Transform, int]) -> Reader | None:
        at = places[self]

        def read(values: Values) -> ColumnStats | None:
            value = values[at]
            if value is None:
                return _NULLS_ONLY
            return ColumnStats(value, value, 0, 1, contains_nan=value.lower() in ("nan", "-nan"))

        return read

    def value_between(
        self, connection: duckdb.DuckDBPyConnection, column: Column, low: str, high: str
    ) -> str | None:
        if low != high:
            return None
        return {"1": "true", "0": "false"}[low] if column.type == "boolean" else low


_WITHOUT_TEXT = frozenset({"struct", "list", "map", "blob", "variant", "geometry"})


class Calendar(Transform):
    """A part of a date, as a number: `month` is 1 to 12, of whatever year."""

    zoned = True
    declarable: ClassVar[frozenset[str]] = TIMESTAMPS | {"date"}
    """Types of columns that may be partitioned so."""
    defined: ClassVar[frozenset[str]] = TIMESTAMPS | {"date", "interval"}
    """Types that have the part: others may have declared it of more columns than we do."""
    fit: ClassVar[str] = "dates and timestamps"

    def check(self, column: Column, text: str) -> None:
        if column.type not in self.declarable:
            raise Invalid(
                f"cannot partition by {text!r}: {column.name!r} is {_article(column)}",
                hint=f"{self.word}() is for {self.fit}",
            )

    def sql(self, column: Column, reference: str) -> str:
        if column.type not in self.defined:
            raise Invalid(
                f"column {column.name!r} is {column.duckdb_type} and has no {self.word}",
                hint="partition by identity or bucket(N) of it, or by another column",
            )
        return f"CAST({self.word}({reference}) AS VARCHAR)"

    def spark_sql(self, value: str, kind: str) -> str | None:
        if kind in ("date", "timestamp_ntz"):
            return f"{self.word}({value})"
        if kind != "timestamp":
            return None
        hours = f"CAST(floor(unix_micros({value}) / {_HOUR_OF_MICROS}) AS INT)"
        return self._of_hours(hours)

    def _of_hours(self, hours: str) -> str:
        """Of hours since 1970 in UTC, whatever the session's time zone is."""
        return f"{self.word}(date_from_unix_date(CAST(floor({hours} / 24) AS INT)))"

    def reader(self, column: Column, places: Mapping[Transform, int]) -> Reader | None:
        """The year speaks for all: of the span that it, then month, day and hour if they are keys
        too, leave to the column.

        NULL says nothing: it is also the year of an infinite date. Nanoseconds were rounded to
        microseconds first, and the last of a year may so have come into the next.
        """
        has_span = column.type == "date" or column.type in TIMESTAMPS - {"timestamptz"}
        if self != _UNITS[0] or not has_span:
            return None
        rounded = column.type == "timestamp_ns"
        known = [places[unit] for unit in takewhile(places.__contains__, _UNITS)]

        def read(values: Values) -> ColumnStats | None:
            parts = [values[at] for at in known]
            if not all(part and part.isdecimal() for part in parts):
                return None
            return span_of_parts([int(part) for part in parts if part], rounded=rounded)

        return read

    def value_between(
        self, connection: duckdb.DuckDBPyConnection, column: Column, low: str, high: str
    ) -> str | None:
        """The part that all moments between two have, if they are in the same one."""
        kind, part = column.duckdb_type, self.word
        row = connection.execute(
            f"SELECT CAST(date_part('{part}', low) AS VARCHAR) FROM"
            f" (SELECT CAST($1 AS {kind}) AS low, CAST($2 AS {kind}) AS high)"
            f" WHERE isfinite(low) AND isfinite(high)"
            f" AND date_trunc('{part}', low) = date_trunc('{part}', high)",
            [low, high],
        ).fetchone()
        return None if row is None or row[0] is None else str(row[0])


_HOUR_OF_MICROS = 3_600_000_000


class Year(Calendar):
    word = "year"
    usage = "year(column)"


class Month(Calendar):
    word = "month"
    usage = "month(column)"


class Day(Calendar):
    word = "day"
    usage = "day(column)"


class Hour(Calendar):
    word = "hour"
    usage = "hour(column)"
    declarable = TIMESTAMPS
    defined = Calendar.defined | {"time", "timetz"}
    fit = "timestamps"

    def _of_hours(self, hours: str) -> str:
        return f"pmod({hours}, 24)"


_UNITS: tuple[Transform, ...] = (Year(), Month(), Day(), Hour())


@dataclass(frozen=True)
class Bucket(Transform):
    """A hash of the value, modulo a number of buckets."""

    word = "bucket"
    usage = "bucket(8, column)"
    parameters = "(N)"
    macros = MACROS
    exclusive = True

    count: int

    @property
    def text(self) -> str:
        return f"{self.word}({self.count})"

    def shown(self, column: str) -> str:
        return f"{self.word}({self.count}, {column})"

    @classmethod
    def recorded(cls, text: str) -> Transform | None:
        found = re.fullmatch(rf"{cls.word}\((\d+)\)", text)
        return cls(int(found[1])) if found else None

    @classmethod
    def written(cls, parameter: str | None, text: str) -> Transform:
        count = parameter or ""
        if not (count.isascii() and count.isdecimal()):
            raise Invalid(f"cannot partition by {text!r}", hint=f"write {cls.usage}")
        if not 1 <= int(count) <= _MAX_BUCKETS:
            raise Invalid(
                f"cannot partition by {text!r}: {count} buckets",
                hint=f"choose a number from 1 to {_MAX_BUCKETS}",
            )
        return cls(int(count))

    def check(self, column: Column, text: str) -> None:
        if column.type in _UNHASHED:
            raise Invalid(
                f"cannot partition by {text!r}: {column.name!r} is {_article(column)}",
                hint="bucket() is for numbers, texts, bytes, dates, times and UUIDs",
            )

    def sql(self, column: Column, reference: str) -> str:
        if self.count == 0:
            raise Invalid(
                f"column {column.name!r} cannot be in one of no buckets",
                hint="give bucket(N) an N of at least 1",
            )
        return bucket_sql(column, self.count, reference)

    def reader(self, column: Column, places: Mapping[Transform, int]) -> Reader | None:
        at = places[self]
        return lambda values: _NULLS_ONLY if values[at] is None else _NO_NULLS

    def may_hold(
        self, column: Column, operands: Sequence[Comparable], type_then: str | None
    ) -> Callable[[str | None], bool] | None:
        allowed: set[str] = set()
        for operand in operands:
            found = buckets_of(operand, column.type, self.count, type_then=type_then)
            if found is None:
                return None
            allowed |= set(map(str, found))
        return lambda value: value is not None and (value in allowed or not value.isdecimal())

    def value_between(
        self, connection: duckdb.DuckDBPyConnection, column: Column, low: str, high: str
    ) -> str | None:
        kind = domain(column.type)
        if low != high or kind is None or kind == "rounded":
            return None
        point = lower_bound(column.type, kind, low)
        if point is None:
            return None
        operand = Comparable(kind, point)
        found = buckets_of(operand, column.type, self.count, type_then=column.type)
        return str(next(iter(found))) if found and len(found) == 1 else None

    def stays(self, old: str, new: str) -> bool:
        return keeps_buckets(old, new)


_MAX_BUCKETS = 2**31 - 1
_UNHASHED = frozenset({"struct", "list", "map", "variant", "geometry", "interval", "timetz"})

KINDS: tuple[type[Transform], ...] = (Identity, Year, Month, Day, Hour, Bucket)
"""All that DuckLake has."""

HINT = "partition by column, year(column), month(…), day(…), hour(…) or bucket(8, column)"
INSTEAD = {
    **{f"{unit.word}s": f"{unit.word}(…)" for unit in _UNITS},
    "date": "year(…), month(…), day(…)",
    Identity.word: Identity.usage,
}
"""What to write for what others call their transforms."""


@dataclass(frozen=True)
class Unknown(Transform):
    """What a later DuckLake may have. Files under it are read like any, and none is written."""

    zoned = True

    said: str

    @property
    def text(self) -> str:
        return self.said

    def shown(self, column: str) -> str:
        word, _, parameter = self.said.partition("(")
        return f"{word}({parameter.rstrip(')')}, {column})" if parameter else f"{word}({column})"

    def check(self, column: Column, text: str) -> None:
        raise Invalid(f"cannot partition by {text!r}", hint=HINT)

    def sql(self, column: Column, reference: str) -> str:
        known = ", ".join(kind.word + kind.parameters for kind in KINDS)
        raise Unsupported(
            f"cannot write files partitioned by {self.said} of column {column.name!r}",
            hint=f"this version knows {known}",
        )

    def value_between(
        self, connection: duckdb.DuckDBPyConnection, column: Column, low: str, high: str
    ) -> str | None:
        return None


def transform_of(text: str) -> Transform:
    """The transform that the catalog calls so."""
    return next((found for kind in KINDS if (found := kind.recorded(text))), Unknown(text))


def _article(column: Column) -> str:
    return f"{'an' if column.type[0] in 'aeiou' else 'a'} {column.type}"
