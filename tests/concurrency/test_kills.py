"""Writers that are killed at any moment: what was acknowledged is there once, nothing is half."""

import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.concurrency import audit, diary
from tests.concurrency.crowd import start
from tests.concurrency.diary import State, acknowledged, keep_writing, step
from tests.concurrency.workers import die_in_a_transaction
from tidelake.errors import Denied
from tidelake.testing.place import Place


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [3, pytest.param(70, marks=pytest.mark.slow)])
def test_killed_at_any_moment(place: Place, tmp_path: Path, kills: int) -> None:
    moments = random.Random(kills)
    with place.open() as lake:
        lake.create_table("a", "id BIGINT, v BIGINT")
        lake.create_table("b", "id BIGINT, v BIGINT", partition_by="bucket(2, id)")
    number, state, landed = 1, State({}, {}), 2
    for kill in range(kills):
        pages = tmp_path / f"diary-{kill}"
        pages.touch()
        killed_while_writing(place, pages, number, state, moments.uniform(0, 0.4))
        number, state, made = replayed(place, pages, number, state)
        landed += made
        with place.open() as lake:
            assert len(lake.snapshots()) == landed + 1
            audit.check_files(place, lake)
        if kill % 3 == 2 or kill == kills - 1:
            audit.check(place, "a", "b")


def killed_while_writing(
    place: Place, pages: Path, number: int, state: State, seconds: float
) -> None:
    process = start(partial(keep_writing, place, pages, number, state))
    deadline = time.monotonic() + 60
    while not pages.stat().st_size:
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(seconds)
    assert process.is_alive()
    process.kill()
    process.join()


def replayed(place: Place, pages: Path, number: int, state: State) -> tuple[int, State, int]:
    """Where the next writer goes on, the rows it will find, and how many commits were made."""
    commits = 0
    for done in acknowledged(pages):
        while number <= done:
            doing = step(number, state)
            commits += doing.after != state
            number, state = number + 1, doing.after
    with place.open() as lake:
        audit.settle(lake)
        found = State.of(lake)
    if found == state:
        return number, state, commits
    doing = diary.step(number, state)
    while doing.after == state:
        number += 1
        doing = diary.step(number, state)
    assert found == doing.after, f"{doing.name} is there in part, or something else is not"
    return number + 1, found, commits + 1


def test_a_reader_undoes_what_a_killed_writer_left(new_place: Callable[[str], Place]) -> None:
    """SQLite's journal is then still there, and must be played back before anybody can read."""
    place = new_place("sqlite")
    with place.open() as lake:
        lake.create_table("t", "n BIGINT").append([{"n": 1}])
    path = Path(place.url.removeprefix("sqlite:///"))
    process = start(partial(die_in_a_transaction, path))
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size
    with place.open(read_only=True) as lake:
        assert lake.table("t").to_arrow()["n"].to_pylist() == [1]
        with pytest.raises(Denied):
            lake.table("t").append([{"n": 2}])
    audit.check(place, "t")
