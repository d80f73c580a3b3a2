"""What becomes a frame by way of Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelake.model.clock import COUNT
from tidelake.model.interval import Interval
from tidelake.model.series import Series

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

        return as_polars(self.to_arrow(), ())


class Intervals(list[Interval], Framed):
    """Gaps or runs. As a frame: the entity's columns, `start`, `end`, `buckets`, `length`."""

    def __init__(self, series: Series, found: Iterable[Interval] = ()) -> None:
        super().__init__(found)
        self._series = series

    def to_arrow(self) -> pa.Table:
        from tidelake.engine.coverage_frame import LENGTH, as_table, moment_type

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
