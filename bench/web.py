"""The page: the server's time for every view of a lake with a million files."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.catalogs import TABLE, minutes, postgres_catalog, sqlite_catalog
from bench.report import Part, Verdict, milliseconds

FILES = 1_000_000
_MOST = 0.3
_ROUNDS = 3
_TAGS = (("tidelake.key", "[3]"), ("tidelake.event_time", "2"))
_FIRST = {
    "lake": "/",
    "two clocks": f"/clocks?table={TABLE}",
    "history": "/history",
    "history of a table": f"/history?table={TABLE}",
    "history, far back": "/history?before=50000",
    "schema over time": f"/history/schema?table={TABLE}",
    "files": f"/files?table={TABLE}",
    "coverage": "/coverage",
    "SQL": "/sql",
    "activity": "/activity",
}
"""What is there at once."""
_LATER = {
    "lake: every number": "/tables",
    "lake: health": "/signals",
    "two clocks: the plane": f"/clocks/plane?table={TABLE}",
    "files: what a filter leaves": f"/files?table={TABLE}&where={{where}}",
    "SQL: names": "/sql/names",
}
"""What a page loads when it is there, or is asked for."""


def run(folder: Path, files: int = FILES) -> Part:
    found = {"SQLite": _measure(_sqlite(folder, files), files)}
    with _postgres(folder, files) as url:
        found["PostgreSQL"] = _measure(url, files)
    part = Part("The page", ["view", *(f"{name}, first" for name in found), *found])
    for view in (*_FIRST, *_LATER):
        first = [milliseconds(times[view][0]) for times in found.values()]
        again = [milliseconds(times[view][1]) for times in found.values()]
        part.rows.append([view, *first, *again])
    part.notes = [
        f"milliseconds of the server; {files:,} files and {files // 10:,} snapshots, no rows",
        "first: the first request to a lake that has just been opened, the least of three; then the"
        " same once more",
        f"views with a colon are loaded when the page is there; the others have {_MOST:g} s",
    ]
    part.numbers = {
        name: {view: list(each) for view, each in times.items()} for name, times in found.items()
    }
    part.verdicts = [
        Verdict(
            f"{name}: the slowest first paint", max(times[v][0] for v in _FIRST), _MOST, unit="s"
        )
        for name, times in found.items()
    ]
    return part


def _measure(url: str, files: int) -> dict[str, tuple[float, float]]:
    from starlette.testclient import TestClient

    import tidelake
    from tidelake.web.app import application

    found: dict[str, tuple[float, float]] = {}
    for view, path in (_FIRST | _LATER).items():
        times = []
        for _ in range(_ROUNDS):
            with tidelake.connect(url, read_only=True) as lake:
                app = application(lambda _, lake=lake: lake, writable=False)
                client = TestClient(app)
                client.get("/static/page.css")
                address = path.format(where=minutes(files, 0.5))
                times.append((_time(client, address), _time(client, address)))
        found[view] = (min(each[0] for each in times), min(each[1] for each in times))
    return found


def _time(client: Any, address: str) -> float:
    started = perf_counter()
    answer = client.get(address, headers={"accept": "text/html"})
    took = perf_counter() - started
    assert answer.status_code == 200, answer.text
    return took


def _sqlite(folder: Path, files: int) -> str:
    """The catalog of other parts, whose table has two clocks."""
    plain = Path(sqlite_catalog(folder, files).removeprefix("sqlite:///"))
    path = plain.with_name(f"web-{plain.name}")
    if not path.exists():
        shutil.copyfile(plain, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executemany("INSERT INTO ducklake_tag VALUES (1, 1, NULL, ?, ?)", _TAGS)
    return f"sqlite:///{path}"


@contextmanager
def _postgres(folder: Path, files: int) -> Iterator[str]:
    """The same on a server."""
    import psycopg

    from tests.servers.postgres import PostgresServer

    server = PostgresServer()
    url = postgres_catalog(server.new_database(), files, folder / "data")
    with psycopg.connect(url) as connection:
        for tag in _TAGS:
            connection.execute("INSERT INTO ducklake_tag VALUES (1, 1, NULL, %s, %s)", tag)
    yield url
    server.stop()
