"""Positions of rows as 64-bit Roaring bitmaps, in the portable format."""

from __future__ import annotations

from collections.abc import Iterable

from tidelake.errors import Corrupt


def packed_positions(positions: Iterable[int]) -> tuple[int, bytes]:
    """How many they are, and their bitmap."""
    from pyroaring import BitMap64

    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return len(bitmap), bitmap.serialize()


def unpacked_positions(data: bytes, where: str) -> list[int]:
    from pyroaring import BitMap64

    try:
        return list(BitMap64.deserialize(data))
    except (ValueError, OSError, MemoryError):
        raise Corrupt(f"{where} has no readable bitmap", hint="restore it from a copy") from None
