"""Sets of buckets are counted as they are kept, and as if they had been put together."""

import random

import pytest

from tidelake.coverage.values.bitmaps import Buckets, pieces
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_sets import KeptPiece, KeptSet, KeptSets
from tidelake.errors import Corrupt


def piece(ids: Buckets, entity: str = "e") -> KeptPiece:
    (found,) = pieces(entity, ids)
    first, last = found.first - SIGN, found.last - SIGN
    return (1, entity, first, last, found.count, found.buckets, found.lacking)


def listed(ids: Buckets) -> KeptPiece:
    """As 0.1 keeps it: always a bitmap of what is covered."""
    return (1, "e", ids.min() - SIGN, ids.max() - SIGN, len(ids), ids.serialize(), False)


@pytest.mark.parametrize("seed", range(200))
def test_as_if_put_together(seed: int) -> None:
    """Pieces in any order, some of which overlap, touch, or are the same, around zero too."""
    drawn = random.Random(seed)
    origin = drawn.choice([SIGN, 5, SIGN - 100, (1 << 64) - 1000])
    sets = []
    for _ in range(drawn.randrange(1, 5)):
        first = origin + drawn.randrange(0, 900)
        ids = Buckets(range(first, min(first + drawn.randrange(1, 90), 1 << 64)))
        sets.append(ids - Buckets(drawn.sample(list(ids), drawn.randrange(len(ids)))))
    together = Buckets()
    for each in sets:
        together |= each
    kept = KeptSet([drawn.choice([piece, listed])(each) for each in sets])
    assert (len(kept), kept.min(), kept.max()) == (
        len(together),
        together.min(),
        together.max(),
    )
    assert kept.buckets == together
    assert (len(kept), kept.min(), kept.max()) == (len(together), together.min(), together.max())


def test_of_many() -> None:
    kept = KeptSets.of(
        [piece(Buckets([5]), "b"), piece(Buckets([7]), "a"), piece(Buckets([6]), "b")]
    )
    assert list(kept) == ["b", "a"]
    assert kept["b"] == Buckets([5, 6])
    assert not KeptSet([])
    assert KeptSet([]).buckets == Buckets()


def test_what_is_no_bitmap_is_not_counted() -> None:
    damaged = (*piece(Buckets([5]))[:5], b"no", False)
    with pytest.raises(Corrupt):
        len(KeptSet([damaged]))
