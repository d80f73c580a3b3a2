"""Which rows of files were deleted, as bits that every task has: a row is looked up by its place.

Spark holds the bits as one array, which is the value of a subquery: plans show nothing of it. So
a read needs no join, no job of its own, and no second plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from tidelake.model.file import DataFile

_BITS = 64
_MOST_WORDS = 400_000
"""Of 64 rows each. From a sixth of it on Spark warns of what it sends to tasks; that still takes
less time than a join."""
_MOST_FILES = 64
OTHER_SIZE = "tidelake.errors.Corrupt: a file is not of the size that the catalog says"
"""It does not say which: to have the path at hand would cost every row."""


@dataclass(frozen=True, slots=True)
class DeletedBits:
    """`sizes` tell files apart; `starts` are the words that the bits of their `rows` begin with."""

    sizes: tuple[int, ...]
    rows: tuple[int, ...]
    starts: tuple[int, ...]
    words: int

    @classmethod
    def of(cls, files: Sequence[DataFile]) -> DeletedBits | None:
        """None if there are too many rows or files, or two files of one size."""
        sizes = tuple(file.bytes for file in files)
        *starts, words = accumulate((-(-file.rows // _BITS) for file in files), initial=0)
        if len(set(sizes)) < len(sizes) or len(sizes) > _MOST_FILES or words > _MOST_WORDS:
            return None
        return cls(sizes, tuple(file.rows for file in files), tuple(starts), words)

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
    def file(self) -> str:
        """Which of the files a row is in, as Spark's SQL. A file whose size is none of those that
        the catalog knows must stop the read, not bring deleted rows back."""
        if len(self.sizes) == 1:
            return "0"
        cases = " ".join(f"WHEN {size} THEN {n}" for n, size in enumerate(self.sizes))
        other = f"CAST(raise_error('{OTHER_SIZE}') AS INT)"
        return f"CASE _metadata.file_size {cases} ELSE {other} END"

    def told(self, values: Iterable[int | None], number: str) -> str:
        """Of the values that files have, that of one."""
        listed = ", ".join("CAST(NULL AS BIGINT)" if v is None else f"{v}L" for v in values)
        return f"get(array({listed}), {number})"

    def place(self, file: str, position: str) -> tuple[str, str]:
        """In which word the bit of a row is, and where in it. A file that has more rows than the
        catalog knows must not take the bits of another."""
        word = f"CAST({self.told(self.starts, file)} + shiftright({position}, 6) AS INT)"
        other = f"CAST(raise_error('{OTHER_SIZE}') AS BIGINT)"
        inside = f"{position} < {self.told(self.rows, file)}"
        return word, f"CAST(IF({inside}, {position} & {_BITS - 1}, {other}) AS INT)"

    @staticmethod
    def is_there(words: str, word: str, bit: str) -> str:
        """Whether a row was not deleted. A place that is in no word stops the read too."""
        outside = f"CAST(raise_error('{OTHER_SIZE}') AS TINYINT)"
        return f"coalesce(getbit(get({words}, {word}), {bit}), {outside}) = 0"
