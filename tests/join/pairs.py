"""The oracle of point-in-time joins: two loops, one inside the other."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from tests.event_time.facts import instant

Row = dict[str, Any]


def clock(value: Any) -> Any:
    return instant(value) if isinstance(value, date) else value


def joined(
    left: Iterable[Row],
    right: Sequence[Row],
    *,
    on: Sequence[tuple[str, str]],
    times: tuple[str, str],
    direction: str = "backward",
    exact: bool = True,
    tolerance: Any = None,
    tombstone: str | None = None,
    end: str | None = None,
    visible: Callable[[Row, Row], bool] | None = None,
) -> list[tuple[Row, Row | None]]:
    """Every left row with its match; `right` must be in the order of its row ids. `end` names the
    column that says until when a right row holds."""
    found = []
    for mine in left:
        before, after = [], []
        for place, theirs in enumerate(right):
            keys = [(mine[a], theirs[b]) for a, b in on]
            now, then = clock(mine[times[0]]), clock(theirs[times[1]])
            if any(a is None or b is None or a != b for a, b in keys):
                continue
            if now is None or then is None or (visible and not visible(mine, theirs)):
                continue
            until = clock(theirs[end]) if end else None
            if until is not None and until <= then:
                continue
            if (then < now or (exact and then == now)) and (until is None or now < until):
                before.append((then, place))
            if then > now or (exact and then == now):
                after.append((then, -place))
        found.append((mine, chosen(mine, right, times, direction, before, after, tolerance)))
    return [
        (mine, None if theirs and tombstone and theirs[tombstone] is True else theirs)
        for mine, theirs in found
    ]


def chosen(
    mine: Row,
    right: Sequence[Row],
    times: tuple[str, str],
    direction: str,
    before: list[tuple[Any, int]],
    after: list[tuple[Any, int]],
    tolerance: Any,
) -> Row | None:
    now = clock(mine[times[0]])
    last = max(before) if before and direction != "forward" else None
    first = min(after) if after and direction != "backward" else None
    best = last or first
    if last and first and now - last[0] > first[0] - now:
        best = first
    if best is None or (tolerance is not None and abs(best[0] - now) > tolerance):
        return None
    return right[abs(best[1])]


def flattened(
    pairs: Iterable[tuple[Row, Row | None]], names: dict[str, str]
) -> list[tuple[Any, ...]]:
    """The rows of the result; `names` are of right columns and what they are called there."""
    return in_order(
        {**mine, **{there: theirs and theirs[name] for name, there in names.items()}}
        for mine, theirs in pairs
    )


def in_order(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Rows as they compare, whatever order they came in."""
    return sorted((tuple(same(row[name]) for name in sorted(row)) for row in rows), key=repr)


def same(value: Any) -> Any:
    return clock(value) if not isinstance(value, timedelta) else value
