"""The part of a table that tells of its past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from tidelake.drawing.drawn_list import DrawnList
from tidelake.model.event_time import EventTime
from tidelake.model.forms import Key
from tidelake.model.predicate import Predicate
from tidelake.session.source import Source

if TYPE_CHECKING:
    from tidelake.event_time.belief_changes import BeliefChanges
    from tidelake.event_time.history import History
    from tidelake.event_time.periods import Periods
    from tidelake.event_time.values.plane import Plane
    from tidelake.event_time.versions import Versions
    from tidelake.history.changes import Changes
    from tidelake.history.diff import TableDiff
    from tidelake.history.schema_steps import SchemaStep
    from tidelake.history.values import Log


class TableHistory:
    """Nothing of it changes anything."""

    source: Source

    def snapshots(self) -> Log:
        """The snapshots that changed this table and what they did, oldest first."""
        return self.log()

    def log(self, limit: int | None = None) -> Log:
        """As `snapshots`, of the newest `limit`. The numbers are of the whole commit, which may
        have changed other tables too."""
        from tidelake.history.values import Log, checked_limit
        from tidelake.tenants.own_log import table_log

        return Log(table_log(self.source, checked_limit(limit)))

    def schema_log(self) -> list[SchemaStep]:
        """The snapshots that changed declarations of the table, and how; oldest first."""
        from tidelake.history.schema_steps import schema_steps

        self.source.session.note_rows(self.source.name, self.source.snapshot_id)
        return DrawnList(schema_steps(self.source), one="step", show=("snapshot_id", "differences"))

    def changes(
        self,
        since: int | str | date | None = None,
        until: int | str | date | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
    ) -> Changes:
        """The rows that came, went or were updated after `since` (None: from nothing) and up to
        `until` (None: now), each a snapshot id, a time or a tag. Lazy, as a scan is; `columns` are
        those of the table that are wanted, `where` is a condition on the changes themselves."""
        from tidelake.history.changes import changes_of

        wanted = columns if columns is None or isinstance(columns, str) else tuple(columns)
        return changes_of(self.source, since, until, columns=wanted, where=where)

    def history(self, key: Key | None = None) -> History:
        """Every answer that the lake ever gave about a key: when each row held (`valid_from`,
        `valid_to`), and while the lake knew it (`known_from`, `known_to`). A pinned table gives
        what was known then. Give a key of one column as it is, a longer one as a dict.
        """
        from tidelake.coverage.requirement import check_required
        from tidelake.event_time.history import history_of

        check_required(self.source)
        return history_of(self.source, key)

    def between(self, start: str | date | None = None, end: str | date | None = None) -> Periods:
        """The facts that held at some time from `start` until before `end`, each with `valid_from`
        and `valid_to`. None is no bound. In SQL: FOR VALID_TIME FROM … TO ….
        """
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
        self, start: int | str | date | None = None, end: int | str | date | None = None
    ) -> Versions:
        """Every version of the rows that the lake held from `start` until before `end` (snapshot
        ids, times or tags; None is no bound), with `known_from` and `known_to`. As of a moment:
        every answer for it, and while that was the answer. In SQL: FOR SYSTEM_TIME FROM … TO ….
        """
        from tidelake.event_time.values.ranges import SystemRange
        from tidelake.event_time.versions import Versions

        return Versions(self.source, SystemRange(start, end))

    def plane(self) -> Plane:
        """Where the facts of the table lie in both times, from the statistics of its files: which
        event times came with which snapshots, how many rows, and which of them came late."""
        from tidelake.event_time.plane import plane

        self.source.check_recorded("plane")
        return plane(self.source)

    def changes_of_belief(self, since: int | str | date) -> BeliefChanges:
        """For a table as of a moment: the keys whose answer has changed since the snapshot, time or
        tag `since`, with the values before and after. Late rows, corrections and deletes change
        answers.
        """
        from tidelake.coverage.requirement import check_required
        from tidelake.event_time.belief_changes import belief_changes_of

        check_required(self.source)
        return belief_changes_of(self.source, since)

    def diff(self, a: int | str | date, b: int | str | date | None = None) -> TableDiff:
        """Compare two snapshots, times or tags; `b` may be older, and None is now. Shows
        declarations, files, and rows by id and value that differ.
        """
        from tidelake.history.diff import diff_of

        return diff_of(self.source, a, b)
