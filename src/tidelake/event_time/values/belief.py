"""What a lake answered about one key: for which times, and while it knew what.

Facts come to the lake and leave it. At every moment of knowing, the facts that are there divide
event time between them: each holds from its own time to that of the next one, or to the end that
it has of its own. Behind such an end, what held before it holds again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Fact:
    """One version of a row. `time` is its place among all event times; it is in the lake from
    `came` until before `went`. `ends`: it says that the key is no more. `until`: before which time
    it holds at most, if it says so itself."""

    row: int
    time: int
    came: int
    went: int | None = None
    ends: bool = False
    until: int | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return self.time, self.row


@dataclass(frozen=True, slots=True)
class Belief:
    """From `known_from` until before `known_to`, the fact was the answer for all times from its
    own until before `until`; where it holds again, from `again` on."""

    fact: Fact
    until: int | None
    known_from: int
    known_to: int | None = None
    again: int | None = None

    @property
    def since(self) -> int:
        return self.fact.time if self.again is None else self.again


class _Answers(Protocol):
    """What the facts that are there answer, and for which times."""

    open: dict[int, Belief]

    def changed(
        self, moment: int, coming: Iterable[Fact], going: Iterable[Fact]
    ) -> Iterator[Belief]:
        """Facts come and go. What is no longer the answer is over, and given back."""


def beliefs(facts: Iterable[Fact]) -> list[Belief]:
    """All that the lake ever answered about a key, no two of them overlapping."""
    found = list(facts)
    by_themselves = any(fact.until is not None for fact in found)
    return _over_time(found, _Layers() if by_themselves else _Line())


def answers(facts: Iterable[Fact]) -> list[Belief]:
    """All that the lake ever answered about a key for one moment, at which all these facts are
    there: while it knew it so."""
    return _over_time(facts, _Last())


def _over_time(facts: Iterable[Fact], line: _Answers) -> list[Belief]:
    coming: dict[int, list[Fact]] = defaultdict(list)
    going: dict[int, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.went is None or fact.went > fact.came:
            coming[fact.came].append(fact)
            if fact.went is not None:
                going[fact.went].append(fact)
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


@dataclass(slots=True)
class _Last:
    """The same for one moment, at which all facts are there: the last of them is the answer."""

    there: list[Fact] = field(default_factory=list)
    open: dict[int, Belief] = field(default_factory=dict)

    def changed(
        self, moment: int, coming: Iterable[Fact], going: Iterable[Fact]
    ) -> Iterator[Belief]:
        for fact in going:
            self.there.remove(fact)
        for fact in coming:
            insort(self.there, fact, key=lambda each: each.rank)
        was, now = self.open.get(0), self.there[-1] if self.there else None
        if was is not None and was.fact is not now:
            yield replace(was, known_to=moment)
            del self.open[0]
        if now is not None and 0 not in self.open:
            self.open[0] = Belief(now, None, moment)


@dataclass(slots=True)
class _Layers:
    """The same where facts may end by themselves: those below them are seen again. Every time is
    looked at whenever a fact comes or goes."""

    there: set[Fact] = field(default_factory=set)
    open: dict[int, Belief] = field(default_factory=dict)

    def changed(
        self, moment: int, coming: Iterable[Fact], going: Iterable[Fact]
    ) -> Iterator[Belief]:
        self.there.difference_update(going)
        self.there.update(coming)
        now = {since: (fact, until) for fact, since, until in _pieces(self.there)}
        for since, was in list(self.open.items()):
            if now.get(since) != (was.fact, was.until):
                yield replace(was, known_to=moment)
                del self.open[since]
        for since, (fact, until) in now.items():
            if since not in self.open:
                again = None if since == fact.time else since
                self.open[since] = Belief(fact, until, moment, again=again)


def _pieces(facts: Iterable[Fact]) -> Iterator[tuple[Fact, int, int | None]]:
    """What each fact holds for, in the order of time."""
    starting: dict[int, list[Fact]] = defaultdict(list)
    edges = set()
    for fact in facts:
        starting[fact.time].append(fact)
        edges |= {fact.time} if fact.until is None else {fact.time, fact.until}
    seen: list[tuple[int, int, Fact]] = []
    holds: tuple[Fact, int] | None = None
    for edge in sorted(edges):
        for fact in starting[edge]:
            heappush(seen, (-fact.time, -fact.row, fact))
        while seen and (until := seen[0][2].until) is not None and until <= edge:
            heappop(seen)
        top = seen[0][2] if seen else None
        if holds is not None and holds[0] is not top:
            yield (*holds, edge)
            holds = None
        if top is not None and holds is None:
            holds = top, edge
    if holds is not None:
        yield (*holds, None)
