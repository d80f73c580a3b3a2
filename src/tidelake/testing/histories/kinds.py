"""Column types for random tables: their names, their Arrow forms, and values worth trying.

A kind is a word of DuckDB's SQL for a scalar, or a tuple: ("list", kind),
("struct", ((name, kind), …)), ("map", kind, kind).
"""

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Kind = str | tuple[Any, ...]

_TEXTS = ("", "a", "b'c", 'q"q', "NULL", "é∂", "zz", "a,b", "{x: 1}", " pad ", "\\n", "Ω" * 20)
_MOMENTS = (
    datetime(1969, 12, 31, 23, 59, 59),
    datetime(1970, 1, 1),
    datetime(2024, 2, 29, 12, 30, 15),
    datetime(2024, 3, 1),
    datetime(1900, 1, 1, 1, 1, 1),
)
_FRACTIONS = (*_MOMENTS, datetime(2024, 2, 29, 12, 30, 15, 250), datetime(1582, 1, 1, 0, 0, 0, 1))

SCALARS: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "BOOLEAN": (pa.bool_(), (True, False)),
    "TINYINT": (pa.int8(), (-128, -1, 0, 1, 127)),
    "SMALLINT": (pa.int16(), (-32768, -5, 0, 9, 10, 32767)),
    "INTEGER": (pa.int32(), (-(2**31), -10, -9, 0, 5, 10, 100, 2**31 - 1)),
    "BIGINT": (pa.int64(), (-(2**63), -(2**53) - 1, -2, 0, 7, 70, 2**53 + 1, 2**63 - 1)),
    "UTINYINT": (pa.uint8(), (0, 9, 10, 255)),
    "UINTEGER": (pa.uint32(), (0, 3, 20, 2**32 - 1)),
    "UBIGINT": (pa.uint64(), (0, 8, 80, 2**63, 2**64 - 1)),
    "FLOAT": (pa.float32(), (0.0, 1.5, -2.25, math.nan, math.inf, -math.inf)),
    "DOUBLE": (
        pa.float64(),
        (0.0, 0.1, 1e300, -1e-300, -3.5, 10.0, 9.0, math.nan, math.inf, -math.inf),
    ),
    "DECIMAL(9,2)": (
        pa.decimal128(9, 2),
        tuple(map(Decimal, ("0.00", "-0.01", "9.99", "10.00", "9999999.99", "-123.45"))),
    ),
    "DECIMAL(18,4)": (
        pa.decimal128(18, 4),
        tuple(map(Decimal, ("0.0001", "-5.0000", "12345678901234.5678", "7.0000"))),
    ),
    "DECIMAL(38,10)": (
        pa.decimal128(38, 10),
        tuple(map(Decimal, ("1.0000000001", "-9999999999999999999999999999.9999999999", "2"))),
    ),
    "VARCHAR": (pa.string(), _TEXTS),
    "BLOB": (pa.binary(), (b"", b"\x00", b"\x00\xff'\\", b"abc", b"zz")),
    "DATE": (pa.date32(), (date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(1, 1, 1))),
    "TIME": (pa.time64("us"), (time(0), time(9, 5, 1, 20), time(23, 59, 59, 999999))),
    "TIMESTAMP": (pa.timestamp("us"), _FRACTIONS),
    "TIMESTAMPTZ": (
        pa.timestamp("us", "UTC"),
        tuple(moment.replace(tzinfo=UTC) for moment in _FRACTIONS),
    ),
    "TIMESTAMP_S": (pa.timestamp("s"), _MOMENTS),
    "TIMESTAMP_MS": (pa.timestamp("ms"), _MOMENTS),
    "TIMESTAMP_NS": (pa.timestamp("ns"), _MOMENTS),
    "UUID": (
        pa.string(),
        (
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-4fff-bfff-ffffffffffff",
            "80000000-0000-4000-8000-000000000001",
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        ),
    ),
}
WIDER = {
    "TINYINT": ("SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9,2)"),
    "SMALLINT": ("INTEGER", "BIGINT", "DOUBLE"),
    "INTEGER": ("BIGINT", "DOUBLE", "DECIMAL(18,4)"),
    "BIGINT": ("DECIMAL(38,10)",),
    "UTINYINT": ("UINTEGER", "UBIGINT", "INTEGER"),
    "UINTEGER": ("UBIGINT", "BIGINT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
    "DECIMAL(9,2)": ("DECIMAL(18,4)", "DECIMAL(38,10)"),
    "DECIMAL(18,4)": ("DECIMAL(38,10)",),
    "DATE": ("TIMESTAMP", "TIMESTAMP_S"),
    "TIMESTAMP_S": ("TIMESTAMP_MS", "TIMESTAMP"),
    "TIMESTAMP_MS": ("TIMESTAMP",),
}
STRUCT = ("struct", (("a", "INTEGER"), ("b", "VARCHAR")))
NESTED: tuple[Kind, ...] = (
    ("list", "INTEGER"),
    ("list", "VARCHAR"),
    STRUCT,
    ("struct", (("x", "DOUBLE"), ("l", ("list", "BIGINT")))),
    ("list", STRUCT),
    ("map", "VARCHAR", "INTEGER"),
)


def ddl(kind: Kind) -> str:
    if isinstance(kind, str):
        return kind
    if kind[0] == "list":
        return f"{ddl(kind[1])}[]"
    if kind[0] == "map":
        return f"MAP({ddl(kind[1])}, {ddl(kind[2])})"
    return f"STRUCT({', '.join(f'{name} {ddl(inner)}' for name, inner in kind[1])})"


def arrow(kind: Kind) -> pa.DataType:
    if isinstance(kind, str):
        return SCALARS[kind][0]
    if kind[0] == "list":
        return pa.list_(arrow(kind[1]))
    if kind[0] == "map":
        return pa.map_(arrow(kind[1]), arrow(kind[2]))
    return pa.struct([pa.field(name, arrow(inner)) for name, inner in kind[1]])


def any_value(chance: Random, kind: Kind, nulls: float = 0.2) -> Any:
    if chance.random() < nulls:
        return None
    if isinstance(kind, str):
        return chance.choice(SCALARS[kind][1])
    if kind[0] == "list":
        return [any_value(chance, kind[1]) for _ in range(chance.randint(0, 3))]
    if kind[0] == "map":
        keys = {any_value(chance, kind[1], 0) for _ in range(chance.randint(0, 2))}
        return [(key, any_value(chance, kind[2])) for key in sorted(keys)]
    return {name: any_value(chance, inner) for name, inner in kind[1]}


def literal(kind: Kind, value: Any) -> str:
    """The value in DuckDB's SQL."""
    if value is None:
        return f"CAST(NULL AS {ddl(kind)})"
    if isinstance(kind, str):
        return _scalar_literal(kind, value)
    if kind[0] == "list":
        inner = ", ".join(literal(kind[1], item) for item in value)
        return f"CAST([{inner}] AS {ddl(kind)})"
    if kind[0] == "map":
        pairs = ", ".join(f"{literal(kind[1], k)}: {literal(kind[2], v)}" for k, v in value)
        made = f"MAP {{{pairs}}}" if pairs else "MAP([], [])"
        return f"CAST({made} AS {ddl(kind)})"
    fields = ", ".join(f"'{name}': {literal(inner, value[name])}" for name, inner in kind[1])
    return f"CAST({{{fields}}} AS {ddl(kind)})"


def _scalar_literal(kind: str, value: Any) -> str:
    if kind == "BLOB":
        return f"from_hex('{value.hex()}')"
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return f"CAST('{text.replace(chr(39), chr(39) * 2)}' AS {kind})"


def is_odd(kind: Kind, value: Any, *, inside: bool = False) -> bool:
    """Whether DuckDB, if it keeps the value in the catalog, cannot read it back: what is in a
    struct there goes through an SQL literal that loses quotes, backslashes and infinities."""
    if value is None:
        return False
    if isinstance(kind, str):
        return inside and bool({*str(value)} & {*"'\"\\"} or str(value) in ("inf", "-inf", "nan"))
    if kind[0] == "list":
        return any(is_odd(kind[1], item, inside=inside) for item in value)
    if kind[0] == "map":
        return any(
            is_odd(k, v, inside=inside)
            for pair in value
            for k, v in zip(kind[1:], pair, strict=True)
        )
    return any(is_odd(inner, value[name], inside=True) for name, inner in kind[1])


def widen_value(kind: str, value: Any) -> Any:
    """A value as a column of the wider kind holds it."""
    if value is None:
        return None
    if kind in ("FLOAT", "DOUBLE"):
        return float(value)
    if kind.startswith("DECIMAL"):
        return Decimal(value)
    if kind.startswith("TIMESTAMP") and not isinstance(value, datetime):
        return datetime.combine(value, time(0))
    return value


def order(value: Any) -> Any:
    """What DuckDB sorts and compares a scalar by: NaN above all, and equal to itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value
