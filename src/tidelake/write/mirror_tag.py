"""The tag of a table that says in which formats it is mirrored."""

from __future__ import annotations

from dataclasses import replace

from tidelake.model.change import WriteResult
from tidelake.model.names import TableName
from tidelake.model.settings import MIRROR_TAG, mirror_formats
from tidelake.session.drafting import DraftSession


def set_mirror_tag(tx: DraftSession, name: TableName, kind: str, *, mirrored: bool) -> WriteResult:
    """Have a table be mirrored in a format, or no more. Other formats stay."""
    draft = tx.draft(name, thaw=True)
    formats = mirror_formats(draft.after.tags) - {kind} | ({kind} if mirrored else set())
    tags = {tag: value for tag, value in draft.after.tags.items() if tag != MIRROR_TAG}
    if formats:
        tags[MIRROR_TAG] = ",".join(sorted(formats))
    draft.after = replace(draft.after, tags=tags)
    return WriteResult(None, operation="mirror")
