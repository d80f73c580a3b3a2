"""What one check has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tidelake.errors import TidelakeError

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    """`remedy` says what to do, where something is to be done."""

    name: str
    status: Status
    what: str
    remedy: str | None = None


def attempt(name: str, look: Callable[[], Check]) -> Check:
    """What a check says; what it raises is a failure."""
    try:
        return look()
    except TidelakeError as error:
        return Check(name, "fail", error.message, error.hint)
    except OSError as error:
        return Check(name, "fail", str(error), "look there")
