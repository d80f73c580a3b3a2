"""Deletion vectors: positions deleted from a data file, as one Roaring bitmap.

The file is a bare `deletion-vector-v1` blob: big-endian length of what follows up to the
checksum, the magic number, a little-endian count of bitmaps, then for each a 32-bit key
(the high half of the positions) and a portable 32-bit Roaring bitmap; last a CRC-32.
"""

from __future__ import annotations

import struct
import zlib

from tidelake.errors import Corrupt

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
        key = struct.unpack("<I", body[offset : offset + 4])[0]
        bitmap = BitMap.deserialize(body[offset + 4 :])
        offset += 4 + len(bitmap.serialize())
        found += [key << 32 | low for low in bitmap]
    return found
