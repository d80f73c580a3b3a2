"""Long work on the catalog, divided so that each part is one short transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from tidelake.model.tuning import Tuning

_BATCH = Tuning().batch

Value = TypeVar("Value")


def batches(values: Iterable[Value], size: int = _BATCH) -> Iterator[Sequence[Value]]:
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]
