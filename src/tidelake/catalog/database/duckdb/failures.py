"""What DuckDB raises, by the kind of exception."""

from __future__ import annotations

from typing import Any

from tidelake.catalog.database.failures import RACE, Failure, lost_race
from tidelake.errors import Denied, Invalid, Unavailable, Unsupported


def failure_of(cause: Any) -> Failure | None:
    import duckdb

    if isinstance(cause, duckdb.TransactionException | duckdb.ConstraintException):
        return lost_race("had to break off the transaction", RACE)
    if isinstance(cause, duckdb.ConnectionException) or "file handle conflict" in str(cause):
        return Failure(
            Unavailable, "cannot be opened", "close other connections to the same file first"
        )
    if isinstance(cause, duckdb.IOException):
        if "not a valid DuckDB database" in str(cause):
            return Failure(Invalid, "is not a DuckDB database", "check the path")
        if "sqlite_scanner" in str(cause):
            return Failure(Invalid, "is an SQLite database", "write sqlite:/// and its path")
        if "No space left" in str(cause):
            return Failure(Unavailable, "ran out of disk space", "free some space, then try again")
        if "Permission denied" in str(cause):
            return Failure(Denied, "may not be opened", "check the file's permissions")
        if "version number" in str(cause):
            return Failure(
                Unsupported,
                "was written by a newer DuckDB than the one that is installed",
                "pip install --upgrade duckdb",
            )
        return Failure(
            Unavailable,
            "cannot be opened",
            "a DuckDB file admits one process at a time: close the other one, or keep the"
            " catalog in SQLite or PostgreSQL",
        )
    return None
