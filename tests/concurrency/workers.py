"""What the processes of these tests do."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import duckdb

import tidelake
from tidelake.errors import TidelakeError, Unavailable
from tidelake.testing.place import Place


def append_one_by_one(place: Place, numbers: Iterable[int]) -> list[int]:
    """The snapshots that the appends made."""
    with place.open() as lake:
        table = lake.table("t")
        results = [table.append([{"n": number, "who": "us"}]) for number in numbers]
    return [result.snapshot_id or 0 for result in results]


def duck_insert_one_by_one(place: Place, numbers: Iterable[int]) -> None:
    with place.duck() as duck:
        duck.execute("SET ducklake_max_retry_count = 100")
        for number in numbers:
            duck.execute(f"INSERT INTO lake.t VALUES ({number}, 'duck')")


def count_up(place: Place, key: int, times: int) -> None:
    """Increment a counter that others increment too."""
    with place.open() as lake:
        for _ in range(times):
            lake.table("counters").update({"n": "n + 1"}, where=f"id = {key}")


def overwrite(place: Place, who: int, rows: int) -> None:
    with place.open() as lake:
        lake.table("t").overwrite([{"id": number, "who": who} for number in range(rows)])


def delete_one_by_one(place: Place, numbers: Iterable[int]) -> int:
    with place.open() as lake:
        return sum(lake.table("t").delete(f"id = {number}").deleted for number in numbers)


def append_batches(place: Place, batches: Iterable[range]) -> None:
    with place.open() as lake:
        for batch in batches:
            lake.table("t").append([{"id": number, "who": 0} for number in batch])


def maintain(place: Place, times: int) -> int:
    """Everything that DuckDB does to keep a lake tidy, again and again; how often it was done."""
    done = 0
    with place.duck() as duck:
        duck.execute("SET ducklake_max_retry_count = 100")
        for _ in range(times):
            for call in (
                "ducklake_flush_inlined_data('lake')",
                "ducklake_merge_adjacent_files('lake')",
                "ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
            ):
                with suppress(duckdb.Error):  # it lost a race, and says so in many ways
                    duck.execute(f"CALL {call}").fetchall()
                    done += 1
    return done


def create_table(place: Place, column: str) -> str | None:
    """None, or what the error said."""
    with place.open() as lake:
        try:
            lake.create_table("fresh", {column: "int64"})
        except TidelakeError as error:
            return f"{type(error).__name__}: {error}"
    return None


def append_attempts(place: Place, numbers: Iterable[int]) -> int:
    """How many tries the appends needed."""
    with place.open() as lake:
        table = lake.table("t")
        return sum(table.append([{"n": number, "who": "us"}]).attempts for number in numbers)


def append_few_and_many(place: Place, who: int, seconds: float) -> list[int]:
    """What was appended until the time was over: one row, then enough for a file, and so on."""
    written: list[int] = []
    number = who * 1_000_000
    table = _found_at_last(place)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for count in (1, 1, 1, 20):
            fresh = range(number, number + count)
            table.append([{"n": each} for each in fresh])
            written += fresh
            number += count
    return written


def _found_at_last(place: Place) -> tidelake.Table:
    while True:
        with suppress(Unavailable):
            return place.open().table("t")


def die_in_a_transaction(path: Path) -> None:
    """After so many changes that SQLite has begun to write them into the file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE ducklake_snapshot SET snapshot_id = snapshot_id + 1000")
    rows = [(number, 0, None, "key", "x" * 500) for number in range(1000)]
    connection.executemany("INSERT INTO ducklake_tag VALUES (?, ?, ?, ?, ?)", rows)
    os.kill(os.getpid(), signal.SIGKILL)


def merge_counts(place: Place, keys: Iterable[int], times: int) -> None:
    """Add one to each key's count, or begin to count it."""
    source = [{"id": key, "n": 1} for key in keys]
    with place.open() as lake:
        for _ in range(times):
            merge = lake.table("counters").merge_builder(source, on="id")
            merge = merge.when_matched_update({"n": "target.n + source.n"})
            merge.when_not_matched_insert().execute()
