"""The least and the greatest of values given as DuckLake's statistics write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidelake.model.comparable import Point, domain, lower_bound


def least(column_type: str, texts: Sequence[str | None]) -> str | None:
    """One of the texts, exactly; None as soon as one of them says nothing."""
    keys = _keys(column_type, texts)
    return texts[keys.index(min(keys))] if keys else None


def greatest(column_type: str, texts: Sequence[str | None]) -> str | None:
    keys = _keys(column_type, texts)
    return texts[keys.index(max(keys))] if keys else None


def _keys(column_type: str, texts: Sequence[str | None]) -> list[Point]:
    found = [exact_point(column_type, text) for text in texts]
    known = [key for key in found if key is not None]
    return known if len(known) == len(found) else []


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
