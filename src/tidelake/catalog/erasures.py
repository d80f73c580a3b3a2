"""Notes of erasures: what was erased, when, why, by whom and how many, never the values.

Each note names the digest of the one before, so none can be changed or taken out unnoticed; the
commit of an erasure names the digest of its note. Where the environment has a key
(`TIDELAKE_AUDIT_KEY`) notes are signed with it too. What an erasure still has to do is kept beside
its note, and goes with the last step.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Row, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.catalog.read.snapshots import as_instant
from tidelake.errors import Corrupt

TABLE = "tidelake_erasure"
KEY = "TIDELAKE_AUDIT_KEY"
own_tables.know(
    {
        TABLE: OwnTable(
            "erasure_id int!, table_id int, snapshot_id int, note text, digest text,"
            " signature text, key_mark text, remaining text, finished_at time",
            needed="erasure_id table_id note digest",
            wall="read",
        )
    }
)
_COLUMNS = (
    "erasure_id",
    "table_id",
    "snapshot_id",
    "note",
    "digest",
    "signature",
    "key_mark",
    "remaining",
    "finished_at",
)


@dataclass(frozen=True, slots=True)
class Chores:
    """What is still to be done: files to delete, from the data path on if they lie there, mirrors
    to publish anew (by the names of their formats), and whether the catalog is to be rid of what
    its own file or server keeps of rows that were deleted."""

    files: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    shrink: bool = True


@dataclass(frozen=True, slots=True)
class ErasureRecord:
    """`note` is the text that the digest is of. `remaining` is None once all is done."""

    erasure_id: int
    table_id: int
    snapshot_id: int | None
    note: str
    digest: str
    signature: str | None = None
    key_mark: str | None = None
    remaining: Chores | None = None
    finished_at: datetime | None = None

    @property
    def said(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self.note)
            if isinstance(found, dict):
                return found
        except ValueError:
            pass
        raise Corrupt(
            f"the note of erasure {self.erasure_id} cannot be read",
            hint=f"restore {TABLE} from a backup",
        )


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What a note is to say, beside what the chain adds. `time` is in UTC."""

    table_id: int
    table: str
    snapshot_id: int | None
    time: datetime
    author: str | None
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def ensure(writer: Writer) -> None:
    own_tables.ensure(writer, TABLE)


def every(reader: Reader) -> list[ErasureRecord]:
    """All notes, the oldest first."""
    if not reader.has_table(TABLE):
        return []
    return [_record(row) for row in reader.rows(_select(reader, "1 = 1"))]


def open_erasures(reader: Reader) -> list[ErasureRecord]:
    if not reader.has_table(TABLE):
        return []
    return [_record(row) for row in reader.rows(_select(reader, "remaining IS NOT NULL"))]


def last_of(reader: Reader, table_id: int) -> int:
    """The newest snapshot with which rows of a table were erased; -1 if there is none."""
    if not reader.has_table(TABLE):
        return -1
    row = reader.row(f"SELECT max(snapshot_id) FROM {TABLE} WHERE table_id = :id", id=table_id)
    return -1 if row is None or row[0] is None else int(row[0])


def next_note(reader: Reader, facts: NoteFacts) -> ErasureRecord:
    """The note that follows the last one. Requires: the lake's lock, and the table."""
    row = reader.row(f"SELECT erasure_id, digest FROM {TABLE} ORDER BY erasure_id DESC LIMIT 1")
    number, previous = (int(row[0]), str(row[1])) if row else (0, "")
    said = {
        "erasure_id": number + 1,
        "previous": previous,
        "table_id": facts.table_id,
        "table": facts.table,
        "snapshot_id": facts.snapshot_id,
        "time": facts.time.isoformat(),
        "author": facts.author,
        "reason": facts.reason,
        **facts.counts,
        "fingerprints": dict(facts.fingerprints),
    }
    note = json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(note.encode()).hexdigest()
    key = os.environ.get(KEY)
    return ErasureRecord(
        number + 1,
        facts.table_id,
        facts.snapshot_id,
        note,
        digest,
        _signature(key, digest) if key else None,
        _mark(key) if key else None,
    )


def put(writer: Writer, record: ErasureRecord, remaining: Chores) -> None:
    values = (
        record.erasure_id,
        record.table_id,
        record.snapshot_id,
        record.note,
        record.digest,
        record.signature,
        record.key_mark,
        _text(remaining),
        None,
    )
    writer.insert_values(TABLE, _COLUMNS, [values])


def set_chores(writer: Writer, erasure_id: int, remaining: Chores) -> None:
    writer.execute(
        f"UPDATE {TABLE} SET remaining = :text WHERE erasure_id = :id",
        text=_text(remaining),
        id=erasure_id,
    )


def finish(writer: Writer, erasure_id: int) -> None:
    writer.execute(
        f"UPDATE {TABLE} SET remaining = NULL, finished_at = :now WHERE erasure_id = :id",
        now=writer.dialect.moment(own_tables.clock(writer)),
        id=erasure_id,
    )


def broken_notes(records: Sequence[ErasureRecord]) -> Iterator[tuple[ErasureRecord, str]]:
    """Notes that are not as they were written, or that do not follow the one before, and what is
    wrong with them. The key of another signature than ours proves nothing."""
    previous, number = "", 0
    key = os.environ.get(KEY)
    for each in records:
        if hashlib.sha256(each.note.encode()).hexdigest() != each.digest:
            yield each, "has been changed"
        elif each.said.get("previous") != previous or each.erasure_id != number + 1:
            yield each, "does not follow the one before it: a note is missing, or was changed"
        elif (
            key
            and each.key_mark == _mark(key)
            and not hmac.compare_digest(each.signature or "", _signature(key, each.digest))
        ):
            yield each, "is not signed with the key that it names"
        previous, number = each.digest, each.erasure_id


def _signature(key: str, digest: str) -> str:
    return hmac.new(key.encode(), digest.encode(), hashlib.sha256).hexdigest()


def _mark(key: str) -> str:
    """By which a key is known again, and not found out."""
    return hmac.new(key.encode(), b"tidelake", hashlib.sha256).hexdigest()[:16]


def _select(reader: Reader, condition: str) -> str:
    moment = reader.dialect.instant.format("finished_at")
    listed = ", ".join(moment if name == "finished_at" else name for name in _COLUMNS)
    return f"SELECT {listed} FROM {TABLE} WHERE {condition} ORDER BY erasure_id"


def _record(row: Row) -> ErasureRecord:
    number, table_id, at, note, digest, signature, mark, remaining, finished = row
    return ErasureRecord(
        number,
        table_id,
        at,
        note,
        digest,
        signature,
        mark,
        _parsed(number, remaining),
        None if finished is None else as_instant(finished),
    )


def _text(remaining: Chores) -> str:
    said = {"files": remaining.files, "mirrors": remaining.mirrors, "shrink": remaining.shrink}
    return json.dumps(said, ensure_ascii=False)


def _parsed(erasure_id: int, text: str | None) -> Chores | None:
    if text is None:
        return None
    try:
        said = json.loads(text)
        return Chores(tuple(said["files"]), tuple(said["mirrors"]), bool(said["shrink"]))
    except (ValueError, TypeError, KeyError):
        raise Corrupt(
            f"what erasure {erasure_id} has still to do cannot be read",
            hint="erase again with the same condition, then finish_erasures()",
        ) from None
