"""Writers that change the same rows: the outcome is that of some order, one after another."""

from collections.abc import Callable
from functools import partial

import pytest

import tidelake
from tests.concurrency import audit
from tests.concurrency.crowd import shares, together
from tests.concurrency.workers import (
    append_batches,
    count_up,
    create_table,
    delete_one_by_one,
    maintain,
    merge_counts,
    overwrite,
)
from tidelake.errors import Conflict
from tidelake.testing.place import Place


@pytest.mark.parametrize("in_files", [pytest.param(False, marks=pytest.mark.slow), True])
def test_counters_lose_no_increment(place: Place, in_files: bool) -> None:
    with place.open() as lake:
        lake.create_table("counters", "id BIGINT, n BIGINT")
        if in_files:
            lake.set_option("data_inlining_row_limit", 0)
        lake.table("counters").append([{"id": key, "n": 0} for key in range(3)])
    together(*(partial(count_up, place, process % 2, 6) for process in range(4)))
    with place.open() as lake:
        found = lake.table("counters").to_arrow().to_pylist()
    assert sorted(map(tuple, (row.values() for row in found))) == [(0, 12), (1, 12), (2, 0)]
    audit.check(place, "counters")


@pytest.mark.slow
@pytest.mark.parametrize("keys", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_merges_insert_a_key_once_and_lose_no_count(place: Place, keys: int) -> None:
    with place.open() as lake:
        lake.create_table("counters", "id BIGINT, n BIGINT")
    together(*(partial(merge_counts, place, range(keys), 3) for _ in range(4)))
    with place.open() as lake:
        found = lake.table("counters").to_arrow().to_pylist()
    assert sorted(row["id"] for row in found) == list(range(keys))
    assert {row["n"] for row in found} == {12}
    audit.check(place, "counters")


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_the_last_overwrite_wins_and_there_is_no_union(place: Place, rows: int) -> None:
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, who BIGINT").append([{"id": -1, "who": -1}])
    together(*(partial(overwrite, place, who, rows) for who in range(4)))
    with place.open() as lake:
        found = lake.table("t").to_arrow().to_pylist()
    assert sorted(row["id"] for row in found) == list(range(rows))
    assert len({row["who"] for row in found}) == 1
    audit.check(place, "t")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("sqlite", 10),
        pytest.param("postgresql", 0, marks=pytest.mark.slow),
        pytest.param("sqlite", 0, marks=pytest.mark.slow),
        pytest.param("postgresql", 10, marks=pytest.mark.slow),
    ],
)
def test_deletes_and_appends_while_duckdb_compacts(
    new_place: Callable[[str], Place], kind: str, limit: int
) -> None:
    place = new_place(kind)
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, who BIGINT")
        lake.set_option("data_inlining_row_limit", limit)
        for first in range(0, 200, 20):
            table.append([{"id": number, "who": 0} for number in range(first, first + 20)])
        for number in range(200, 210):
            table.append([{"id": number, "who": 0}])
    doomed = range(0, 210, 5)
    batches = [range(first, first + 4) for first in range(1000, 1060, 4)]
    *deleted, _, done = together(
        *(partial(delete_one_by_one, place, doomed[share.start :: 3]) for share in shares(3, 3)),
        partial(append_batches, place, batches),
        partial(maintain, place, 4),
    )
    assert sum(deleted) == len(doomed)
    assert done
    with place.open() as lake:
        left = sorted(lake.table("t").to_arrow()["id"].to_pylist())
    assert left == [n for n in range(210) if n % 5] + list(range(1000, 1060))
    audit.check(place, "t")


def test_one_of_two_creates_the_table(place: Place) -> None:
    place.open().close()
    answers = together(*(partial(create_table, place, column) for column in ("x", "y")))
    (refusal,) = [answer for answer in answers if answer]
    assert "fresh" in refusal
    assert refusal.startswith(("Conflict: ", "Invalid: "))
    with place.open() as lake:
        (column,) = lake.table("fresh").schema
        assert column.name == ("x" if answers[0] is None else "y")
    audit.check(place, "fresh")


@pytest.mark.slow
def test_a_transaction_says_what_came_between(place: Place) -> None:
    """And leaves neither a snapshot nor a file behind."""
    with place.open() as lake, place.open() as other:
        table = lake.create_table("t", "id BIGINT, who BIGINT")
        table.append([{"id": number, "who": 0} for number in range(100)])
        untouched = lake.create_table("u", "id BIGINT, who BIGINT")
        for ours, theirs in CONFLICTS:
            before = len(lake.snapshots())
            tx = lake.transaction()
            tx.table("u").append([{"id": number, "who": 1} for number in range(50)])
            ours(tx.table("t"))
            theirs(other.table("t"))
            with pytest.raises(Conflict, match=r"main\.t") as caught:
                tx.commit()
            assert caught.value.hint
            assert len(lake.snapshots()) == before + 1
            assert untouched.count() == 0
            assert audit.check_files(place, lake) == 0
    audit.check(place, "t", "u")


Step = Callable[[tidelake.Table], object]
CONFLICTS: list[tuple[Step, Step]] = [
    (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 1")),
    (lambda t: t.update({"who": "1"}, "id = 2"), lambda t: t.update({"who": "2"}, "id = 2")),
    (lambda t: t.delete("id < 30"), lambda t: t.update({"who": "2"}, "id BETWEEN 20 AND 40")),
    (lambda t: t.update({"who": "1"}), lambda t: t.append([{"id": 101, "who": 5}])),
    (lambda t: t.overwrite([{"id": 1}]), lambda t: t.delete("id = 50")),
    (lambda t: t.append([{"id": 7}]), lambda t: t.evolve(add={"more": "int32"})),
    (lambda t: t.evolve(add={"mine": "int32"}), lambda t: t.evolve(drop=["more"])),
]
