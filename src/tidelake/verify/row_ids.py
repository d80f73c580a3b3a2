"""Whose ids two rows bear at once: rows are read in slices, and the slices' ids held together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyroaring import BitMap64

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench

Span = tuple[int, int]
"""From the snapshot at which rows are born to the one at which they die."""
Ids = dict[Span, bytes]
"""The ids of rows by how long they live, each set as a Roaring bitmap."""
Shared = tuple[int, int, int]
"""An id that two rows have, and since and until when both do."""

_AT_ONCE = 10_000


def ids_of(work: Workbench, name: str) -> Ids:
    """The ids in a table of lives (`fingerprint_sql.live`), which mostly follow each other."""
    found: dict[Span, BitMap64] = defaultdict(BitMap64)
    rows = work.connection.execute(
        "SELECT born, died, min(id), max(id) FROM (SELECT born, died, id,"
        " id - dense_rank() OVER (PARTITION BY born, died ORDER BY id) AS run"
        f" FROM {name} WHERE id >= 0) GROUP BY born, died, run"
    )
    while some := rows.fetchmany(_AT_ONCE):
        for born, died, first, last in some:
            found[born, died].add_range(first, last + 1)
    return {span: known.serialize() for span, known in found.items()}


def shared_between(slices: Iterable[Ids]) -> Iterator[Shared]:
    """Ids that rows of different slices, or of different lives, have at the same time."""
    lives = [
        (born, died, BitMap64.deserialize(ids))
        for each in slices
        for (born, died), ids in each.items()
    ]
    lives.sort(key=lambda life: life[:2])
    alive: list[tuple[int, BitMap64]] = []
    there = BitMap64()
    for born, died, ids in lives:
        if any(end <= born for end, _ in alive):
            alive = [(end, known) for end, known in alive if end > born]
            there = BitMap64.union(*(known for _, known in alive)) if alive else BitMap64()
        if common := there & ids:
            for row_id in common:
                until = min(died, max(end for end, known in alive if row_id in known))
                yield row_id, born, until
        alive.append((died, ids))
        there |= ids
