"""Mirrors as they are asked for: begun, looked at, brought up to date, ended."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.catalog import mirrors
from tidelake.errors import Invalid, NotFound
from tidelake.model.change import WriteResult
from tidelake.model.mirror import Mirror
from tidelake.model.names import TableName
from tidelake.session.alone import alone
from tidelake.session.mirroring import TAG, sync

if TYPE_CHECKING:
    from tidelake.session.lake import Lake
    from tidelake.session.transaction import Transaction

DELTA = "delta"


class DeltaMirror:
    """The mirror of one table: its Delta log, which shows what the lake has committed."""

    def __init__(self, lake: Lake, name: TableName, table_id: int) -> None:
        self._lake = lake
        self._name = name
        self._table_id = table_id

    @property
    def state(self) -> Mirror:
        """What is published, and what stands in the way if anything does."""
        with self._lake._reading() as reader:
            found = mirrors.of_table(reader, self._table_id)
        if found is None:
            raise NotFound(
                f"{self._name} is not mirrored", hint=f"lake.mirror({str(self._name)!r})"
            )
        return found

    def sync(self) -> Mirror:
        """Publish what has not been published yet."""
        return sync(self._lake, self._table_id) or self.state

    def stop(self) -> None:
        """Publish no more. The log stays as it is."""
        self._lake._write(lambda tx: _tagged(tx, self._name, None))
        alone(self._lake, mirrors.remove, self._table_id)

    def __repr__(self) -> str:
        return f"<DeltaMirror of {self._name}>"


def mirror(lake: Lake, name: TableName, kind: str) -> DeltaMirror:
    if kind != DELTA:
        raise Invalid(f"mirrors are of no kind {kind!r}", hint='lake.mirror("t", "delta")')
    lake._check_writable()
    info = lake.table(str(name)).info
    with lake._reading() as reader:
        known = mirrors.of_table(reader, info.id)
    if known is None:
        lake.set_option("data_inlining_row_limit", 0, table=str(name))
        alone(lake, mirrors.put, Mirror(info.id, str(uuid.uuid4()), info.path))
    if TAG not in info.tags:
        lake._write(lambda tx: _tagged(tx, name, kind))
    sync(lake, info.id)
    return DeltaMirror(lake, name, info.id)


def _tagged(tx: Transaction, name: TableName, kind: str | None) -> WriteResult:
    draft = tx.draft(name)
    others = {tag: value for tag, value in draft.after.tags.items() if tag != TAG}
    draft.after = replace(draft.after, tags=others | ({} if kind is None else {TAG: kind}))
    return WriteResult(None, operation="mirror")
