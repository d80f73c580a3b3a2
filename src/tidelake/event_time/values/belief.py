"""What a lake answered about one key: for which times, and while it knew what.

Facts come to the lake and leave it. At every moment of knowing, the facts that are there divide
event time between them: each holds from its own time to that of the next one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fact:
    """One version of a row. `time` is its place among all event times; it is in the lake from
    `came` until before `went`. `ends`: it says that the key is no more."""

    row: int
    time: int
    came: int
    went: int | None = None
    ends: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        return self.time, self.row


@dataclass(frozen=True, slots=True)
class Belief:
    """From `known_from` until before `known_to`, the fact was the answer for all times from its
    own until before `until`."""

    fact: Fact
    until: int | None
    known_from: int
    known_to: int | None = None


def beliefs(facts: Iterable[Fact]) -> list[Belief]:
    """All that the lake ever answered about a key, no two of them overlapping."""
    coming: dict[int, list[Fact]] = defaultdict(list)
    going: dict[int, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.went is None or fact.went > fact.came:
            coming[fact.came].append(fact)
            if fact.went is not None:
                going[fact.went].append(fact)
    line = _Line()
    found: list[Belief] = []
    for moment in sorted({*coming, *going}):
        found += line.changed(moment, coming[moment], going[moment])
    found += line.open.values()
    return [belief for belief in found if not belief.fact.ends]


@dataclass(slots=True)
class _Line:
    """The facts that are there at a moment of knowing, by event time, and what they answer."""

    times: list[int] = field(default_factory=list)
    at: dict[int, list[Fact]] = field(default_factory=dict)
    open: dict[int, Belief] = field(default_factory=dict)

    def changed(
        self, moment: int, coming: Iterable[Fact], going: Iterable[Fact]
    ) -> Iterator[Belief]:
        """Facts come and go. What is no longer the answer is over, and given back."""
        touched = set()
        for fact in going:
            self._remove(fact)
            touched.add(fact.time)
        for fact in coming:
            self._add(fact)
            touched.add(fact.time)
        for time in touched | {before for t in touched if (before := self._before(t)) is not None}:
            yield from self._answer(time, moment)

    def _add(self, fact: Fact) -> None:
        if fact.time not in self.at:
            insort(self.times, fact.time)
            self.at[fact.time] = []
        insort(self.at[fact.time], fact, key=lambda each: each.rank)

    def _remove(self, fact: Fact) -> None:
        here = self.at[fact.time]
        here.remove(fact)
        if not here:
            del self.at[fact.time]
            del self.times[bisect_left(self.times, fact.time)]

    def _before(self, time: int) -> int | None:
        place = bisect_left(self.times, time)
        return self.times[place - 1] if place else None

    def _after(self, time: int) -> int | None:
        place = bisect_left(self.times, time + 1)
        return self.times[place] if place < len(self.times) else None

    def _answer(self, time: int, moment: int) -> Iterator[Belief]:
        was = self.open.get(time)
        now = self.at[time][-1] if time in self.at else None
        until = self._after(time)
        if was is not None and was.fact is now and was.until == until:
            return
        if was is not None:
            yield Belief(was.fact, was.until, was.known_from, moment)
            del self.open[time]
        if now is not None:
            self.open[time] = Belief(now, until, moment)
