"""Parquet files as old writers made them, byte by byte: no library writes such lists any more."""

import struct
from dataclasses import dataclass
from pathlib import Path

REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
INT32 = 1
LIST, MAP, MAP_KEY_VALUE = 3, 1, 2


@dataclass(frozen=True)
class Node:
    """A node of the schema; one without children is an INT32."""

    name: str
    repetition: int
    children: tuple["Node", ...] = ()
    converted: int | None = None

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Leaf:
    """The values of one leaf, with the levels of all entries and the greatest that there are."""

    path: tuple[str, ...]
    values: tuple[int, ...]
    repetitions: tuple[int, ...]
    definitions: tuple[int, ...]
    most: tuple[int, int]


def write(path: Path, columns: tuple[Node, ...], leaves: tuple[Leaf, ...], rows: int) -> Path:
    """One row group, one plain page for each leaf, no compression and no statistics."""
    body = b"PAR1"
    chunks = []
    for leaf in leaves:
        page = b"".join(
            _levels(levels, most)
            for levels, most in zip((leaf.repetitions, leaf.definitions), leaf.most, strict=True)
        ) + b"".join(struct.pack("<i", value) for value in leaf.values)
        header = _page_header(len(page), len(leaf.definitions))
        chunks.append(_chunk(leaf, len(body), len(header) + len(page)))
        body += header + page
    root = Node("schema", REQUIRED, columns)
    nodes = [_element(node, is_root=node is root) for node in root.walk()]
    group = _struct(
        (1, _list(12, chunks)), (2, _int(len(body))), (3, _int(rows)), kinds={1: 9, 2: 6, 3: 6}
    )
    footer = _struct(
        (1, _int(1)), (2, _list(12, nodes)), (3, _int(rows)), (4, _list(12, [group])),
        kinds={1: 5, 2: 9, 3: 6, 4: 9},
    )  # fmt: skip
    path.write_bytes(body + footer + struct.pack("<i", len(footer)) + b"PAR1")
    return path


def _levels(levels: tuple[int, ...], most: int) -> bytes:
    """Runs of one, of which each level has its bytes."""
    if not most:
        return b""
    runs = b"".join(_varint(1 << 1) + bytes([level]) for level in levels)
    return struct.pack("<i", len(runs)) + runs


def _page_header(size: int, values: int) -> bytes:
    data = _struct(
        (1, _int(values)),
        (2, _int(0)),
        (3, _int(3)),
        (4, _int(3)),
        kinds=dict.fromkeys(range(9), 5),
    )
    return _struct(
        (1, _int(0)), (2, _int(size)), (3, _int(size)), (5, data), kinds={1: 5, 2: 5, 3: 5, 5: 12}
    )


def _chunk(leaf: Leaf, start: int, size: int) -> bytes:
    names = [_text(name) for name in leaf.path]
    facts = _struct(
        (1, _int(INT32)), (2, _list(5, [_int(0), _int(3)])), (3, _list(8, names)), (4, _int(0)),
        (5, _int(len(leaf.definitions))), (6, _int(size)), (7, _int(size)), (9, _int(start)),
        kinds={1: 5, 2: 9, 3: 9, 4: 5, 5: 6, 6: 6, 7: 6, 9: 6},
    )  # fmt: skip
    return _struct((2, _int(start)), (3, facts), kinds={2: 6, 3: 12})


def _element(node: Node, *, is_root: bool) -> bytes:
    fields = [] if node.children else [(1, _int(INT32))]
    fields += [] if is_root else [(3, _int(node.repetition))]
    fields += [(4, _text(node.name))]
    fields += [(5, _int(len(node.children)))] if node.children else []
    fields += [] if node.converted is None else [(6, _int(node.converted))]
    return _struct(*fields, kinds={1: 5, 3: 5, 4: 8, 5: 5, 6: 5})


def _struct(*fields: tuple[int, bytes], kinds: dict[int, int]) -> bytes:
    """Thrift's compact form."""
    found, last = b"", 0
    for number, value in fields:
        found += bytes([(number - last) << 4 | kinds[number]]) + value
        last = number
    return found + b"\0"


def _list(kind: int, items: list[bytes]) -> bytes:
    return bytes([min(len(items), 15) << 4 | kind]) + b"".join(items)


def _int(number: int) -> bytes:
    return _varint(number << 1 ^ number >> 63)


def _text(text: str) -> bytes:
    return _varint(len(text)) + text.encode()


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])
