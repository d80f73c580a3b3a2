"""What PostgreSQL raises, by SQLSTATE or the class of it."""

from __future__ import annotations

from typing import Any

from tidelake.catalog.database.failures import LOCKED, PASSWORD, RACE, SERVER, Failure, lost_race
from tidelake.errors import Denied, Invalid, NotFound, Unavailable

_KNOWN: dict[str, Failure] = {
    "28": Failure(Denied, "refused the credentials", PASSWORD),
    "3D": Failure(NotFound, "does not exist", "create the database first: createdb NAME"),
    "3F": Failure(NotFound, "has no such schema", "create it, or correct ?schema= in the address"),
    "42501": Failure(Denied, "refused access", "ask for the privilege that the message names"),
    "25006": Failure(Denied, "was opened read-only", "connect without read_only=True"),
    "08": lost_race("cannot be reached", SERVER),
    "53": Failure(Unavailable, "is out of resources", "try again later"),
    "57": lost_race("is shutting down or starting up", "try again later"),
    "40": lost_race("had to break off the transaction", "try again"),
    "55P03": lost_race("is locked", LOCKED),
    "23505": lost_race("already has such a row", RACE),
}


def failure_of(cause: Any) -> Failure | None:
    state = getattr(cause, "sqlstate", None) or ""
    known = _KNOWN.get(state) or _KNOWN.get(state[:2])
    if known is None and not state and "DataError" in type(cause).__name__:
        return Failure(Invalid, "does not take a text", "leave out NUL characters")
    if known is None and not state and "Operational" in type(cause).__name__:
        return _KNOWN[_login_failure(str(cause))]
    return known


def _login_failure(text: str) -> str:
    """libpq gives no SQLSTATE for a login that fails, only words."""
    if "does not exist" in text and "database" in text:
        return "3D"
    if any(word in text for word in ("authentication", "password", "role", "pg_hba")):
        return "28"
    return "08"
