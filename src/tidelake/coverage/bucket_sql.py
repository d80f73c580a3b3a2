"""Buckets in DuckDB's SQL, with the numbers that `model.clock` gives."""

from __future__ import annotations

from tidelake.coverage.values.clock import COUNT, MONTHS, SIGN
from tidelake.coverage.values.series import Series
from tidelake.model import instant
from tidelake.model.schema import Column

_MILLISECOND = instant.SECOND // 1000
_TICKS = {
    "date": (instant.DAY, "({} - DATE '1970-01-01')"),
    "timestamp_s": (_MILLISECOND, "epoch_ms({})"),
    "timestamp_ms": (_MILLISECOND, "epoch_ms({})"),
    "timestamp_ns": (1, "epoch_ns({})"),
}
_MICROSECONDS = (1000, "epoch_us({})")
_LEAST = f"CAST({-SIGN} AS BIGINT)"


def id_sql(series: Series, time: str) -> str:
    """The bits of the id of the bucket that a value lies in."""
    return as_id(series, number_sql(series, time))


def as_id(series: Series, number: str) -> str:
    return f"xor({number}, {_LEAST})" if series.clock.signed else number


def placed_sql(column: Column, time: str) -> str:
    """Whether a value lies in any bucket: nothing does not, and neither do infinities."""
    finite = f" AND isfinite({time})" if column.type in _FINITE else ""
    return f"{time} IS NOT NULL{finite}"


def number_sql(series: Series, time: str) -> str:
    """The number of the bucket that a value lies in."""
    clock, kind = series.clock, series.time.type
    if clock.kind == COUNT:
        wide = "BIGINT" if clock.signed else "UBIGINT"
        return _floor(f"CAST({time} AS {wide})", clock.width, signed=clock.signed)
    if clock.kind == MONTHS:
        day = (
            time
            if kind == "date"
            else f"(DATE '1970-01-01' + CAST({_days_sql(kind, time)} AS INT))"
        )
        return _floor(f"((year({day}) - 1970) * 12 + month({day}) - 1)", clock.width)
    if clock.origin:
        days = f"({_days_sql(kind, time)} - {clock.origin // instant.DAY})"
        return _floor(days, clock.width // instant.DAY)
    tick, ticks = _TICKS.get(kind, _MICROSECONDS)
    return _floor(ticks.format(time), clock.width // tick)


def _days_sql(kind: str, time: str) -> str:
    """Whole days since 1970: small numbers, of which others can be taken without going out of
    range."""
    tick, ticks = _TICKS.get(kind, _MICROSECONDS)
    return _floor(ticks.format(time), instant.DAY // tick)


def _floor(value: str, width: int, *, signed: bool = True) -> str:
    """Division that rounds down, where DuckDB's rounds towards zero."""
    if not signed:
        return f"({value} // CAST({width} AS UBIGINT))"
    below = f"-1 - (-1 - {value}) // {width}"
    return f"CAST(CASE WHEN {value} >= 0 THEN {value} // {width} ELSE {below} END AS BIGINT)"


_FINITE = {"date", "timestamp", "timestamp_us", "timestamptz", *_TICKS}
