"""Expiring ten thousand snapshots, and with them a hundred thousand files."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from bench.catalogs import FILES_PER_COMMIT, postgres_catalog, sqlite_catalog
from bench.report import Part, Verdict

_SNAPSHOTS = 10_000
_LIVE_FOR = 5
_SECONDS = 10
_END = (
    f"UPDATE ducklake_data_file SET end_snapshot = begin_snapshot + {_LIVE_FOR}"
    f" WHERE begin_snapshot + {_LIVE_FOR} <= (SELECT max(snapshot_id) FROM ducklake_snapshot)"
)


def run(folder: Path, snapshots: int = _SNAPSHOTS) -> Part:
    part = Part("Expiry", ["catalog", "Tidelake", "longest lock", "DuckDB's ducklake", "unit"])
    with _postgres() as server:
        catalogs: dict[str, Callable[[], tuple[str, str]]] = {
            "SQLite": lambda: _sqlite(folder, snapshots),
            "PostgreSQL": lambda: _filled(server, folder, snapshots),
        }
        for name, fresh in catalogs.items():
            ours, longest = _ours(fresh()[0])
            theirs = _theirs(fresh()[1])
            part.rows.append([name, f"{ours:.1f}", f"{longest:.2f}", f"{theirs:.1f}", "seconds"])
            part.numbers[name] = {"tidelake": ours, "lock": longest, "duckdb": theirs}
            part.verdicts.append(
                Verdict(f"{snapshots:,} snapshots on {name}", ours, _SECONDS, unit="s")
            )
    part.notes = [
        f"{snapshots:,} snapshots of {FILES_PER_COMMIT} files each, every file deleted"
        f" {_LIVE_FOR} snapshots later; all but the newest snapshot go; only metadata exists",
        "longest lock: the longest time for which another writer had to wait",
        "PostgreSQL runs on this machine with fsync off",
    ]
    return part


@contextmanager
def _postgres() -> Iterator[Any]:
    from tests.servers.postgres import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


def _sqlite(folder: Path, snapshots: int) -> tuple[str, str]:
    """A fresh copy of the catalog, as Tidelake and as DuckDB name it."""
    made = sqlite_catalog(folder, snapshots * FILES_PER_COMMIT).removeprefix("sqlite:///")
    copy = folder / "expire.db"
    shutil.copy(made, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute(_END)
    connection.close()
    return f"sqlite:///{copy}", f"ducklake:sqlite:{copy}"


def _filled(server: Any, folder: Path, snapshots: int) -> tuple[str, str]:
    import psycopg

    url = postgres_catalog(server.new_database(), snapshots * FILES_PER_COMMIT, folder / "data")
    with psycopg.connect(url) as connection:
        connection.execute(_END)
    return url, f"ducklake:postgres:{server.duckdb_dsn(urlsplit(url).path[1:])}"


def _ours(url: str) -> tuple[float, float]:
    """How long it takes, and the longest that the lake's lock is held."""
    import tidelake

    held: list[float] = []
    with tidelake.connect(url) as lake:
        writing = lake.session.database.writing
        lake.session.database.writing = lambda: _timed(writing, held)  # type: ignore[method-assign]
        begun = perf_counter()
        lake.expire(keep_last=1)
        return perf_counter() - begun, max(held)


@contextmanager
def _timed(writing: Callable[[], Any], held: list[float]) -> Iterator[Any]:
    begun = perf_counter()
    with writing() as writer:
        yield writer
    held.append(perf_counter() - begun)


def _theirs(name: str) -> float:
    from tidelake.testing.duck import duck_connection

    with duck_connection() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"ATTACH '{name}' AS lake")
        begun = perf_counter()
        connection.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        return perf_counter() - begun
