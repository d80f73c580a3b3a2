"""Pieces of many entities in few rows of the catalog.

A page is a node of a binary tree: it has the entities whose CRC-32 begins with its bits. What does
not fit into one goes to the two below it. So who asks for an entity knows in which nodes it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from struct import Struct, error
from typing import NamedTuple
from zlib import crc32

from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_sets import KeptPiece
from tidelake.coverage.values.piece import Piece
from tidelake.errors import Corrupt

LARGEST_PAGE = 1 << 14
"""Bytes of a page that has more than one entity."""
_BITS = 32
_SPAN = Struct("<4q")
"""The first bucket and the last, both by number, how many there are, and how many bytes the bitmap
has: less than none, if it lists what is lacking."""


class Page(NamedTuple):
    """`entities` are texts, one a line; `spans` has 32 bytes for each; `buckets` are their bitmaps,
    one after the other. All hold from one snapshot until another."""

    slot: int
    begin: int
    end: int | None
    entities: str
    spans: bytes
    buckets: bytes


Span = tuple[str, int, int, int, int, int]
"""The entity of a bitmap; the first bucket and the last, both by number, and how many there are;
where it begins among all of the page, and how many bytes it has: less than none, if it lists what
is lacking."""
_Hashed = tuple[int, Piece]


def pages_of(pieces: Iterable[Piece]) -> Iterator[Page]:
    """The same pieces in pages, those that hold at the same snapshots in the same."""
    by_life: dict[tuple[int, int | None], list[_Hashed]] = defaultdict(list)
    for piece in pieces:
        by_life[piece.begin or 0, piece.end].append((crc32(piece.entity.encode()), piece))
    for life, hashed in by_life.items():
        yield from _divided(hashed, life, 0)


def _divided(hashed: list[_Hashed], life: tuple[int, int | None], depth: int) -> Iterator[Page]:
    """Requires hashes of which so many bits are the same."""
    size = sum(len(piece.entity) + _SPAN.size + len(piece.buckets) for _, piece in hashed)
    if size <= LARGEST_PAGE or len(hashed) == 1 or depth == _BITS:
        slot = slots_of(hashed[0][0], depth)[-1]
        yield _page(slot, life, [piece for _, piece in hashed])
        return
    bit = 1 << (_BITS - 1 - depth)
    for side in (0, bit):
        if some := [each for each in hashed if each[0] & bit == side]:
            yield from _divided(some, life, depth + 1)


def _page(slot: int, life: tuple[int, int | None], pieces: Sequence[Piece]) -> Page:
    spans = [
        _SPAN.pack(first - SIGN, last - SIGN, count, -len(buckets) if lacking else len(buckets))
        for _, buckets, first, last, count, _, _, lacking in pieces
    ]
    return Page(
        slot,
        *life,
        "\n".join([piece.entity for piece in pieces]),
        b"".join(spans),
        b"".join([piece.buckets for piece in pieces]),
    )


def slots_of(hashed: int, deepest: int) -> list[int]:
    """The nodes that may have what has this hash, from the uppermost down: a one, and behind it as
    many bits of the hash as the node is deep."""
    return [1 << depth | hashed >> (_BITS - depth) for depth in range(deepest + 1)]


def slots_of_entities(entities: Iterable[str], largest: int) -> set[int]:
    """Nodes that may have these entities, where none has a larger number."""
    deepest = max(largest.bit_length() - 1, 0)
    hashes = {crc32(entity.encode()) for entity in entities}
    return {slot for each in hashes for slot in slots_of(each, deepest)}


def kept_pieces(
    file_id: int,
    page: tuple[str, bytes, bytes],
    wanted: Collection[str] | None = None,
) -> Iterator[KeptPiece]:
    """What is in a page of a file, or what is in it of some entities."""
    buckets = page[2]
    for text, first, last, count, at, size in spans_in(file_id, page):
        if wanted is None or text in wanted:
            yield file_id, text, first, last, count, buckets[at : at + abs(size)], size < 0


def spans_in(file_id: int, page: tuple[str, bytes, bytes]) -> Iterator[Span]:
    """What a page of a file says of each of its bitmaps."""
    entities, spans, buckets = page
    texts = entities.split("\n")
    at = 0
    try:
        for text, (first, last, count, size) in zip(texts, _SPAN.iter_unpack(spans), strict=True):
            yield text, first, last, count, at, size
            at += abs(size)
    except (ValueError, error):
        raise _damaged(file_id) from None
    if at != len(buckets):
        raise _damaged(file_id)


def pieces_in(
    file_id: int,
    life: tuple[int, int | None],
    page: tuple[str, bytes, bytes],
    wanted: Collection[str] | None = None,
) -> Iterator[Piece]:
    """The same as pieces, with the snapshots at which they hold."""
    for _, text, first, last, count, data, lacking in kept_pieces(file_id, page, wanted):
        yield Piece(text, data, first + SIGN, last + SIGN, count, *life, lacking)


def _damaged(file_id: int) -> Corrupt:
    return Corrupt(
        f"a page of coverage of file {file_id} cannot be read", hint="t.recompute_coverage()"
    )
