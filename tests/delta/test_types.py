"""Every type that Delta can express, at its bounds: readers find all rows, whatever they ask."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

import tidelake
from tests.cases import every
from tests.delta.readers import Readers, delta_rs
from tidelake.testing import canonical

MOMENTS = [
    datetime(1582, 10, 4, 1, 2, 3, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2024, 2, 29, 12, 30, 15, 123999),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
]
LONG = "é" * 40
TEXTS = ["", "a", "a" * 32, "a" * 33, "\U0010ffff" * 40, LONG + "a", LONG + "b", "q'\"\\\n"]
SCALARS: dict[str, list[Any]] = {
    "BOOLEAN": [False, True],
    "TINYINT": [-128, 0, 127],
    "SMALLINT": [-(2**15), 2**15 - 1],
    "INTEGER": [-(2**31), 0, 2**31 - 1],
    "BIGINT": [-(2**63), -(2**53) - 1, 2**53 + 1, 2**63 - 1],
    "UTINYINT": [0, 255],
    "USMALLINT": [0, 2**16 - 1],
    "UINTEGER": [0, 2**32 - 1],
    "UBIGINT": [0, 2**63, 2**64 - 1],
    "FLOAT": [-math.inf, -1.5, -0.0, 0.0, 0.10000000149011612, 3.4028234663852886e38, math.nan],
    "DOUBLE": [-math.inf, -1e308, -5e-324, -0.0, 0.0, 0.1, 1e16, math.inf, math.nan],
    "DECIMAL(9,2)": [Decimal("-9999999.99"), Decimal("0.00"), Decimal("9999999.99")],
    "DECIMAL(18,4)": [Decimal("-99999999999999.9999"), Decimal("0.0001")],
    "DECIMAL(38,10)": [
        Decimal("-9999999999999999999999999999.9999999999"),
        Decimal("9999999999999999999999999999.9999999999"),
    ],
    "DECIMAL(38,0)": [Decimal("-" + "9" * 38), Decimal("9" * 38)],
    "VARCHAR": TEXTS,
    "BLOB": [b"", b"\x00\xff", b"z" * 40],
    "DATE": [date(1, 1, 1), date(1582, 10, 15), date(1970, 1, 1), date(9999, 12, 31)],
    "TIMESTAMP": MOMENTS,
    "TIMESTAMPTZ": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
    "TIMESTAMP_S": [moment.replace(microsecond=0) for moment in MOMENTS],
    "TIMESTAMP_MS": [moment.replace(microsecond=123000) for moment in MOMENTS],
}
NESTED: dict[str, list[Any]] = {
    "INTEGER[]": [[], [1, None, 3]],
    "STRUCT(a BIGINT, b STRUCT(c VARCHAR, d TIMESTAMP))": [
        {"a": 1, "b": {"c": "x", "d": MOMENTS[3]}},
        {"a": None, "b": None},
    ],
    "MAP(VARCHAR, DECIMAL(9,2))": [[("k", Decimal("1.50"))], []],
    "STRUCT(x DOUBLE)[]": [[{"x": math.nan}, None], [{"x": -0.0}]],
}


@pytest.mark.parametrize("kind", every(2, [*SCALARS, *NESTED]))
def test_readers_get_every_value(lake: tidelake.Lake, readers: Readers, kind: str) -> None:
    table = lake.create_table("t", f"k BIGINT, v {kind}")
    lake.mirror("t")
    values = [*(SCALARS | NESTED)[kind], None]
    for number, value in enumerate(values):
        table.append([{"k": number, "v": value}])
    table.append([{"k": 100 + number, "v": value} for number, value in enumerate(values)])
    wanted = canonical.rows(table.to_arrow())
    for name, (columns, rows) in readers.read(table.info.path).items():
        assert columns == ["k", "v"], name
        assert rows == wanted, name


_SIGNS = ("=", "<", "<=", ">", ">=")
_RUST = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


def _literals(kind: str, value: Any) -> tuple[str, str] | None:
    """A value in the SQL of DataFusion and of DuckDB, as a column has it that Delta calls so."""
    if kind in _RUST or kind == "UBIGINT":
        return str(value), str(value)
    if kind.startswith("DECIMAL"):
        precise = f"CAST('{value}' AS {kind})"
        return precise, precise
    if kind in ("FLOAT", "DOUBLE"):
        word = str(value) if math.isfinite(value) else f"{value}".replace("inf", "infinity")
        return f"CAST('{word}' AS DOUBLE)", f"CAST('{value}' AS DOUBLE)"
    if kind == "VARCHAR":
        text = "'" + value.replace("'", "''") + "'"
        return text, text
    if kind == "DATE":
        return f"DATE '{value:%Y-%m-%d}'".replace("'1-", "'0001-"), f"DATE '{value}'"
    if kind.startswith("TIMESTAMP"):
        text = value.replace(tzinfo=None).isoformat()
        zoned = kind == "TIMESTAMPTZ"
        rust = (
            f"arrow_cast('{text}{'Z' if zoned else ''}', 'Timestamp(Microsecond, {_zone(zoned)})')"
        )
        return rust, f"CAST('{text}{'+00' if zoned else ''}' AS TIMESTAMP{'TZ' if zoned else ''})"
    return None


def _zone(zoned: bool) -> str:
    return 'Some("UTC")' if zoned else "None"


def _meets(sign: str, one: Any, other: Any) -> bool:
    return bool({"=": one == other, "<": one < other, ">": one > other}.get(sign[0], False)) or (
        sign in ("<=", ">=") and one == other
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", every(3, [kind for kind in SCALARS if kind not in ("BLOB", "BOOLEAN")])
)
def test_no_row_is_lost_by_statistics(lake: tidelake.Lake, readers: Readers, kind: str) -> None:
    """Each value is in a file of its own, so that its bounds are just that value."""
    table = lake.create_table("t", f"k BIGINT, v {kind}")
    lake.mirror("t")
    values = [value for value in SCALARS[kind] if value == value]
    with lake.transaction() as tx:
        for number, value in enumerate(values):
            tx.table("t").append([{"k": number, "v": value}])
            tx.table("t").append([{"k": 100 + number, "v": None}])
    table.append([{"k": 200 + number, "v": value} for number, value in enumerate(values)])
    table.delete("k = 200")
    root = table.info.path
    for value in values:
        literals = _literals(kind, value)
        assert literals is not None
        for sign in _SIGNS:
            keys = [n for n, one in enumerate(values) if _meets(sign, one, value)]
            wanted = sorted(keys + [200 + key for key in keys if key])
            rust = delta_rs(root, where=f"v {sign} {literals[0]}")
            duck = readers.duckdb(root, where=f"v {sign} {literals[1]}")
            assert sorted(rust["k"].to_pylist()) == wanted, (sign, value, "delta-rs")
            assert sorted(duck["k"].to_pylist()) == wanted, (sign, value, "duckdb")
    nulls = sorted(100 + number for number in range(len(values)))
    for found in (delta_rs(root, where="v IS NULL"), readers.duckdb(root, where="v IS NULL")):
        assert sorted(found["k"].to_pylist()) == nulls


@pytest.mark.parametrize("kind", ["TIME", "TIMESTAMP_NS", "INTERVAL", "HUGEINT", "TIME[]"])
def test_what_delta_cannot_express_blocks_until_it_is_gone(
    lake: tidelake.Lake, readers: Readers, kind: str
) -> None:
    table = lake.create_table("t", "k BIGINT")
    mirror = lake.mirror("t")
    table.append([{"k": 1}])
    table.evolve(add={"v": kind})
    table.append([{"k": 2}])
    assert mirror.state.status == "blocked"
    assert (mirror.state.reason or "").startswith("v ")
    assert all(rows == [(1,)] for _, rows in readers.read(table.info.path).values())
    table.evolve(drop=["v"])
    assert mirror.state.status == "active"
    assert all(rows == [(1,), (2,)] for _, rows in readers.read(table.info.path).values())
