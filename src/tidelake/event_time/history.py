"""The history of a key in both times, read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import snapshots
from tidelake.drawing.rectangles import Answer, rectangles
from tidelake.drawing.sheet import Sheet, cell_text
from tidelake.engine import Engine, Job, Reading
from tidelake.event_time import history_sql as plan_of
from tidelake.event_time.history_sql import HistoryPlan, Outline
from tidelake.event_time.key import key_is
from tidelake.event_time.plan_as_of import plan_unplaced
from tidelake.event_time.state import check_placed
from tidelake.history.changes import define, plan_changes, read_of_past, span_of
from tidelake.history.changes_sql import ChangePlan
from tidelake.model.event_time import EventTime
from tidelake.model.file import DataFile
from tidelake.model.json_values import python_values
from tidelake.model.names import TableName
from tidelake.plan.where import as_where
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.readable import Read
from tidelake.session.session import Session
from tidelake.session.source import Record, Source

if TYPE_CHECKING:
    from tidelake.plan.scan import ScanPlan

_GATHERED = "_tidelake_gathered"
_MOST_DRAWN = 200


def history_of(source: Source, key: Any) -> History:
    """The history of a key of a table, which must have an event time."""
    with source.session.reading() as reader:
        at = source.at(reader)
        key_is(EventTime.of(source.info(reader, at), at), key)
    return History(source.session.committed, source.name, key, source.end(), source.as_of)


class History(LazyRows):
    """What the lake answered about a key: the table's columns, then `valid_from`, `valid_to`,
    `known_from` and `known_to`. For event times from `valid_from` until before `valid_to` the row
    was the answer, as long as the lake was at a snapshot committed from `known_from` until before
    `known_to`; NULL is a bound that has not come yet. Rows of the oldest snapshot that is left
    count as known since that. Immutable; every `to_*` plans afresh.
    """

    def __init__(
        self, session: Session, name: TableName, key: Any, known_at: int | None, as_of: int | None
    ) -> None:
        self._session = session
        self._name = name
        self._key = key
        self._known_at = known_at
        self._as_of = as_of

    def plan(self) -> HistoryPlan:
        """Which files and rows tell of the key."""
        with self._session.reading() as reader:
            plan, doubtful = self._planned(reader)
        check_placed(self._session, doubtful, plan.outline.event)
        return plan

    def _planned(self, reader: Reader) -> tuple[HistoryPlan, ScanPlan | None]:
        span = span_of(self._session, reader, self._name, None, self._known_at)
        info = span.facts.info
        event = EventTime.of(info, span.until)
        where = as_where(key_is(event, self._key), info.schema)
        assert where is not None
        changes = plan_changes(reader, span, info.schema.columns, where)
        first = snapshots.by_id(reader, span.after)
        dated = tuple((each.snapshot_id, each.time) for each in (first, *span.known))
        record = Record.maybe(reader, info)
        outline = Outline(changes.columns, event, dated, self._as_of, record=record)
        plan = HistoryPlan(changes, where.sql, outline)
        return plan, plan_unplaced(reader, span.until, span.facts, event)

    def _sheet(self) -> Sheet:
        """Its rows are read: they are of one key."""
        found = self.limit(_MOST_DRAWN).to_arrow()
        *names, start, end, since, until = found.column_names
        values = list(zip(*map(python_values, found.columns), strict=True))
        bounds = [[None if each is None else str(each) for each in row[-4:]] for row in values]
        told = [
            ", ".join(cell_text(f"{name}={value}") for name, value in zip(names, row, strict=False))
            for row in values
        ]
        event = self.plan().outline.event
        known = {column.name for column in event.columns}
        labels = [
            ", ".join(
                cell_text(value)
                for name, value in zip(names, row, strict=False)
                if name not in known and value is not None
            )
            for row in values
        ]
        answers = [
            Answer(what, first, last, new, old, label)
            for what, (first, last, new, old), label in zip(told, bounds, labels, strict=True)
        ]
        sheet = Sheet.of(repr(self).strip("<>")).with_picture(rectangles(answers))
        return sheet.with_grid((*names, start, end, since, until), values)

    def reads(self) -> Iterator[Read]:
        """The table, and the files that may tell of the key."""
        source = Source(self._session, self._name, as_of=self._as_of)
        yield read_of_past(source, self.plan().changes)

    def files(self) -> list[DataFile]:
        """The data files that would be read: those that may hold rows of the key."""
        return self.plan().changes.files

    def _reading(self, engine: Engine, *, ordered: bool = True) -> Reading:
        plan = self.plan()
        job = engine.job(f"cannot read the history of {self._name}")
        define_told(job, plan, one_key=True)
        return job.reading(plan_of.history_sql(plan.outline, ordered=ordered))

    def __repr__(self) -> str:
        return f"<History of {self._key!r} in {self._name}>"


def define_lives(job: Job, plan: ChangePlan, where: str | None) -> None:
    """A relation of every version of the rows that are asked about."""
    define(job, plan)
    job.define(plan_of.OF_KEY, plan_of.of_key_sql(plan, where))
    job.define(plan_of.LIVES, plan_of.versions_sql(plan))


def define_told(job: Job, plan: HistoryPlan, *, one_key: bool) -> None:
    """A relation of all that the lake answered."""
    define_lives(job, plan.changes, plan.where)
    job.gather(_GATHERED, plan_of.lives_sql(plan.outline, one_key=one_key), plan_of.PLACE)
    tell = partial(plan_of.tell, outline=plan.outline)
    job.pick(plan_of.TOLD, f"SELECT * FROM {_GATHERED}", tell)
