"""The public question whether two schemas go together.

What files hold that are to become a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.incoming.columns_of_data import opened_stream, source_columns
from tidelake.errors import Invalid
from tidelake.model import compatible
from tidelake.model.compatible import Compatibility
from tidelake.model.forms import Columns, Data
from tidelake.model.misfit import with_misfits_named
from tidelake.model.schema import Column, Schema
from tidelake.model.source_files import SourceFiles
from tidelake.session.lazy_rows import LazyRows

if TYPE_CHECKING:
    from tidelake.lake.browsable import Browsable


@with_misfits_named
def is_compatible(old: Columns, new: Columns, mode: str = "backward") -> Compatibility:
    """Whether data can cross from one schema to another: true, or false with `.reasons`.

    Schemas are whatever `create_table` takes, or tables. Mode `backward`: the
    new schema can read data written with the old one; `forward`: readers that still have the old
    schema can read new data, which a column that is gone breaks; `full`: both ways.

    >>> print(is_compatible("a INT", "a BIGINT, b VARCHAR NOT NULL"))
    not backward compatible:
    - 'b' is required by the new schema, has no default, and is not in data of the old one
    """
    return compatible.is_compatible(_columns(old), _columns(new), mode)


def _columns(schema: Columns) -> tuple[Column, ...]:
    own = getattr(schema, "schema", None)
    return columns_of(own if isinstance(own, Schema) else as_columns(schema))


def as_columns(schema: Columns | Data) -> Columns | Data:
    """Of rows of a lake, such as those of a query, the columns; anything else as it is."""
    if not isinstance(schema, LazyRows):
        return schema
    own = getattr(schema, "schema", None)
    return columns_of(own if isinstance(own, Schema) else schema.column_types())


def columns_in(lake: Browsable, data: Columns | Data) -> tuple[tuple[Column, ...], Data]:
    """The columns of rows, as `create_table` takes them, and the rows as they are then to be
    read."""
    if isinstance(data, LazyRows):
        return columns_of(as_columns(data)), data
    _refuse_columns_of_lists(data)
    files = _as_files(data)
    if files is not None:
        work = lake.session.local.workbench()
        work.reach_unknown(files.paths)
        return source_columns(work.connection, files)
    rows = opened_stream(data)
    with lake.session.local.job("cannot tell the columns of the rows") as job:
        found = job.columns(rows)
    if not found:
        raise Invalid(
            f"the columns of this {type(data).__name__} cannot be told before it is read",
            hint="create the table first: lake.create_table(name, {column: type})",
        )
    return found, rows


def _refuse_columns_of_lists(data: object) -> None:
    """A dict is one row, as everywhere; but one of lists alone is what frames are made of. Where no
    table says which it is, it must be said."""
    if isinstance(data, Mapping) and data and all(_is_several(each) for each in data.values()):
        raise Invalid(
            "a dict of lists may be one row with lists, or columns with a value for each row",
            hint="pyarrow.table({…}) or polars.DataFrame({…}) are columns; [{…}] is one row",
        )


def _is_several(value: object) -> bool:
    shape = getattr(value, "shape", ())
    return isinstance(value, list | tuple | range) or (isinstance(shape, tuple) and shape != ())


def _as_files(data: object) -> SourceFiles | None:
    items = data if isinstance(data, list | tuple) else [data]
    if items and all(isinstance(item, str | Path) for item in items):
        return SourceFiles(tuple(map(str, items)))
    return data if isinstance(data, SourceFiles) else None


def has_rows(data: object) -> bool:
    """Whether it is a frame with rows; what only describes columns has none."""
    if isinstance(data, LazyRows):
        return data.limit(1).count() > 0
    shape = getattr(data, "shape", None)
    return (
        isinstance(shape, tuple) and len(shape) == 2 and hasattr(data, "columns") and shape[0] > 0
    )
