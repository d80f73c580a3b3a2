"""What the processes of the tests of consumers do."""

import random
import time
from contextlib import suppress
from pathlib import Path

from tidelake.errors import Conflict
from tidelake.testing.place import Place


def commit_a_share(place: Place, share: int) -> list[tuple[int | None, int]]:
    """Take turns with others until so many snapshots were committed here: which they are."""
    done: list[tuple[int | None, int]] = []
    with place.open() as lake:
        while len(done) < share:
            time.sleep(random.uniform(0, 0.02))
            with suppress(Conflict), lake.consumer("billing", 0, lease_seconds=0.1) as consumer:
                batch = consumer.poll(limit=1)
                assert batch is not None
                time.sleep(random.choice([0, 0, 0.15]))
                consumer.commit(batch)
                done.append((batch.since, batch.until))
    return done


def hold_until_killed(place: Place, sign: Path) -> None:
    with place.open() as lake:
        consumer = lake.consumer("billing", since=1, lease_seconds=3)
        consumer.poll()
        partial = sign.with_suffix(".part")
        partial.write_text(consumer.owner)
        partial.rename(sign)
        time.sleep(600)
