"""Which rows of files were deleted, as bits that every task has: a row is looked up by its place.

Spark holds the bits as one array, which is the value of a subquery: plans show nothing of it. So
a read needs no join, no job of its own, and no second plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from tidelake.model.file import DataFile

_BITS = 64
_MOST_WORDS = 100_000
"""Of 64 rows each: with more, Spark finds what it sends to tasks too large."""
_MOST_FILES = 64
_OTHER_SIZE = "tidelake.errors.Corrupt: a file is not of the size that the catalog says"


@dataclass(frozen=True, slots=True)
class DeletedBits:
    """`sizes` tell files apart; `starts` are the words that their rows begin with."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    words: int

    @classmethod
    def of(cls, files: Sequence[DataFile]) -> DeletedBits | None:
        """None if there are too many rows or files, or two files of one size."""
        sizes = tuple(file.bytes for file in files)
        *starts, words = accumulate((-(-file.rows // _BITS) for file in files), initial=0)
        if len(set(sizes)) < len(sizes) or len(sizes) > _MOST_FILES or words > _MOST_WORDS:
            return None
        return cls(sizes, tuple(starts), words)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The number of each file's first row."""
        return tuple(start * _BITS for start in self.starts)

    def array(self, numbers: pa.Array) -> pa.Array:
        """One row: the words in which the bits of these rows are set."""
        bits = bytearray(self.words * _BITS // 8)
        for number in numbers.to_pylist():
            bits[number >> 3] |= 1 << (number & 7)
        words = pa.Array.from_buffers(pa.int64(), self.words, [None, pa.py_buffer(bytes(bits))])
        return pa.ListArray.from_arrays([0, self.words], words)

    @property
    def word(self) -> str:
        """In which word the bit of a row is, as Spark's SQL. A file whose size is none of those
        that the catalog knows must stop the read, not bring deleted rows back."""
        own = "shiftright(_metadata.row_index, 6)"
        if len(self.sizes) == 1:
            return f"CAST({own} AS INT)"
        cases = " ".join(f"WHEN {s} THEN {n}" for s, n in zip(self.sizes, self.starts, strict=True))
        start = f"CASE _metadata.file_size {cases} ELSE raise_error('{_OTHER_SIZE}') END"
        return f"CAST({start} + {own} AS INT)"

    @property
    def bit(self) -> str:
        """Where in the word."""
        return f"CAST(_metadata.row_index & {_BITS - 1} AS INT)"

    @staticmethod
    def is_there(words: str, word: str, bit: str) -> str:
        """Whether a row was not deleted. A place that is in no word stops the read too."""
        outside = f"CAST(raise_error('{_OTHER_SIZE}') AS TINYINT)"
        return f"coalesce(getbit(get({words}, {word}), {bit}), {outside}) = 0"
