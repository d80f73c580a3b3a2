"""A table of facts to roll up, and that its rollups change no answer."""

from datetime import datetime
from typing import Any

import pytest

import tidelake
from tidelake.testing.faces import lake_of

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]
DAYS = ["2024-03-01", "2024-04-15"]


def fact(key: int, day: str, value: int | None, *, gone: bool = False) -> dict[str, Any]:
    return {"id": key, "ts": datetime.fromisoformat(day), "v": value, "gone": gone}


def month(number: int, keys: int = 20) -> list[dict[str, Any]]:
    return [
        fact(key, f"2024-{number:02d}-{key + 1:02d}", 100 * number + key) for key in range(keys)
    ]


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    """Three months of facts, a file each."""
    table = lake.create_table(
        "facts",
        "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN",
        key=["id"],
        event_time="ts",
        tombstone="gone",
    )
    for number in (1, 2, 3):
        table.append(month(number))
    return table


def state(table: tidelake.Table, day: str, known_at: int | None = None) -> list[Any]:
    rows = table.scan(as_of=day, known_at=known_at).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def used(table: tidelake.Table, day: str, known_at: int | None = None) -> str | None:
    """The moment of the rollup that a read begins with."""
    rollup = table.scan(as_of=day, known_at=known_at).explain().rollup
    return None if rollup is None else str(rollup)[len("as of ") :][:10]


def check(table: tidelake.Table) -> None:
    """Without its rollups, the table answers the same at the last few snapshots."""
    ids = [s.snapshot_id for s in lake_of(table).snapshots()][-3:]
    first = table.snapshots()[0].snapshot_id
    grid = [(day, at) for day in DAYS for at in ids if at >= first]
    before = {place: state(table, *place) for place in grid}
    table.drop_rollups()
    assert {place: state(table, *place) for place in grid} == before


def head(table: tidelake.Table) -> int:
    return lake_of(table).snapshots()[-1].snapshot_id
