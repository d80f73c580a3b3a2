"""The oracle of event time: facts in a list, and the ones that hold at a moment."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from tidelake.testing.histories.kinds import order
from tidelake.testing.histories.model import Row, Table


@dataclass
class Facts(Table):
    """A table whose rows are facts. Of its columns, `by` are the key, `when` is the event time
    and `end`, if there is one, the tombstone."""

    by: tuple[str, ...] = ()
    when: str = "ts"
    end: str | None = None

    @property
    def roles(self) -> set[str]:
        return {*self.by, self.when, *([self.end] if self.end else [])}

    def key(self, values: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(order(values[name]) for name in self.by)

    def as_of(self, moment: datetime) -> Iterator[Row]:
        """Of every key the last fact up to then; of several at one time the last to come."""
        best: dict[tuple[Any, ...], Row] = {}
        for row in self.rows:
            rank = (instant(row.values[self.when]), row.uid)
            found = best.get(self.key(row.values))
            if rank[0] <= moment and (
                found is None or rank > (instant(found.values[self.when]), found.uid)
            ):
                best[self.key(row.values)] = row
        return (row for row in best.values() if not (self.end and row.values[self.end] is True))


def instant(value: date) -> datetime:
    """A date is its midnight, and what has no zone is UTC."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time(0), UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def moments(tables: Iterable[Facts]) -> set[datetime]:
    """Every event time that there ever was."""
    return {instant(row.values[table.when]) for table in tables for row in table.rows}
