"""The state as of a moment in several tasks is the state: every key once, whoever decides."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition

import tidelake
from tests.spark.caller import pieces_of, sent
from tidelake.engine.spark.arrow_reader import nullable
from tidelake.errors import Unsupported
from tidelake.spark.pieces import PieceReader, ScanPiece, StatePiece, state_pieces
from tidelake.testing import canonical
from tidelake.testing.place import Place

MOMENTS = ("2023-12-31", "2024-01-02", "2024-01-09")
KEYS: dict[str, Sequence[Any]] = {
    "VARCHAR": ("a", "b", "ä", "", "a rather long one, as texts go", "c", "d"),
    "BIGINT": (0, 1, -1, 2**62, -(2**63), 8, 16),
    "DOUBLE": (0.0, -0.0, float("nan"), 1.5, -2.5, float("inf"), 1e300),
}


def rows_of(table: tidelake.Table, pieces: Sequence[InputPartition]) -> list[Any]:
    """What tasks read, one after the other."""
    columns = table.schema.columns
    reader = PieceReader(
        table.source.session.local, nullable(columns), tuple(c.name for c in columns)
    )
    found = [batch for piece in pieces for batch in reader.batches(sent(piece))]
    return canonical.rows(pa.Table.from_batches(found)) if found else []


def fill(lake: tidelake.Lake, kind: str, seed: int) -> tidelake.Table:
    """Facts that tie, come late, are corrected, deleted and ended; in files and in the catalog."""
    dice = random.Random(seed)
    table = lake.create_table(
        f"t{seed}",
        {"k": kind, "n": "INTEGER", "ts": "TIMESTAMP", "gone": "BOOLEAN", "v": "INTEGER"},
        key=["k", "n"],
        event_time="ts",
        tombstone="gone",
    )
    for number in range(6):
        table.append(
            [
                {
                    "k": dice.choice(KEYS[kind]),
                    "n": dice.randrange(3),
                    "ts": f"2024-01-0{dice.randrange(1, 9)}",
                    "gone": dice.random() < 0.2,
                    "v": dice.randrange(1000),
                }
                for _ in range(dice.choice((3, 60)))
            ]
        )
        if number == 3:
            table.delete("v % 7 = 0")
            table.rollup(as_of="2024-01-05")
    return table


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
def test_all_shares_together_are_the_state(lake: tidelake.Lake, kind: str) -> None:
    table = fill(lake, kind, len(kind))
    for moment in MOMENTS:
        then = table.as_of(moment)
        wanted = then.to_arrow()
        for where in (None, "v % 2 = 0 AND n = 1"):
            plan = then.scan(where=where).plan()
            pieces = state_pieces(plan, share=1)
            assert len(pieces) == (1 if not any(part.files for part in plan.parts) else 4)
            found = rows_of(table, pieces)
            assert found == canonical.rows(then.scan(where=where).to_arrow()), (moment, where)
        assert len(wanted) or moment < "2024"


def test_small_states_are_one_task(place: Place) -> None:
    with place.open() as lake:
        fill(lake, "VARCHAR", 1)
    (piece,) = pieces_of(catalog=place.url, path="t1", as_of="2024-01-09")
    assert isinstance(piece, ScanPiece)


def test_an_executor_with_another_duckdb_is_refused(lake: tidelake.Lake) -> None:
    """It might not find the same keys in its share."""
    table = fill(lake, "BIGINT", 2)
    pieces = state_pieces(table.as_of("2024-01-09").scan().plan(), share=1)
    assert isinstance(pieces[0], StatePiece)
    with pytest.raises(Unsupported, match=r"duckdb .*, and 0\.1 on the driver"):
        rows_of(table, [replace(pieces[0], version="0.1")])
