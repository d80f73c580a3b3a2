"""Checks of the notes of erasures: none has been changed or taken out, and all is done."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tidelake.catalog import erasures
from tidelake.catalog.database.database import Reader
from tidelake.catalog.erasures import TABLE
from tidelake.catalog.inventory import Inventory
from tidelake.verify.values import Problem

_CHECK = "erasures"
_RESTORE = f"restore {TABLE} from a backup; if nobody has one, find out who changed it"


def erasure_notes(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every note follows the one before, and every commit of an erasure has its note."""
    found = erasures.every(reader)
    for record, said in erasures.broken_notes(found):
        yield Problem(_CHECK, f"the note of erasure {record.erasure_id} {said}", _RESTORE)
    digests = {record.digest for record in found}
    for row in inventory.of("snapshot_changes"):
        seal = _seal(row.commit_extra_info)
        if seal is not None and seal not in digests:
            yield Problem(
                _CHECK,
                "a commit erased rows, and its note is not there",
                _RESTORE,
                snapshot_id=row.snapshot_id,
            )
    for record in found:
        if record.remaining is not None:
            yield Problem(
                _CHECK,
                f"erasure {record.erasure_id} is not finished: files or logs may still hold rows",
                "lake.finish_erasures()",
            )


def _seal(extra: str | None) -> str | None:
    """The digest that a commit of ours names."""
    if not extra or not extra.startswith('{"tidelake"') or '"erasure"' not in extra:
        return None
    try:
        found = json.loads(extra)["tidelake"].get("erasure")
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return found if isinstance(found, str) else None


READING_CHECKS = (erasure_notes,)
