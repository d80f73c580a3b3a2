"""The scalar types of DuckLake, in one table: what each system calls them, and how they compare.

A cell is empty (`-`) where a system has no type that holds every value exactly. What several rows
say alike is, on the way back, the type of the first of them. Libraries that model may not import
are named by text; their own packages make objects of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

Order: TypeAlias = Literal["exact", "rounded", "instant", "text"]

# Arrow: as pyarrow prints it; a name with a dot is that of an extension. Spark and Delta: as their
# schemas have it in JSON. Order: that of statistics, where it can be trusted. Bits: of integers,
# and of the whole numbers that floats hold exactly. Digits: after the point of a second.
_TABLE = """
DuckLake      DuckDB        Arrow                    Spark          Delta          order    bits  digits

boolean       BOOLEAN       bool                     boolean        boolean        exact    -     -
int8          TINYINT       int8                     byte           byte           exact    8     -
int16         SMALLINT      int16                    short          short          exact    16    -
int32         INTEGER       int32                    integer        integer        exact    32    -
int64         BIGINT        int64                    long           long           exact    64    -
int128        HUGEINT       -                        -              -              rounded  128   -
uint8         UTINYINT      uint8                    short          short          exact    8     -
uint16        USMALLINT     uint16                   integer        integer        exact    16    -
uint32        UINTEGER      uint32                   long           long           exact    32    -
uint64        UBIGINT       uint64                   decimal(20,0)  decimal(20,0)  exact    64    -
uint128       UHUGEINT      -                        -              -              rounded  128   -
float32       FLOAT         float                    float          float          rounded  24    -
float64       DOUBLE        double                   double         double         rounded  53    -
time          TIME          time64[us]               time(6)        -              instant  -     6
time_ns       TIME_NS       time64[ns]               -              -              instant  -     9
timetz        TIMETZ        -                        -              -              -        -     -
date          DATE          date32[day]              date           date           instant  -     0
timestamp     TIMESTAMP     timestamp[us]            timestamp_ntz  timestamp_ntz  instant  -     6
timestamp_us  TIMESTAMP     timestamp[us]            timestamp_ntz  timestamp_ntz  instant  -     6
timestamptz   TIMESTAMPTZ   timestamp[us, tz=UTC]    timestamp      timestamp      instant  -     6
timestamp_s   TIMESTAMP_S   timestamp[s]             timestamp_ntz  timestamp_ntz  instant  -     0
timestamp_ms  TIMESTAMP_MS  timestamp[ms]            timestamp_ntz  timestamp_ntz  instant  -     3
timestamp_ns  TIMESTAMP_NS  timestamp[ns]            -              -              instant  -     9
interval      INTERVAL      month_day_nano_interval  -              -              -        -     -
varchar       VARCHAR       string                   string         string         text     -     -
json          JSON          arrow.json               string         string         -        -     -
blob          BLOB          binary                   binary         binary         -        -     -
uuid          UUID          arrow.uuid               string         binary         text     -     -
variant       VARIANT       -                        variant        -              -        -     -
geometry      GEOMETRY      geoarrow.wkb             binary         -              -        -     -
"""  # noqa: E501  (a table)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A row of the table; `name` is DuckLake's word. Decimals have none: they have digits."""

    name: str
    duckdb: str
    arrow: str | None
    spark: str | None
    delta: str | None
    order: Order | None
    bits: int | None
    digits: int | None


def _row(line: str) -> ScalarType:
    name, duckdb, *cells = re.split(r"\s\s+", line)
    arrow, spark, delta, order, bits, digits = (None if cell == "-" else cell for cell in cells)
    return ScalarType(
        name,
        duckdb,
        arrow,
        spark,
        delta,
        cast(Order | None, order),
        int(bits) if bits else None,
        int(digits) if digits else None,
    )


def is_decimal(column_type: str) -> bool:
    return column_type.startswith("decimal")


def decimal_shape(column_type: str) -> tuple[int, int]:
    """Width and scale of `decimal(18,3)`."""
    width, scale = re.findall(r"\d+", column_type) or (18, 3)
    return int(width), int(scale)


def _back(names: dict[str, str]) -> dict[str, str]:
    """The type of the first row that says a name; a decimal is nothing but a decimal."""
    said = {theirs: ours for ours, theirs in reversed(names.items())}
    return {theirs: ours for theirs, ours in said.items() if not is_decimal(theirs)}


TYPES = {row.name: row for row in map(_row, _TABLE.strip().splitlines()[2:])}

DUCKDB_NAMES = {row.name: row.duckdb for row in TYPES.values()}
ARROW_NAMES = {row.name: row.arrow for row in TYPES.values() if row.arrow}
DELTA_NAMES = {row.name: row.delta for row in TYPES.values() if row.delta}
SPARK_NAMES = {row.name: row.spark for row in TYPES.values() if row.spark}

FROM_DUCKDB = _back(DUCKDB_NAMES) | {
    "TIME WITH TIME ZONE": "timetz",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
FROM_ARROW = _back(ARROW_NAMES)
FROM_SPARK = _back(SPARK_NAMES)
FROM_DELTA = _back(DELTA_NAMES)

BITS = {row.name: row.bits for row in TYPES.values() if row.bits is not None}
FRACTION_DIGITS = {row.name: row.digits for row in TYPES.values() if row.digits is not None}

SIGNED = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
INTEGERS = SIGNED | UNSIGNED
WIDE_INTEGERS = frozenset({"int128", "uint128"})
"""Parquet has no such integers: DuckDB stores them as doubles."""
FLOATS = frozenset({"float32", "float64"})
TIMESTAMPS = frozenset(FRACTION_DIGITS) - {"date", "time", "time_ns"}

_DAY = 86_400 * 10**9
TICKS = {name: 10 ** (9 - FRACTION_DIGITS[name]) for name in TIMESTAMPS} | {"date": _DAY}
"""What moments count in, in nanoseconds."""
