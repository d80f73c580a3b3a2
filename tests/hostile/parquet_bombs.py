"""Parquet files that lie about themselves, byte by byte."""

import struct
from collections.abc import Iterator, Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

Node = tuple[bytes, int | None, int | None, int | None]
"""Name, type, repetition and number of children."""
ROOT: Node = (b"root", None, None, 1)
LEAF: Node = (b"x", 2, 1, None)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _field(step: int, kind: int, value: bytes) -> bytes:
    return bytes([step << 4 | kind]) + value


def _number(value: int) -> bytes:
    return _varint(value << 1)


def _list(count: int) -> bytes:
    return bytes([0xFC]) + _varint(count)


def _node(name: bytes, kind: int | None, repetition: int | None, children: int | None) -> bytes:
    found, last = b"", 0
    for place, value in ((1, kind), (3, repetition)):
        if value is not None:
            found += _field(place - last, 5, _number(value))
            last = place
    found += _field(4 - last, 8, _varint(len(name)) + name)
    if children is not None:
        found += _field(1, 5, _number(children))
    return found + b"\0"


def lying(
    nodes: Sequence[Node], *, count: int | None = None, rows: int = 0, groups: int = 0
) -> bytes:
    """A file of nothing but a footer, which says that it has so many nodes, rows and groups."""
    footer = _field(1, 5, _number(1)) + _field(1, 9, _list(len(nodes) if count is None else count))
    footer += b"".join(_node(*node) for node in nodes)
    footer += _field(1, 6, _number(rows)) + _field(1, 9, _list(groups)) + b"\0"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def good() -> bytes:
    sink = BytesIO()
    pq.write_table(pa.table({"x": pa.array(range(1000), pa.int64())}), sink)
    return sink.getvalue()


def bombs() -> Iterator[tuple[str, bytes]]:
    """Names of what is wrong, and the files."""
    whole = good()
    yield "nested 10,000 deep", lying([ROOT, *[(b"g", None, 1, 1)] * 10_000, LEAF])
    yield "nested 100,000 deep", lying([ROOT, *[(b"g", None, 1, 1)] * 100_000, LEAF])
    yield "two billion nodes", lying([ROOT, LEAF], count=2_000_000_000)
    yield "two billion children", lying([(b"root", None, None, 2_000_000_000), LEAF])
    yield "two billion groups", lying([ROOT, LEAF], groups=2_000_000_000)
    yield "rows without end", lying([ROOT, LEAF], rows=2**62)
    many = [(b"c%d" % at, 2, 1, None) for at in range(50_000)]
    yield "fifty thousand columns", lying([(b"root", None, None, len(many)), *many])
    yield "a footer of four gigabytes", whole[:-8] + struct.pack("<I", 2**32 - 1) + b"PAR1"
    yield "a footer longer than the file", whole[:-8] + struct.pack("<I", 10_000) + b"PAR1"
    yield "no footer", whole[:-8] + struct.pack("<I", 0) + b"PAR1"
    yield "nothing", b""
    yield "magic alone", b"PAR1PAR1"
    yield "text", b"hello" * 1000
