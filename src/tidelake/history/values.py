"""Consumers: how far somebody who follows the lake's changes has come.

The lake's log: what every snapshot did, in numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from tidelake.drawing.amounts import quantity
from tidelake.drawing.drawable import Drawable
from tidelake.drawing.report import DrawableReport
from tidelake.drawing.sheet import MOST_ROWS, Sheet, cell_text
from tidelake.drawing.timeline import MOST, Dot, timeline
from tidelake.errors import Invalid
from tidelake.model.changes_made import UPKEEP, kinds_of
from tidelake.model.reflexes import OF_LOGS, Guessable
from tidelake.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TableShare:
    """A table of a group: everything up to `snapshot_id` has been taken (None: nothing yet);
    `owner` holds it now, or held it last."""

    table: str
    snapshot_id: int | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class ConsumerState(DrawableReport):
    """A named consumer. It has taken everything up to `snapshot_id`; neither that snapshot nor a
    later one may be expired before it goes on. None: nothing yet; then the rows of the oldest
    snapshot come first, and it needs all there are. `owner` holds it until `lease_until`. `lag`
    counts the snapshots that it has still to take.

    Where a group shares it, `members` are those who take part now (None: it is no group's),
    `tables` tell who has which, and `snapshot_id` is as far as all of them are.
    """

    name: str
    snapshot_id: int | None
    owner: str | None = None
    lease_until: datetime | None = None
    lag: int = 0
    members: tuple[str, ...] | None = None
    tables: tuple[TableShare, ...] = ()

    def __str__(self) -> str:
        at = "nothing yet" if self.snapshot_id is None else f"snapshot {self.snapshot_id}"
        held = f", held by {self.owner} until {self.lease_until}" if self.owner else ""
        if self.members is not None:
            held = f", shared by {len(self.members)}"
        return f"{self.name}: {at}, {self.lag} behind{held}"


_CAME = {"inserted_into_table", "inlined_insert"}
WENT = {"deleted_from_table", "inlined_delete"}
"""Changes that took rows away."""


@dataclass(frozen=True, slots=True)
class CommitCounts:
    """Rows and new data files of one commit; None where nobody can tell any more."""

    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LogEntry(Snapshot):
    """One commit, and what it did. `tables` have the names they had then. `seconds` is how long
    the work for it took, which only Tidelake notes.

    Of DuckDB's commits the operation is what its changes tell (`update` whenever rows came and
    rows went), and the numbers are those that its files still show.
    """

    operation: str = ""
    tables: tuple[str, ...] = ()
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    files: int | None = None
    bytes: int | None = None
    seconds: float | None = None

    def as_snapshot(self) -> Snapshot:
        """What was committed, without what it did."""
        return Snapshot(
            self.snapshot_id, self.time, self.schema_version, (), self.author, self.message
        )

    def __str__(self) -> str:
        who = f" by {self.author}" if self.author else ""
        where = f" {', '.join(self.tables)}" if self.tables else ""
        counted = [
            f"{count:,} {what}"
            for what in ("inserted", "updated", "deleted")
            if (count := getattr(self, what))
        ]
        rows = f" ({', '.join(counted)})" if counted else ""
        said = f": {self.message}" if self.message else ""
        when = f"{self.snapshot_id} {self.time:%Y-%m-%d %H:%M:%S}"
        return f"{when}{who} {self.operation}{where}{rows}{said}"


class Log(list[LogEntry], Guessable, Drawable):
    """Commits, oldest first; a list that draws itself."""

    _reflexes = ("log", OF_LOGS)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _sheet(self) -> Sheet:
        headed = ("snapshot", "time", "author", "what", "tables", "rows", "message")
        dots = [
            Dot(
                each.snapshot_id,
                f"{each.time:%Y-%m-%d %H:%M}",
                cell_text(each),
                kind_of(each.operation),
            )
            for each in self[-MOST:]
        ]
        newest = [_log_row(each) for each in reversed(self[-MOST_ROWS - 1 :])]
        title = f"{quantity(len(self), 'snapshot')}, the newest first"
        told = Sheet.of(title).with_grid(headed, newest)
        return told.with_picture(timeline(dots))


def _log_row(entry: LogEntry) -> tuple[object, ...]:
    counts = (("+", entry.inserted), ("~", entry.updated), ("-", entry.deleted))
    rows = " ".join(f"{sign}{count:,}" for sign, count in counts if count)
    when = f"{entry.time:%Y-%m-%d %H:%M:%S}"
    told = (entry.author or "", entry.operation, ", ".join(entry.tables), rows, entry.message or "")
    return (entry.snapshot_id, when, *told)


_KINDS = {
    **dict.fromkeys(("append", "put", "ingest", "insert", "import", "add_files"), "came"),
    **dict.fromkeys(("delete", "end", "drop"), "went"),
    **dict.fromkeys(("update", "merge", "overwrite", "rollback"), "mixed"),
    "compact": "upkeep",
}


def kind_of(operation: str) -> str:
    """Whether rows came or went by it, both, or it was upkeep; else something was declared."""
    return _KINDS.get(operation.split(" ")[0].split(",")[0], "declared")


def checked_limit(limit: int | None) -> int | None:
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise Invalid(f"limit={limit!r} is no number of snapshots", hint="give 1 or more")
    return limit


@dataclass(frozen=True, slots=True)
class CommitNote:
    """What a commit of ours says of itself."""

    counts: CommitCounts
    operation: str | None
    seconds: float | None


def read_commit_note(extra: str | None) -> CommitNote | None:
    """What `commit_extra_info` tells, if Tidelake wrote it and counted."""
    if not extra or not extra.startswith('{"tidelake"'):
        return None
    try:
        known = json.loads(extra)["tidelake"]
        rows = [int(known.get(name, 0)) for name in ("inserted", "updated", "deleted")]
        files = [int(known.get(name, 0)) for name in ("files", "bytes")]
        if "seconds" not in known:
            return None
        return CommitNote(
            CommitCounts(*rows, *files), known.get("operation"), float(known["seconds"])
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """What is left of the files that a commit made; `complete` if all of them are. `deletes` are
    the rows that its delete files name, `ended` the data files that it ended."""

    complete: bool = False
    files: int = 0
    rows: int = 0
    bytes: int = 0
    deletes: int = 0
    ended: int = 0


def counts_from_changes(changes: Iterable[str], made: MadeFiles) -> CommitCounts:
    """What can be told of a commit that says nothing of itself."""
    kinds = kinds_of(changes)
    files: tuple[int | None, int | None] = (None, None)
    if made.complete:
        files = (made.files, made.bytes)
    elif not kinds & (UPKEEP.keys() | {"inserted_into_table"}):
        files = (0, 0)
    came, went = kinds & _CAME, kinds & WENT
    if kinds & UPKEEP.keys():
        return CommitCounts(0, 0, 0, *files)
    if came and went:
        return CommitCounts(None, None, None, *files)
    told = made.complete and not made.ended and "inlined_delete" not in went
    inserted = made.rows if made.complete and came == {"inserted_into_table"} else None
    return CommitCounts(
        inserted=inserted if came else 0,
        updated=0,
        deleted=(made.deletes if told else None) if went else 0,
        files=files[0],
        bytes=files[1],
    )
