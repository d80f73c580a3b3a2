"""Tags: names for snapshots. And what a name, a moment and a snapshot id look like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time

from tidelake.drawing.report import DrawableReport
from tidelake.errors import Invalid
from tidelake.model.moment import from_now
from tidelake.model.numpy_scalar import python_value

LONGEST_NAME = 200
"""What the narrowest catalog has room for in a key."""

_LIKE_A_MOMENT = re.compile(r"(?=.*\d)[\d\s:.,+/TZtz_-]+")


@dataclass(frozen=True, slots=True)
class Tag(DrawableReport):
    """A name for a snapshot, which it protects from expiry."""

    name: str
    snapshot_id: int
    created_at: datetime
    author: str | None = None
    message: str | None = None

    def __str__(self) -> str:
        return f"{self.name} → {self.snapshot_id}"


def parse_moment(value: object) -> int | datetime | str:
    """A `known_at` as a snapshot id, an instant (of a date its midnight in UTC), or the name of a
    tag; text may be any, and `now` less or plus a span."""
    found: object = from_now(python_value(value))
    if isinstance(found, bool) or not isinstance(found, int | date | str) or found != found:
        raise _no_moment(value)
    if isinstance(found, date) and not isinstance(found, datetime):
        return datetime.combine(found, time())
    if not isinstance(found, str):
        return found
    if re.fullmatch(r"\s*[0-9]+\s*", found):
        return int(found)
    try:
        return datetime.fromisoformat(found)
    except ValueError:
        return found


def _no_moment(value: object) -> Invalid:
    """Snapshots, entries of a log, tags and results know which one they are."""
    given = f"a {type(value).__name__}" if hasattr(value, "snapshot_id") else repr(value)
    hint = 'give a number, a datetime, or a text such as "now - 1h"'
    if hasattr(value, "snapshot_id"):
        hint = "give its number: known_at(it.snapshot_id)"
    return Invalid(f"known_at={given} is neither a snapshot id nor a time, nor a tag", hint=hint)


def checked_name(name: object, what: str = "tag") -> str:
    """A name that may be given. A tag's can be told from a snapshot id and from a time."""
    if not isinstance(name, str) or not name.strip():
        raise Invalid(f"{name!r} is no name for a {what}", hint="give a text that is not empty")
    if len(name) > LONGEST_NAME:
        raise Invalid(
            f"the {what}'s name has {len(name)} characters",
            hint=f"{LONGEST_NAME} is the most that every catalog takes",
        )
    if name != name.strip() or not name.isprintable():
        raise Invalid(
            f"{name!r} is no name for a {what}",
            hint="leave out spaces at either end, and what cannot be printed",
        )
    if what == "tag" and (_LIKE_A_MOMENT.fullmatch(name) or parse_moment(name) != name):
        raise Invalid(
            f"a tag named {name!r} could be read as a snapshot id or a time",
            hint=f'put a word to it, such as "eod-{name}"',
        )
    return name
