"""Which tables are read for rows that a feature finds, and by which plans: what EXPLAIN tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from tidelake.plan.as_of import AsOfPlan
from tidelake.plan.scan import ScanPlan
from tidelake.session.source import Source

Read: TypeAlias = tuple[Source, ScanPlan | AsOfPlan]
"""A table that is read, and the plan of it, for which its files were counted."""


@runtime_checkable
class Readable(Protocol):
    """Rows that tell what is read to find them."""

    def reads(self) -> Iterable[Read]: ...


def reads_of(tables: Mapping[str, object], sources: Mapping[str, Source]) -> Iterator[Read]:
    """All that is read for what a query calls its tables. `sources` are those of the plans, and
    of other rows if they are known."""
    for name, rows in tables.items():
        if isinstance(rows, ScanPlan | AsOfPlan):
            yield sources[name], rows
        elif isinstance(rows, Readable):
            for source, plan in rows.reads():
                yield sources.get(name, source), plan
