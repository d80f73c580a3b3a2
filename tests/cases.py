"""Cases of a test, of which some are always run."""

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, cases: Iterable[Any], ids: Iterable[str] | None = None) -> list[Any]:
    """The first of the cases and every so many after it; the others are slow."""
    given = list(cases)
    names = list(ids) if ids is not None else [None] * len(given)
    return [
        pytest.param(case, id=name, marks=[] if place % step == 0 else [pytest.mark.slow])
        for place, (case, name) in enumerate(zip(given, names, strict=True))
    ]
