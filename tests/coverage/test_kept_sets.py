"""Sets of buckets are counted as they are kept, and as if they had been put together."""

import random

import pytest

from tidelake.coverage.values.bitmaps import Buckets, listed_pieces, pieces
from tidelake.coverage.values.clock import SIGN
from tidelake.coverage.values.kept_pages import KeptPage, KeptPages
from tidelake.coverage.values.kept_sets import KeptPiece, KeptSet, KeptSets
from tidelake.coverage.values.page import pages_of
from tidelake.coverage.values.piece import Piece
from tidelake.errors import Corrupt


def piece(ids: Buckets, entity: str = "e") -> KeptPiece:
    (found,) = pieces(entity, ids)
    return kept_of(found)


def kept_of(found: Piece) -> KeptPiece:
    first, last = found.first - SIGN, found.last - SIGN
    return (1, found.entity, first, last, found.count, found.buckets, found.lacking)


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


@pytest.mark.parametrize("seed", range(200))
def test_pages_are_counted_as_their_pieces(seed: int) -> None:
    """Of many files, in any order: most lie one behind the other, some overlap. Some have pages,
    and some pieces are beside them."""
    drawn = random.Random(seed)
    names = [f'["e{n}"]' for n in range(drawn.randrange(1, 40))]
    together: dict[str, Buckets] = {}
    pages: list[KeptPage] = []
    rest: list[KeptPiece] = []
    starts = [drawn.choice([SIGN, SIGN - 2000]) + n * 400 for n in range(drawn.randrange(1, 6))]
    if drawn.random() < 0.4:
        drawn.shuffle(starts)
    for file_id, start in enumerate(starts):
        found: list[Piece] = []
        for name in drawn.sample(names, drawn.randrange(1, len(names) + 1)):
            at = start - (drawn.randrange(500) if drawn.random() < 0.1 else 0)
            chosen = Buckets(drawn.sample(range(at, at + 400), drawn.choice([1, 30, 350, 400])))
            together[name] = together.get(name, Buckets()) | chosen
            found += (listed_pieces if drawn.random() < 0.2 else pieces)(name, chosen)
        if drawn.random() < 0.8:
            pages += [(file_id, page[3:]) for page in pages_of(found)]
        else:
            rest += map(kept_of, found)
    half = drawn.randrange(len(rest) + 1)
    kept = KeptPages(pages, rest[:half]).sets(rest[half:])
    assert set(kept) == set(together)
    if drawn.random() < 0.5:
        assert dict(kept) == together
    counted = {name: (len(ids), ids.min(), ids.max()) for name, ids in kept.sets.items()}
    assert counted == {name: (len(s), s.min(), s.max()) for name, s in together.items()}
    assert dict(kept) == together


def test_a_page_in_which_something_is_no_bitmap() -> None:
    """Only the entity that has it cannot be read; where bytes are lacking, nothing can."""
    (page,) = pages_of(each for n in "ab" for each in pieces(f'["{n}"]', Buckets([5, 7])))
    names, spans, data = page[3:]
    damaged = data[:12] + b"no" + data[14:]
    sets = KeptPages([(1, (names, spans, damaged))], []).sets().sets
    first, second = names.split("\n")
    assert len(sets[second]) == 2
    with pytest.raises(Corrupt, match="a bitmap of coverage"):
        len(sets[first])
    with pytest.raises(Corrupt, match="cannot be read"):
        KeptPages([(1, (names, spans, data[:-1]))], []).sets()


def test_what_is_no_bitmap_is_not_counted() -> None:
    damaged = (*piece(Buckets([5]))[:5], b"no", False)
    with pytest.raises(Corrupt):
        len(KeptSet([damaged]))
