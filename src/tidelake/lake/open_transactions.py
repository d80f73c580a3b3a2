"""Transactions that nobody has ended: what they had written is lost, and that is said."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from weakref import finalize

from tidelake.errors import TidelakeWarning
from tidelake.model.change import ViewChange
from tidelake.model.table import SchemaInfo, TableInfo

if TYPE_CHECKING:
    from tidelake.lake.transaction import Transaction
    from tidelake.session.draft import TableDraft
    from tidelake.session.leases import Work

Objects = tuple[Mapping[int, "TableDraft"], Mapping[int, TableInfo], Mapping[int, ViewChange]]
Schemas = tuple[Mapping[str, SchemaInfo], Mapping[int, SchemaInfo]]
_SHOWN = 5


def watched(
    transaction: Transaction, objects: Objects, schemas: Schemas, work: Work
) -> finalize[..., Transaction]:
    """Says so when a transaction is collected, or the program ends, with changes in it. To be
    detached when it is ended."""
    return finalize(transaction, _lost, os.getpid(), objects, schemas, work)


def _lost(pid: int, objects: Objects, schemas: Schemas, work: Work) -> None:
    """Its files are left for cleanup, which nobody at work keeps from them any more. A forked
    process has its parent's transactions in its memory, but they are not its own."""
    if pid != os.getpid():
        return
    work.end()
    names = list(dict.fromkeys(_changed(objects, schemas)))
    if names:
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        warnings.warn(
            f"a transaction that changed {listed} was never ended, and its writes are lost:"
            " use `with lake.transaction() as tx`, or call tx.commit() or tx.rollback()",
            TidelakeWarning,
            stacklevel=3,
        )


def _changed(objects: Objects, schemas: Schemas) -> Iterator[str]:
    drafts, dropped, views = objects
    yield from (str(d.after.name) for d in drafts.values() if d.change().changes_anything)
    yield from (str(table.name) for table in dropped.values())
    yield from (str(v.name) for c in views.values() if (v := c.after or c.before) is not None)
    yield from (schema.name for found in schemas for schema in found.values())
