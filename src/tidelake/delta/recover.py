"""A lake again, from the Delta logs of its mirrors: its tables as they were published last, in a
catalog that has none. Files stay where they are, with the ids of their columns and rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidelake.catalog import create
from tidelake.catalog.read import files, snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.importing.adopt import facts_of, parsed_stats, row_count
from tidelake.delta.log.features import check_readable
from tidelake.delta.log.names import LOG, commit_name, locate
from tidelake.delta.log.read import LogListing, commit_time, list_log
from tidelake.delta.log.replay import State
from tidelake.delta.log.types import DeltaField
from tidelake.delta.log.vectors import decode_vector
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.compose import ENGINE, app_id
from tidelake.delta.mirror.declaration import PROPERTY, Declaration, parse_declaration
from tidelake.delta.mirror.realign import folder_of, mirrored_file, state_of
from tidelake.delta.mirror.records import MirrorStep
from tidelake.delta.mirror.sync import sync
from tidelake.delta.values.actions import Add, Txn
from tidelake.delta.values.mirror import FIRST_ROW, Mirror, RatifiedVersion
from tidelake.delta.values.reports import RecoveredTable, RecoverResult, SkippedLog
from tidelake.engine import Job
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Conflict, Corrupt, Denied, NotFound, TidelakeError
from tidelake.model.change import NewFile, WriteResult
from tidelake.model.names import fold, quote, text_literal
from tidelake.model.schema import ROW_FILE, ROW_ID_FIELD, ROW_POSITION, Column, Schema
from tidelake.model.settings import MIRROR_TAG
from tidelake.session.draft import TableDraft
from tidelake.session.drafting import DraftSession
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.store.files import is_within
from tidelake.write import definitions
from tidelake.write.options import set_option

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine


def numbered_files(engine: LocalEngine, paths: Sequence[str]) -> dict[str, int]:
    """Those of the files whose rows bear their ids, with the first id that is free after them."""
    work = engine.workbench()
    with translate_duckdb_errors("cannot read row ids"):
        work.reach_unknown(paths)
        listed = ", ".join(map(text_literal, paths))
        sql = f"SELECT file_name, name FROM parquet_schema([{listed}]) WHERE field_id = $1"
        found = work.connection.execute(sql, [ROW_ID_FIELD]).fetchall()
        return {path: _free(work.connection, path, name) for path, name in found}


def _free(connection: Any, path: str, column: str) -> int:
    sql = f"SELECT max({quote(column)}) + 1 FROM read_parquet({text_literal(path)})"
    ((found,),) = connection.execute(sql).fetchall()
    return int(found or 0)


_DROPPED = "DROP TABLE"


@dataclass(frozen=True, slots=True)
class _Lost:
    """A table as its log has it. `numbered` are files whose rows bear their ids."""

    log: LogListing
    state: State
    declaration: Declaration
    snapshot_id: int
    numbered: Mapping[str, int]

    @property
    def name(self) -> str:
        return str(self.declaration.name)

    @property
    def rows(self) -> int:
        adds = self.state.files.values()
        gone = sum(add.vector.cardinality for add in adds if add.vector is not None)
        return sum(_rows(add) for add in adds) - gone

    def told(self) -> RecoveredTable:
        return RecoveredTable(
            self.name, self.log.root, self.state.version, len(self.state.files), self.rows
        )


def recover(session: Session, places: Sequence[str] | None, *, dry_run: bool) -> RecoverResult:
    session.check_writable()
    _check_empty(session)
    named = places or [session.data_path]
    found, skipped, last = _found(session, _roots(session, named), named)
    told = tuple(each.told() for each in found)
    if dry_run or not found:
        return RecoverResult(None, told, tuple(skipped))
    run_locked(session, create.begin_at, last)
    write(session, lambda tx: _declared(tx, found))
    done = write(session, lambda tx: _filled(tx, found))
    for each in found:
        _remember(session, each)
    write(session, lambda tx: _tagged(tx, found))
    for each in found:
        set_option(session, "data_inlining_row_limit", 0, table=each.declaration.name)
        sync(session, session.newest_info(each.declaration.name).id)
    return RecoverResult(done.snapshot_id, told, tuple(skipped))


def _check_empty(session: Session) -> None:
    with session.reading() as reader:
        at = session.at(reader)
        named = [session.view.names(reader, at, kind) for kind in ("table", "view")]
        begun = len(snapshots.every(reader)) > 1
    if any(named) or begun:
        raise Conflict(
            "this lake has a history of its own already",
            hint="recover into a new catalog, with the data path of the lake that was lost",
        )


def _roots(session: Session, places: Sequence[str]) -> list[str]:
    """Folders with a Delta log, below these places."""
    found = set()
    for place in places:
        folder = folder_of(place)
        for each in session.local.store.walk(folder):
            root, inside, _ = each.uri.partition(f"/{LOG}")
            found |= {f"{root}/"} if inside else set()
    if not found:
        raise NotFound(
            f"there are no Delta logs at {', '.join(places)}",
            hint="only tables that were mirrored can be recovered",
        )
    return sorted(found)


def _found(
    session: Session, roots: Sequence[str], places: Sequence[str]
) -> tuple[list[_Lost], list[SkippedLog], int]:
    """Tables that can be had again, of two with one name the one that was written to later; logs
    of no such table; and the last snapshot that any log tells of."""
    by_name: dict[str, _Lost] = {}
    skipped = []
    last = 0
    for root in roots:
        try:
            log = list_log(session.local.store, root)
            state = state_of(session, log, log.newest)
            last = max([last, *(txn.version for txn in _ours(state))])
            lost = _lost(session, log, state, places)
        except TidelakeError as error:
            skipped.append(SkippedLog(root, str(error)))
            continue
        other = by_name.get(fold(lost.name))
        older = min(filter(None, [lost, other]), key=lambda each: each.snapshot_id)
        if other is not None:
            skipped.append(SkippedLog(older.log.root, f"another log of {lost.name} is newer"))
            lost = other if older is lost else lost
        by_name[fold(lost.name)] = lost
    return list(by_name.values()), skipped, last


def _ours(state: State) -> Iterator[Txn]:
    for name, txn in state.txns.items():
        if name.startswith(app_id("")):
            yield txn


def _lost(session: Session, log: LogListing, state: State, places: Sequence[str]) -> _Lost:
    root = log.root
    protocol, metadata = state.checked(root)
    check_readable(protocol)
    said = {} if state.info is None else state.info.said
    if PROPERTY not in metadata.configuration:
        raise NotFound("it is not the log of a mirror", hint="tidelake.import_delta brings it in")
    if said and said.get("engineInfo") != ENGINE:
        raise Conflict(
            f"its version {log.newest} was written by somebody else",
            hint="tidelake.import_delta brings it in, or remove their versions",
        )
    if said.get("operation") == _DROPPED:
        raise NotFound("the table was dropped", hint="nothing is to be done")
    paths = [locate(add.path, root) for add in state.files.values()]
    _check_places(paths, (root, session.data_path, *places))
    _check_there(session, paths)
    bare = [locate(a.path, root) for a in state.files.values() if FIRST_ROW not in a.tags]
    return _Lost(
        log,
        state,
        parse_declaration(metadata.configuration[PROPERTY], root),
        max((txn.version for txn in _ours(state)), default=0),
        numbered_files(session.local, bare) if bare else {},
    )


def _check_places(paths: Sequence[str], places: Sequence[str]) -> None:
    """A log is not trusted to name files just anywhere."""
    for path in paths:
        if not any(is_within(path, place) for place in places):
            raise Denied(
                f"it names {path!r}, which is outside of the data path",
                hint="if it is meant to, name its folder too: recover(from_delta=[…])",
            )


def _check_there(session: Session, paths: Sequence[str]) -> None:
    missing = sorted(set(paths) - session.local.store.sizes(paths).keys()) if paths else []
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Corrupt(f"{missing[0]}{more} is missing", hint="restore it from a copy")


def _declared(tx: DraftSession, found: Sequence[_Lost]) -> WriteResult:
    """The tables by the first names of their columns, and with those that are gone."""
    for schema in sorted({each.declaration.name.schema for each in found}):
        with tx.reading() as reader:
            known = {fold(each.name) for each in tx.view.schemas(reader, tx.base)}
        if fold(schema) not in known:
            definitions.create_schema(tx, schema)
    for each in found:
        said = each.declaration
        draft = definitions.create(tx, said.name, Schema(said.first), said.keys, {})
        draft.after = replace(draft.after, uuid=said.uuid, path=each.log.root)
    return WriteResult(None, operation="recover")


def _filled(tx: DraftSession, found: Sequence[_Lost]) -> WriteResult:
    """The tables as they were last, with their files."""
    for each in found:
        said = each.declaration
        draft = tx.draft(said.name, thaw=True)
        tags = {name: value for name, value in said.tags.items() if name != MIRROR_TAG}
        draft.after = replace(
            draft.after, schema=Schema(said.columns), tags=tags, sorting=said.sorting
        )
        draft.facts = draft.facts.evolved(draft.after)
        with tx.local.job(f"cannot recover {said.name}") as job:
            draft.add_files(list(_files(tx, draft, job, each)))
    rows = sum(each.rows for each in found)
    return WriteResult(None, rows=rows, inserted=rows, operation="recover")


def _files(tx: DraftSession, draft: TableDraft, job: Job, lost: _Lost) -> Iterator[NewFile]:
    fields = [_field(column, draft.target.physical) for column in draft.columns]
    for add in sorted(lost.state.files.values(), key=lambda add: add.modified):
        path = locate(add.path, lost.log.root)
        stats = parsed_stats(add.stats)
        first = add.tags.get(FIRST_ROW)
        file = NewFile(
            path,
            _rows(add),
            add.size,
            None,
            columns=tuple(facts_of(fields, stats, _rows(add), {})),
            carries_row_ids=path in lost.numbered,
            first_row=lost.numbered.get(path) if first is None else int(first),
        )
        yield _with_deletes(tx, draft, job, file, add, lost)


def _with_deletes(
    tx: DraftSession, draft: TableDraft, job: Job, file: NewFile, add: Add, lost: _Lost
) -> NewFile:
    if add.vector is None:
        return file
    positions = decode_vector(add.vector, lost.log.root, tx.local.store.read_small)
    gone = f"SELECT CAST(-1 AS BIGINT) AS {ROW_FILE}, unnest({positions}) AS {ROW_POSITION}"
    staged = draft.as_staged(-1, file)
    (deletes,) = job.delete(gone, draft.target, [staged], draft.stamp)
    tx.wrote([deletes.path])
    return replace(file, deletes=deletes)


def _field(column: Column, physical: Mapping[int, str]) -> DeltaField:
    below = tuple(_field(child, physical) for child in column.children)
    return DeltaField(column, physical.get(column.id, column.name), None, below)


def _rows(add: Add) -> int:
    found = row_count(parsed_stats(add.stats))
    if found is None:
        raise Corrupt(f"the log does not say how many rows {add.path} has", hint="restore the log")
    return found


def _remember(session: Session, lost: _Lost) -> None:
    """What the mirror shows, so that it goes on in its log."""
    log, state = lost.log, lost.state
    protocol, metadata = state.checked(log.root)
    with session.reading() as reader:
        head = snapshots.head_id(reader)
        table_id = read.find(reader, head, "table", lost.declaration.name)
        assert table_id is not None
        known = {file.path: file.id for file in files.data_files(reader, head, table_id, log.root)}
    name = commit_name(state.version)
    content = session.local.store.read_small(log.uri(name)) if state.version in log.commits else b""
    shown = [mirrored_file(add, known[locate(add.path, log.root)]) for add in state.files.values()]
    mirror = Mirror(
        table_id,
        metadata.id,
        log.root,
        snapshot_id=head,
        version=state.version,
        published=state.version,
        checkpoint=max([-1, *log.checkpoints]),
        committed_at=commit_time(state.info, log.written(state.version), None),
        file_count=len(shown),
        protocol=protocol,
        metadata=metadata,
    )
    digest = hashlib.sha256(content).hexdigest()
    commit = RatifiedVersion(state.version, head, mirror.committed_at, digest)
    run_locked(session, mirrors.rebase, MirrorStep(mirror, mirror, (commit,)), shown, 0)


def _tagged(tx: DraftSession, found: Sequence[_Lost]) -> WriteResult:
    for each in found:
        draft = tx.draft(each.declaration.name, thaw=True)
        draft.after = replace(draft.after, tags=each.declaration.tags)
    return WriteResult(None, operation="recover")
