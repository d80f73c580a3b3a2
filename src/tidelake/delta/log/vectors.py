"""Deletion vectors in Delta's form: Roaring bitmaps of positions, in files or in the log itself.

Positions of rows as 64-bit Roaring bitmaps, in the portable format.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from uuid import UUID

from tidelake.delta.log.names import locate
from tidelake.delta.values.actions import Vector
from tidelake.engine.parquet.puffin import read_bitmap
from tidelake.errors import Corrupt, Unsupported


def packed_positions(positions: Iterable[int]) -> tuple[int, bytes]:
    """How many they are, and their bitmap."""
    from pyroaring import BitMap64

    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return len(bitmap), bitmap.serialize()


def unpacked_positions(data: bytes, where: str, count: int) -> list[int]:
    """Requires: so many are expected."""
    from pyroaring import BitMap64

    bitmap = read_bitmap(BitMap64, data, where)
    if len(bitmap) != count:
        raise Corrupt(
            f"{where} has {len(bitmap)} positions where the log says {count}",
            hint="restore it from a copy",
        )
    return list(bitmap)


INLINE_BYTES = 1024
"""Vectors up to this size lie in the log; larger ones in a file of their own."""
_MAGIC = 1681511377
_HEAD = struct.pack("<I", _MAGIC)
_VERSION = b"\x01"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_UUID_DIGITS = 20


def encode_vector(positions: Iterable[int], uuid: UUID) -> tuple[Vector, bytes | None]:
    """A vector of these positions; with the bytes of its file, which is named by the uuid, if it
    is not kept in the log."""
    count, bitmap = packed_positions(positions)
    data = _HEAD + bitmap
    if len(data) <= INLINE_BYTES:
        padded = data + b"\0" * (-len(data) % 4)
        return Vector("i", z85(padded), len(data), count), None
    body = _VERSION + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return Vector("u", z85(uuid.bytes), len(data), count, 1), body


def file_name(uuid: UUID) -> str:
    return f"deletion_vector_{uuid}.bin"


def place_of(vector: Vector, root: str) -> str | None:
    """The file that a vector is in, if it is in one."""
    if vector.storage == "i":
        return None
    if vector.storage == "p":
        return locate(vector.place, root)
    if vector.storage == "u" and len(vector.place) < _UUID_DIGITS:
        raise Corrupt(f"{vector.place!r} names no deletion vector", hint="restore the log")
    if vector.storage != "u":
        raise Unsupported(
            f"a deletion vector is stored as {vector.storage!r}",
            hint="a newer version of Tidelake may know how",
        )
    prefix, digits = vector.place[:-_UUID_DIGITS], vector.place[-_UUID_DIGITS:]
    folder = f"{prefix}/" if prefix else ""
    return f"{root}{folder}{file_name(UUID(bytes=unz85(digits, 'a deletion vector')))}"


def decode_vector(vector: Vector, root: str, read: Callable[[str], bytes]) -> list[int]:
    """The positions in a vector; `read` gives the bytes of a file."""
    place = place_of(vector, root)
    if vector.bytes < 0 or vector.cardinality < 0 or (vector.offset or 0) < 0:
        raise Corrupt("a deletion vector is of less than nothing", hint="restore the log")
    if place is None:
        data = unz85(vector.place, "a deletion vector")[: vector.bytes]
        where = "a deletion vector in the log"
    else:
        data, where = _part(read(place), vector, place), place
    if data[:4] != _HEAD or len(data) != vector.bytes:
        raise Corrupt(f"{where} is not a deletion vector", hint="restore it from a copy")
    return unpacked_positions(data[4:], where, vector.cardinality)


def _part(body: bytes, vector: Vector, place: str) -> bytes:
    start = 1 if vector.offset is None else vector.offset
    end = start + 4 + vector.bytes
    if body[:1] != _VERSION or len(body) < end + 4:
        raise Corrupt(f"{place} is not a file of deletion vectors", hint="restore it from a copy")
    data = body[start + 4 : end]
    size, checksum = struct.unpack(">i", body[start : start + 4])[0], body[end : end + 4]
    if size != vector.bytes or struct.unpack(">I", checksum)[0] != zlib.crc32(data):
        raise Corrupt(f"{place}: wrong size or checksum", hint="restore it from a copy")
    return data


def z85(data: bytes) -> str:
    """Bytes as text, five digits for four of them. Requires a multiple of four."""
    found: list[str] = []
    for (value,) in struct.iter_unpack(">I", data):
        digits = []
        for _ in range(5):
            value, rest = divmod(value, 85)
            digits.append(_DIGITS[rest])
        found += reversed(digits)
    return "".join(found)


def unz85(text: str, where: str) -> bytes:
    try:
        values = [_VALUES[digit] for digit in text]
        parts = (values[place : place + 5] for place in range(0, len(values), 5))
        return b"".join(struct.pack(">I", _number(part)) for part in parts)
    except (KeyError, struct.error):
        raise Corrupt(f"{where} has a name that is not Z85", hint="restore the log") from None


def _number(digits: list[int]) -> int:
    if len(digits) != 5:
        raise struct.error
    value = 0
    for digit in digits:
        value = value * 85 + digit
    return value
