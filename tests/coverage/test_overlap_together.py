"""Several processes that append to one series at the same time, on every catalog."""

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.concurrency import audit
from tests.concurrency.crowd import start, together
from tests.coverage.couriers import deliver, duck_inserts, keep_replacing
from tests.coverage.deliveries import (
    POLICIES,
    Row,
    as_arrow,
    as_dicts,
    delivered,
    make,
    minutes,
    ordered,
    rows_of,
)
from tidelake.errors import Conflict, Overlap
from tidelake.testing.place import Place

FEW, MANY = range(3), range(40)
SLOW = pytest.mark.slow
KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=SLOW),
    pytest.param("mariadb", marks=SLOW),
]
New = Callable[[str], Place]


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
def test_catalogs(new_place: New, kind: str) -> None:
    with new_place(kind).open() as lake:
        for policy in POLICIES:
            table = make(lake, policy)
            there: list[Row] = []
            for rows in (
                minutes("a", MANY),
                minutes(None, FEW),
                minutes("a", range(30, 60), 1),
                [*minutes("a", [59, 60], 2), *minutes(None, [2], 2)],
            ):
                wanted = delivered(policy, there, rows)
                if wanted is None:
                    with pytest.raises(Overlap):
                        table.append(as_arrow(rows))
                else:
                    table.append(as_arrow(rows))
                    there = wanted
                assert rows_of(table) == ordered(there)
            one, other = lake.transaction(), lake.transaction()
            for tx, entity in ((one, "x"), (other, "y")):
                tx.table(policy).append(as_arrow(minutes(entity, MANY)))
            late = lake.transaction()
            late.table(policy).append(as_dicts(minutes("x", [39])))
            one.commit()
            other.commit()
            with pytest.raises(Conflict):
                late.commit()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [pytest.param(FEW, marks=SLOW), MANY], ids=["few", "many"])
def test_one_of_many_wins(new_place: New, kind: str, rows: range) -> None:
    place = new_place(kind)
    with place.open() as lake:
        make(lake, "reject")
    jobs = [partial(deliver, place, "reject", "a", rows, who) for who in range(7)]
    outcomes = together(*jobs)
    assert sorted(outcomes) == [*["Overlap"] * 6, "landed"]
    with place.open() as lake:
        found = rows_of(lake.table("reject"))
    assert found == ordered(minutes("a", rows, outcomes.index("landed")))
    audit.check(place, "reject")


@SLOW
@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "mariadb"])
@pytest.mark.parametrize("policy", ["reject", "skip"])
def test_all_land_side_by_side(new_place: New, kind: str, policy: str) -> None:
    """Each has an entity of its own, or minutes of its own; half of them come in files."""
    place = new_place(kind)
    with place.open() as lake:
        make(lake, policy)
    spans = [range(3), range(40), range(3, 6), range(100, 140), range(200, 203), range(6)]
    who = ["a", "b", "a", "a", "a", "c"]
    jobs = [
        partial(deliver, place, policy, entity, span, number)
        for number, (entity, span) in enumerate(zip(who, spans, strict=True))
    ]
    assert together(*jobs) == ["landed"] * 6
    with place.open() as lake:
        assert lake.table(policy).count() == sum(map(len, spans))
    audit.check(place, policy)


@SLOW
@pytest.mark.parametrize("policy", POLICIES)
def test_beside_duckdb(new_place: New, policy: str) -> None:
    """It does not take our lock and knows no policies: what it inserts is never lost, and never
    skipped or replaced unless it is in the way."""
    place = new_place("postgresql")
    with place.open() as lake:
        make(lake, policy)
    jobs: list[Any] = [partial(duck_inserts, place, policy, n) for n in range(2)]
    jobs += [partial(deliver, place, policy, f"us{n}", MANY, n) for n in range(3)]
    jobs += [partial(deliver, place, policy, f"us{n}", FEW, n) for n in range(3, 6)]
    assert together(*jobs)[2:] == ["landed"] * 6
    with place.open() as lake:
        assert lake.table(policy).count() == 2 * 10 + 3 * len(MANY) + 3 * len(FEW)
    audit.check(place, policy)


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=SLOW)])
def test_killed_in_the_middle(new_place: New, kills: int) -> None:
    """A series that is replaced again and again is there whole, as one of the deliveries."""
    place = new_place("sqlite")
    moments = random.Random(6)
    with place.open() as lake:
        make(lake, "replace").append(as_arrow(minutes("a", MANY, -1)))
    for _ in range(kills):
        process = start(partial(keep_replacing, place))
        before = delivery_of(place)
        while delivery_of(place) == before:
            assert process.is_alive()
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.join()
        delivery_of(place)
    audit.check(place, "replace")


def delivery_of(place: Place) -> int:
    with place.open() as lake:
        found = rows_of(lake.table("replace"))
        assert found == ordered(minutes("a", MANY, found[0][2]))
        assert lake.table("replace").coverage().is_complete
    return found[0][2]
