"""Many rows at once go into a catalog as few do, whatever they hold."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database

MANY = 1000
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
