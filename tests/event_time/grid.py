"""The history of keys, compared with what as_of and known_at answer on a grid of both times."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import tidelake
from tidelake.testing.faces import lake_of

BOUNDS = ("valid_from", "valid_to", "known_from", "known_to")


def instant(value: Any) -> datetime:
    if not isinstance(value, datetime):
        return datetime.combine(value, time(0), UTC)
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def rows(found: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return listed


def contains(row: dict[str, Any], moment: datetime, known: datetime) -> bool:
    valid_from, valid_to, known_from, known_to = (row[name] for name in BOUNDS)
    return bool(
        instant(valid_from) <= moment
        and (valid_to is None or moment < instant(valid_to))
        and known_from <= known
        and (known_to is None or known < known_to)
    )


def around(times: Iterable[date]) -> list[datetime]:
    """The times themselves, and a moment before the first and after each."""
    found = sorted({instant(value) for value in times})
    step = timedelta(hours=1)
    return [found[0] - step, *(each for value in found for each in (value, value + step))]


def alike(found: list[dict[str, Any]], answer: list[dict[str, Any]]) -> bool:
    """Whether the rows are the same, in the columns that both have."""
    if not (found and answer):
        return found == answer
    shared = answer[0].keys() & found[0].keys()
    assert {"name", "ts", "v"} <= shared
    return [{k: row[k] for k in shared} for row in found] == [
        {k: row[k] for k in shared} for row in answer
    ]


def check_histories(
    t: tidelake.Table,
    keys: dict[Any, Any],
    moments: Iterable[datetime],
    since: int,
    spark: Any = None,
) -> int:
    """`keys`: every key as `history` takes it, by a name that rows have in the column `name`.
    How many rectangles there were."""
    told = {
        name: (rows(t.history(key)) if spark is None else as_rows(t.history(key).to_spark(spark)))
        for name, key in keys.items()
    }
    snapshots = [s for s in lake_of(t).snapshots() if s.snapshot_id >= since]
    for snapshot in snapshots:
        then = t.known_at(snapshot.snapshot_id)
        for moment in moments:
            answers = {row["name"]: row for row in rows(then.as_of(moment))}
            for name, history in told.items():
                found = [row for row in history if contains(row, moment, snapshot.time)]
                answer = [answers[name]] if name in answers else []
                assert alike(found, answer), (name, snapshot, moment, found, answer)
    for history in told.values():
        order = [(row["known_from"], instant(row["valid_from"])) for row in history]
        assert spark is not None or order == sorted(order)
    return sum(map(len, told.values()))


def as_rows(frame: Any) -> list[dict[str, Any]]:
    found = frame.toArrow().to_pylist()
    return list(found)
