"""What the processes of the tests of consumers do."""

import random
import time
from pathlib import Path

from tests.writes.place import Place
from tidelake.errors import Conflict


def commit_everything(place: Place, head: int) -> list[tuple[int | None, int]]:
    """Take turns with others until all is taken; the spans that were committed here."""
    done: list[tuple[int | None, int]] = []
    with place.open() as lake:
        while True:
            time.sleep(random.uniform(0, 0.02))
            try:
                with lake.consumer("billing", lease_seconds=30) as consumer:
                    batch = consumer.poll(limit=2)
                    if batch is None:
                        return done
                    consumer.commit(batch)
                    done.append((batch.since, batch.until))
                    if batch.until == head:
                        return done
            except Conflict:
                continue


def hold_until_killed(place: Place, sign: Path) -> None:
    with place.open() as lake:
        consumer = lake.consumer("billing", since=1, lease_seconds=3)
        consumer.poll()
        partial = sign.with_suffix(".part")
        partial.write_text(consumer.owner)
        partial.rename(sign)
        time.sleep(600)
