"""What MySQL and its driver raise, by number."""

from __future__ import annotations

from typing import Any

from tidelake.catalog.database.failures import LOCKED, PASSWORD, RACE, SERVER, Failure, lost_race
from tidelake.errors import Denied, NotFound

NO_SUCH_TABLE = 1146
MADE_LATER = 1412
"""A table that was made, or altered, after the moment that the transaction sees."""
_KNOWN: dict[int, Failure] = {
    0: lost_race("closed the connection", SERVER),
    1045: Failure(Denied, "refused the credentials", PASSWORD),
    1698: Failure(Denied, "refused the credentials", PASSWORD),
    1044: Failure(Denied, "refused access", "ask for access to this database"),
    1142: Failure(Denied, "refused access", "ask for the privilege that the message names"),
    1792: Failure(Denied, "was opened read-only", "connect without read_only=True"),
    1049: Failure(NotFound, "does not exist", "create the database first: CREATE DATABASE name"),
    1062: lost_race("already has such a row", RACE),
    1205: lost_race("is locked", LOCKED),
    1213: lost_race("had to break off the transaction", "try again"),
    MADE_LATER: lost_race("got a new table while it was read", "try again"),
    2002: lost_race("cannot be reached", SERVER),
    2003: lost_race("cannot be reached", SERVER),
    2006: lost_race("closed the connection", SERVER),
    2013: lost_race("closed the connection", SERVER),
}


def failure_of(cause: Any) -> Failure | None:
    code = code_of(cause)
    return None if code is None else _KNOWN.get(code)


def code_of(cause: Any) -> int | None:
    code = cause.args[0] if getattr(cause, "args", None) else None
    return code if isinstance(code, int) else None
