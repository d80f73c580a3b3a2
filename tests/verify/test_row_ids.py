"""Row ids of two rows at once, found between slices as they would be found in one."""

import random

import pytest

from tidelake.engine.local.engine import LocalEngine
from tidelake.verify.fingerprint_sql import shared_ids
from tidelake.verify.row_ids import ids_of, shared_between

Life = tuple[int, int, int]


def alone(work: object, lives: list[Life]) -> set[int]:
    return {row_id for row_id, _, _ in shared_ids(_table(work, lives), "lives")}


def _table(work, lives):
    values = ", ".join(map(str, lives)) or "(0, 0, 0) LIMIT 0"
    work.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE lives AS SELECT * FROM (VALUES {values}) t(id, born, died)"
    )
    return work


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_slices_together_are_like_one(seed: int) -> None:
    chance = random.Random(seed)
    work = LocalEngine().workbench()
    lives: list[Life] = []
    for _ in range(chance.randrange(1, 30)):
        born = chance.randrange(6)
        lives.append((chance.randrange(12), born, born + chance.randrange(1, 4)))
    cut = chance.randrange(len(lives) + 1)
    slices = [lives[:cut], lives[cut:]]
    inside = [alone(work, each) for each in slices]
    found = [ids_of(_table(work, each), "lives") for each in slices]
    between = {row_id for row_id, _, _ in shared_between(ids for ids, _ in found)}
    assert set().union(*inside) | between == alone(work, lives)
    for each, (ids, repeats) in zip(inside, found, strict=True):
        assert repeats or each == {row_id for row_id, _, _ in shared_between([ids])}


def test_since_and_until_when() -> None:
    work = LocalEngine().workbench()
    one, _ = ids_of(_table(work, [(n, 1, 9) for n in range(1000)]), "lives")
    two, repeats = ids_of(_table(work, [(5, 3, 7), (2000, 3, 7)]), "lives")
    assert not repeats
    assert list(shared_between([one, two])) == [(5, 3, 7)]
    assert list(shared_between([one])) == []
    gone, _ = ids_of(_table(work, [(5, 9, 12)]), "lives")
    assert list(shared_between([one, gone])) == []


def test_twice_in_one_life() -> None:
    work = LocalEngine().workbench()
    _, repeats = ids_of(_table(work, [(5, 3, 7), (6, 3, 7), (5, 3, 7)]), "lives")
    assert repeats
