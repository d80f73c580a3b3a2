"""The time that is left to a moment by its year, month, day and hour, or the first few of them."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta

from tidelake.model.statistics import ColumnStats


def span_of_parts(parts: list[int], *, rounded: bool) -> ColumnStats | None:
    """None if there is no such time. `rounded`: the parts are those of the nearest microsecond."""
    first, last = [*parts, *(1, 1, 1, 0)[len(parts) :]], [*parts, *(1, 12, 31, 23)[len(parts) :]]
    year, month = last[:2]
    if year < 1 or not (1 <= month <= 12 and 1 <= last[2] <= 31 and last[3] <= 23):
        return None
    if rounded and not 1677 <= year <= 2262:
        return None
    last[2] = min(last[2], monthrange(year, month)[1])
    low = "{:04}-{:02}-{:02} {:02}:00:00".format(*first)
    if rounded:
        start = datetime(year, first[1], 1) + timedelta(days=first[2] - 1, hours=first[3])
        low = str(start - timedelta(microseconds=1))
    high = "{:04}-{:02}-{:02} {:02}:59:59.999999999".format(*last)
    return ColumnStats(low, high, 0, 1)
