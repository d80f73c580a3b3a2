"""What very many entities cover, counted page by page before anybody looks into a bitmap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, starmap

from tidelake.coverage.values.kept_sets import COOKIE, COOKIES, KeptPiece, KeptSet, KeptSets
from tidelake.coverage.values.page import kept_pieces, spans_in

KeptPage = tuple[int, tuple[str, bytes, bytes]]
"""A file, and a page of it as the catalog has that: entities, spans, bitmaps."""


class KeptPages:
    """Whole pages, and pieces beside them."""

    def __init__(self, pages: list[KeptPage], pieces: list[KeptPiece]) -> None:
        self.pages = pages
        self.pieces = pieces

    def sets(self, others: Iterable[KeptPiece] = ()) -> KeptSets[str]:
        """All that entities cover, by their texts, with other pieces."""
        pieces = [*self.pieces, *others]
        if not self.pages:
            return KeptSets.of(pieces)
        tally = _Tally()
        for file_id, page in self.pages:
            tally.add_page(file_id, page)
        for piece in pieces:
            tally.add_piece(piece)
        return tally.sets(_Divided(self.pages, pieces))


class _Divided:
    """The pieces of each entity, which are only looked for when somebody asks for one."""

    def __init__(self, pages: list[KeptPage], pieces: list[KeptPiece]) -> None:
        self._pages = pages
        self._pieces = pieces
        self._found: dict[str, list[KeptPiece]] | None = None

    def of(self, text: str) -> list[KeptPiece]:
        if self._found is None:
            self._found = defaultdict(list)
            for piece in self._all():
                self._found[piece[1]].append(piece)
            self._pages, self._pieces = [], []
        return self._found[text]

    def _all(self) -> Iterator[KeptPiece]:
        return chain(chain.from_iterable(starmap(kept_pieces, self._pages)), self._pieces)


class _Tally:
    """Of each entity how many buckets there are, the first and the last, as long as its pieces lie
    one behind the other. Of others, and where something is no bitmap, somebody has to look."""

    def __init__(self) -> None:
        self._found: dict[str, list[int]] = {}
        self._doubtful: set[str] = set()

    def add_page(self, file_id: int, page: tuple[str, bytes, bytes]) -> None:
        """In one loop without calls: of many entities there are very many pieces."""
        found, known_of, bitmaps = self._found, self._found.get, page[2]
        begin, end = COOKIE.start, COOKIE.stop
        for text, first, last, count, at, size in spans_in(file_id, page):
            if size and bitmaps[at + begin : at + min(end, abs(size))] not in COOKIES:
                self._doubtful.add(text)
            known = known_of(text)
            if known is None:
                found[text] = [count, first, last]
            elif first > known[2]:
                known[0] += count
                known[2] = last
            else:
                self._add_earlier(text, first, last, count)

    def add_piece(self, piece: KeptPiece) -> None:
        _, text, first, last, count, bitmap, _ = piece
        if bitmap and bitmap[COOKIE] not in COOKIES:
            self._doubtful.add(text)
        known = self._found.setdefault(text, [0, first, first - 1])
        if first > known[2]:
            known[0] += count
            known[2] = last
        else:
            self._add_earlier(text, first, last, count)

    def _add_earlier(self, text: str, first: int, last: int, count: int) -> None:
        known = self._found[text]
        if last < known[1]:
            known[0] += count
            known[1] = first
        else:
            self._doubtful.add(text)

    def sets(self, divided: _Divided) -> KeptSets[str]:
        found = {}
        for text, (count, first, last) in self._found.items():
            pieces = partial(divided.of, text)
            is_sure = text not in self._doubtful
            found[text] = (
                KeptSet.counted(count, first, last, pieces) if is_sure else KeptSet(pieces)
            )
        return KeptSets(found)
