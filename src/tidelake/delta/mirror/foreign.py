"""What others have put into a mirror's log: done in the lake too, or taken back in the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tidelake.coverage.overlap import AppendedRows
from tidelake.delta.importing.adopt import parsed_stats, row_count
from tidelake.delta.log.features import check_readable
from tidelake.delta.log.names import locate
from tidelake.delta.log.replay import State
from tidelake.delta.log.vectors import decode_vector, place_of
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.realign import LogStanding, log_standing, realign, state_of
from tidelake.delta.values.actions import Add, Key, Vector
from tidelake.delta.values.mirror import Mirror
from tidelake.errors import Conflict, Corrupt, Denied, Invalid, Unsupported
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.file import MappedField
from tidelake.model.names import TableName, quote
from tidelake.model.schema import NESTED, ROW_FILE, ROW_POSITION, Column
from tidelake.model.types import DELTA_NAMES, FROM_DELTA, is_decimal
from tidelake.session import staging
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.landing import transaction
from tidelake.session.planning import ReadRequest
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.session.staging import POINTERS, plan_of
from tidelake.store.files import is_within
from tidelake.write.rows import add_rows, writable

_SAME = {kind for kind, name in DELTA_NAMES.items() if FROM_DELTA.get(name) == kind} | NESTED
"""Types that are the same to Delta: of others, rows need not be what they seem."""
_TAKE_BACK = "reject_foreign() takes it back in the log"


@dataclass(frozen=True, slots=True)
class _Foreign:
    """What is different in a log since it was ours: files that came, with their rows, and files of
    ours, by id, of which rows went; `None` are all rows."""

    root: str
    came: tuple[Add, ...]
    went: Mapping[int, frozenset[int] | None]


def reject(session: Session, mirror: Mirror) -> Mirror:
    """The mirror once its log shows the lake again."""
    session.check_writable()
    where = log_standing(session, mirror)
    first = _first(where, mirror)
    return realign(session, _halted(session, mirror.table_id), where.log, first)


def accept(session: Session, name: TableName, mirror: Mirror) -> WriteResult:
    """Do in one commit what others did, then go on in the log. If it is interrupted in between,
    only the second is left to do."""
    session.check_writable()
    where = log_standing(session, mirror)
    first = _first(where, mirror)
    word = f"the lake has followed up to version {where.newest}, and the log is to go on"
    done = WriteResult(None, operation="accept")
    if mirror.reason != word:
        foreign = _foreign(session, mirror, where, first)
        _halted(session, mirror.table_id)
        with transaction(session) as tx:
            tx.in_commit = lambda writer: mirrors.stop(writer, mirror.table_id, "drifted", word)
            tx.do(lambda tx: _followed(tx, name, foreign))
        done = tx.result or done
    realign(session, _halted(session, mirror.table_id), where.log, first)
    return done


def _first(where: LogStanding, mirror: Mirror) -> int:
    if where.first_foreign is None:
        raise Invalid(
            f"nobody else has written to the log at {mirror.root}",
            hint="sync() publishes what is missing",
        )
    return where.first_foreign


def _halted(session: Session, table_id: int) -> Mirror:
    """The mirror once nobody publishes to it."""
    with session.reading() as reader:
        (mirror,) = mirrors.every(reader, table_id)
    if mirror.status in ("active", "blocked"):
        reason = "somebody else has written to its log"
        run_locked(session, mirrors.stop, table_id, "drifted", reason)
        return replace(mirror, status="drifted", reason=reason)
    return mirror


def _foreign(session: Session, mirror: Mirror, where: LogStanding, first: int) -> _Foreign:
    before = state_of(session, where.log, first - 1) if first else State()
    after = state_of(session, where.log, where.newest)
    _check_same_table(mirror, before, after)
    read = session.local.store.read
    with session.reading() as reader:
        ours = {file.path: file.file_id for file in mirrors.files(reader, mirror.table_id).values()}
    left = {add.path: add for add in after.files.values()}
    went: dict[int, frozenset[int] | None] = {}
    for key, old in before.files.items():
        if key in after.files:
            continue
        if old.path not in ours:
            raise Conflict(
                f"{old.path} was changed by others in the log, and is no longer as it was in the"
                " lake",
                hint=_TAKE_BACK,
            )
        new = left.get(old.path)
        went[ours[old.path]] = None if new is None else _masked(old, new, mirror.root, read)
    known = {add.path for add in before.files.values()}
    came = tuple(add for key, add in after.files.items() if _is_new(key, before, known))
    return _Foreign(mirror.root, came, went)


def _is_new(key: Key, before: State, known: set[str]) -> bool:
    return key not in before.files and key[0] not in known


def _masked(old: Add, new: Add, root: str, read: Any) -> frozenset[int]:
    """Positions that are gone now and were not."""
    was, now = (_positions(add.vector, root, read) for add in (old, new))
    if was - now:
        raise Unsupported(
            f"rows of {old.path} that were deleted are back in the log", hint=_TAKE_BACK
        )
    return frozenset(now - was)


def _positions(vector: Vector | None, root: str, read: Any) -> set[int]:
    return set() if vector is None else set(decode_vector(vector, root, read))


def _check_same_table(mirror: Mirror, before: State, after: State) -> None:
    protocol, metadata = after.checked(mirror.root)
    check_readable(protocol)
    known = before.metadata or mirror.metadata
    if known is None or (metadata.schema, metadata.partition_columns) != (
        known.schema,
        known.partition_columns,
    ):
        raise Unsupported(
            "others have changed the columns in the log",
            hint=f"make the same change here with evolve(), and {_TAKE_BACK}",
        )


def _followed(tx: DraftSession, name: TableName, foreign: _Foreign) -> WriteResult:
    draft = writable(tx, name)
    if foreign.came:
        _check_types(draft)
    deleted = _leave(tx, draft, foreign.went)
    inserted = sum(_come(tx, draft, foreign))
    return WriteResult(
        None, rows=inserted + deleted, inserted=inserted, deleted=deleted, operation="accept"
    )


def _check_types(draft: TableDraft) -> None:
    for column in draft.columns:
        for below in column.walk():
            if below.type not in _SAME and not is_decimal(below.type):
                raise Unsupported(
                    f"{column.name} is {column.duckdb_type}, of which Delta knows too little to"
                    " take over rows of others",
                    hint=_TAKE_BACK,
                )


def _leave(tx: DraftSession, draft: TableDraft, went: Mapping[int, frozenset[int] | None]) -> int:
    """Delete rows of ours by where they lie."""
    plan = tx.plan(draft.after.name, None, ReadRequest(POINTERS))
    draft.depends_on_inserts = True
    missing = went.keys() - {file.id for file in plan.files}
    if missing:
        raise Conflict(
            f"{len(missing)} files that others changed in the log have been written anew here"
            " meanwhile",
            hint=_TAKE_BACK,
        )
    if not went:
        return 0
    with tx.job(f"cannot delete from {draft.after.name}") as job:
        job.scan("target", plan)
        job.keep("doomed", f"SELECT * FROM target WHERE {' OR '.join(_conditions(went))}")
        return staging.remove(tx, draft, job, "doomed", plan)


def _conditions(went: Mapping[int, frozenset[int] | None]) -> Iterator[str]:
    for file_id, positions in went.items():
        inside = "" if positions is None else f" AND {ROW_POSITION} IN ({_listed(positions)})"
        yield f"({ROW_FILE} = {file_id}{inside})"


def _listed(positions: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(positions))) or "NULL"


def _come(tx: DraftSession, draft: TableDraft, foreign: _Foreign) -> Iterator[int]:
    """Write the rows of their files into files of ours; how many, file by file."""
    physical = draft.target.physical
    mapping = tuple(_mapped(column, physical) for column in draft.columns)
    listed = ", ".join(quote(column.name) for column in draft.columns)
    with tx.local.job(f"cannot take over rows for {draft.after.name}") as job:
        for number, add in enumerate(foreign.came):
            path = _own_place(add, foreign.root)
            file = NewFile(path, 0, add.size, None, mapping=mapping)
            scanned = f"foreign_{number}"
            job.scan(scanned, plan_of(tx, draft, files=(draft.as_staged(-1, file),), mapping=file))
            gone = _positions(add.vector, foreign.root, tx.local.store.read_small)
            sql = f"SELECT {listed} FROM {scanned}"
            sql += f" WHERE {ROW_POSITION} NOT IN ({_listed(frozenset(gone))})" if gone else ""
            done = add_rows(tx, draft, job, AppendedRows(sql, None, True), None)
            _check_count(add, len(gone), done.inserted, path)
            yield done.inserted


def _own_place(add: Add, root: str) -> str:
    """Where their file is, and its vector, if it has one: in the table's folder, or they are not
    taken over."""
    path = locate(add.path, root)
    beside = None if add.vector is None else place_of(add.vector, root)
    for each in (path, beside):
        if each is not None and not is_within(each, root):
            raise Denied(
                f"the log at {root} names {each!r}, which is outside of its folder",
                hint="copy the file into the table's folder, and add it from there",
            )
    return path


def _check_count(add: Add, gone: int, found: int, path: str) -> None:
    said = row_count(parsed_stats(add.stats))
    if said is not None and said - gone != found:
        raise Corrupt(f"{path} has {found + gone} rows where the log says {said}", hint=_TAKE_BACK)


def _mapped(column: Column, physical: Mapping[int, str]) -> MappedField:
    below = tuple(_mapped(child, physical) for child in column.children)
    return MappedField(physical.get(column.id, column.name), column.id, below)
