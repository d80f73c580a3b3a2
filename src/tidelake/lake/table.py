"""A table at a moment: its schema, history, files and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack, overload

from tidelake.coverage.requirement import check_kept, check_required, required_ratio
from tidelake.coverage.table_coverage import TableCoverage
from tidelake.coverage.values.coverage_settings import CoverageSettings
from tidelake.engine import Engine, Reading
from tidelake.errors import Invalid, Unsupported
from tidelake.lake.scan import Scan
from tidelake.lake.table_writes import TableWrites
from tidelake.model.event_time import EventTime, as_moment
from tidelake.model.file import DataFile
from tidelake.model.predicate import Predicate
from tidelake.model.schema import Schema
from tidelake.model.settings import Settings
from tidelake.model.table import PartitionSpec, SortKey, TableInfo
from tidelake.model.terms import CommitTerms, Purpose, Terms
from tidelake.plan.scan import ScanPlan
from tidelake.session.lazy_rows import ROWS, Asked, LazyRows
from tidelake.session.source import Source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

    from tidelake.event_time.belief_changes import BeliefChanges
    from tidelake.event_time.explanation import Explanation
    from tidelake.event_time.history import History
    from tidelake.event_time.periods import Periods
    from tidelake.event_time.values.plane import Plane
    from tidelake.event_time.values.rollup import Rollup
    from tidelake.event_time.versions import Versions
    from tidelake.history.changes import Changes
    from tidelake.history.diff import TableDiff
    from tidelake.history.schema_steps import SchemaStep
    from tidelake.history.values import LogEntry
    from tidelake.upkeep.values import CompactResult


class Table(TableCoverage, TableWrites, LazyRows):
    """A table of a lake. Unpinned, every call sees the newest snapshot; `known_at` pins it to
    another, and `as_of` to a moment of event time.

    A table keeps its identity when it is renamed: a handle follows the name it was asked for.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._session = source.session

    @property
    def name(self) -> str:
        """The qualified name, quoted where SQL needs it."""
        return str(self.source.name)

    @property
    def schema(self) -> Schema:
        return self.info.schema

    @property
    def comment(self) -> str | None:
        return self.info.comment

    @property
    def tags(self) -> dict[str, str]:
        return dict(self.info.tags)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that were declared as key; none if none were."""
        info = self.info
        names = {column.id: column.name for column in info.schema}
        return tuple(names[each] for each in Settings.of(info.tags).key if each in names)

    @property
    def event_time(self) -> str | None:
        """The column that was declared as event time, if one was."""
        info = self.info
        names = {column.id: column.name for column in info.schema}
        declared = Settings.of(info.tags).event_time
        return None if declared is None else names.get(declared)

    @property
    def coverage_settings(self) -> CoverageSettings | None:
        """How the coverage of the table is kept; None if it is not."""
        return CoverageSettings.of(self.info)

    @property
    def partitioning(self) -> PartitionSpec | None:
        return self.info.partitioning

    @property
    def sorting(self) -> tuple[SortKey, ...]:
        return self.info.sorting

    @property
    def info(self) -> TableInfo:
        """All that the catalog says of the table at this moment."""
        return self.source.declared()

    def known_at(self, moment: int | str | datetime) -> Table:
        """The table as the lake knew it: at a snapshot id, a time (UTC if it has no zone), or a
        tag."""
        return Table(self.source.known_at(moment))

    def as_of(self, moment: str | date, *, require: float | bool | None = None) -> Table:
        """The table's state as of a moment of event time (UTC if it has no zone): for every key
        the last fact up to then, unless that is a tombstone. With `known_at`: as far as the lake
        knew it then.

        With `require` (up to 1, or True) its rows are read only if so much of what is expected up
        to then is there; else that is Incomplete, which says what is missing."""
        found = as_moment(moment)
        with self.source.session.reading() as reader:
            at = self.source.at(reader)
            EventTime.of(self.source.info(reader, at), at)
        return Table(_requiring(replace(self.source, as_of=found), require))

    def snapshots(self) -> list[LogEntry]:
        """The snapshots that changed this table and what they did, oldest first."""
        return self.log()

    def log(self, limit: int | None = None) -> list[LogEntry]:
        """As `snapshots`, of the newest `limit`. The numbers are of the whole commit, which may
        have changed other tables too."""
        from tidelake.history.values import checked_limit
        from tidelake.tenants.own_log import table_log

        return table_log(self.source, checked_limit(limit))

    def schema_log(self) -> list[SchemaStep]:
        """Every snapshot that declared something of the table otherwise, and what; oldest first."""
        from tidelake.history.schema_steps import schema_steps

        self.source.session.note_rows(self.source.name, self.source.snapshot_id)
        return schema_steps(self.source)

    def files(self) -> list[DataFile]:
        """All data files of the table at this moment."""
        return self.scan().files()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        *,
        as_of: str | date | None = None,
        known_at: int | str | datetime | None = None,
        require: float | bool | None = None,
    ) -> Scan:
        """A lazy read of some columns and rows; `where` is SQL text or a `col(…)` condition. With
        `as_of`, a condition is one on the state as of then. With `require` (up to 1, or True) rows
        are read only if so much of what is expected is there, up to `as_of` or now: of the entities
        that `where` names by `=` or `IN`, else of all. Less is Incomplete."""
        table = self if known_at is None else self.known_at(known_at)
        table = table if as_of is None else table.as_of(as_of)
        return Scan(_requiring(table.source, require), columns, where)

    def explain(self) -> Explanation:
        """Which files a read of all rows would look at, and why not at others; and how complete it
        is."""
        return self.scan().explain()

    def changes(
        self,
        since: int | str | datetime | None = None,
        until: int | str | datetime | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
    ) -> Changes:
        """The rows that came, went or were updated after `since` (None: from nothing) and up to
        `until` (None: now), each a snapshot id, a time or a tag. Lazy, as a scan is; `columns` are
        those of the table that are wanted, `where` is a condition on the changes themselves."""
        from tidelake.history.changes import changes_of

        return changes_of(self.source, since, until, columns=columns, where=where)

    def history(self, key: Any = None) -> History:
        """All that the lake ever answered about a key: from when to when each row held
        (`valid_from`, `valid_to`), and from when to when the lake knew it so (`known_from`,
        `known_to`). Pinned, as far as it was known then, and for that moment. A key of one column
        may be given as it is, else as a dict."""
        from tidelake.event_time.history import history_of

        check_required(self.source)
        return history_of(self.source, key)

    def between(self, start: str | date | None = None, end: str | date | None = None) -> Periods:
        """The facts that held at some time from `start` until before `end`, each with when that
        was: `valid_from`, `valid_to`. None is no bound. In SQL: FOR VALID_TIME FROM … TO …."""
        from tidelake.event_time.periods import Periods
        from tidelake.event_time.values.ranges import ValidRange

        self.source.check_not_as_of("periods")
        self.source.check_recorded("periods")
        within = ValidRange.of(start, end)
        with self.source.session.reading() as reader:
            at = self.source.at(reader)
            EventTime.of(self.source.info(reader, at), at)
        return Periods(self.source, within)

    def versions(
        self, start: int | str | datetime | None = None, end: int | str | datetime | None = None
    ) -> Versions:
        """What the lake held of the table at some time from `start` until before `end` (snapshot
        ids, times or tags; None is no bound): every version of its rows, with when that was
        (`known_from`, `known_to`). As of a moment: what was answered for it, and while that was
        the answer. In SQL: FOR SYSTEM_TIME FROM … TO …."""
        from tidelake.event_time.values.ranges import SystemRange
        from tidelake.event_time.versions import Versions

        return Versions(self.source, SystemRange(start, end))

    def plane(self) -> Plane:
        """Where the facts of the table lie in both times, from the statistics of its files: which
        event times came with which snapshots, how many rows, and which of them came late."""
        from tidelake.event_time.plane import plane

        self.source.check_recorded("plane")
        return plane(self.source)

    def changes_of_belief(self, since: int | str | datetime) -> BeliefChanges:
        """Of a table as of a moment: the keys whose answer was another at the snapshot, time or
        tag `since`, with what was thought of them then and what is thought now. Late rows,
        corrections and deletes are what makes the difference."""
        from tidelake.event_time.belief_changes import belief_changes_of

        check_required(self.source)
        return belief_changes_of(self.source, since)

    def diff(self, a: int | str | datetime, b: int | str | datetime | None = None) -> TableDiff:
        """What differs from one snapshot, time or tag to another (None: now), which may be
        older: in what is declared, in files and, by row id and value, in rows."""
        from tidelake.history.diff import diff_of

        return diff_of(self.source, a, b)

    def count(self) -> int:
        return self.scan().count()

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:  # noqa: ARG002
        return engine.read(self.scan().plan())

    def _asked(self) -> Asked:
        return Asked(f"SELECT * FROM {ROWS}", {ROWS: self.scan().plan()})

    def to_pyarrow_dataset(self) -> pyarrow.dataset.Dataset:
        """The table's files as they are, as pyarrow's own dataset, at this moment for good.
        Unsupported where they do not serve so: rows were deleted or are in the catalog, columns
        were renamed, or files are encrypted, others', or in an object store. `to_dataset` always
        serves."""
        from tidelake.engine.dataset import files_dataset

        if self.source.session.is_sandbox:
            raise Unsupported("a sandbox gives no files", hint="to_dataset() gives rows")
        plan = self.scan().plan()
        if not isinstance(plan, ScanPlan) or plan.where is not None:
            raise Unsupported("no file has a state of a moment", hint="to_dataset() gives rows")
        return files_dataset(plan, self._arrow_schema())

    def _arrow_schema(self) -> pa.Schema:
        return self.scan()._arrow_schema()

    def _narrowed(self, columns: Sequence[str] | None, where: Predicate | None) -> LazyRows:
        return self.scan(columns, where)

    def clone(
        self,
        name: str,
        *,
        as_of: str | date | None = None,
        known_at: int | str | datetime | None = None,
        **terms: Unpack[CommitTerms],
    ) -> Table:
        """Another table with the same rows, columns and settings, as they are or were: at this
        table's moments, or these. Files that serve as they are get a link on disk, and a copy that
        the store makes elsewhere; other rows are written anew. From then on each goes its own way:
        neither can harm the other."""
        from tidelake.datasets.clone import clone
        from tidelake.session.replay import write

        table = self if known_at is None else self.known_at(known_at)
        source = (table if as_of is None else table.as_of(as_of)).source
        if source.session.is_transaction:
            raise Invalid(
                "clone() is no part of a transaction", hint="call it on a table of the lake itself"
            )
        namespace = source.session.namespace
        target = namespace.parse(name)
        namespace.check_own(target)
        write(
            source.session,
            lambda tx: clone(tx, source, target),
            terms=Terms.of(terms),
            purpose=Purpose("clone", (str(target),)),
        )
        return Table(Source(source.session, target, source.session.pinned))

    def recompute_coverage(self) -> int:
        """Find out anew what all files of the table cover, should `verify` have found that what is
        kept is wrong; of how many files."""
        from tidelake.coverage.recompute import recompute

        self.source.check_unpinned()
        return recompute(self.source.session, self.source.name)

    def compact(
        self, *, dry_run: bool = False, author: str | None = None, message: str | None = None
    ) -> CompactResult:
        """Put small files together, rewrite those that are mostly deleted, and take rows out of
        the catalog into files. What any snapshot sees stays exactly as it is. Then make the
        rollups that are due, if the table has a policy for them.

        With `dry_run` nothing is done, and the result says what would be.
        """
        from tidelake.upkeep.compact import compact

        self.source.session.namespace.check_role("maintain")
        self.source.check_unpinned()
        terms = Terms(author=author, message=message)
        return compact(self.source.session, self.source.name, dry_run=dry_run, terms=terms)

    @overload
    def rollup(self, as_of: str | date) -> Rollup: ...

    @overload
    def rollup(self, *, every: str | timedelta, keep: int | None = None) -> list[Rollup]: ...

    def rollup(
        self,
        as_of: str | date | None = None,
        *,
        every: str | timedelta | None = None,
        keep: int | None = None,
    ) -> Rollup | list[Rollup]:
        """Keep the state as of a moment, as it is known now, so that reads as of then or later
        need not look at older events. It changes no answer, and no late event spoils it.

        With `every` (a span such as "1mo", "1 week" or "6h") the table gets a policy: the last
        `keep` boundaries of the calendar up to the newest event have a rollup each, made now and
        by every `compact`; gives those that were made.
        """
        from tidelake.event_time.rollups.keep_up import roll_up

        self.source.check_unpinned()
        return roll_up(self.source.session, self.source.name, as_of, every, keep)

    def rollups(self) -> list[Rollup]:
        """The rollups of the table, the earliest first, and whether reads at this moment may begin
        with them."""
        from tidelake.event_time.rollups.make import list_rollups

        with self.source.session.reading() as reader:
            at = self.source.at(reader)
            return list_rollups(
                self.source.session.committed, reader, at, self.source.info(reader, at)
            )

    def drop_rollups(self, *, policy: bool = False) -> int:
        """Drop all rollups of the table, and with `policy` have no more made; how many it were.
        Reads stay right without them, and become slower."""
        from tidelake.event_time.rollups.keep_up import drop_all

        self.source.check_unpinned()
        return drop_all(self.source.session, self.source.name, policy=policy)

    def __repr__(self) -> str:
        return repr(self.source)


def _requiring(source: Source, require: float | bool | None) -> Source:
    """With what must be there for rows to be read; Invalid if nobody could tell whether it is."""
    if require is None:
        return source
    wanted = required_ratio(require)
    check_kept(source)
    return replace(source, required=wanted)
