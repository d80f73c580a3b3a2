"""Deletion vectors: positions deleted from a data file, as one Roaring bitmap.

The file is a bare `deletion-vector-v1` blob: big-endian length of what follows up to the
checksum, the magic number, a little-endian count of bitmaps, then for each a 32-bit key
(the high half of the positions) and a portable 32-bit Roaring bitmap; last a CRC-32.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from tidelake.errors import Corrupt
from tidelake.model.tuning import Tuning

_MOST = Tuning().most_positions
_MAGIC = bytes.fromhex("d1d33964")


def positions(blob: bytes, path: str) -> list[int]:
    """The deleted positions in a blob read from `path`."""
    from pyroaring import BitMap

    body = blob[4:-4]
    if len(blob) < 20 or body[:4] != _MAGIC or struct.unpack(">I", blob[:4])[0] != len(body):
        raise Corrupt(f"{path} is not a deletion vector", hint="restore the file from a copy")
    if struct.unpack(">I", blob[-4:])[0] != zlib.crc32(body):
        raise Corrupt(f"{path}: wrong checksum", hint="restore the file from a copy")
    found: list[int] = []
    offset = 12
    for _ in range(struct.unpack("<Q", body[4:12])[0]):
        if len(body) < offset + 8:
            raise Corrupt(f"{path} ends too early", hint="restore the file from a copy")
        key = struct.unpack("<I", body[offset : offset + 4])[0]
        bitmap = read_bitmap(BitMap, body[offset + 4 :], path, len(found))
        offset += 4 + len(bitmap.serialize())
        found += [key << 32 | low for low in bitmap]
    return found


def read_bitmap(kind: Any, data: bytes, where: str, before: int = 0) -> Any:
    """A Roaring bitmap, whoever wrote it. A few bytes can claim billions of positions: Corrupt if,
    with those that came before, they are more than are read."""
    try:
        found = kind.deserialize(data)
        count = before + len(found)
    except (ValueError, OSError, MemoryError, OverflowError):
        raise Corrupt(f"{where} has no readable bitmap", hint="restore it from a copy") from None
    if count > _MOST:
        raise Corrupt(
            f"{where} names {count:,} rows, more than the {_MOST:,} that one vector may",
            hint="restore it from a copy",
        )
    return found
