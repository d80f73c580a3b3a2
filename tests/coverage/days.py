"""Tables of days, and what they cover by plain sets: to compare with what is kept and told."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import tidelake
from tidelake import Calendar

DAY = timedelta(days=1)
Days = set[date]


def today() -> date:
    return datetime.now(UTC).date()


def between(start: date, end: date) -> list[date]:
    """From one on until before another."""
    return [start + DAY * n for n in range((end - start).days)]


def calendar_of(days: Iterable[date]) -> Calendar:
    return Calendar.of([(day, day + DAY) for day in sorted(days)])


def rows(presence: Mapping[str, Days]) -> list[dict[str, Any]]:
    return [{"k": k, "day": day, "v": 1} for k, days in presence.items() for day in sorted(days)]


def create(lake: tidelake.Lake, name: str = "t", **settings: Any) -> tidelake.Table:
    return lake.create_table(
        name,
        "k VARCHAR, day DATE, v INTEGER",
        entity="k",
        event_time="day",
        bucket="1d",
        **settings,
    )


@dataclass
class Model:
    """Which days each entity has, and on which of them rows are expected; None: on all."""

    has: dict[str, Days]
    default: Days | None = None
    own: dict[str, Days | None] = field(default_factory=dict)

    @staticmethod
    def random(chance: Random, start: date, count: int, entities: str = "abc") -> "Model":
        days = between(start, start + DAY * count)

        def some(share: float) -> Days:
            return {day for day in days if chance.random() < share}

        has = {k: some(chance.choice([0.5, 0.9, 1.0])) or {start} for k in entities}
        model = Model(has, chance.choice([None, some(0.7), some(0.2)]))
        for k in entities:
            if chance.random() < 0.5:
                model.own[k] = chance.choice([None, some(0.5), some(0.95)])
        return model

    def declare(self, t: tidelake.Table) -> None:
        if self.default is not None:
            t.set_calendar(calendar_of(self.default))
        for k, days in self.own.items():
            t.set_calendar(Calendar.always() if days is None else calendar_of(days), entity=k)

    @property
    def is_declared(self) -> bool:
        return self.default is not None or bool(self.own)

    def expected(self, k: str, start: date, end: date) -> Days:
        rule = self.own.get(k, self.default)
        return {day for day in between(start, end) if rule is None or day in rule}

    def counts(self, k: str, start: date, end: date) -> tuple[int, int]:
        """How many days are covered of those that are expected."""
        wanted = self.expected(k, start, end)
        return len(wanted & self.has[k]), len(wanted)

    def ratio(self, entities: Iterable[str], start: date, end: date) -> float:
        pairs = [self.counts(k, start, end) for k in entities]
        wanted = sum(expected for _, expected in pairs)
        return sum(covered for covered, _ in pairs) / wanted if wanted else 1.0

    def missing(self, k: str, start: date, end: date) -> Days:
        return self.expected(k, start, end) - self.has[k]

    def complete_through(self, k: str, start: date, end: date) -> date:
        return min(self.missing(k, start, end), default=end)

    def window(self, entities: Iterable[str], start: date, end: date, n: int) -> Any:
        """By looking at every place where it could be, on days that anybody expects."""
        listed = [
            day
            for day in between(start, end)
            if any(day in self.expected(k, start, end) for k in entities)
        ]
        for stop in range(len(listed), n - 1, -1):
            some = listed[stop - n : stop]
            if not any(self.missing(k, start, end) & {*some} for k in entities):
                return some[0], some[-1] + DAY
        return None
