"""Whatever an erasure was doing when it was killed: before its commit nothing has happened, and
after it whoever comes next finishes it."""

import subprocess
import sys
from pathlib import Path

import pytest

import tidelake
from tests.erasure.census import by_tidelake, without_mark
from tests.erasure.search import MARK, traces
from tests.erasure.victim import WHERE
from tidelake.testing.place import Place

STEPS = 300
"""No erasure here has so many."""


def _begin(folder: Path) -> None:
    with Place.at("sqlite", folder).open() as lake:
        t = lake.create_table(
            "t", "id INTEGER, name VARCHAR, ts TIMESTAMP", key=["id"], event_time="ts"
        )
        lake.set_option("data_inlining_row_limit", 0)
        t.append(
            [{"id": n, "name": MARK if n == 3 else f"n{n}", "ts": "2024-01-01"} for n in range(6)]
        )
        t.delete("id IN (1, 4)")
        t.append([{"id": 3, "name": MARK, "ts": "2024-01-02"}])
        t.rollup("2024-01-03")
        lake.mirror("t")


def _killed_at(folder: Path, step: int) -> bool:
    """Whether there was such a step."""
    _begin(folder)
    place = Place.at("sqlite", folder)
    with place.open() as lake:
        before = by_tidelake(lake, "t")
    done = subprocess.run(
        [sys.executable, "-m", "tests.erasure.victim", place.url, f"{place.data}/", str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (-9, 0), done.stderr
    with place.open() as lake:
        _check(place, lake, before, step)
    return done.returncode == -9


def _check(place: Place, lake: tidelake.Lake, before: dict[int, object], step: int) -> None:
    landed = lake.erasures()
    found = by_tidelake(lake, "t")
    assert {at: found[at] for at in before} == (without_mark(before) if landed else before)
    if not landed:
        lake.erase("t", WHERE, reason="again")
    elif step % 3 == 0:
        lake.finish_erasures()
    elif step % 3 == 1:
        lake.cleanup()
    else:
        lake.erase("t", "id = 77", reason="another one")
    assert all(each.is_finished for each in lake.erasures())
    lake.cleanup("0 seconds")
    assert traces(place, lake) == []
    found = by_tidelake(lake, "t")
    assert {at: found[at] for at in before} == without_mark(before)
    assert lake.mirrored("t").diff().status == "ok"
    assert lake.verify(deep=True).ok


@pytest.mark.parametrize("step", [10])
def test_killed_at_a_step(step: int, tmp_path: Path) -> None:
    assert _killed_at(tmp_path, step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_step(tmp_path: Path) -> None:
    step = 0
    while _killed_at(tmp_path / str(step), step):
        step += 1
    assert 15 < step < STEPS
