"""Point-in-time joins as values: how each right side is joined, and in which passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tidelake.join.question import Pair, TimeComparison
from tidelake.model.schema import ROW_NUMBER, Column
from tidelake.model.types import FLOATS

LEFT, RIGHT = "_tidelake_left", "_tidelake_right"


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A complete description of how one right side is joined; `number` tells it from others.

    `brought` are the right side's columns in the result, and the names that they have there; `age`
    is what the column is called that tells how old the match is, if there is to be one, and
    `completeness` the one that tells how complete the side is, which is found out by another plan.
    `within` is the greatest distance that counts, in SQL; `known` is how a left row tells when it
    knew, in SQL, and then right rows carry since and until when they were known. `end` is the
    right side's column that says until when a row holds, if there is one.
    `untied` says that no two right rows have the same keys and time.
    """

    brought: tuple[tuple[Column, str], ...]
    keys: tuple[Pair, ...]
    clock: TimeComparison
    direction: str = "backward"
    exact: bool = True
    within: str | None = None
    tombstone: Column | None = None
    end: Column | None = None
    known: str | None = None
    untied: bool = False
    number: int = 0
    age: str | None = None
    completeness: str | None = None

    @property
    def right(self) -> str:
        """The relation of its rows."""
        return f"{RIGHT}_{self.number}"

    @property
    def rows(self) -> str:
        """The same in the form that is joined."""
        return f"{RIGHT}_rows_{self.number}"

    @property
    def asking(self) -> tuple[object, ...]:
        """How left rows ask it. Those that are asked alike can be found in one pass."""
        keys = tuple((pair.left.name, pair.cast) for pair in self.keys)
        time = self.clock.reading(self.clock.times.left)
        return keys, time, self.clock.kind, self.direction, self.exact, self.known

    @property
    def rank(self) -> list[str]:
        """By what right rows of one time go."""
        return ["n", "v"] if self.known else ["n"]

    @property
    def is_doubted(self) -> bool:
        """Whether the nearest right row may be one that a left row must not have: it was not known,
        or has ended by itself."""
        return self.known is not None or self.end is not None

    @property
    def is_native(self) -> bool:
        """Whether any engine brings both sides into their form alike."""
        return self.known is None and all(p.native for p in (*self.keys, self.clock.times))

    @property
    def right_values(self) -> list[tuple[str, Column]]:
        return [
            (f"b{place}", column)
            for place, (column, _) in enumerate(self.brought)
            if not (self.clock.is_plain and column == self.clock.times.right)
        ]

    @property
    def match(self) -> list[str]:
        """What is to be known of a right row once it has been found."""
        gone = ["gone"] if self.tombstone else []
        life = ["lo", "hi"] if self.known else []
        end = ["e"] if self.end else []
        return ["t", *gone, *end, *life, *(name for name, _ in self.right_values)]

    @property
    def result(self) -> list[Column]:
        """The columns that it adds."""
        brought = [replace(column, name=name, nullable=True) for column, name in self.brought]
        return [*brought, *([Column(0, self.age, "float64")] if self.age else [])]


@dataclass(frozen=True, slots=True)
class JoinPass:
    """Right sides that left rows ask alike. `source` has the left rows, with these columns; if it
    is `ordered`, they carry their numbers. `output` are the columns of the result; None if another
    pass follows, which gets all."""

    source: str
    left: tuple[Column, ...]
    plans: tuple[JoinPlan, ...]
    ordered: bool = False
    output: tuple[str, ...] | None = None

    @property
    def rows(self) -> str:
        """The left rows in the form that is joined."""
        return f"{self.source}_rows"

    @property
    def first(self) -> JoinPlan:
        """Which tells how left rows ask, as all others would."""
        return self.plans[0]

    @property
    def is_native(self) -> bool:
        return all(plan.is_native for plan in self.plans)

    @property
    def key_names(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.first.keys))]

    @property
    def directions(self) -> tuple[str, ...]:
        asked = self.first.direction
        return ("backward", "forward") if asked == "nearest" else (asked,)

    @property
    def is_flat(self) -> bool:
        """Whether a match is never compared with another, so that it need not be one value."""
        return self.first.direction != "nearest" and not self.is_doubted

    @property
    def is_doubted(self) -> bool:
        """Whether the nearest right row may be one that a left row must not have, of any side."""
        return any(plan.is_doubted for plan in self.plans)

    @property
    def asked(self) -> list[str]:
        """What a left row is looked up by."""
        return [*self.key_names, "t", *(["w"] if self.first.known else [])]

    @property
    def left_values(self) -> list[tuple[str, Column]]:
        """What else there is of a left row. Keys and times that were not cast are there, but for
        keys that are joined by as one and are two: 0.0 and -0.0."""
        keys = (pair for pair in self.first.keys if not pair.cast)
        there = {pair.left.name for pair in keys if pair.left.type not in FLOATS}
        if self.first.clock.is_plain:
            there.add(self.first.clock.times.left.name)
        others = (column for column in self.left if column.name not in there)
        number = [("o", Column(0, ROW_NUMBER, "int64"))] if self.ordered else []
        return [*((f"a{place}", column) for place, column in enumerate(others)), *number]

    @property
    def value_names(self) -> list[str]:
        return [name for name, _ in self.left_values]


def passes(
    left: Sequence[Column], plans: Sequence[JoinPlan], *, ordered: bool
) -> Iterator[JoinPass]:
    """One after the other: each gets what came of those before it."""
    columns = tuple(left)
    every = [*columns, *(column for plan in plans for column in plan.result)]
    listed = [plan.asking for plan in plans]
    groups = groupby(sorted(plans, key=lambda plan: listed.index(plan.asking)), lambda p: p.asking)
    found = [tuple(group) for _, group in groups]
    for place, group in enumerate(found):
        last = place == len(found) - 1
        output = tuple(column.name for column in every) if last else None
        yield JoinPass(f"{LEFT}_{place}", columns, group, ordered, output)
        columns += tuple(column for plan in group for column in plan.result)
