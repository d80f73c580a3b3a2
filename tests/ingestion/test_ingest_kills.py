"""Killed at any moment and started again, ingestion takes every file once."""

import random
import time
from functools import partial
from pathlib import Path

import pytest

import tidelake
from tests.concurrency.crowd import start
from tidelake.testing.place import Place

FILES, LINES = 12, 40


def take(place: Place, folder: Path) -> None:
    with place.open() as lake:
        tidelake.ingest(lake, "t", folder, batch_files=2)


@pytest.mark.parametrize("kills", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_killed_and_started_again(place: Place, tmp_path: Path, kills: int) -> None:
    folder = tmp_path / "incoming"
    folder.mkdir()
    for number in range(FILES):
        lines = [f"{number * LINES + line},x" for line in range(LINES)] + ["bad"]
        (folder / f"{number:02}.csv").write_text("\n".join(["id,v", *lines, ""]))
    with place.open() as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR")
    moments = random.Random(kills)
    for _ in range(kills):
        process = start(partial(take, place, folder))
        before = snapshots(place)
        deadline = time.monotonic() + 60
        while process.is_alive() and snapshots(place) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.15))
        process.kill()
        process.join()
    take(place, folder)
    with place.open() as lake:
        ids = sorted(lake.table("t").to_arrow()["id"].to_pylist())
        assert ids == list(range(FILES * LINES))
        assert lake.table("t_quarantine").count() == FILES
        assert lake.verify().ok
        assert tidelake.ingest(lake, "t", folder).known == FILES


def snapshots(place: Place) -> int:
    found: int = place.catalog("SELECT count(*) FROM ducklake_snapshot")[0][0]
    return found
