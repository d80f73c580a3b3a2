"""Whether values lie between the bounds that statistics give, both as DuckLake writes them.

The least and the greatest of values given as DuckLake's statistics write them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from tidelake.model.comparable import (
    Point,
    are_in_text_order,
    are_whole,
    domain,
    lower_bound,
    upper_bound,
)


def least(column_type: str, texts: Sequence[str | None]) -> str | None:
    """One of the texts, exactly; None as soon as one of them says nothing."""
    return _end(column_type, texts, min)


def greatest(column_type: str, texts: Sequence[str | None]) -> str | None:
    return _end(column_type, texts, max)


def _end(column_type: str, texts: Sequence[str | None], choose: Callable[..., str]) -> str | None:
    different = dict.fromkeys(texts)
    if None in different:
        return None
    known = [text for text in different if text is not None]
    if len(known) == 1:
        return known[0] if exact_point(column_type, known[0]) is not None else None
    if known and are_whole(column_type, known):
        return choose(known, key=int)
    if known and are_in_text_order(column_type, known):
        return choose(known)
    places: dict[str, Point] = {}
    for text in known:
        point = exact_point(column_type, text)
        if point is None:
            return None
        places[text] = point
    return choose(places, key=places.__getitem__) if places else None


@lru_cache(maxsize=4096)
def exact_point(column_type: str, text: str | None) -> Point | None:
    """A value's place in the order of its type; None if that is not known."""
    kind = domain(column_type)
    if text is None or kind is None:
        return None
    if kind != "rounded":
        return lower_bound(column_type, kind, text)
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value


_CUT = 256
"""Texts of as many bytes may be the beginning of longer ones."""


def is_below(column_type: str, value: str | None, bound: str | None) -> bool:
    """Whether a value is certainly less than a minimum. Of rounded numbers the last digits, and
    of unknown or unordered types everything, is left in doubt."""
    point, limit = exact_point(column_type, value), _limit(column_type, bound, upper=False)
    return point is not None and limit is not None and _less(point, limit)


def is_above(column_type: str, value: str | None, bound: str | None) -> bool:
    point, limit = exact_point(column_type, value), _limit(column_type, bound, upper=True)
    return point is not None and limit is not None and _less(limit, point)


def certain_low(text: str | None, bound: str | None) -> str | None:
    """A minimum of texts, unless it may be the beginning of that which a bound is: DuckDB cuts
    long texts in its statistics."""
    begins = text is not None and _is_long(text) and bound is not None and bound.startswith(text)
    return None if begins else text


def certain_high(text: str | None, bound: str | None) -> str | None:
    """A maximum of texts, unless it may be the beginning of that which a bound is, with its last
    letter made greater, and without letters that cannot be."""
    if not text or bound is None or not _is_long(bound):
        return text
    beginning = text[:-1] + chr(max(ord(text[-1]) - 1, 0))
    return None if bound >= beginning else text


def _is_long(text: str) -> bool:
    return len(text.encode()) >= _CUT


def _limit(column_type: str, text: str | None, *, upper: bool) -> Point | None:
    kind = domain(column_type)
    if text is None or kind is None:
        return None
    return (upper_bound if upper else lower_bound)(column_type, kind, text)


def _less(one: Point, other: Point) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one < other
    return one < other
