"""What was declared of a series, by the names of its columns."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.coverage.values.series import Series
from tidelake.model.table import TableInfo


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """As `set_coverage` takes them."""

    bucket: str
    entity: tuple[str, ...]
    event_time: str
    overlap: str

    @staticmethod
    def of(table: TableInfo) -> CoverageSettings | None:
        """None if no coverage is kept, or its columns are no longer there."""
        series = Series.maybe(table)
        if series is None:
            return None
        entity = tuple(column.name for column in series.entity)
        return CoverageSettings(series.clock.given, entity, series.time.name, series.overlap)
