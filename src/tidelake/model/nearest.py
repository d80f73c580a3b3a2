"""Names that there are, for somebody who asked for another."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_MOST = 20


def near_names(wanted: str, known: Sequence[str]) -> str:
    """All of them in their order if they are few; else some, the nearest first."""
    if len(known) <= _MOST:
        return ", ".join(known)
    near = get_close_matches(wanted, known, n=_MOST)
    rest = (each for each in known if each not in near)
    shown = [*near, *rest][:_MOST]
    return f"{', '.join(shown)}, … ({len(known):,} in all)"
