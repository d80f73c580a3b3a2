"""The public question whether two schemas go together.

What files hold that are to become a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.incoming.columns_of_data import source_columns
from tidelake.model import compatible
from tidelake.model.compatible import Compatibility
from tidelake.model.schema import Column, Schema
from tidelake.model.source_files import SourceFiles

if TYPE_CHECKING:
    from tidelake.lake.browsable import Browsable


def is_compatible(old: Any, new: Any, mode: str = "backward") -> Compatibility:
    """Whether data can cross from one schema to another: true, or false with `.reasons`.

    Schemas are whatever `create_table` takes, or tables. Mode `backward`: the
    new schema can read data written with the old one; `forward`: readers that still have the old
    schema can read new data, which a column that is gone breaks; `full`: both ways.

    >>> print(is_compatible("a INT", "a BIGINT, b VARCHAR NOT NULL"))
    not backward compatible:
    - 'b' is required by the new schema, has no default, and is not in data of the old one
    """
    return compatible.is_compatible(_columns(old), _columns(new), mode)


def _columns(schema: Any) -> tuple[Column, ...]:
    own = getattr(schema, "schema", None)
    return columns_of(own if isinstance(own, Schema) else schema)


def columns_in(lake: Browsable, source: SourceFiles) -> tuple[tuple[Column, ...], SourceFiles]:
    """The columns of Parquet, CSV or JSON files, for `create_table`, and the files as they are
    then to be read."""
    work = lake.session.local.workbench()
    work.reach_unknown(source.paths)
    return source_columns(work.connection, source)
