"""A process that writes one thing after another and keeps a diary of what it was told.

Each step is a function of its number and of the rows before it, so whoever reads the diary knows
what must be in the lake: what was acknowledged, and perhaps the one step that was under way.
"""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tidelake
from tidelake.testing.place import Place

MANY = 40
"""Rows enough for a file; fewer than the inlining limit of 10 stay in the catalog."""

Rows = dict[int, int]


@dataclass(frozen=True)
class State:
    """Two tables `a` and `b` of id and value, and the extra columns of `a`."""

    a: Rows
    b: Rows
    extra: tuple[str, ...] = ()

    @staticmethod
    def of(lake: tidelake.Lake) -> "State":
        """As the lake has it. An id that is there twice is an error."""
        names = [column.name for column in lake.table("a").schema]
        return State(_rows(lake, "a"), _rows(lake, "b"), tuple(names[2:]))


def _rows(lake: tidelake.Lake, table: str) -> Rows:
    found = lake.table(table).scan(columns=["id", "v"]).to_arrow()
    ids = found["id"].to_pylist()
    assert len(set(ids)) == len(ids), f"rows of {table} are there twice"
    return dict(zip(ids, found["v"].to_pylist(), strict=True))


@dataclass(frozen=True)
class Step:
    """What is done to the lake, and what that makes of its rows."""

    name: str
    do: Callable[[tidelake.Lake], Any]
    after: State


def step(number: int, state: State) -> Step:
    """The step with this number, if the rows are these."""
    return random.Random(number).choice(_STEPS)(number, state)


def _append(number: int, state: State, count: int) -> Step:
    fresh = {number * 1000 + place: number for place in range(count)}
    data = [{"id": key, "v": value} for key, value in fresh.items()]
    return Step(
        f"append {count}",
        lambda lake: lake.table("a").append(data),
        replace(state, a=state.a | fresh),
    )


def _append_few(number: int, state: State) -> Step:
    return _append(number, state, 3)


def _append_many(number: int, state: State) -> Step:
    return _append(number, state, MANY)


def _delete(number: int, state: State, share: int) -> Step:
    where = f"(id + {number}) % {share} = 0"
    left = {key: value for key, value in state.a.items() if (key + number) % share}
    return Step(
        f"delete 1/{share}", lambda lake: lake.table("a").delete(where), replace(state, a=left)
    )


def _delete_few(number: int, state: State) -> Step:
    return _delete(number, state, 29)


def _delete_many(number: int, state: State) -> Step:
    return _delete(number, state, 3)


def _update(number: int, state: State) -> Step:
    where = f"(id + {number}) % 7 = 0"
    changed = {k: v + 1 if (k + number) % 7 == 0 else v for k, v in state.a.items()}
    return Step(
        "update",
        lambda lake: lake.table("a").update({"v": "v + 1"}, where=where),
        replace(state, a=changed),
    )


def _merge(number: int, state: State) -> Step:
    known = sorted(state.a)[: random.Random(number).randrange(2 * MANY)]
    coming = dict.fromkeys([*known, number * 1000, number * 1000 + 1], number)
    data = [{"id": key, "v": value} for key, value in coming.items()]
    return Step(
        "merge",
        lambda lake: lake.table("a").merge(data, on="id"),
        replace(state, a=state.a | coming),
    )


def _move(number: int, state: State) -> Step:
    """Some rows go from one table to the other; they are never in both, nor in neither."""
    where = f"(id + {number}) % 5 = 0"
    moved = {key: value for key, value in state.a.items() if (key + number) % 5 == 0}

    def do(lake: tidelake.Lake) -> None:
        with lake.transaction(message=f"move {number}") as tx:
            tx.table("b").append([{"id": key, "v": value} for key, value in moved.items()])
            tx.table("a").delete(where)

    left = {key: value for key, value in state.a.items() if key not in moved}
    return Step("move", do, replace(state, a=left, b=state.b | moved))


def _evolve(number: int, state: State) -> Step:
    if state.extra:
        gone = state.extra[0]
        return Step(
            "drop column",
            lambda lake: lake.table("a").evolve(drop=[gone]),
            replace(state, extra=state.extra[1:]),
        )
    return Step(
        "add column",
        lambda lake: lake.table("a").evolve(add={f"x{number}": "int32"}),
        replace(state, extra=(f"x{number}",)),
    )


_STEPS = (
    _append_few,
    _append_few,
    _append_many,
    _append_many,
    _delete_few,
    _delete_many,
    _update,
    _merge,
    _move,
    _evolve,
)


def keep_writing(place: Place, diary: Path, number: int, state: State) -> None:
    """Until somebody kills it."""
    page = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with place.open() as lake:
        while True:
            doing = step(number, state)
            if doing.after != state:
                doing.do(lake)
                os.write(page, f"{number} {doing.name}\n".encode())
            number, state = number + 1, doing.after


def acknowledged(diary: Path) -> list[int]:
    return [int(line.split()[0]) for line in diary.read_text().splitlines()]
