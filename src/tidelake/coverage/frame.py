"""Coverage and gaps as an Arrow table.

What draws itself, in a terminal with rich and in a notebook.

What becomes a frame by way of Arrow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tidelake.coverage.draw import svg as strip_svg
from tidelake.coverage.draw import terminal as strip_terminal
from tidelake.coverage.values.clock import COUNT
from tidelake.coverage.values.extent import Extent
from tidelake.coverage.values.interval import Interval
from tidelake.coverage.values.picture import Picture
from tidelake.coverage.values.series import Entity, Moment, Series
from tidelake.drawing.amounts import quantity
from tidelake.drawing.html import html_of
from tidelake.drawing.sheet import MOST_ROWS, Sheet
from tidelake.drawing.terminal import renderable
from tidelake.engine.export import as_polars, frame_of
from tidelake.errors import Unsupported
from tidelake.model.names import fold
from tidelake.model.types import ARROW_NAMES

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

    from tidelake.model.schema import Column

LENGTH = "length"
"""The type of lengths of time."""
_WORDS = ARROW_NAMES | {"uuid": "string", LENGTH: "duration[us]"}


def moment_type(time: Column) -> str:
    """In which type bounds of buckets of a clock are told: also those after its last value."""
    if time.type in ("date", "timestamptz"):
        return time.type
    if time.type.startswith("timestamp"):
        return "timestamp"
    return "uint64" if time.type.startswith("u") else "int64"


def as_table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Rows of columns that are given by name and type. Of two with one name, the later is followed
    by an underscore."""
    import pyarrow as pa

    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    try:
        arrays = [
            pa.array(map(_plain, each) if kind == "uuid" else each, _type(kind))
            for (_, kind), each in zip(columns, values, strict=True)
        ]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise Unsupported(
            f"a bound of the range does not fit its column in Arrow: {error}",
            hint="give start= and end= within the values of the clock",
        ) from None
    return pa.table(arrays, names=_distinct([name for name, _ in columns]))


def _type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind == "timestamptz":
        return pa.timestamp("us", "UTC")
    return pa.type_for_alias(_WORDS.get(kind, kind))


def _plain(value: object) -> str | None:
    return None if value is None else str(value)


def _distinct(names: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        while fold(name) in found:
            name += "_"
        found[fold(name)] = name
    return list(found.values())


def in_seconds(table: pa.Table) -> pa.Table:
    """With lengths of time as seconds, for tables of Spark's, which have no such type."""
    import pyarrow as pa

    place = table.schema.get_field_index(LENGTH)
    if place < 0 or not pa.types.is_duration(table.schema.field(place).type):
        return table
    lengths = table.column(place).cast(pa.int64()).to_pylist()
    seconds = [None if each is None else each / 1_000_000 for each in lengths]
    return table.set_column(place, "seconds", pa.array(seconds, pa.float64()))


class Drawable:
    """Something that a picture can be made of."""

    @abstractmethod
    def _picture(self) -> Picture: ...

    def to_svg(self) -> str:
        """The picture as a file of its own, legible in light and dark."""
        return strip_svg.svg(self._picture(), alone=True)

    def _repr_html_(self) -> str:
        return strip_svg.svg(self._picture(), alone=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        return strip_terminal.text_lines(self._picture(), options)


class Tabular:
    """Something that is a table, once it is asked for."""

    @abstractmethod
    def to_arrow(self) -> pa.Table: ...

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        return frame_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars frame."""
        return as_polars(self.to_arrow())


class Intervals(list[Interval], Tabular):
    """Gaps or runs. As a frame: the entity's columns, `start`, `end`, `buckets`, `length`."""

    def __init__(self, series: Series, found: Iterable[Interval] = ()) -> None:
        super().__init__(found)
        self._series = series

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return html_of(self._sheet())

    def __rich__(self) -> RenderableType:
        return renderable(self._sheet())

    def _sheet(self) -> Sheet:
        many = "1 stretch" if len(self) == 1 else f"{len(self):,} stretches"
        buckets = sum(each.buckets for each in self)
        title = f"{many} of time, {quantity(buckets, 'bucket')}"
        names = [column.name for column in self._series.entity]
        nobody = ("",) * len(names)
        rows = [
            (*(each.entity or nobody), each.start, each.end, each.buckets, each.length)
            for each in self[: MOST_ROWS + 1]
        ]
        return Sheet.of(title).with_grid([*names, "start", "end", "buckets", "length"], rows)

    def to_arrow(self) -> pa.Table:
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
        extent.count_expected(entity),
        len(extent.buckets[entity]),
        extent.ratio_of(entity),
        len(gaps),
        *(_moment(series, each) for each in (first, end)),
        None if first is None or end is None else end - first,
    )


def _moment(series: Series, bucket: int | None) -> Moment | None:
    return None if bucket is None else series.moment(series.clock.number_of(bucket))
