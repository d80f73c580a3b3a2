"""What transactions saw of each other, as a graph, and the cycles in it that are anomalies.

A transaction reads lists and counters and adds to them. The order of a list's versions is that of
its rows' snapshots, that of a counter's its values. From these follow, in Adya's words, who wrote
after whom (ww), who read what whom wrote (wr), and who missed what whom wrote (rw).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

WW, WR, RW = "ww", "wr", "rw"


@dataclass(frozen=True)
class Done:
    """A transaction that was acknowledged: what it read of each list and counter, the lists that it
    added its own number to, and the counters that it raised by one. `level` is its isolation."""

    number: int
    level: str
    lists: Mapping[int, Collection[int]] = field(default_factory=dict)
    added: Collection[int] = ()
    counters: Mapping[int, int] = field(default_factory=dict)
    raised: Collection[int] = ()


@dataclass(frozen=True)
class Edge:
    kind: str
    one: int
    other: int


def edges(
    done: Iterable[Done],
    orders: Mapping[int, list[int]],
    *,
    lists_are_versions: bool,
    missing_counts: Collection[str],
) -> set[Edge]:
    """`orders` are the final lists. With `lists_are_versions` who adds to a list overwrites it;
    without, it is a set of rows. What transactions of the levels `missing_counts` have missed
    is an edge."""
    found = set()
    transactions = list(done)
    raised = {(key, t.counters[key] + 1): t.number for t in transactions for key in t.raised}
    for t in transactions:
        misses = t.level in missing_counts
        for key, seen in t.lists.items():
            others = [number for number in orders[key] if number != t.number]
            found |= {Edge(WR, number, t.number) for number in seen}
            if misses:
                found |= {Edge(RW, t.number, number) for number in others if number not in seen}
        for key, seen_value in t.counters.items():
            if (key, seen_value) in raised:
                found.add(Edge(WR, raised[key, seen_value], t.number))
            after = raised.get((key, seen_value + 1))
            if after is not None and misses:
                found.add(Edge(RW, t.number, after))
    versions = [list(order) for order in orders.values()] if lists_are_versions else []
    versions += list(_counted(raised))
    found |= {Edge(WW, a, b) for each in versions for a, b in pairwise(each)}
    return {edge for edge in found if edge.one != edge.other}


def _counted(raised: Mapping[tuple[int, int], int]) -> Iterator[list[int]]:
    by_counter: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (key, value), number in raised.items():
        by_counter[key].append((value, number))
    for values in by_counter.values():
        yield [number for _, number in sorted(values)]


def anomalies(found: Collection[Edge]) -> set[str]:
    """Which kinds of cycles there are: G0 of writes alone, G1c of writes and reads, G-single with
    one read that missed something, G2 with several."""
    names = set()
    if _has_cycle(e for e in found if e.kind == WW):
        names.add("G0")
    if _has_cycle(e for e in found if e.kind != RW):
        names.add("G1c")
    reached = _reached([e for e in found if e.kind != RW])
    if any(e.one in reached[e.other] for e in found if e.kind == RW):
        names.add("G-single")
    if not names and _has_cycle(found):
        names.add("G2")
    return names


def _next(found: Iterable[Edge]) -> dict[int, set[int]]:
    nearby: dict[int, set[int]] = defaultdict(set)
    for edge in found:
        nearby[edge.one].add(edge.other)
    return nearby


def _has_cycle(found: Iterable[Edge]) -> bool:
    """Whether taking away, again and again, what nobody comes after leaves something."""
    nearby = _next(found)
    before: dict[int, set[int]] = defaultdict(set)
    for one, others in nearby.items():
        for other in others:
            before[other].add(one)
    left = {one: len(others) for one, others in nearby.items()}
    ends = [node for node in before if node not in left]
    while ends:
        for one in before[ends.pop()]:
            left[one] -= 1
            if not left[one]:
                ends.append(one)
    return any(left.values())


def _reached(found: Iterable[Edge]) -> dict[int, set[int]]:
    nearby = _next(found)
    reached: dict[int, set[int]] = defaultdict(set)
    for start in list(nearby):
        waiting = [start]
        while waiting:
            for other in nearby.get(waiting.pop(), ()):
                if other not in reached[start]:
                    reached[start].add(other)
                    waiting.append(other)
    return reached


def lost_updates(done: Iterable[Done]) -> list[tuple[int, int]]:
    """Counters and values that two transactions have both raised them to."""
    made = Counter((key, t.counters[key] + 1) for t in done for key in t.raised)
    return [version for version, times in made.items() if times > 1]


def broken_reads(done: Iterable[Done], orders: Mapping[int, list[int]]) -> list[tuple[int, int]]:
    """Reads of a list that no version of it explains: some numbers were never there, or are
    missing from among others."""
    return [
        (t.number, key)
        for t in done
        for key, seen in t.lists.items()
        if set(seen) != set([n for n in orders[key] if n != t.number][: len(seen)])
    ]
