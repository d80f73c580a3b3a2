"""What a table answers about its coverage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidelake.coverage.answer import Coverage, Known
from tidelake.coverage.frame_framed import Intervals
from tidelake.coverage.question import Question, coverage, last_complete_window
from tidelake.coverage.values.calendar import Calendar
from tidelake.coverage.values.interval import Interval, Length
from tidelake.coverage.values.series import Entity, Moment
from tidelake.model.names import TableName

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.lake.table import Table


class Covering:
    """The part of a table that is asked about its coverage, at the moment that it is pinned to."""

    _lake: Lake
    _name: TableName
    _snapshot_id: int | None
    _as_of: int | None

    if TYPE_CHECKING:

        def known_at(self, moment: Known) -> Table: ...

    def coverage(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Coverage:
        """Which buckets of time from `start` until before `end` the series covers: of one entity,
        a list of them or all, as the lake knew it at `known_at`. Without bounds, from the first
        bucket to the last that there is. Of a table as of a moment, up to the bucket that this
        lies in. With a calendar, only buckets that it expects count."""
        table = self if known_at is None else self.known_at(known_at)
        question = Question(entity, start, end, calendar, self._as_of)
        return coverage(table._lake, table._name, table._snapshot_id, question)

    def gaps(
        self,
        min_length: Length | None = None,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Intervals:
        """What is not covered, entity by entity and in the order of time; only gaps of so many
        buckets, or so long (a timedelta, or "15m"), or longer."""
        found = self.coverage(entity, start, end, known_at, calendar)
        return found.gaps if min_length is None else found.gaps_of(min_length)

    def missing(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        calendar: Calendar | None = None,
        known_at: Known | None = None,
        batch: int = 100,
        max_length: Length | None = None,
    ) -> Iterator[list[tuple[Entity, Interval]]]:
        """The gaps as work to do, in lists of up to `batch`: entities, and what to fetch of each.
        Gaps that are longer than `max_length` (buckets, a timedelta, or "1d") come in several. A
        list of entities may name such that the table has never seen."""
        return self.coverage(entity, start, end, known_at, calendar).missing(batch, max_length)

    def first_covered(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """When the first bucket begins that is covered, by any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).first

    def last_covered(
        self,
        entity: Any = None,
        start: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Moment | None:
        """When the last bucket begins that is covered, by any of the entities."""
        return self.coverage(entity, start, end, known_at, calendar).last

    def last_complete_window(
        self,
        n: int,
        entity: Any = None,
        end: Any = None,
        known_at: Known | None = None,
        calendar: Calendar | None = None,
    ) -> Interval | None:
        """The last n buckets before `end` that follow each other and are all covered: by the
        entity, or by all at once. With a calendar, they follow each other among those that it
        expects."""
        table = self if known_at is None else self.known_at(known_at)
        question = Question(entity, None, end, calendar, self._as_of)
        return last_complete_window(table._lake, table._name, table._snapshot_id, question, n)
