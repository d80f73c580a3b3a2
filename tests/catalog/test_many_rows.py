"""Many rows at once go into a catalog as few do, whatever they hold."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from uuid import UUID

import pytest

from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database

MANY = 10_017
COLUMNS = {
    "n": ("BIGINT", [0, -(2**63), 2**63 - 1, None]),
    "big": ("HUGEINT", [1, 2**100, -(2**100)]),
    "t": ("VARCHAR", ["", "é'\"\\", "12", None, "x" * 5000]),
    "b": ("BLOB", [b"", bytes(range(256)), None]),
    "f": ("BOOLEAN", [True, False, None]),
    "nothing": ("BIGINT", [None]),
    "d": ("DECIMAL(9, 3)", [Decimal("1.5"), Decimal("2.125"), None]),
    "u": ("UUID", [UUID(int=7), None]),
    "z": ("TIMESTAMP WITH TIME ZONE", [datetime(2024, 1, 1, tzinfo=UTC), None]),
    "l": ("VARCHAR[]", [["a", None], [], None]),
}
PLAIN = ("n", "big", "t", "b", "f", "nothing")


@pytest.mark.parametrize("names", [PLAIN, tuple(COLUMNS)], ids=["plain", "all"])
def test_many_rows_in_duckdb(tmp_path, names):
    database = Database(parse_url(f"duckdb:///{tmp_path}/c.db"))
    rows = [tuple(_of(name, n) for name in names) for n in range(MANY)]
    with database.writing() as writer:
        kinds = ", ".join(f"{name} {COLUMNS[name][0]}" for name in names)
        writer.execute(f"CREATE TABLE t (place BIGINT, {kinds})")
        writer.insert_values("t", ("place", *names), [(n, *row) for n, row in enumerate(rows)])
    with database.reading() as reader:
        found = reader.rows(f"SELECT {', '.join(names)} FROM t ORDER BY place")
    assert found == rows
    database.close()


def _of(name: str, n: int) -> object:
    values = COLUMNS[name][1]
    return values[n % len(values)]


class Number(IntEnum):
    TWO = 2


SHARED: dict[str, list[object]] = {
    "null": [None],
    "one": [1],
    "least": [-(2**63)],
    "yes": [True],
    "half": [0.5],
    "zero": [0.0, -0.0],
    "text": ["'?; --\0é"],
    "bytes": [b"\0?"],
    "alike": [1, True, 1.0],
    "named": [Number.TWO],
    "last": [7] * (MANY - 1) + [None],
    "other": [7, 8],
}


@pytest.mark.parametrize("names", [("null", "one"), tuple(SHARED)], ids=["alike", "all"])
def test_many_rows_in_sqlite_that_share_values(tmp_path, names):
    """What all rows share is part of the statement: it must be what each by itself would be."""
    database = Database(parse_url(f"sqlite:///{tmp_path}/c.db"))
    rows = [tuple(SHARED[name][n % len(SHARED[name])] for name in names) for n in range(MANY)]
    with database.writing() as writer:
        for table in ("few", "many"):
            columns = ", ".join(
                f'"{name}" {kind}' for name in names for kind in [_KINDS.get(name, "")]
            )
            writer.execute(f"CREATE TABLE {table} ({columns})")
        for start in range(0, MANY, 7):
            writer.insert_values("few", names, rows[start : start + 7])
        writer.insert_values("many", names, rows)
    with database.reading() as reader:
        told = ", ".join(f'"{name}", typeof("{name}"), hex("{name}")' for name in names)
        few, many = (reader.rows(f"SELECT {told} FROM {t} ORDER BY rowid") for t in ("few", "many"))
    assert len(many) == MANY
    assert list(map(repr, few)) == list(map(repr, many))
    database.close()


def test_a_number_that_sqlite_does_not_have_is_refused_however_many_rows_have_it(tmp_path):
    database = Database(parse_url(f"sqlite:///{tmp_path}/c.db"))
    with pytest.raises(OverflowError):
        _insert(database, "CREATE TABLE t (n BIGINT)", [(2**64,)] * 9_000)
    database.close()


def _insert(database: Database, table: str, rows: list[tuple[int]]) -> None:
    with database.writing() as writer:
        writer.execute(table)
        writer.insert_values("t", ("n",), rows)


_KINDS = {"one": "VARCHAR", "alike": "VARCHAR"}
