"""Mirrors as they are asked for: begun, looked at, brought up to date, mended, ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.catalog.read import tables as read
from tidelake.delta.log.read import LogListing, list_log
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.declaration import PROPERTY, parse_declaration
from tidelake.delta.mirror.diff import diff
from tidelake.delta.mirror.foreign import accept, reject
from tidelake.delta.mirror.realign import log_standing, realign, state_of
from tidelake.delta.mirror.status import statuses
from tidelake.delta.mirror.sync import begin, sync
from tidelake.delta.mirror.tables import DELTA
from tidelake.delta.values.mirror import Mirror
from tidelake.errors import Conflict, NotFound
from tidelake.model.change import WriteResult
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.settings import mirror_formats
from tidelake.model.table import TableInfo
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked
from tidelake.write.mirror_tag import set_mirror_tag
from tidelake.write.options import set_option

if TYPE_CHECKING:
    from tidelake.delta.values.reports import MirrorDiff

ENDED = "it was stopped"


class DeltaMirror:
    """The mirror of one table: its Delta log, which shows what the lake has committed."""

    def __init__(self, session: Session, name: TableName, table_id: int) -> None:
        self._session = session
        self._name = name
        self._table_id = table_id

    @property
    def name(self) -> str:
        return str(self._name)

    @property
    def root(self) -> str:
        """Where readers of Delta find the table."""
        return self.state.root

    @property
    def state(self) -> Mirror:
        """What has been decided upon, and what stands in the way if anything does."""
        with self._session.reading() as reader:
            found = mirrors.of_table(reader, self._table_id)
        if found is None:
            raise NotFound(
                f"{self._name} is not mirrored", hint=f"lake.mirror({str(self._name)!r})"
            )
        return found

    @property
    def status(self) -> MirrorStatus:
        """What is published, and how far behind the table it is."""
        _ = self.state
        return statuses(self._session, self._table_id)[0]

    def sync(self) -> Mirror:
        """Publish what has not been published yet."""
        self._session.check_writable()
        return sync(self._session, self._table_id) or self.state

    def diff(
        self,
        log_dir: str | None = None,
        *,
        lag_threshold_seconds: float = 5.0,
        max_drift_files: int = 0,
    ) -> MirrorDiff:
        """Compare the lake with the log as it lies there, or with a copy of it elsewhere. Changes
        nothing."""
        return diff(
            self._session,
            self.state,
            log_dir,
            lag_threshold_seconds=lag_threshold_seconds,
            max_drift_files=max_drift_files,
        )

    def accept_foreign(self) -> WriteResult:
        """Do in the lake what somebody else has done in the log, and go on from there. Refused
        where that cannot be told exactly."""
        return accept(self._session, self._name, self.state)

    def reject_foreign(self) -> Mirror:
        """Publish on top of what somebody else has put into the log: one more version, which takes
        back what they did."""
        return reject(self._session, self.state)

    def stop(self, *, author: str | None = None, message: str | None = None) -> None:
        """Publish no more. The log stays as it is; `lake.mirror` goes on in it."""
        terms = Terms(author=author, message=message)
        write(
            self._session,
            lambda tx: set_mirror_tag(tx, self._name, DELTA, mirrored=False),
            terms=terms,
        )
        run_locked(self._session, mirrors.stop, self._table_id, "stopped", ENDED)

    def __repr__(self) -> str:
        return f"<DeltaMirror of {self._name}>"


def mirror(
    session: Session, name: TableName, *, history: bool = False, terms: Terms = NO_TERMS
) -> DeltaMirror:
    session.check_writable()
    info = session.newest_info(name)
    with session.reading() as reader:
        known = mirrors.of_table(reader, info.id)
    log = _log(session, info) if known is None or known.status == "stopped" else None
    if log is not None:
        set_option(session, "data_inlining_row_limit", 0, table=name)
        _resume(session, info, known, log)
    if DELTA not in mirror_formats(info.tags):
        write(session, lambda tx: set_mirror_tag(tx, name, DELTA, mirrored=True), terms=terms)
    begin(session, info.id, history=history)
    sync(session, info.id)
    return DeltaMirror(session, info.name, info.id)


def mirror_of(session: Session, name: TableName) -> DeltaMirror:
    """The mirror of a table that has one, or had one until it was dropped."""
    with session.reading() as reader:
        known = {each.table_id for each in mirrors.every(reader)}
        names = read.every_name(reader)
    ids = [id_ for id_ in known if TableName.parse(names[id_]) == name]
    if not ids:
        raise NotFound(f"{name} is not mirrored", hint=f"lake.mirror({str(name)!r})")
    return DeltaMirror(session, name, max(ids))


def _log(session: Session, info: TableInfo) -> LogListing | None:
    """The log that is in the table's folder already. Of one that another table of the lake has
    there `sync` knows what to do."""
    with session.reading() as reader:
        roots = {each.root for each in mirrors.every(reader) if each.table_id != info.id}
    if info.path in roots:
        return None
    try:
        return list_log(session.local.store, info.path)
    except NotFound:
        return None


def _resume(session: Session, info: TableInfo, left: Mirror | None, log: LogListing) -> None:
    """Go on in a log that was left, if it still is as it was then."""
    mirror = left or Mirror(info.id, _left_by(session, info, log), info.path, published=log.newest)
    where = log_standing(session, mirror)
    if where.first_foreign is not None or where.newest < mirror.published:
        raise Conflict(
            f"the log at {info.path} is not as it was left: it has come to version"
            f" {where.newest}, and was left at {mirror.version}",
            hint="reject_foreign() takes back what somebody else has put there, or move"
            " _delta_log away to begin a new one",
        )
    realign(session, mirror, where.log, mirror.published + 1)


def _left_by(session: Session, info: TableInfo, log: LogListing) -> str:
    """The id of the Delta table whose log is in the table's folder, if it is this very table's."""
    _, metadata = state_of(session, log, log.newest).checked(log.root)
    said = metadata.configuration.get(PROPERTY)
    if said is None or parse_declaration(said, log.root).uuid != info.uuid:
        raise Conflict(
            f"{info.path} has a Delta log already, which is not of {info.name}",
            hint="move _delta_log away, or import it: tidelake.import_delta",
        )
    return metadata.id
