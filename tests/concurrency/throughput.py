"""How many one-row appends a second several processes commit: `python -m` this module prints it.

Nothing is asserted: a busy machine would fail it, and `make bench` has the numbers that count.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

from tests.concurrency.crowd import together
from tests.servers.postgres import PostgresServer
from tidelake.testing.place import Place

SECONDS = 3.0


def appended(place: Place, seconds: float) -> tuple[int, float]:
    """How many rows were appended, after one to warm up, and in what time."""
    with place.open() as lake:
        table = lake.table("t")
        table.append([{"n": 0}])
        started = time.monotonic()
        count = 0
        while time.monotonic() - started < seconds:
            table.append([{"n": count}])
            count += 1
        return count, time.monotonic() - started


def measure(place: Place, writers: int) -> float:
    with place.open() as lake:
        lake.create_table("t", "n BIGINT")
    answers = together(*[partial(appended, place, SECONDS)] * writers)
    return sum(count / seconds for count, seconds in answers)


def main() -> None:
    server = PostgresServer()
    for writers in (1, 4, 16):
        with tempfile.TemporaryDirectory() as folder:
            here, there = Path(folder) / "here", Path(folder) / "there"
            sqlite = measure(Place.at("sqlite", here), writers)
            postgres = measure(Place.at("postgresql", there, server), writers)
        print(f"{writers:2} writers: SQLite {sqlite:5.0f}/s, PostgreSQL {postgres:5.0f}/s")
    server.stop()


if __name__ == "__main__":
    main()
