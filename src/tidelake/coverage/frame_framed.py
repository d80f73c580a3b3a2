"""What becomes a frame by way of Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Interval
from tidelake.coverage.values.series import Entity, Moment, Series

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


class Framed:
    """Something that is a table, once it is asked for."""

    @abstractmethod
    def to_arrow(self) -> pa.Table: ...

    def to_pandas(self) -> pandas.DataFrame:
        from tidelake.engine.export import frame_of

        return frame_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        from tidelake.engine.export import as_polars

        return as_polars(self.to_arrow())


class Intervals(list[Interval], Framed):
    """Gaps or runs. As a frame: the entity's columns, `start`, `end`, `buckets`, `length`."""

    def __init__(self, series: Series, found: Iterable[Interval] = ()) -> None:
        super().__init__(found)
        self._series = series

    def to_arrow(self) -> pa.Table:
        from tidelake.coverage.frame import LENGTH, as_table, moment_type

        moment = moment_type(self._series.time)
        length = "int64" if self._series.clock.kind == COUNT else LENGTH
        columns = [(column.name, column.type) for column in self._series.entity]
        columns += [("start", moment), ("end", moment), ("buckets", "int64"), ("length", length)]
        nobody = (None,) * len(self._series.entity)
        return as_table(
            columns,
            [
                (*(each.entity or nobody), each.start, each.end, each.buckets, each.length)
                for each in self
            ],
        )


def summary(series: Series, extent: Extent, *, merged: bool) -> pa.Table:
    """A row for each entity: its columns, and what there is of it in the range."""
    from tidelake.coverage.frame import as_table, moment_type

    moment = moment_type(series.time)
    columns = [] if merged else [(column.name, column.type) for column in series.entity]
    columns += [("start", moment), ("end", moment), ("expected", "int64"), ("covered", "int64")]
    columns += [("ratio", "float64"), ("gaps", "int64")]
    columns += [("longest_gap_start", moment), ("longest_gap_end", moment)]
    columns += [("longest_gap_buckets", "int64")]
    return as_table(columns, [_summed(series, extent, entity) for entity in extent.buckets])


def _summed(series: Series, extent: Extent, entity: Entity) -> tuple[Any, ...]:
    gaps = list(extent.missing(entity))
    first, end = max(gaps, key=lambda gap: gap[1] - gap[0], default=(None, None))
    bounds = (extent.range.first, extent.range.end) if extent.range else (None, None)
    return (
        *entity,
        *(_moment(series, each) for each in bounds),
        extent.expected_of_each,
        len(extent.buckets[entity]),
        extent.ratio_of(entity),
        len(gaps),
        *(_moment(series, each) for each in (first, end)),
        None if first is None or end is None else end - first,
    )


def _moment(series: Series, bucket: int | None) -> Moment | None:
    return None if bucket is None else series.moment(series.clock.number_of(bucket))
