"""What a check of the lake finds on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelake.errors import TidelakeError
from tidelake.verify.values import Problem

_DOUBTFUL = {"missing-files", "file-sizes", "unreadable-files", "row-counts", "field-ids"}


@dataclass(slots=True)
class Findings:
    """What a run has found so far, and what it has looked at."""

    problems: list[Problem] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def attempt(self, check: Callable[..., Iterable[Problem]], *arguments: Any) -> None:
        """Run a check. One that cannot be finished is a problem, and the others go on."""
        self.checked["checks"] += 1
        try:
            self.problems += check(*arguments)
        except Exception as error:
            told = error if isinstance(error, TidelakeError) else TidelakeError(repr(error))
            name = check.__name__.strip("_").replace("_", "-")
            mend = told.hint or "mend what the other checks found, then verify again"
            what = f"{name} could not be finished: {told.message}"
            self.problems.append(Problem("unchecked", what, mend))

    @property
    def doubtful(self) -> set[str]:
        """Files that are known to be missing or damaged: reading them would say so again."""
        return doubtful_files(self.problems)


def doubtful_files(problems: Iterable[Problem]) -> set[str]:
    """The files that these problems say are missing or damaged."""
    return {p.file for p in problems if p.file and p.check in _DOUBTFUL}
