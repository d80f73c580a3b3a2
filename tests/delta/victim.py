"""A process that writes to a mirrored table and is killed at some step of that.

`python -m tests.delta.victim URL DATA STEP` kills itself at that step; should there be none, it
comes to its end. `work` is what it does.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

import tidelake
from tidelake.delta.mirror import files as mirrored_files
from tidelake.delta.mirror import publish as publishing
from tidelake.delta.mirror import records as mirrors
from tidelake.lake.connect import Wishes, open_lake, resolve
from tidelake.model.tuning import Tuning
from tidelake.store import files

STEPS: tuple[tuple[Any, str], ...] = (
    (mirrors, "ratify"),
    (mirrors, "mark"),
    (mirrors, "keep_checkpoint"),
    (publishing, "_put"),
    (publishing, "_checkpointed"),
    (mirrored_files, "_copied"),
    (mirrored_files, "_vector"),
    (files, "_fill"),
    (files, "_created"),
)
"""Where it may be killed: before each of these, and after."""


def work(lake: tidelake.Lake) -> None:
    table = lake.table("t")
    table.append(pa.table({"k": pa.array(range(20_000), pa.int32())}))
    table.delete("k % 3 = 0")
    table.evolve(widen={"k": "BIGINT"})
    table.append([{"k": -1}])
    table.compact()
    table.delete("k = -1")


def watch(step: int, end: Callable[[], None]) -> list[str]:
    """From now on steps are counted, and the end comes at one."""
    said: list[str] = []

    def count(name: str) -> None:
        said.append(name)
        if len(said) == step + 1:
            end()

    for owner, name in STEPS:
        setattr(owner, name, _watched(getattr(owner, name), name, count))
    return said


def _watched(function: Any, name: str, count: Callable[[str], None]) -> Any:
    def watched(*arguments: Any, **named: Any) -> Any:
        count(f"before {name}")
        found = function(*arguments, **named)
        count(f"after {name}")
        return found

    return watched


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    url, data, step = sys.argv[1:]
    limits = Wishes(tuning=Tuning(checkpoint_every=2))
    said = watch(int(step), _die)
    with open_lake(resolve(url, data, None), limits) as lake, suppress(KeyboardInterrupt):
        work(lake)
    print("\n".join(said))


if __name__ == "__main__":
    main()
