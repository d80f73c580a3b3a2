"""What the catalog says of a file, for comparing it with the file.

Fingerprints: the content of a table at a snapshot as one number that anybody can recompute.

The sum of the hashes of all rows does not depend on their order, nor on which file they lie in.

What a check of the whole lake found.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from tidelake.drawing.report import DrawableReport
from tidelake.model.file import MappedField
from tidelake.model.schema import Column
from tidelake.model.statistics import ColumnStats


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A data file, or with `deletes_from` (how many rows the data file has) a delete file.

    `columns` are the table's when the file was written, `last_row_id` and `last_snapshot` the
    greatest there may be. `mapping` is for files without field ids. `inlined_deletes` are positions
    of the same data file that the catalog itself says are deleted.
    """

    id: int
    table_id: int
    table: str
    path: str
    rows: int
    bytes: int
    footer_size: int | None
    begin_snapshot: int
    last_snapshot: int
    format: str = "parquet"
    is_encrypted: bool = False
    deletes_from: int | None = None
    inlined_deletes: tuple[int, ...] = ()
    row_id_start: int | None = None
    last_row_id: int = -1
    partial_max: int | None = None
    columns: tuple[Column, ...] = ()
    mapping: tuple[MappedField, ...] | None = None
    statistics: Mapping[int, ColumnStats] = field(default_factory=dict)


_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of one table at one snapshot."""

    table_id: int
    snapshot_id: int
    rows: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class Content:
    """So many rows, and the sums of the upper and lower halves of their hashes."""

    rows: int = 0
    upper: int = 0
    lower: int = 0

    def plus(self, other: Content) -> Content:
        return Content(self.rows + other.rows, self.upper + other.upper, self.lower + other.lower)

    def hash(self, columns: Iterable[Column]) -> str:
        sums = f"{self.upper % _WORD:016x}{self.lower % _WORD:016x}"
        text = f"{_described(columns)}\n{self.rows}\n{sums}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _described(columns: Iterable[Column]) -> str:
    return ",".join(f"{c.id} {c.type} {c.name}({_described(c.children)})" for c in columns)


_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it must be. `check` names the check that found it."""

    check: str
    what: str
    mend: str
    table: str | None = None
    file: str | None = None
    snapshot_id: int | None = None

    @property
    def where(self) -> str:
        at = None if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        return ", ".join(part for part in (self.table, self.file, at) if part)

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return f"{self.check}: {self.what}{where}\n    fix: {self.mend}"


@dataclass(frozen=True, slots=True)
class VerifyReport(DrawableReport):
    """`checked` counts what was looked at: checks, snapshots, tables, files, rows and so on."""

    problems: tuple[Problem, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    deep: bool = False

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        return {
            "ok": self.ok,
            "deep": self.deep,
            "checked": dict(self.checked),
            "problems": [asdict(problem) for problem in self.problems],
        }

    def __str__(self) -> str:
        counts = ", ".join(_counted(number, what) for what, number in self.checked.items())
        if self.ok:
            return f"The lake is whole.\nchecked: {counts}"
        found = Counter(problem.check for problem in self.problems)
        kinds = ", ".join(f"{check} {number:,}" for check, number in sorted(found.items()))
        lines = [f"The lake has {len(self.problems):,} problems: {kinds}", f"checked: {counts}", ""]
        if len(self.problems) == 1:
            lines[0] = "The lake has a problem."
        lines += [str(problem) for problem in self.problems[:_SHOWN]]
        left = len(self.problems) - _SHOWN
        return "\n".join([*lines, *([f"… and {left:,} more in .problems"] if left > 0 else [])])


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what.removesuffix('s') if number == 1 else what}"
