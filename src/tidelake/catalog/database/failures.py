"""What database drivers raise, told in our words; recognised by code, not by message."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidelake.catalog.database.url import CatalogUrl
from tidelake.duck import interrupt_in
from tidelake.errors import Corrupt, Denied, Invalid, NotFound, TidelakeError, Unavailable
from tidelake.model.address import without_secrets


class LostRace(Unavailable):
    """The transaction came to nothing, or nobody knows: the same change may be tried again."""


_LOCKED = "another process is writing to it; try again when it has finished"
_PASSWORD = "check the user and password in the catalog address"
_SERVER = "is the server running, and are host and port right?"
_RACE = "another commit came first; try again"

_SQLITE: dict[int, tuple[type[TidelakeError], str, str]] = {
    sqlite3.SQLITE_BUSY: (LostRace, "is locked", _LOCKED),
    sqlite3.SQLITE_LOCKED: (LostRace, "is locked", _LOCKED),
    sqlite3.SQLITE_CONSTRAINT: (LostRace, "already has such a row", _RACE),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "cannot be opened", "check the path and permissions"),
    sqlite3.SQLITE_NOTADB: (Invalid, "is not an SQLite database", "check the path"),
    sqlite3.SQLITE_CORRUPT: (Corrupt, "is damaged", "restore the catalog from a backup"),
    sqlite3.SQLITE_READONLY: (Denied, "may not be written", "check the file's permissions"),
    sqlite3.SQLITE_FULL: (Unavailable, "ran out of disk space", "free some space, then try again"),
    sqlite3.SQLITE_IOERR: (Unavailable, "cannot be read or written", "check the disk"),
    sqlite3.SQLITE_PERM: (Denied, "may not be opened", "check the file's permissions"),
    sqlite3.SQLITE_AUTH: (Denied, "may not be opened", "check the file's permissions"),
}

_POSTGRES: dict[str, tuple[type[TidelakeError], str, str]] = {
    "28": (Denied, "refused the credentials", _PASSWORD),
    "3D": (NotFound, "does not exist", "create the database first: createdb NAME"),
    "3F": (NotFound, "has no such schema", "create it, or correct ?schema= in the address"),
    "42501": (Denied, "refused access", "ask for the privilege that the message names"),
    "25006": (Denied, "was opened read-only", "connect without read_only=True"),
    "08": (LostRace, "cannot be reached", _SERVER),
    "53": (Unavailable, "is out of resources", "try again later"),
    "57": (LostRace, "is shutting down or starting up", "try again later"),
    "40": (LostRace, "had to break off the transaction", "try again"),
    "55P03": (LostRace, "is locked", _LOCKED),
    "23505": (LostRace, "already has such a row", _RACE),
}

_MYSQL: dict[int, tuple[type[TidelakeError], str, str]] = {
    0: (LostRace, "closed the connection", _SERVER),
    1045: (Denied, "refused the credentials", _PASSWORD),
    1698: (Denied, "refused the credentials", _PASSWORD),
    1044: (Denied, "refused access", "ask for access to this database"),
    1142: (Denied, "refused access", "ask for the privilege that the message names"),
    1792: (Denied, "was opened read-only", "connect without read_only=True"),
    1049: (NotFound, "does not exist", "create the database first: CREATE DATABASE name"),
    1062: (LostRace, "already has such a row", _RACE),
    1205: (LostRace, "is locked", _LOCKED),
    1213: (LostRace, "had to break off the transaction", "try again"),
    1412: (LostRace, "got a new table while it was read", "try again"),
    2002: (LostRace, "cannot be reached", _SERVER),
    2003: (LostRace, "cannot be reached", _SERVER),
    2006: (LostRace, "closed the connection", _SERVER),
    2013: (LostRace, "closed the connection", _SERVER),
}

_SHOWN = 100
_DRIVERS = {"sqlite3", "duckdb", "_duckdb", "sqlalchemy", "psycopg", "pymysql"}


@contextmanager
def translated(url: CatalogUrl) -> Iterator[None]:
    """Whatever a driver raises inside comes out as an error of our own tree."""
    try:
        yield
    except TidelakeError:
        raise
    except RuntimeError as error:
        raise (interrupt_in(error) or error) from error.__cause__
    except TypeError as error:
        if "unexpected keyword argument" not in str(error) or url.is_embedded:
            raise
        said = without_secrets(str(error).rpartition(" ")[2], url.url or "")
        raise Invalid(
            f"the address {url} has an option that its driver does not know: {said}",
            hint="check what stands behind the question mark",
        ) from None
    except UnicodeEncodeError as error:
        raise _no_text(error.object) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in _DRIVERS:
            raise
        told = _explain(url, getattr(error, "orig", None) or error)
        quotes = without_secrets(str(error), url.url or "") != str(error)
        raise told from (None if quotes else error)


def _explain(url: CatalogUrl, cause: Any) -> TidelakeError:
    text = without_secrets(str(cause).strip(), url.url or "")
    detail = text.splitlines()[0] if text else type(cause).__name__
    kind, what, hint = _classify(url, cause)
    return kind(f"the catalog {url} {what}: {detail}", hint=hint)


def _no_text(text: str) -> Invalid:
    shown = text if len(text) < _SHOWN else f"{text[:_SHOWN]}…"
    return Invalid(
        f"{shown!r} holds characters that no database takes", hint="leave out lone surrogates"
    )


def _classify(url: CatalogUrl, cause: Any) -> tuple[type[TidelakeError], str, str]:
    known: tuple[type[TidelakeError], str, str] | None = None
    if url.kind == "sqlite":
        code = getattr(cause, "sqlite_errorcode", None)
        known = _SQLITE.get(code & 0xFF) if code is not None else None
    elif url.kind == "postgresql":
        state = getattr(cause, "sqlstate", None) or ""
        known = _POSTGRES.get(state) or _POSTGRES.get(state[:2])
        if known is None and not state and "DataError" in type(cause).__name__:
            return Invalid, "does not take a text", "leave out NUL characters"
        if known is None and not state and "Operational" in type(cause).__name__:
            known = _POSTGRES[_login_failure(str(cause))]
    elif url.kind == "mysql":
        code = cause.args[0] if getattr(cause, "args", None) else None
        known = _MYSQL.get(code) if isinstance(code, int) else None
    else:
        known = _duckdb(cause)
    return known or (Corrupt, "gave an unexpected error", "is it a DuckLake 1.0 catalog?")


def _login_failure(text: str) -> str:
    """libpq gives no SQLSTATE for a login that fails, only words."""
    if "does not exist" in text and "database" in text:
        return "3D"
    if any(word in text for word in ("authentication", "password", "role", "pg_hba")):
        return "28"
    return "08"


def _duckdb(cause: Any) -> tuple[type[TidelakeError], str, str] | None:
    import duckdb

    if isinstance(cause, duckdb.TransactionException | duckdb.ConstraintException):
        return LostRace, "had to break off the transaction", _RACE
    if isinstance(cause, duckdb.ConnectionException):
        return Unavailable, "cannot be opened", "close other connections to the same file first"
    if isinstance(cause, duckdb.IOException):
        if "not a valid DuckDB database" in str(cause):
            return Invalid, "is not a DuckDB database", "check the path"
        return (
            Unavailable,
            "cannot be opened",
            "a DuckDB file admits one process at a time: close the other one, or keep the"
            " catalog in SQLite or PostgreSQL",
        )
    return None
