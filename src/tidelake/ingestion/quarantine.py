"""Bad records: in a table beside the one that they were meant for, in the same commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tidelake.errors import Invalid
from tidelake.ingestion.values import BadRecord, IngestWish
from tidelake.session.drafting import DraftSession
from tidelake.write import definitions
from tidelake.write import rows as writes

_COLUMNS = (
    "file VARCHAR NOT NULL, line BIGINT, raw VARCHAR, reason VARCHAR NOT NULL,"
    " quarantined_at TIMESTAMPTZ NOT NULL"
)


def keep(tx: DraftSession, wish: IngestWish, bad: Sequence[BadRecord]) -> None:
    if not bad:
        return
    if wish.bad_records == "refuse":
        first = bad[0]
        line = "" if first.line is None else f", line {first.line}"
        raise Invalid(
            f"{first.file}{line}: {first.reason}",
            hint='correct the file, or keep bad records with bad_records="quarantine"',
        )
    with tx.reading() as reader:
        there = tx.view.find(reader, tx.base, "table", wish.quarantine) is not None
    if not there:
        definitions.create_table(
            tx,
            wish.quarantine,
            _COLUMNS,
            partition_by=(),
            sort_by=(),
            comment=f"bad records of {wish.table}",
            settings={},
        )
    now = datetime.now(UTC)
    rows = [
        {
            "file": each.file,
            "line": each.line,
            "raw": None if each.raw is None else each.raw.replace("\0", "\ufffd"),
            "reason": each.reason.replace("\0", "\ufffd"),
            "quarantined_at": now,
        }
        for each in bad
    ]
    writes.append(tx, wish.quarantine, rows)
