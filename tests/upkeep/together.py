"""What the processes of these tests do beside expiry and cleanup."""

import os
import time
from contextlib import suppress
from pathlib import Path

from tidelake.errors import Conflict, NotFound
from tidelake.testing.place import Place

ROWS = 20
FIRST = 2
"""The snapshot from which on the rows of `who` 0 are there."""


def keep_expiring(place: Place, page: Path, keep_last: int) -> None:
    """Until somebody kills it; the page says when it has begun, and what it has finished."""
    diary = os.open(page, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with place.tuned(batch=3).open() as lake:
        os.write(diary, b"begun\n")
        while True:
            lake.expire(keep_last=keep_last)
            os.write(diary, b"expired\n")
            lake.cleanup("0 seconds")
            os.write(diary, b"cleaned\n")
            time.sleep(0.001)


def write_on(place: Place, who: int, seconds: float) -> int:
    """Appends, updates and deletes of rows of its own; how many rows there should be."""
    there = 0
    with place.open() as lake:
        table = lake.table("t")
        deadline = time.monotonic() + seconds
        number = 0
        while time.monotonic() < deadline:
            count = ROWS if number % 2 else 3
            first = number * 100
            table.append([{"who": who, "n": first + place} for place in range(count)])
            table.update({"n": "n + 1"}, where=f"who = {who} AND n >= {first}")
            table.delete(f"who = {who} AND n = {first + 1}")
            there += count - 1
            number += 1
    return there


def expire_on(place: Place, seconds: float) -> int:
    """How many snapshots it expired. Files stay for a moment, as readers need them."""
    gone = 0
    with place.open() as lake:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            gone += len(lake.expire(keep_last=2).snapshots)
            lake.cleanup("5 seconds", orphans=False)
    return gone


def tag_on(place: Place, seconds: float) -> dict[str, int]:
    """Tags the newest snapshot again and again, and remembers how many rows it has."""
    tagged: dict[str, int] = {}
    with place.open() as lake:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with suppress(NotFound):
                tag = lake.tag(f"tag of {len(tagged)}")
                tagged[tag.name] = lake.known_at(tag.name).table("t").to_arrow().num_rows
            time.sleep(0.02)
    return tagged


def read_on(place: Place, seconds: float) -> int:
    """Reads the past, which may be gone but must never be wrong: `who` 0 has all its rows."""
    done = 0
    with place.open() as lake:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for snapshot in lake.snapshots()[-5:]:
                if snapshot.snapshot_id < FIRST:
                    continue
                with suppress(NotFound):
                    pinned = lake.known_at(snapshot.snapshot_id).table("t")
                    found = pinned.scan(where="who = 0").to_arrow().num_rows
                    assert found == ROWS, (snapshot.snapshot_id, found)
                    done += 1
    return done


def append_slowly(place: Place, seconds: float) -> None:
    """Has files on disk for long before it commits them."""
    with place.open() as lake:
        deadline = time.monotonic() + seconds
        done = 0
        while time.monotonic() < deadline or done < 2:
            with suppress(Conflict), lake.transaction() as tx:
                tx.table("slow").append([{"n": n} for n in range(ROWS)])
                time.sleep(0.3)
            done += tx.result is not None


def clean_on(place: Place, seconds: float) -> int:
    with place.open() as lake:
        deadline = time.monotonic() + seconds
        done = 0
        while time.monotonic() < deadline or done < 2:
            lake.cleanup("3 seconds")
            done += 1
    return done
