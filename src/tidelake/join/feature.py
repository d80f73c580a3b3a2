"""What is asked of a point-in-time join: of the whole, and of each right side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import Any

from tidelake.errors import Invalid
from tidelake.join.question import DIRECTIONS, checked_tolerance
from tidelake.model.forms import Data

On = str | Sequence[str | tuple[str, str]] | Mapping[str, str]
Known = int | str | date
SUFFIX = "_right"


@dataclass(frozen=True, slots=True)
class Feature:
    """A right side of a point-in-time join over several, where something is asked of it that is
    not asked of all: `tidelake.asof_join(labels, [prices, Feature(ratings, tolerance="90d")])`.

    `table` is whatever a side can be. `name` is what its columns in the result begin with, that of
    the table if left out; `columns` are those of it that are wanted. What is None is as it is for
    the whole join.
    """

    table: Data
    name: str | None = None
    columns: Sequence[str] | None = None
    on: On | None = None
    right_time: str | None = None
    tolerance: timedelta | str | int | None = None
    direction: str | None = None
    known_at: Known | None = None
    allow_exact_matches: bool | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of one right side, checked. Its columns in the result begin with its `name`;
    without one, those that the left side has too get a `suffix`."""

    on: tuple[tuple[str, str], ...] | None
    left_time: str | None
    right_time: str | None
    tolerance: timedelta | int | None
    direction: str
    known_at: Known | None
    exact: bool
    suffix: str
    age: bool = False
    completeness: bool = False
    name: str | None = None
    columns: tuple[str, ...] | None = None

    @staticmethod
    def asked(
        on: On | None = None,
        left_time: str | None = None,
        right_time: str | None = None,
        *,
        tolerance: timedelta | str | int | None = None,
        direction: str = "backward",
        known_at: Known | None = None,
        allow_exact_matches: bool = True,
        suffix: str = SUFFIX,
        age: bool = False,
        completeness: bool = False,
    ) -> Wish:
        """As callers spell it; Invalid for what makes no sense."""
        return Wish(
            on=None if on is None else pairs(on),
            left_time=left_time,
            right_time=right_time,
            tolerance=checked_tolerance(tolerance),
            direction=_checked_direction(direction),
            known_at=known_at,
            exact=bool(allow_exact_matches),
            suffix=_checked_suffix(suffix),
            age=bool(age),
            completeness=bool(completeness),
        )

    def __str__(self) -> str:
        """What is asked that is not asked of every join."""
        plain = Wish.asked()
        asked = ((each.name, getattr(self, each.name)) for each in fields(self))
        return ", ".join(f"{n}={v!r}" for n, v in asked if v != getattr(plain, n))

    def check_named(self) -> None:
        """Of several right sides, columns begin with names, and need no suffix."""
        if self.suffix != SUFFIX:
            raise Invalid(
                f"suffix={self.suffix!r} is for one right side: of several, columns begin with the"
                " name of theirs",
                hint='name them: asof_join(left, {"bid": quotes, "rating": ratings})',
            )

    def of(self, feature: Feature, name: str) -> Wish:
        """What is asked of all, and of this one."""
        own = feature
        return replace(
            self,
            name=name,
            columns=_listed(own.columns),
            on=self.on if own.on is None else pairs(own.on),
            right_time=self.right_time if own.right_time is None else own.right_time,
            tolerance=self.tolerance if own.tolerance is None else checked_tolerance(own.tolerance),
            direction=self.direction
            if own.direction is None
            else _checked_direction(own.direction),
            known_at=self.known_at if own.known_at is None else own.known_at,
            exact=self.exact if own.allow_exact_matches is None else bool(own.allow_exact_matches),
        )


def _listed(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    found = (columns,) if isinstance(columns, str) else tuple(columns)
    if not found or not all(isinstance(name, str) for name in found):
        raise Invalid(f"columns={columns!r} does not name columns", hint='columns=["price"]')
    return found


def _checked_direction(direction: object) -> str:
    if direction not in DIRECTIONS:
        raise Invalid(f"direction={direction!r}", hint=f"one of {', '.join(DIRECTIONS)}")
    return str(direction)


def _checked_suffix(suffix: object) -> str:
    if not isinstance(suffix, str) or not suffix:
        raise Invalid(f"suffix={suffix!r} is no text to put behind a name", hint='"_right"')
    return suffix


def pairs(on: On) -> tuple[tuple[str, str], ...]:
    """Key columns of the left side and of the right."""
    given: Sequence[Any] = (
        [on] if isinstance(on, str) else list(on.items()) if isinstance(on, Mapping) else list(on)
    )
    found = [(each, each) if isinstance(each, str) else each for each in given]
    for pair in found:
        if not isinstance(pair, tuple) or [type(name) for name in pair] != [str, str]:
            raise Invalid(
                f"on={on!r} does not name columns",
                hint='on="id", on=["id", "kind"], or with other names on the right {"id": "key"}',
            )
    if not found:
        raise Invalid("on=[] joins by nothing", hint="name at least one key column")
    return tuple(found)


def by_name(
    listed: Sequence[tuple[str | None, Feature]], own_name: Callable[[Any], str | None]
) -> dict[str, Feature]:
    """Features by the names that their columns begin with: those that they are given, else their
    own, else that of the table."""
    if not listed:
        raise Invalid("there is no right side", hint="give one table, or several as a list")
    found: dict[str, Feature] = {}
    for given, feature in listed:
        name = given or feature.name or own_name(feature.table)
        if not isinstance(name, str):
            raise Invalid(
                f"a right side is a {type(feature.table).__name__}, which has no name of its own",
                hint='name it: asof_join(left, {"prices": …})',
            )
        if name in found:
            raise Invalid(
                f"two of the right sides are called {name!r}",
                hint='name them: asof_join(left, {"bid": quotes, "ask": quotes})',
            )
        found[name] = feature
    return found
