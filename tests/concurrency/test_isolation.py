"""Transactions of several processes, DuckDB's among them: at each level no anomaly beyond what the
level allows."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.concurrency import audit
from tests.concurrency.crowd import together
from tests.concurrency.dependencies import (
    Done,
    Edge,
    anomalies,
    broken_reads,
    edges,
    lost_updates,
)
from tests.concurrency.transactors import (
    DUCK,
    Work,
    duck_deposit,
    duck_transact,
    orders,
    prepare,
    transact,
    withdraw,
)
from tests.concurrency.workers import maintain
from tidelake.testing.place import Place

LEVELS = ("snapshot", "serializable")
CATALOGS = ("sqlite", "postgresql")
LONG = 40
CASES = [
    ("sqlite", "snapshot", 4),
    ("sqlite", "serializable", 4),
    ("postgresql", "serializable", 4),
    *(
        pytest.param(kind, level, LONG, marks=pytest.mark.slow)
        for kind in CATALOGS
        for level in LEVELS
    ),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "level", "times"), CASES)
def test_lists_have_no_anomaly_that_the_level_forbids(
    new_place: Callable[[str], Place], kind: str, level: str, times: int
) -> None:
    place = new_place(kind)
    prepare(place)
    ours = [partial(transact, place, Work(who, times, level, times)) for who in _who(times)]
    ducks = [partial(duck_transact, place, Work(9, times, DUCK, times))]
    upkeep = [partial(_upkeep, place, times // 20)] if times == LONG else []
    found = together(*ours, *ducks, *upkeep, seconds=850)
    done: list[Done] = [each for lists in found for each in lists]
    assert len(done) >= len(ours) * times
    with place.open() as lake:
        final = orders(lake)
    _check_all_there(done, final)
    assert broken_reads(done, final) == []
    assert lost_updates(done) == []
    everybody = edges(done, final, lists_are_versions=False, missing_counts=(level, DUCK))
    assert not anomalies(everybody) & {"G0", "G1c", "G-single"}
    if level == "serializable":
        strict = edges(done, final, lists_are_versions=True, missing_counts=(level,))
        assert anomalies(strict) == set()
    audit.check(place, "list0")


def _who(times: int) -> range:
    return range(1, 5 if times == LONG else 3)


def _upkeep(place: Place, times: int) -> list[Done]:
    """In between, files are merged and rows flushed by both."""
    for _ in range(times):
        with place.open() as lake:
            lake.compact()
        maintain(place, 1)
    return []


def _check_all_there(done: list[Done], final: dict[int, list[int]]) -> None:
    """All that was acknowledged is there once, and nothing else: no half of a transaction, and
    nothing of one that was given up."""
    told = sorted((key, t.number) for t in done for key in t.added)
    there = sorted((key, number) for key, numbers in final.items() for number in numbers)
    assert there == told


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "times"),
    [("sqlite", 4), *(pytest.param(kind, LONG, marks=pytest.mark.slow) for kind in CATALOGS)],
)
def test_a_balance_of_two_accounts_never_falls_below_zero(
    new_place: Callable[[str], Place], kind: str, times: int
) -> None:
    place = new_place(kind)
    prepare(place)
    works = [Work(who, times, "serializable", times) for who in _who(times)]
    ours = [partial(withdraw, place, work) for work in works]
    together(*ours, partial(duck_deposit, place, Work(9, times, DUCK)), seconds=850)
    with place.open() as lake:
        rows = lake.table("movement").scan(["amount", "rowid"]).to_arrow().to_pylist()
    total = 0
    for row in sorted(rows, key=lambda row: row["rowid"]):
        total += row["amount"]
        assert total >= 0
    audit.check(place, "movement")


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (["ww 1 2", "ww 2 1"], {"G0", "G1c"}),
        (["ww 1 2", "wr 2 1"], {"G1c"}),
        (["rw 1 2", "wr 2 3", "ww 3 1"], {"G-single"}),
        (["rw 1 2", "rw 2 1"], {"G2"}),
        (["rw 1 2", "wr 2 3", "rw 3 1"], {"G2"}),
        (["rw 1 2", "wr 2 3", "ww 1 3"], set()),
    ],
)
def test_cycles_are_told_apart(kinds: list[str], found: set[str]) -> None:
    made = [Edge(kind, int(a), int(b)) for kind, a, b in (each.split() for each in kinds)]
    assert anomalies(made) == found


def test_what_was_lost_or_skewed_is_seen_in_the_graph() -> None:
    skewed = [
        Done(1, "snapshot", {0: [], 1: []}, [0]),
        Done(2, "snapshot", {0: [], 1: []}, [1]),
    ]
    rows = edges(skewed, {0: [1], 1: [2]}, lists_are_versions=False, missing_counts=["snapshot"])
    assert anomalies(rows) == {"G2"}
    assert broken_reads([Done(3, "", {0: [2]})], {0: [1, 2]}) == [(3, 0)]
    fractured = [Done(1, "", {}, [0, 1]), Done(2, "snapshot", {0: [1], 1: []})]
    seen = edges(fractured, {0: [1], 1: [1]}, lists_are_versions=False, missing_counts=["snapshot"])
    assert anomalies(seen) == {"G-single"}
