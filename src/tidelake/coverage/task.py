"""Files of which it is to be found out what they cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelake.coverage.values.series import Series
from tidelake.model.file import DataFile
from tidelake.plan.scan import ScanPlan


@dataclass(frozen=True, slots=True)
class Cover:
    """Requires files that know their whole life. `plan` says how the series' columns are read in
    them, `through` up to which snapshot rows have been deleted from each, and `oldest` is the
    first snapshot that anybody can still ask about."""

    plan: ScanPlan
    files: tuple[DataFile, ...]
    series: Series
    through: Mapping[int, int]
    oldest: int

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)
