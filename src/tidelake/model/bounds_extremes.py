"""The least and the greatest of values given as DuckLake's statistics write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelake.model.comparable import Point, domain, lower_bound


def least(column_type: str, texts: Sequence[str | None]) -> str | None:
    """One of the texts, exactly; None as soon as one of them says nothing."""
    places = _places(column_type, texts)
    return min(places, key=places.__getitem__) if places else None


def greatest(column_type: str, texts: Sequence[str | None]) -> str | None:
    places = _places(column_type, texts)
    return max(places, key=places.__getitem__) if places else None


def _places(column_type: str, texts: Sequence[str | None]) -> dict[str, Point]:
    """Where each text is in the order of its type; nothing if that is not known of all."""
    found: dict[str, Point] = {}
    for text in dict.fromkeys(texts):
        point = exact_point(column_type, text)
        if text is None or point is None:
            return {}
        found[text] = point
    return found


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
