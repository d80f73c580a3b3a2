"""Whatever a publisher was doing when it was killed: whoever comes next finishes it, in order, and
nothing is published twice."""

import subprocess
import sys
from pathlib import Path

import pytest

import tidelake
from tests.delta.agreement import assert_agree
from tests.delta.readers import Readers
from tidelake.testing.place import Place


def _place(folder: Path) -> Place:
    return Place.at("sqlite", folder).tuned(checkpoint_every=2)


def _victim(folder: Path, step: int) -> tuple[int, list[str]]:
    url, data = f"sqlite:///{folder}/lake.db", str(folder / "data")
    done = subprocess.run(
        [sys.executable, "-m", "tests.delta.victim", url, data, str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.split("\n")


def _begin(folder: Path) -> tidelake.Lake:
    lake = _place(folder).open()
    lake.create_table("t", "k INTEGER")
    lake.mirror("t")
    return lake


def _killed_at(folder: Path, step: int, readers: Readers) -> bool:
    """Whether there was such a step."""
    with _begin(folder):
        pass
    code, said = _victim(folder, step)
    assert code in (-9, 0), said
    with _place(folder).open() as lake:
        if step % 2:
            lake.mirrored("t").sync()
        else:
            lake.table("t").append([{"k": 77}])
        assert_agree(lake, "t", readers)
        assert lake.mirrored("t").state.status == "active"
        assert lake.verify().ok
        lake.cleanup("0 seconds")
        assert_agree_now(lake, readers)
    return code == -9


def assert_agree_now(lake: tidelake.Lake, readers: Readers) -> None:
    wanted = sorted(lake.table("t").to_arrow()["k"].to_pylist())
    for _, rows in readers.read(lake.table("t").info.path).values():
        assert sorted(row[0] for row in rows) == wanted


@pytest.mark.parametrize("step", [2, 26])
def test_killed_at_a_step(step: int, tmp_path: Path, readers: Readers) -> None:
    assert _killed_at(tmp_path, step, readers)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_step(tmp_path: Path, readers: Readers) -> None:
    step = 0
    while _killed_at(tmp_path / str(step), step, readers):
        step += 1
    assert step > 100
