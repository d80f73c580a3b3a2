"""Sets of buckets as 64-bit Roaring bitmaps, in the portable format where they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyroaring import BitMap64

from tidelake.coverage.values.piece import Piece
from tidelake.errors import Corrupt, Invalid

Buckets = BitMap64
Bounds = tuple[list[int], list[int]]
"""Stretches in order: the first id of each, and the one after its last."""
LARGEST_PIECE = 1 << 20
"""Bytes that one bitmap may have where it is kept: what is larger comes in several pieces."""
MOST = 1 << 36
"""Buckets in a row that a bitmap is made of on purpose: as many milliseconds as two years have."""
_LAST = (1 << 64) - 1


def unpack(data: bytes) -> Buckets:
    try:
        return Buckets.deserialize(data)
    except (ValueError, OSError, MemoryError) as error:
        raise Corrupt(
            f"a bitmap of coverage cannot be read: {error}", hint="t.recompute_coverage()"
        ) from None


def ids_of(data: bytes, first: int, last: int, *, lacking: bool) -> Buckets:
    """The ids that a piece covers, as `Piece` says."""
    if data and not lacking:
        return unpack(data)
    if not 0 <= last - first < 2 * MOST:
        raise Corrupt(
            f"coverage is kept of buckets from {first} to {last}", hint="t.recompute_coverage()"
        )
    found = _all(first, last)
    if data:
        found -= unpack(data)
    return found


def _all(first: int, last: int) -> Buckets:
    found = Buckets()
    found.add_range(first, min(last + 1, _LAST))
    if last == _LAST:
        found.add(last)
    return found


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
    kept = buckets.copy()
    kept.remove_range(0, first)
    if end <= _LAST:
        kept.remove_range(end, _LAST)
        kept.discard(_LAST)
    return kept


class Stretches:
    """Buckets put together of stretches; Invalid when that would take for ever."""

    def __init__(self) -> None:
        self.buckets = Buckets()
        self._many = 0

    def add(self, first: int, end: int) -> None:
        """All from one id on and before another, of which there is at least one."""
        self._many += end - first
        if self._many > MOST:
            raise Invalid(
                f"more than {MOST:,} buckets are too many to be listed",
                hint="ask about a shorter range, or declare wider buckets",
            )
        self.buckets.add_range(first, end - 1)
        self.buckets.add(end - 1)


def runs(buckets: Buckets) -> list[tuple[int, int]]:
    """Stretches of ids that follow each other: the first of each, and the one after its last."""
    return list(zip(*bounds(buckets), strict=True))


def bounds(buckets: Buckets) -> Bounds:
    """Where these stretches begin, and where they have ended."""
    if not buckets:
        return [], []
    after = buckets.shift(1)
    ends = (after - buckets).to_array().tolist()
    if buckets.max() == _LAST:
        ends.append(_LAST + 1)
    return (buckets - after).to_array().tolist(), ends


def count_runs(buckets: Buckets) -> int:
    """How many such stretches there are."""
    return int(buckets.difference_cardinality(buckets.shift(1)))


def last_window(covered: Buckets, expected: Buckets | None, count: int) -> tuple[int, int] | None:
    """The last place where so many buckets are covered one after the other, or one expected one
    after the other. Requires that what is covered is expected."""
    if expected is None:
        starts = _starts(covered, count)
        return (starts.max(), starts.max() + count) if starts else None
    end = len(covered)
    for first, _ in reversed(runs(expected - covered)):
        begin = covered.rank(first)
        if end - begin >= count:
            break
        end = begin
    return (covered[end - count], covered[end - 1] + 1) if end >= count else None


def _starts(buckets: Buckets, count: int) -> Buckets:
    """Those that are followed by so many, with themselves."""
    width = 1
    while width < count and buckets:
        step = min(width, count - width)
        buckets = buckets & buckets.shift(-step)
        width += step
    return buckets


def by_entity(found: Iterable[Piece]) -> dict[str, Buckets]:
    """All buckets of every entity."""
    together: dict[str, Buckets] = {}
    for piece in found:
        ids = ids_of(piece.buckets, piece.first, piece.last, lacking=piece.lacking)
        if (known := together.get(piece.entity)) is None:
            together[piece.entity] = ids
        else:
            known |= ids
    return together


def unite(found: Iterable[Piece]) -> tuple[Piece, ...]:
    """The same buckets in as few pieces as they go into. Requires pieces that hold for ever."""
    together = by_entity(found)
    return tuple(piece for entity, ids in together.items() for piece in pieces(entity, ids))


def pieces(
    entity: str, buckets: Buckets, begin: int | None = None, end: int | None = None
) -> Iterator[Piece]:
    """The buckets of an entity in as few bytes as they go into. Requires that there are some."""
    first, last, count = buckets.min(), buckets.max(), len(buckets)
    lacking = last - first + 1 - count
    if lacking < count <= MOST:
        data = _packed(_all(first, last) - buckets) if lacking else b""
        if len(data) <= LARGEST_PIECE:
            yield Piece(entity, data, first, last, count, begin, end, lacking > 0)
            return
    yield from listed_pieces(entity, buckets, begin, end)


def listed_pieces(
    entity: str, buckets: Buckets, begin: int | None = None, end: int | None = None
) -> Iterator[Piece]:
    """The same with the ids that are covered."""
    data = _packed(buckets)
    if len(data) <= LARGEST_PIECE or len(buckets) < 2:
        yield Piece(entity, data, buckets.min(), buckets.max(), len(buckets), begin, end)
        return
    middle = buckets[len(buckets) // 2]
    yield from listed_pieces(entity, within(buckets, 0, middle), begin, end)
    yield from listed_pieces(entity, within(buckets, middle, _LAST + 1), begin, end)


def as_listed(piece: Piece) -> Iterator[Piece]:
    """A piece, or pieces, of which each bitmap lists the ids that are covered."""
    if piece.buckets and not piece.lacking:
        yield piece
    else:
        ids = ids_of(piece.buckets, piece.first, piece.last, lacking=piece.lacking)
        yield from listed_pieces(piece.entity, ids, piece.begin, piece.end)


def _packed(buckets: Buckets) -> bytes:
    buckets.run_optimize()
    return buckets.serialize()
