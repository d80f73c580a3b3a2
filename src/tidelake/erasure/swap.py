"""The one commit of an erasure: all files at once, the note of it, and what is still to be done."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from tidelake.catalog import audit, erasures, own_tables
from tidelake.catalog.audit import AuditRecord
from tidelake.catalog.commit import commit
from tidelake.catalog.commit import erase as catalog_erase
from tidelake.catalog.commit.commit import CommitRequest, CommitResult
from tidelake.catalog.commit.rebuild import shared_paths
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.erasures import Chores, ErasureRecord, NoteFacts
from tidelake.catalog.expire import leftovers as catalog_files
from tidelake.catalog.read import paths, registrations
from tidelake.erasure.data_sets import check_no_more
from tidelake.erasure.fingerprints import NewHashes, rebased_hashes
from tidelake.erasure.leftovers import (
    FolderView,
    Leftovers,
    find_leftovers,
    scheduled_files,
)
from tidelake.erasure.preparation import Preparation, Rows
from tidelake.erasure.survey import Survey
from tidelake.errors import Invalid
from tidelake.model.change import Change, Purge, TableChange, WriteResult
from tidelake.model.ownership import is_own
from tidelake.session.hooks import CommitHooks
from tidelake.session.landing import note_landed
from tidelake.session.session import Session
from tidelake.verify import fingerprints
from tidelake.verify.fingerprint_sql import FOREVER


class Newcomers(Exception):
    """Somebody has changed the table: there is more to prepare."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """Why, and by whom. `data_sets` are those made of the table that have been looked at, by the
    ids of their tables."""

    reason: str
    author: str | None
    data_sets: frozenset[int] = frozenset()

    @staticmethod
    def of(reason: object, author: object, *, needed: bool) -> Grounds:
        """As a caller gives them. Without an author it is whoever runs this."""
        if reason is None and not needed:
            return Grounds("", None)
        if not isinstance(reason, str) or not reason.strip():
            raise Invalid("an erasure needs a reason, which is kept", hint='reason="request 4711"')
        if author is not None and (not isinstance(author, str) or not author.strip()):
            raise Invalid(f"author={author!r} is no name", hint="leave it out, or give a text")
        return Grounds(reason.strip(), author.strip() if author else audit.whoever())


@dataclass(frozen=True, slots=True)
class SwapOutcome:
    """What has been done. `foreign` are files that are not the lake's to delete."""

    record: ErasureRecord
    known: Survey
    purge: Purge
    foreign: tuple[str, ...]
    leftovers: Leftovers
    rollups: int
    landed: CommitResult | None


@dataclass
class Swap:
    """It decides inside the lake's lock, at every attempt, what is to be swapped. `last`: what is
    missing by then is prepared there, while everybody waits."""

    work: Preparation
    grounds: Grounds
    folder: FolderView
    leftovers: Leftovers
    hashes: NewHashes
    last: bool
    known: Survey | None = None
    purge: Purge = field(default_factory=Purge)
    record: ErasureRecord | None = None
    own: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    rollups: int = 0
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def session(self) -> Session:
        return self.work.session

    def run(self) -> SwapOutcome:
        base = self._head()
        wanted = CommitRequest(
            self._change,
            self.token,
            base,
            self.session.annexes,
            beside=self._beside,
            guard=self,
        )
        landed = commit.commit(self.session.database, wanted, self.session.data_path)
        assert self.known is not None
        assert self.record is not None
        if self.purge:
            change = self._change(landed.snapshot_id)
            note_landed(self.session, landed, change)
        self.session.caches.forget()
        return SwapOutcome(
            self.record,
            self.known,
            self.purge,
            self.foreign,
            self.leftovers,
            self.rollups,
            landed if self.purge else None,
        )

    def _head(self) -> int:
        with self.session.reading() as reader:
            return self.session.at(reader)

    # What the commit asks, inside the lock.

    def begin(self, writer: Writer, /) -> None:
        erasures.ensure(writer)
        audit.ensure(writer)
        known = self.work.look()
        check_no_more(writer, known.found.info.id, self.grounds.data_sets)
        if self._is_behind(writer, known):
            if not self.last:
                raise Newcomers
            self.work.work(known)
            self.leftovers = find_leftovers(self.session, known, self.folder)
            self.hashes = rebased_hashes(self.session, known, self.work.purge(known))
        self.known, self.purge = known, self.work.purge(known)
        self.own, self.foreign = _whose(writer, self.purge, self.session.data_path)
        self.record = None

    def check(self, reader: Reader, head: int, /) -> None:
        """All has been looked at in the same transaction."""

    def _is_behind(self, reader: Reader, known: Survey) -> bool:
        """Whether there is more to do than what has been prepared."""
        info = known.found.info
        waiting = scheduled_files(reader, self.session.data_path, info.path)
        kept = tuple(fingerprints.of_table(reader, info.id))
        behind = not waiting <= self.leftovers.known or kept != self.hashes.kept
        return behind or bool(self.work.missing(known))

    def _change(self, snapshot_id: int) -> Change:
        """The change of nothing, if no snapshot has such rows."""
        assert self.known is not None
        found = self.known.found
        if not self.purge:
            return Change(found.base, found.schema_version, self.token)
        if self.record is None:
            self.record = self._note(snapshot_id)
        return Change(
            found.base,
            found.schema_version,
            self.token,
            tables=(TableChange(found.info, found.info, purge=self.purge),),
            author=self.grounds.author,
            message="erasure" if found.options.require_message else None,
            done=WriteResult(None, operation="erase", deleted=self._count()),
            seal=self.record.digest,
        )

    def _beside(self, writer: Writer) -> None:
        assert self.record is not None
        change = self._change(self.record.snapshot_id or 0)
        CommitHooks(self.session.hooks, change).beside(writer)

    def keep(self, writer: Writer, snapshot_id: int, change: Change, /) -> None:
        """The note, and all that goes with the rows, in the same transaction."""
        assert self.known is not None
        del snapshot_id, change
        if self.record is None:
            self.record = self._note(None)
        info, data_path = self.known.found.info, self.session.data_path
        if self.purge:
            catalog_erase.restate(writer, info)
        late = catalog_files.names_since(writer, self.leftovers.next_id, ())
        unneeded = [path for path in self.leftovers.going if paths.base(path) not in late]
        catalog_erase.unschedule(writer, unneeded, data_path)
        derived = [
            path
            for annex in self.session.annexes
            for path in annex.rows_erased(writer, info.id, data_path)
        ]
        self.rollups = sum(path.endswith(".rollup") for path in derived)
        if self.hashes.kept:
            fingerprints.rebase(writer, info.id, self.hashes.after)
        gone = dict.fromkeys([*self.own, *unneeded, *derived])
        going = [paths.from_data_path(path, data_path)[0] for path in gone]
        formats = tuple(each.name for each in self.session.formats)
        erasures.put(writer, self.record, Chores(tuple(going), formats))
        audit.put(writer, self._told())

    # What is written down.

    def _note(self, snapshot_id: int | None) -> ErasureRecord:
        assert self.known is not None
        info = self.known.found.info
        with self.session.reading() as reader:
            facts = NoteFacts(
                info.id,
                str(info.name),
                snapshot_id,
                own_tables.clock(reader),
                self.grounds.author,
                self.grounds.reason,
                self._counts(),
                {str(each.snapshot_id): each.content_hash for each in self.hashes.after},
            )
            return erasures.next_note(reader, facts)

    def _counts(self) -> dict[str, int]:
        gone = sum(each.file is None for each in self.purge.files)
        return {
            "rows": self._count(),
            "catalog_rows": sum(map(len, self.purge.rows.values())),
            "files": len(self.purge.files) - gone,
            "files_gone": gone,
            "delete_files": sum(len(each.deletes) for each in self.purge.files),
            "unneeded_files": len(self.leftovers.going),
            "foreign_files": len(self.foreign),
            "snapshots": len(self.seen()),
        }

    def _count(self) -> int:
        assert self.known is not None
        rows = sum(answer.rows for answer in self.work.files(self.known))
        return rows + sum(map(len, self.purge.rows.values()))

    def seen(self) -> set[int]:
        """The snapshots between the first and the last that could see such rows of each file."""
        assert self.known is not None
        return seen_snapshots(self.work, self.known, dict(self.purge.rows))

    def _told(self) -> AuditRecord:
        assert self.known is not None
        assert self.record is not None
        return AuditRecord(
            "erase",
            str(self.known.found.info.name),
            self.record.snapshot_id,
            self._count(),
            f"erasure {self.record.erasure_id}: {self.grounds.reason}",
            actor=self.grounds.author,
        )


def seen_snapshots(work: Preparation, known: Survey, rows: Rows) -> set[int]:
    """The snapshots from the first to the last that could see rows of a file, or of the catalog."""
    spans = [(answer.began, answer.ended) for answer in work.files(known)]
    for kept in known.found.kept:
        ends = {(row_id, begin): end for row_id, begin, end in kept.ends}
        found = rows.get(kept.table_name, ())
        spans += [(begin, ends.get((row_id, begin), FOREVER)) for row_id, begin in found]
    distinct = set(spans)
    return {at for at in known.found.snapshots if any(a <= at < b for a, b in distinct)}


def _whose(reader: Reader, purge: Purge, data_path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files that nobody needs then: those that are the lake's to delete, and others."""
    old = {each.before.id: each.before.path for each in purge.files}
    files = [each.before for each in purge.files]
    shared = shared_paths(reader, files, data_path)
    mapped = {file.id for file in files if file.mapping_id is not None}
    deletable = registrations.deletable(reader, old, data_path, mapped)
    own = [path for id_, path in old.items() if id_ in deletable and path not in shared]
    deletes = [delete.path for file in files for delete in file.deletes]
    own += [path for path in deletes if is_own(path, data_path)]
    foreign = [path for path in [*old.values(), *deletes] if path not in set(own)]
    return tuple(dict.fromkeys(own)), tuple(dict.fromkeys(foreign))
