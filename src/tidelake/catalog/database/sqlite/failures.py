"""What SQLite raises, by its result codes."""

from __future__ import annotations

import sqlite3
from typing import Any

from tidelake.catalog.database.failures import LOCKED, RACE, Failure, lost_race
from tidelake.errors import Corrupt, Denied, Invalid, Unavailable

_KNOWN: dict[int, Failure] = {
    sqlite3.SQLITE_BUSY: lost_race("is locked", LOCKED),
    sqlite3.SQLITE_LOCKED: lost_race("is locked", LOCKED),
    sqlite3.SQLITE_CONSTRAINT: lost_race("already has such a row", RACE),
    sqlite3.SQLITE_CANTOPEN: Failure(
        Unavailable, "cannot be opened", "check the path and permissions"
    ),
    sqlite3.SQLITE_NOTADB: Failure(Invalid, "is not an SQLite database", "check the path"),
    sqlite3.SQLITE_CORRUPT: Failure(Corrupt, "is damaged", "restore the catalog from a backup"),
    sqlite3.SQLITE_READONLY: Failure(Denied, "may not be written", "check the file's permissions"),
    sqlite3.SQLITE_FULL: Failure(
        Unavailable, "ran out of disk space", "free some space, then try again"
    ),
    sqlite3.SQLITE_IOERR: Failure(Unavailable, "cannot be read or written", "check the disk"),
    sqlite3.SQLITE_PERM: Failure(Denied, "may not be opened", "check the file's permissions"),
    sqlite3.SQLITE_AUTH: Failure(Denied, "may not be opened", "check the file's permissions"),
}


def failure_of(cause: Any) -> Failure | None:
    code = getattr(cause, "sqlite_errorcode", None)
    return _KNOWN.get(code & 0xFF) if code is not None else None
