"""What the processes of the tests do that copy one table into another."""

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tidelake
from tidelake.errors import Conflict
from tidelake.history.consumer_group import GroupMember
from tidelake.testing.place import Place

COPY = "row BIGINT, k BIGINT, v BIGINT"


def write_at_random(place: Place, tables: Sequence[str], stop: Path, seed: int) -> None:
    """Until somebody says stop."""
    chance = random.Random(seed)
    number = 0
    with place.open() as lake:
        while not stop.exists():
            number += 1
            source = lake.table(chance.choice(tables))
            match chance.randrange(5):
                case 0:
                    source.delete(f"k % 7 = {chance.randrange(7)}")
                case 1:
                    source.update({"v": "v + 1"}, where=f"k % 5 = {chance.randrange(5)}")
                case 2 if chance.randrange(3) == 0:
                    source.compact()
                case _:
                    first = number * 100
                    source.append([{"k": first + k, "v": number} for k in range(3)])
            time.sleep(chance.uniform(0, 0.05))


def copy_for_ever(place: Place, sign: Path) -> None:
    chance = random.Random(str(sign))
    with place.open() as lake:
        while True:
            with suppress(Conflict):
                consumer = lake.consumer("copy", lease_seconds=0.3, start="rows", tables=["t"])
                sign.touch()
                while True:
                    copy_once(lake, consumer, limit=chance.choice([None, 1, 3]))
            time.sleep(0.02)


def share_for_ever(place: Place, sign: Path, tables: Sequence[str]) -> None:
    chance = random.Random(str(sign))
    with place.open() as lake:
        member = lake.consumer_group("copy", lease_seconds=0.5, start="rows", tables=tables)
        sign.touch()
        while True:
            with suppress(Conflict):
                copy_once(lake, member, limit=chance.choice([None, 1, 3]))


def copy_once(lake: tidelake.Lake, consumer: Any, limit: int | None = None) -> bool:
    """The next batch, if there is one; also if others copy at the same time."""
    batch = consumer.poll(limit, timeout=0.05)
    if batch is None:
        return False
    (name,) = batch.tables
    changes = batch.changes(name).to_arrow().to_pylist()
    went = {str(each["rowid"]) for each in changes if each["change_type"] != "insert"}
    last = {each["rowid"]: each for each in changes}
    stay = [
        {"row": row, "k": each["k"], "v": each["v"]}
        for row, each in last.items()
        if each["change_type"] != "delete"
    ]
    copy = "copy" if name == "main.t" else f"copy_{name.removeprefix('main.')}"
    with lake.transaction() as tx:
        if went:
            tx.table(copy).delete(f"row IN ({', '.join(went)})")
        if stay:
            tx.table(copy).append(stay)
        if isinstance(consumer, GroupMember):
            step = {"since": batch.since, "until": batch.until}
            tx.table(f"log_{name.removeprefix('main.')}").append([step])
        consumer.commit(batch, within=tx)
    return True
