"""`mirror diff`: the lake against a mirror's log as it lies there, and how late that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.catalog.read import tables as read
from tidelake.delta.importing.adopt import parsed_stats, row_count
from tidelake.delta.log.names import HINT, LOG, commit_name, locate, quote_path
from tidelake.delta.log.read import LogListing, hinted_version, list_log
from tidelake.delta.log.replay import State
from tidelake.delta.log.vectors import decode_vector
from tidelake.delta.mirror import counts as mirror_counts
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.compare import (
    ComparedFile,
    compare_files,
    compare_metadata,
    compare_protocol,
    compare_there,
    holes,
)
from tidelake.delta.mirror.realign import digest_of, folder_of, state_of
from tidelake.delta.mirror.status import unseen_commit_times
from tidelake.delta.mirror.sync import files_at
from tidelake.delta.values.actions import Add, Vector, parse_commit
from tidelake.delta.values.mirror import Mirror, MirroredFile, RatifiedVersion
from tidelake.delta.values.reports import OF_FILES, Finding, MirrorDiff, PublishCounts, Verdict
from tidelake.errors import Conflict, Corrupt, Invalid, NotFound, TidelakeError
from tidelake.model.changes_made import named_tables
from tidelake.session.session import Session

_TRIES = 5
_WALKED = 1000
"""From so many files on, the whole folder is listed instead of looking at each."""


@dataclass(frozen=True, slots=True)
class _Sql:
    """What the lake has: the mirror, versions decided upon that the log lacks, what is known of
    those that it has, and how late it is."""

    table: str
    mirror: Mirror
    pending: tuple[RatifiedVersion, ...]
    digests: Mapping[int, str]
    behind: int
    lag_seconds: float
    counts: PublishCounts


@dataclass(frozen=True, slots=True)
class _Log:
    """What the log has, as far as it can be read."""

    root: str
    listing: LogListing | None
    state: State | None = None
    findings: tuple[Finding, ...] = field(default=())

    @property
    def newest(self) -> int:
        return -1 if self.listing is None else self.listing.newest


def diff(
    session: Session,
    mirror: Mirror,
    log_dir: str | None,
    *,
    lag_threshold_seconds: float,
    max_drift_files: int,
) -> MirrorDiff:
    if lag_threshold_seconds < 0 or max_drift_files < 0:
        raise Invalid("thresholds are not negative", hint="0 tolerates nothing")
    root = mirror.root if log_dir is None else _root(log_dir.rstrip("/"))
    for _ in range(_TRIES):
        log = _read_log(session, root)
        sql = _read_sql(session, mirror.table_id, log)
        if sql is not None:
            break
    else:
        raise Conflict(
            f"the mirror at {root} is written to all the time", hint="compare again later"
        )
    ours = _ours(session, sql.mirror)
    theirs, findings = _compared(session, sql, log, ours)
    return MirrorDiff(
        sql.table,
        root,
        _verdict(findings, sql.lag_seconds, lag_threshold_seconds, max_drift_files),
        sql.mirror.status,
        sql.mirror.reason,
        sql.mirror.version,
        log.newest,
        sql.mirror.snapshot_id,
        sql.behind,
        sql.lag_seconds,
        len(ours),
        len(theirs),
        tuple(findings),
        sql.counts,
    )


def _root(log_dir: str) -> str:
    """The table's folder, of a log's or of its own."""
    return folder_of(log_dir.removesuffix(LOG.rstrip("/")))


def _verdict(findings: list[Finding], lag: float, late: float, tolerated: int) -> Verdict:
    """Different if anything is but a few files; a log that is only late is not different."""
    files = {each.where for each in findings if each.kind in OF_FILES}
    if len(files) > tolerated or any(each.kind not in OF_FILES for each in findings):
        return "drift"
    return "lagging" if lag > late else "ok"


def _read_log(session: Session, root: str) -> _Log:
    store = session.local.store
    try:
        log = list_log(store, root)
    except NotFound:
        return _Log(root, None)
    findings = [*holes(log), *_hint(session, log)]
    try:
        return _Log(root, log, state_of(session, log, log.newest), tuple(findings))
    except TidelakeError as error:
        finding = Finding("unreadable", str(log.newest), str(error))
        return _Log(root, log, None, (*findings, finding))


def _hint(session: Session, log: LogListing) -> Iterator[Finding]:
    """Readers that trust `_last_checkpoint` are lost if it names one that is not there."""
    store = session.local.store
    uri = log.uri(HINT)
    named = hinted_version(store.read_small(uri)) if store.exists(uri) else None
    if named is not None and named not in log.checkpoints:
        said = f"{HINT} names a checkpoint of version {named}, which is not there"
        yield Finding("checkpoint", str(named), said)


def _read_sql(session: Session, table_id: int, log: _Log) -> _Sql | None:
    """None if the log has gone on since it was read."""
    with session.reading() as reader:
        mirror = mirrors.of_table(reader, table_id)
        if mirror is None:
            raise NotFound("the table is no longer mirrored", hint="lake.mirrors()")
        known = mirrors.known_versions(reader, table_id) if mirror.version >= 0 else {}
        shown = replace(mirror, published=min(log.newest, mirror.version))
        pending = tuple(mirrors.unpublished_versions(reader, shown)) if mirror.version >= 0 else ()
        if any(each.content is None and each.version > mirror.published for each in pending):
            return None
        times = list(unseen_commit_times(reader, shown)) if mirror.version >= 0 else []
        lag = (own_tables.clock(reader) - times[0]).total_seconds() if times else 0.0
        name = read.every_name(reader)[table_id]
        counts = mirror_counts.of_table(reader, table_id)
    digests = {version: str(facts[2]) for version, facts in known.items()}
    return _Sql(name, mirror, pending, digests, len(times), max(lag, 0.0), counts)


def _compared(
    session: Session, sql: _Sql, log: _Log, ours: Mapping[str, ComparedFile]
) -> tuple[dict[str, ComparedFile], list[Finding]]:
    """The files of the log, and all differences."""
    findings = [*log.findings, *_versions(session, sql, log)]
    if log.state is None:
        return {}, findings
    state = _with_pending(session, log.state, sql)
    protocol, metadata = sql.mirror.protocol, sql.mirror.metadata
    if protocol is not None and state.protocol is not None:
        findings += compare_protocol(protocol, state.protocol)
    if metadata is not None and state.metadata is not None:
        findings += compare_metadata(metadata, state.metadata)
    theirs, unreadable = _theirs(session, state, sql.mirror.root)
    findings += [*unreadable, *compare_files(ours, theirs)]
    findings += compare_there(theirs.values(), _sizes(session, log.root, theirs))
    return theirs, findings


def _versions(session: Session, sql: _Sql, log: _Log) -> Iterator[Finding]:
    if log.listing is None:
        if sql.mirror.published >= 0:
            yield Finding("gap", "0", f"there is no log at {log.root}")
        return
    newest = sql.mirror.version
    if log.newest > newest:
        said = f"the log has come to version {log.newest}, the lake only to {newest}"
        yield Finding("ahead", str(log.newest), said)
    recent = range(max([0, *log.listing.checkpoints]), min(log.newest, newest) + 1)
    for version in recent:
        found, known = digest_of(session, log.listing, version), sql.digests.get(version)
        if found is not None and known is not None and found != known:
            said = f"{commit_name(version)} was written by somebody else"
            yield Finding("foreign", str(version), said)


def _with_pending(session: Session, state: State, sql: _Sql) -> State:
    """The log as it will be once all is in it that has been decided upon; of a copy that is late,
    what the log itself has."""
    store = session.local.store
    for commit in sql.pending:
        uri = f"{sql.mirror.root}{LOG}{commit_name(commit.version)}"
        if commit.version == state.version + 1 and (commit.content or store.exists(uri)):
            data = commit.content or store.read_small(uri)
            state.apply(parse_commit(data, uri), commit.version)
    return state


def _theirs(
    session: Session, state: State, root: str
) -> tuple[dict[str, ComparedFile], list[Finding]]:
    found: dict[str, ComparedFile] = {}
    findings = []
    for add in state.files.values():
        try:
            gone = _positions(session, add.vector, root)
        except Corrupt as error:
            findings.append(Finding("deletes", add.path, str(error)))
            gone = None
        if add.path in found:
            said = f"{add.path} is in the log twice, with other deletes"
            findings.append(Finding("deletes", add.path, said))
        found[add.path] = _seen(add, gone)
    return found, findings


def _seen(add: Add, gone: frozenset[int] | None) -> ComparedFile:
    return ComparedFile(add.path, add.size, row_count(parsed_stats(add.stats)), gone)


def _positions(session: Session, vector: Vector | None, root: str) -> frozenset[int]:
    if vector is None:
        return frozenset()
    return frozenset(decode_vector(vector, root, session.local.store.read))


def _sizes(session: Session, root: str, theirs: Mapping[str, ComparedFile]) -> dict[str, int]:
    """How large the files of the log are that are there."""
    places = {locate(path, root): path for path in theirs}
    if len(places) < _WALKED:
        found = session.local.store.sizes(list(places)) if places else {}
    else:
        found = {each.uri: each.bytes for each in session.local.store.walk(root)}
    return {places[uri]: size for uri, size in found.items() if uri in places}


def _ours(session: Session, mirror: Mirror) -> dict[str, ComparedFile]:
    """The files that the log is to have, as the lake has them."""
    with session.reading() as reader:
        known = mirrors.files(reader, mirror.table_id)
        at = None if mirror.version < 0 else _still_there(reader, mirror)
    if mirror.status == "stopped" or at is None:
        return {file.path: _remembered(session, mirror, file) for file in known.values()}
    found = {}
    for file, gone in files_at(session, mirror, at):
        shown = known.get(file.id)
        path = quote_path(file.path.removeprefix(mirror.root)) if shown is None else shown.path
        size = file.bytes if shown is None or not shown.copied else shown.size
        found[path] = ComparedFile(path, size, file.rows, frozenset(gone))
    return found


def _still_there(reader: Reader, mirror: Mirror) -> int | None:
    """A snapshot at which the table is as the mirror shows it; None if it has been expired."""
    if snapshots.exists(reader, mirror.snapshot_id):
        return mirror.snapshot_id
    later = snapshots.after(reader, mirror.snapshot_id)
    touched = any(mirror.table_id in named_tables(each.changes) for each in later)
    return None if touched or not later else later[0].snapshot_id


def _remembered(session: Session, mirror: Mirror, file: MirroredFile) -> ComparedFile:
    add = file.add(data_change=False)
    return _seen(add, _positions(session, file.vector, mirror.root))
