"""Sets of buckets as they are kept, put together only when somebody looks into them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import lt
from typing import TypeVar

from tidelake.coverage.values.bitmaps import Buckets, ids_of
from tidelake.coverage.values.clock import SIGN

KeptPiece = tuple[int, str, int, int, int, bytes, bool]
"""As the catalog has it: a file, an entity, the first bucket and the last, both by number, how many
there are, the bitmap, and whether that lists what is lacking."""
Pieces = list[KeptPiece] | Callable[[], list[KeptPiece]]
"""They may be told only when somebody looks into them."""
COOKIE = slice(12, 14)
COOKIES = (b"\x3a\x30", b"\x3b\x30")
"""How the first part of a 64-bit Roaring bitmap begins, behind their number and its own."""
Key = TypeVar("Key")


class KeptSet:
    """Buckets in pieces. How many they are, the first and the last are known without looking into
    them, unless pieces overlap, or one of them is no bitmap."""

    __slots__ = ("_ends", "_made", "_pieces", "_size")

    def __init__(self, pieces: Pieces, made: Buckets | None = None) -> None:
        self._pieces = pieces
        self._made = made
        self._size = -1
        self._ends = (0, 0)

    @staticmethod
    def counted(count: int, first: int, last: int, pieces: Pieces) -> KeptSet:
        """A set of which that is known, both buckets by number."""
        found = KeptSet(pieces)
        found._size = count
        found._ends = first + SIGN, last + SIGN
        return found

    @property
    def buckets(self) -> Buckets:
        if self._made is None:
            found = [
                ids_of(data, first + SIGN, last + SIGN, lacking=lacking)
                for _, _, first, last, _, data, lacking in self._known()
            ]
            self._made = found[0] if found else Buckets()
            for each in found[1:]:
                self._made |= each
            self._pieces = []
        return self._made

    def __len__(self) -> int:
        if self._size < 0:
            self._count()
        return self._size

    def min(self) -> int:
        """Requires that there are some."""
        return self._ends[0] if len(self) else 0

    def max(self) -> int:
        return self._ends[1] if len(self) else 0

    def _known(self) -> list[KeptPiece]:
        if not isinstance(self._pieces, list):
            self._pieces = self._pieces()
        return self._pieces

    def _count(self) -> None:
        if self._made is None and (pieces := self._known()):
            _, _, firsts, lasts, counts, bitmaps, _ = zip(*pieces, strict=True)
            sound = all(not data or data[COOKIE] in COOKIES for data in bitmaps)
            if sound and (all(map(lt, lasts, firsts[1:])) or _are_apart(firsts, lasts)):
                self._size = sum(counts)
                self._ends = min(firsts) + SIGN, max(lasts) + SIGN
                return
        found = self.buckets
        self._size = len(found)
        self._ends = (found.min(), found.max()) if found else (0, 0)


def _are_apart(firsts: Sequence[int], lasts: Sequence[int]) -> bool:
    ends = sorted(zip(firsts, lasts, strict=True))
    return all(before[1] < after[0] for before, after in pairwise(ends))


class KeptSets(Mapping[Key, Buckets]):
    """The sets of many, by whose they are."""

    def __init__(self, sets: Mapping[Key, KeptSet]) -> None:
        self.sets = sets

    @staticmethod
    def of(pieces: Iterable[KeptPiece]) -> KeptSets[str]:
        """By the entities' texts."""
        found: dict[str, list[KeptPiece]] = defaultdict(list)
        for piece in pieces:
            found[piece[1]].append(piece)
        return KeptSets({text: KeptSet(each) for text, each in found.items()})

    @staticmethod
    def made(sets: Mapping[Key, Buckets]) -> KeptSets[Key]:
        return KeptSets({key: KeptSet([], ids) for key, ids in sets.items()})

    def __getitem__(self, key: Key) -> Buckets:
        return self.sets[key].buckets

    def __iter__(self) -> Iterator[Key]:
        return iter(self.sets)

    def __len__(self) -> int:
        return len(self.sets)

    def __contains__(self, key: object) -> bool:
        return key in self.sets

    def changed(
        self, are_same: Callable[[KeptSet], bool], change: Callable[[Buckets], Buckets]
    ) -> KeptSets[Key]:
        """Others in place of some; the rest is not looked into."""
        found = {
            key: each if are_same(each) else KeptSet([], change(each.buckets))
            for key, each in self.sets.items()
        }
        return KeptSets(found)
