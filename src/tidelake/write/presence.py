"""Whether a name is taken, as a transaction sees it."""

from __future__ import annotations

from tidelake.model.names import TableName, fold
from tidelake.session.drafting import DraftSession


def has(tx: DraftSession, kind: str, name: TableName) -> bool:
    """Whether there is one of this kind, such as a table, of this name."""
    with tx.reading() as reader:
        return tx.view.find(reader, tx.base, kind, name) is not None


def has_either(tx: DraftSession, name: TableName) -> bool:
    """Whether there is a table or a view of this name."""
    return has(tx, "table", name) or has(tx, "view", name)


def has_schema(tx: DraftSession, name: str) -> bool:
    """Whether there is a schema of this name."""
    with tx.reading() as reader:
        known = tx.view.schemas(reader, tx.base)
    return fold(tx.namespace.schema(name)) in {fold(schema.name) for schema in known}
