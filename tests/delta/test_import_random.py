"""Random logs against a plain replay, and logs that have been damaged: these are read exactly, or
refused."""

import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelake
from tests.delta.logs import (
    Log,
    again,
    checkpoint,
    lake_at,
    metadata,
    remove,
    rows,
    snapshots_by_version,
)
from tidelake.errors import TidelakeError

COLUMNS = [("x", "integer"), ("a", "string"), ("b", "long"), ("c", "double")]
VALUES = {"x": pa.int32(), "a": pa.string(), "b": pa.int64(), "c": pa.float64()}
STEP = st.tuples(
    st.sampled_from(["add", "remove", "vector", "columns", "back", "nothing"]),
    st.integers(0, 1 << 20),
)


class Replay:
    """A table as a dictionary: files with their rows, which of them are deleted, and columns.
    Some files have columns that the table does not have, or not yet."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.columns = ["x", "a"]
        self.live: dict[str, tuple[Any, frozenset[int]]] = {}
        self.gone: dict[str, Any] = {}
        self.data: dict[str, list[dict[str, Any]]] = {}
        log.begin(self._declared(), features=["deletionVectors"])

    def _declared(self) -> list[tuple[str, str]]:
        return [each for each in COLUMNS if each[0] in self.columns]

    def step(self, kind: str, number: int) -> None:
        names = sorted(self.live)
        chosen = names[number % len(names)] if names else None
        if kind == "remove" and chosen:
            action, _ = self.live.pop(chosen)
            self.gone[chosen] = again(action, None)
            self.log.commit(remove(action))
        elif kind == "vector" and chosen:
            self._delete(chosen, number)
        elif kind == "columns":
            self.columns = ["x", *(n for n in "abc" if number >> "abc".index(n) & 1)]
            self.log.commit(metadata(self._declared()))
        elif kind == "back" and self.gone:
            name = sorted(self.gone)[number % len(self.gone)]
            action = self.gone.pop(name)
            self.live[name] = action, frozenset()
            self.log.commit(action)
        elif kind == "nothing":
            self.log.commit()
        else:
            self._add(number)

    def _add(self, number: int) -> None:
        count = number % 5
        found = [{"x": number + n, "a": f"t{n}", "b": n, "c": n / 2} for n in range(count)]
        columns = list(VALUES) if number >> 10 & 1 else self.columns
        here = [{name: row[name] for name in columns} for row in found]
        schema = pa.schema({name: VALUES[name] for name in columns})
        action = self.log.add(pa.Table.from_pylist(here, schema))
        name = action["add"]["path"]
        self.live[name], self.data[name] = (action, frozenset()), here
        self.log.commit(action)

    def _delete(self, name: str, number: int) -> None:
        action, _ = self.live[name]
        gone = frozenset(n for n in range(len(self.data[name])) if number >> n & 1)
        new = again(action, self.log.vector(gone) if gone else None)
        if new["add"].get("deletionVector") == action["add"].get("deletionVector"):
            self.log.commit()
            return
        self.live[name] = new, gone
        self.log.commit(remove(action), new)

    def rows(self) -> list[Any]:
        names = [name for name, _ in self._declared()]
        found = [
            tuple(row.get(name) for name in names)
            for path, (_, gone) in self.live.items()
            for place, row in enumerate(self.data[path])
            if place not in gone
        ]
        return sorted(found, key=repr)


def check(place: Path, steps: list[tuple[str, int]], cut: int) -> None:
    replay = Replay(Log(place / "table"))
    expected = [replay.rows()]
    for kind, number in steps:
        replay.step(kind, number)
        expected.append(replay.rows())
    root, last = str(replay.log.root), len(expected) - 1
    with lake_at(place) as lake:
        first = tidelake.import_delta(
            lake, root, "whole", mode="full-history", up_to_version=min(cut, last)
        )
        tidelake.import_delta(lake, root, "whole", mode="full-history", resume=True)
        assert first.first == 0
        at = snapshots_by_version(lake, "whole")
        for version, wanted in enumerate(expected):
            assert rows(lake, "whole", at[version]) == wanted
        tidelake.import_delta(lake, root, "fast", up_to_version=min(cut, last))
        assert rows(lake, "fast") == expected[min(cut, last)]
        done = tidelake.import_delta(lake, root, "fast", resume=True)
        assert rows(lake, "fast") == expected[-1]
        assert done.rows == len(expected[-1])
        report = lake.verify(deep=True)
        assert report.ok, str(report)


@settings(max_examples=8, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=10), st.integers(0, 8))
def test_random_logs(steps: list[tuple[str, int]], cut: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        check(Path(place), steps, cut)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=25), st.integers(0, 20))
def test_many_random_logs(steps: list[tuple[str, int]], cut: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        check(Path(place), steps, cut)


COMES_BACK = {
    "a file written anew while a column was gone": [
        ("columns", 2),
        ("add", 2),
        ("vector", 2),
        ("columns", 0),
        ("vector", 1),
        ("columns", 2),
    ],
    "a file that came back while a column was gone": [
        ("columns", 2),
        ("add", 2),
        ("remove", 0),
        ("columns", 0),
        ("back", 0),
        ("columns", 2),
    ],
    "a column that goes and comes twice": [
        ("columns", 7),
        ("add", 3),
        ("vector", 1),
        ("columns", 1),
        ("vector", 2),
        ("columns", 3),
        ("vector", 4),
        ("columns", 0),
        ("vector", 1),
        ("columns", 7),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", COMES_BACK)
def test_columns_that_come_back(tmp_path: Path, case: str) -> None:
    """A column that comes back has the values of the file, although the file was written anew
    while the column was gone."""
    check(tmp_path, COMES_BACK[case], cut=3)


@pytest.mark.parametrize("mode", ["fast", "full-history"])
@pytest.mark.parametrize("vector", [False, True])
def test_columns_that_files_have_before_the_table(tmp_path: Path, mode: str, vector: bool) -> None:
    """A table gets a column that a file of it has had all along."""
    log = Log(tmp_path / "table")
    log.begin([("x", "integer")], features=["deletionVectors"])
    table = pa.table({"x": pa.array([1, 2], pa.int32()), "b": [10, 20]})
    added = log.add(table, gone=[0] if vector else None)
    log.commit(added)
    if vector:
        log.commit(remove(added), again(added, log.vector([1])))
    log.commit(metadata([("x", "integer"), ("b", "long")]))
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(log.root), "t", mode=mode, up_to_version=log.version - 1)
        before = lake.table("t").snapshots()[-1].snapshot_id
        tidelake.import_delta(lake, str(log.root), "t", mode=mode, resume=True)
        assert rows(lake, "t", before) == ([(1,)] if vector else [(1,), (2,)])
        assert rows(lake, "t") == ([(1, 10)] if vector else [(1, 10), (2, 20)])
        assert lake.verify(deep=True).ok


def whole_log(place: Path) -> Log:
    replay = Replay(Log(place))
    for kind, number in [("add", 4), ("vector", 5), ("columns", 7), ("add", 13), ("remove", 1)]:
        replay.step(kind, number)
    checkpoint(replay.log, 3)
    return replay.log


def damaged(log: Log, chance: random.Random) -> None:
    """One thing that may go wrong with one file of a log."""
    files = sorted(place for place in log.folder.iterdir() if place.is_file())
    place = chance.choice(files)
    data = place.read_bytes()
    lines = data.split(b"\n")
    match chance.randrange(6):
        case 0:
            place.write_bytes(data[: chance.randrange(len(data))])
        case 1:
            where = chance.randrange(len(data))
            place.write_bytes(
                data[:where] + bytes([data[where] ^ 1 << chance.randrange(8)]) + data[where + 1 :]
            )
        case 2:
            lines.pop(chance.randrange(len(lines)))
            place.write_bytes(b"\n".join(lines))
        case 3:
            place.unlink()
        case 4:
            place.write_bytes(chance.randbytes(chance.randrange(200)))
        case 5 if place.suffix == ".json":
            place.write_text(
                "\n".join(json.dumps(_retyped(json.loads(line), chance)) for line in lines if line)
            )
        case _:
            place.write_bytes(b"")


WRONG: list[Any] = [None, 7, -1, "x", [], {}, True, 1e400, [{"x": 1}], "9" * 30]


def _retyped(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _retyped(each, chance) for key, each in value.items()}
    return chance.choice(WRONG) if chance.random() < 0.08 else value


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[] if n < 2 else pytest.mark.slow) for n in range(12)]
)
def test_damaged_logs(tmp_path: Path, seed: int) -> None:
    """A log that still makes sense is imported, and can be read; any other is refused in our own
    words, and has left nothing behind."""
    log = whole_log(tmp_path / "table")
    chance = random.Random(seed)
    said: list[str] = []
    with lake_at(tmp_path) as lake:
        for number in range(10):
            copy = Log(tmp_path / f"copy{number}")
            shutil.rmtree(copy.root)
            shutil.copytree(log.root, copy.root)
            damaged(copy, chance)
            for mode in ("fast", "full-history"):
                name = f"t{number}_{mode[:4]}"
                try:
                    done = tidelake.import_delta(lake, str(copy.root), name, mode=mode)
                except TidelakeError as error:
                    said.append(str(error))
                    assert not any(name in each for each in lake.tables())
                else:
                    assert lake.table(name).count() == done.rows
        assert lake.verify().ok
    assert all(said)
