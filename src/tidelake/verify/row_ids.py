"""Whose ids two rows bear at once: rows are read in slices, and the slices' ids held together."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyroaring import BitMap64

from tidelake.duck import arrow_source

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelake.engine.local.workbench import Workbench

Span = tuple[int, int]
"""From the snapshot at which rows are born to the one at which they die."""
Ids = dict[Span, bytes]
"""The ids of rows by how long they live, each set as a Roaring bitmap."""
Shared = tuple[int, int, int]
"""An id that two rows have, and since and until when both do."""

_AT_ONCE = 500_000


def ids_of(work: Workbench, name: str) -> tuple[Ids, bool]:
    """The ids in a relation of lives (`fingerprint_sql.live`), and whether one of them is there
    twice in the same life. They go by as they lie, some at a time: files have many."""
    found: dict[Span, BitMap64] = defaultdict(BitMap64)
    counts: Counter[Span] = Counter()
    live = f"SELECT born, died, id::BIGINT AS id FROM {name} WHERE id >= 0"
    rows = arrow_source(work.connection, live)
    for batch in rows.to_arrow_reader(_AT_ONCE):
        for span, ids in _by_span(batch):
            counts[span] += len(ids)
            found[span].update(ids)
    for known in found.values():
        known.run_optimize()
    repeats = any(len(known) < counts[span] for span, known in found.items())
    return {span: known.serialize() for span, known in found.items()}, repeats


def _by_span(batch: pa.RecordBatch) -> Iterator[tuple[Span, array[int]]]:
    import pyarrow as pa

    grouped = pa.Table.from_batches([batch]).group_by(["born", "died"], use_threads=False)
    table = grouped.aggregate([("id", "list")])
    spans = zip(table["born"].to_pylist(), table["died"].to_pylist(), strict=True)
    for span, some in zip(spans, table["id_list"], strict=True):
        values = some.values
        ids = array("Q")
        ids.frombytes(values.buffers()[1][8 * values.offset : 8 * (values.offset + len(values))])
        yield span, ids


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
