"""Whenever a backup or a restore is killed: what is there is whole, or is no backup and no lake."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tidelake
from tests.backup.test_backup import contents
from tidelake.errors import NotFound
from tidelake.testing.place import Place


def _lived(place: Place) -> dict[str, object]:
    with place.open() as lake:
        t = lake.create_table("t", "id BIGINT, name VARCHAR")
        t.append([{"id": 1, "name": "a"}])
        lake.set_option("data_inlining_row_limit", 0)
        t.append([{"id": 2, "name": "b"}])
        t.delete("id = 2")
        lake.tag("kept")
        return contents(lake)


def _killed(*words: object) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "tests.backup.victim", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (-9, 0), done.stderr
    return done.returncode == -9


def _step(place: Place, folder: Path, wanted: dict[str, object], step: int) -> bool:
    """Whether something was killed at such a step."""
    path, url, data = folder / "b", f"sqlite:///{folder}/again.db", folder / "again"
    folder.mkdir()
    killed = _killed("backup", place.url, path, step)
    try:
        tidelake.restore(path, url, data).close()
    except NotFound:
        assert killed
        shutil.rmtree(path, ignore_errors=True)
        with place.open() as lake:
            lake.backup(path, files=True)
    for each in (folder / "again.db", folder / "again.db-wal", folder / "again.db-shm"):
        each.unlink(missing_ok=True)
    shutil.rmtree(data, ignore_errors=True)
    hurt = _killed("restore", path, url, data, step)
    try:
        lake = tidelake.connect(url, read_only=True)
    except NotFound:
        assert hurt
        (folder / "again.db").unlink(missing_ok=True)
        shutil.rmtree(data, ignore_errors=True)
        lake = tidelake.restore(path, url, data)
    with lake:
        assert contents(lake) == wanted
        assert lake.verify(deep=True).ok
    return killed or hurt


@pytest.mark.parametrize("step", [5, 30])
def test_killed_at_a_step(place: Place, tmp_path: Path, step: int) -> None:
    assert _step(place, tmp_path / "x", _lived(place), step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_few_steps(place: Place, tmp_path: Path) -> None:
    wanted = _lived(place)
    steps = 0
    while _step(place, tmp_path / f"x{steps}", wanted, steps):
        steps += 5
    assert steps > 30


def _rewound(folder: Path, backup: Path, step: int) -> bool:
    """Whether a restore to a moment was killed at such a step. It is a lake of that moment, or
    none."""
    folder.mkdir()
    url, data = f"sqlite:///{folder}/again.db", folder / "again"
    killed = _killed("restore", backup, url, data, "early", step)
    try:
        lake = tidelake.connect(url, read_only=True)
    except NotFound:
        assert killed
        return True
    with lake:
        assert [row["id"] for row in lake.table("t").to_dicts()] == [1]
        assert sorted(lake.tables()) == ["main.gone", "main.t"]
        assert lake.verify(deep=True).ok
    return killed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", [30, 70, pytest.param(None, marks=pytest.mark.slow)])
def test_killed_while_it_goes_back_to_a_moment(
    place: Place, tmp_path: Path, step: int | None
) -> None:
    with place.open() as lake:
        t = lake.create_table("t", "id BIGINT")
        t.append([{"id": 1}])
        lake.create_table("gone", "id BIGINT")
        lake.tag("early")
        lake.drop("gone")
        lake.set_option("data_inlining_row_limit", 0)
        t.append([{"id": 2}])
        lake.create_table("late", "id BIGINT")
        lake.backup(tmp_path / "b", files=True)
    if step is not None:
        assert _rewound(tmp_path / "x", tmp_path / "b", step)
        return
    steps = 0
    while _rewound(tmp_path / f"x{steps}", tmp_path / "b", steps):
        steps += 3
    assert steps > 60
