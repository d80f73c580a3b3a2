"""Threads of Tidelake and of DuckDB in one process, on one lake."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import duckdb

import tidelake
from tidelake.testing.place import Place

Written = list[tuple[int, int]]
"""Who wrote, and which number."""


@dataclass(frozen=True)
class Span:
    """For how long something is done: so many times at least, and for so many seconds."""

    times: int
    seconds: float = 0

    def goes_on(self, done: int, started: float) -> bool:
        return done < self.times or time.monotonic() - started < self.seconds


@dataclass
class Told:
    """What was acknowledged, how often the counter was raised, and what DuckDB refused."""

    written: Written = field(default_factory=list)
    counted: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Told") -> "Told":
        return Told(
            self.written + other.written,
            self.counted + other.counted,
            self.refused + other.refused,
        )


def mixed(place: Place, who: int, span: Span) -> Told:
    """Two threads on a lake that was open before DuckDB came, one on its own, and DuckDB's."""
    with place.open() as lake:
        lake.table("t").count()
        doings: list[Callable[[], Told]] = [
            lambda: tide(lake, who, span),
            lambda: tide(lake, who + 1, span),
            lambda: tide_of_its_own(place, who + 2, span),
            lambda: duck(place, who + 3, span),
        ]
        return _all(doings)


def only_tide(place: Place, who: int, span: Span) -> Told:
    return tide_of_its_own(place, who, span)


def _all(doings: list[Callable[[], Told]]) -> Told:
    with ThreadPoolExecutor(len(doings)) as pool:
        futures = [pool.submit(doing) for doing in doings]
        return sum((future.result() for future in futures), Told())


def tide(lake: tidelake.Lake, who: int, span: Span) -> Told:
    told, started, number = Told(), time.monotonic(), 0
    table = lake.table("t")
    while span.goes_on(number, started):
        number += 1
        table.append([{"who": who, "n": number}])
        told.written.append((who, number))
        if number % 4 == 0:
            lake.table("counters").update({"n": "n + 1"}, where="id = 0")
            told.counted += 1
    return told


def tide_of_its_own(place: Place, who: int, span: Span) -> Told:
    with place.open() as lake:
        return tide(lake, who, span)


def duck(place: Place, who: int, span: Span) -> Told:
    """Attached anew again and again: with each end DuckDB closes the file. There is one of it in
    a process: two lock each other out, with or without us."""
    told, started, number = Told(), time.monotonic(), 0
    while span.goes_on(number, started):
        number += 1
        try:
            with place.duck() as connection:
                connection.execute("SET ducklake_max_retry_count = 100")
                for _ in range(3):
                    number += 1
                    connection.execute(f"INSERT INTO lake.t VALUES ({who}, {number})")
                    told.written.append((who, number))
                    connection.execute("SELECT count(*) FROM lake.t").fetchall()
        except duckdb.Error as error:
            told.refused[str(error)[:100]] += 1
    return told
