"""What a check of the whole lake found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

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
        return f"{self.check}: {self.what}{where}\n    to mend it: {self.mend}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
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
