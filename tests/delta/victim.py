"""A process that writes to a mirrored table and is killed at some step of that.

`python -m tests.delta.victim URL DATA STEP` kills itself at that step; should there be none, it
comes to its end. `work` is what it does. Steps are what the world sees of it: each commit to the
catalog, before it and after, and each file that it makes, gives its name or takes away.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

import tidelake
from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.model.tuning import Tuning
from tidelake.testing.faults import watch_database

Count = Callable[[str], None]


def work(lake: tidelake.Lake) -> None:
    table = lake.table("t")
    table.append(pa.table({"k": pa.array(range(20_000), pa.int32())}))
    table.delete("k % 3 = 0")
    table.evolve(widen={"k": "BIGINT"})
    table.append([{"k": -1}])
    table.compact()
    table.delete("k = -1")


def _commits(count: Count, what: str, _: str) -> None:
    if what in ("commit", "done"):
        count(what)


def _files(count: Count, data: str, event: str, given: tuple[Any, ...]) -> None:
    """Python tells of what is going to be done to files."""
    if event == "open":
        path, mode, _ = given
        new = isinstance(mode, str) and mode[0] in "wx"
    else:
        path, new = given[0] if given else "", event in ("os.link", "os.rename", "os.remove")
    if new and str(path).startswith(data):
        count(f"{event} {path}")


def main() -> None:
    url, data, step = sys.argv[1:]
    said: list[str] = []

    def count(name: str) -> None:
        said.append(name)
        if len(said) == int(step) + 1:
            os.kill(os.getpid(), signal.SIGKILL)

    limits = Wishes(tuning=Tuning(checkpoint_every=2))
    with open_lake(resolve(url, data, None), limits) as lake:
        sys.addaudithook(partial(_files, count, data))
        with watch_database(lake, partial(_commits, count)):
            work(lake)
    print("\n".join(said))


if __name__ == "__main__":
    main()
