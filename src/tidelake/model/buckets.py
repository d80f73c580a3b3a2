"""Sets of buckets as 64-bit Roaring bitmaps, in the portable format where they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyroaring import BitMap64

from tidelake.errors import Corrupt
from tidelake.model.piece import Piece

Buckets = BitMap64
LARGEST_PIECE = 1 << 20
"""Bytes that one bitmap may have where it is kept: what is larger comes in several pieces."""
_LAST = (1 << 64) - 1


def unpacked(data: bytes) -> Buckets:
    try:
        return Buckets.deserialize(data)
    except (ValueError, OSError, MemoryError) as error:
        raise Corrupt(
            f"a bitmap of coverage cannot be read: {error}", hint="t.recompute_coverage()"
        ) from None


def union(bitmaps: Iterable[Buckets]) -> Buckets:
    found = Buckets()
    for bitmap in bitmaps:
        found |= bitmap
    return found


def within(buckets: Buckets, first: int, end: int) -> Buckets:
    """Those from one id on and before another."""
    if not buckets or first >= end:
        return Buckets()
    if first <= buckets.min() and buckets.max() < end:
        return buckets
    kept = Buckets()
    kept.add_range(first, end)
    return kept & buckets


def runs(buckets: Buckets) -> list[tuple[int, int]]:
    """Stretches of ids that follow each other: the first of each, and the one after its last."""
    if not buckets:
        return []
    after = buckets.shift(1)
    ends = list(after - buckets)
    if buckets.max() == _LAST:
        ends.append(_LAST + 1)
    return list(zip(buckets - after, ends, strict=True))


def by_entity(found: Iterable[Piece]) -> dict[str, Buckets]:
    """All buckets of every entity."""
    together: dict[str, Buckets] = {}
    for piece in found:
        buckets = unpacked(piece.buckets)
        if (known := together.get(piece.entity)) is None:
            together[piece.entity] = buckets
        else:
            known |= buckets
    return together


def united(found: Iterable[Piece]) -> tuple[Piece, ...]:
    """The same buckets in as few pieces as they go into. Requires pieces that hold for ever."""
    together = by_entity(found)
    return tuple(piece for entity, ids in together.items() for piece in pieces(entity, ids))


def pieces(
    entity: str, buckets: Buckets, begin: int | None = None, end: int | None = None
) -> Iterator[Piece]:
    """The buckets of an entity as they are kept."""
    buckets.run_optimize()
    data = buckets.serialize()
    if len(data) <= LARGEST_PIECE or len(buckets) < 2:
        yield Piece(entity, data, buckets.min(), buckets.max(), len(buckets), begin, end)
        return
    middle = buckets[len(buckets) // 2]
    yield from pieces(entity, within(buckets, 0, middle), begin, end)
    yield from pieces(entity, within(buckets, middle, _LAST + 1), begin, end)
