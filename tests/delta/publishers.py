"""What processes do at the same time to a mirrored table, and beside it."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import deltalake

import tidelake
from tests.delta.readers import delta_rs
from tidelake.delta.mirror.sync import sync
from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.model.tuning import Tuning

OFTEN = Wishes(tuning=Tuning(checkpoint_every=4))


def write_on(url: str, data: str, who: int, count: int, options: dict[str, str] | None) -> None:
    """Appends, and takes some of it back; checkpoints often."""
    warnings.simplefilter("error", tidelake.errors.TidelakeWarning)
    with open_lake(resolve(url, data, options), OFTEN) as lake:
        table = lake.table("t")
        for number in range(count):
            table.append([{"k": who * 1000 + number}])
            if number % 4 == 3:
                table.delete(f"k = {who * 1000 + number - 1}")


def publish_on(
    url: str, data: str, path: Path, options: dict[str, str] | None, *, compacts: bool
) -> None:
    """Drains what others have left, until it is told to stop; compacts now and then."""
    with open_lake(resolve(url, data, options), OFTEN) as lake:
        table = lake.table("t")
        while not path.exists():
            sync(lake.session, table.info.id)
            if compacts:
                table.compact()
            time.sleep(0.01)


def read_on(root: str, path: Path) -> dict[int, list[int]]:
    """Everything that a reader has seen, by version."""
    seen: dict[int, list[int]] = {}
    while not path.exists():
        version = deltalake.DeltaTable(root).version()
        found = sorted(delta_rs(root, version)["k"].to_pylist())
        assert seen.setdefault(version, found) == found
        assert version >= max(seen)
    return seen


def then_stop(work: Callable[[], None], path: Path, others: int) -> None:
    """Do it, and have the rest stop once so many have done theirs."""
    work()
    with path.with_suffix(".done").open("a") as done:
        done.write(".")
    if len(path.with_suffix(".done").read_text()) >= others:
        path.write_text("stop")
