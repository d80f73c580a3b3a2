"""Every version of a Delta table as a snapshot: columns, files, deletes, times; broken off and
gone on with."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tests.delta.logs import (
    Log,
    again,
    checkpoint,
    lake_at,
    mapped,
    metadata,
    protocol,
    remove,
    rows,
    snapshots_by_version,
)
from tidelake.errors import Corrupt, Invalid, TidelakeError, Unsupported

DELETING = ["deletionVectors"]


def history(place: Path, log: Log, **options: Any) -> tuple[Any, dict[int, list[Any]]]:
    """The rows at every version that was imported; the lake is whole."""
    with lake_at(place) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t", mode="full-history", **options)
        report = lake.verify(deep=True)
        assert report.ok, str(report)
        at = snapshots_by_version(lake, "t")
        return done, {version: rows(lake, "t", at[version]) for version in sorted(at)}


def test_files_come_and_go(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    one, two = log.add({"x": [1]}), log.add({"x": [2]})
    log.commit(one, two)
    log.commit(remove(one))
    merged = log.add({"x": [2, 9]}, dataChange=False)
    log.commit(remove(two, dataChange=False), merged, operation="OPTIMIZE")
    log.commit(operation="SET TBLPROPERTIES")
    done, found = history(tmp_path, log)
    assert found == {0: [], 1: [(1,), (2,)], 2: [(2,)], 3: [(2,), (9,)], 4: [(2,), (9,)]}
    assert (done.first, done.last, done.snapshots, done.files, done.rows) == (0, 4, 5, 1, 2)
    assert done.rewritten == 0


def test_what_every_snapshot_says(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    log.commit(log.add({"x": [1]}), operation="MERGE", userName="ada")
    history(tmp_path, log)
    with lake_at(tmp_path) as lake:
        first, second = lake.table("t").snapshots()
    assert first.message == "Delta version 0: CREATE TABLE"
    assert (second.message, second.author) == ("Delta version 1: MERGE", "ada")


def test_times_are_kept(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    moments = [datetime(2021, 5, 1 + n, 12, tzinfo=UTC) for n in range(3)]
    stamps = [int(moment.timestamp() * 1000) for moment in moments]
    log.commit(log.add({"x": [1]}), inCommitTimestamp=stamps[1], timestamp=5)
    log.commit(log.add({"x": [2]}), timestamp=stamps[0])
    first = log.folder / f"{0:020d}.json"
    text = first.read_text().replace('"operation"', f'"timestamp": {stamps[0]}, "operation"', 1)
    first.write_text(text)
    history(tmp_path, log)
    with lake_at(tmp_path) as lake:
        found = [snapshot.time for snapshot in lake.table("t").snapshots()]
        assert found[:2] == moments[:2]
        assert (found[2] - moments[1]).total_seconds() == 0.001
        assert rows(lake, "t") == [(1,), (2,)]
        assert lake.table("t").known_at("2021-05-02T18:00:00").count() == 2
        assert lake.table("t").known_at("2021-05-02T12:00:00").count() == 1
        assert lake.table("t").known_at("2021-05-01T12:00:00").count() == 0


def test_times_are_never_before_those_of_the_lake(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.commit(protocol(), metadata([("x", "integer")]), timestamp=1_500_000_000_000)
    log.commit(log.add({"x": [1]}), timestamp=1_600_000_000_000)
    with lake_at(tmp_path) as lake:
        lake.create_table("mine", {"y": "int"})
        newest = lake.snapshots()[-1].time
        tidelake.import_delta(lake, str(log.root), "t", mode="full-history")
        made = lake.table("t").snapshots()
        assert all(snapshot.time >= newest for snapshot in made)
        assert '"time": "2020-09-13T12:26:40+00:00"' in (made[1].extra or "")
        assert lake.verify(deep=True).ok


def test_deletion_vectors_grow_shrink_and_go(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    one = log.add({"x": [0, 1, 2, 3]})
    log.commit(one)
    seen = [[0, 1, 2, 3]]
    for gone in ([1], [1, 3], [0, 1, 3], [1], [2], None, [0, 1, 2, 3], None):
        new = again(one, None if gone is None else log.vector(gone))
        log.commit(remove(one), new)
        one = new
        seen.append([x for x in range(4) if x not in (gone or [])])
    done, found = history(tmp_path, log)
    assert [found[version] for version in range(1, 10)] == [[(x,) for x in each] for each in seen]
    assert done.rewritten == 4


def test_files_that_come_back(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    one = log.add({"x": [1]})
    for _ in range(3):
        log.commit(one)
        log.commit(remove(one))
    log.commit(one)
    done, found = history(tmp_path, log)
    assert [found[v] for v in range(1, 8)] == [[(1,)], []] * 3 + [[(1,)]]
    assert done.rewritten == 3
    with lake_at(tmp_path) as lake:
        listed = [file.path for file in lake.table("t").scan().files()]
    assert len(listed) == 1


def test_statistics_that_come_later_change_nothing(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    one = log.add({"x": [1]}, stats={})
    log.commit(one)
    one["add"]["stats"] = '{"numRecords": 1}'
    log.commit(one)
    _, found = history(tmp_path, log)
    assert found == {0: [], 1: [(1,)], 2: [(1,)]}


def test_columns_come_and_go_and_come_back(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer")])
    log.commit(log.add({"x": [1]}))
    log.commit(metadata([("x", "integer"), ("y", "string")]), log.add({"x": [2], "y": ["b"]}))
    log.commit(metadata([("x", "integer")]))
    log.commit(metadata([("y", "string"), ("x", "integer")]))
    _, found = history(tmp_path, log)
    assert found[2] == [(1, None), (2, "b")]
    assert found[3] == [(1,), (2,)]
    assert found[4] == [("b", 2), (None, 1)]


def test_columns_that_are_renamed_dropped_and_added_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("a", "integer"), ("b", "integer")])
    log.commit(log.add({"a": [1], "b": [2]}))
    how = {"delta.columnMapping.mode": "name"}
    a, b = mapped("a", "integer", 1, "a"), mapped("b", "integer", 2, "b")
    log.commit(protocol(["columnMapping"]), metadata([a, b], configuration=how))
    renamed = mapped("c", "integer", 1, "a")
    log.commit(metadata([renamed, b], configuration=how))
    log.commit(metadata([renamed], configuration=how))
    new = mapped("b", "string", 3, "col-3")
    log.commit(metadata([renamed, new], configuration=how), log.add({"a": [5], "col-3": ["x"]}))
    _, found = history(tmp_path, log)
    assert [found[v] for v in range(1, 6)] == [
        [(1, 2)],
        [(1, 2)],
        [(1, 2)],
        [(1,)],
        [(1, None), (5, "x")],
    ]
    with lake_at(tmp_path) as lake:
        at = snapshots_by_version(lake, "t")
        assert lake.table("t").known_at(at[2]).schema.names == ["a", "b"]
        assert lake.table("t").known_at(at[3]).schema.names == ["c", "b"]


def test_columns_are_widened(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    inner = {"type": "struct", "fields": [{"name": "d", "type": "float", "nullable": True}]}
    log.begin([("x", "byte"), ("s", inner)], features=["typeWidening"])
    kind = pa.struct({"d": pa.float32()})
    schema = pa.schema({"x": pa.int8(), "s": kind})
    log.commit(log.add(pa.table({"x": [1], "s": [{"d": 0.5}]}, schema)))
    wide = {"type": "struct", "fields": [{"name": "d", "type": "double", "nullable": True}]}
    log.commit(metadata([("x", "long"), ("s", wide)]))
    log.commit(log.add({"x": [1 << 40], "s": [{"d": 0.1}]}))
    _, found = history(tmp_path, log)
    assert found[2] == [(1, {"d": 0.5})]
    assert found[3] == [(1, {"d": 0.5}), (1 << 40, {"d": 0.1})]


def test_a_table_that_is_replaced(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("p", "string")], partitioned_by=["p"])
    one = log.add({"x": [1]}, "p=a/f.parquet", partition={"p": "a"})
    log.commit(one)
    declares = metadata([("x", "string"), ("q", "integer")], partitioned_by=["q"], id="other")
    two = log.add({"x": ["one"]}, "q=7/f.parquet", partition={"q": "7"})
    log.commit(remove(one), declares, two, operation="CREATE OR REPLACE TABLE")
    log.commit(remove(two), metadata([("x", "string")]), log.add({"x": ["two"]}))
    _, found = history(tmp_path, log)
    assert found == {0: [], 1: [(1, "a")], 2: [("one", 7)], 3: [("two",)]}


@pytest.mark.parametrize(
    "declares",
    [
        metadata([("x", "string")]),
        metadata([("x", "integer"), ("y", "string")], partitioned_by=["y"]),
    ],
    ids=["another type", "other partitions"],
)
def test_what_no_snapshot_can_say_is_refused(tmp_path: Path, declares: dict[str, Any]) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    log.commit(log.add({"x": [1], "y": [2]}))
    log.commit(declares)
    with lake_at(tmp_path) as lake, pytest.raises(Unsupported, match="version 2"):
        tidelake.import_delta(lake, str(log.root), "t", mode="full-history")


def test_history_begins_where_the_log_does(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin()
    for n in range(1, 6):
        log.commit(log.add({"x": [n]}))
    checkpoint(log, 3)
    for version in range(4):
        (log.folder / f"{version:020d}.json").unlink()
    done, found = history(tmp_path, log)
    assert (done.first, done.last) == (3, 5)
    assert {version: len(each) for version, each in found.items()} == {3: 3, 4: 4, 5: 5}
    assert done.notes == ("versions 0 to 2 are not told by the log any more",)


def test_history_begins_where_its_files_do(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    one, two = log.add({"x": [1]}), log.add({"x": [2]}, "vacuumed.parquet")
    log.commit(one, two)
    log.commit(log.add({"x": [3]}))
    log.commit(remove(two))
    log.commit(log.add({"x": [4]}))
    (log.root / "vacuumed.parquet").unlink()
    done, found = history(tmp_path, log)
    assert found == {3: [(1,), (3,)], 4: [(1,), (3,), (4,)]}
    assert done.notes == ("versions 0 to 2 need files that are gone",)
    (tmp_path / "b").mkdir()
    with pytest.raises(Corrupt, match=r"vacuumed\.parquet"):
        history(tmp_path / "b", log, up_to_version=2)


def test_it_goes_on(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin(features=DELETING)
    one, two = log.add({"x": [1, 2]}), log.add({"x": [3]})
    log.commit(one, two)
    history(tmp_path, log)
    changed = again(one, log.vector([0]))
    log.commit(remove(one), changed)
    log.commit(remove(two), metadata([("x", "integer"), ("y", "string")]))
    log.commit(log.add({"x": [4], "y": ["z"]}))
    with lake_at(tmp_path) as lake:
        for mode in ("full-history", "fast", "full-history"):
            done = tidelake.import_delta(
                lake, str(log.root), "t", mode=mode, resume=True, up_to_version=3
            )
        assert (done.first, done.last, done.snapshots, done.rows) == (3, 3, 0, 1)
        done = tidelake.import_delta(lake, str(log.root), "t", mode="full-history", resume=True)
        assert (done.first, done.last, done.snapshots) == (4, 4, 1)
        at = snapshots_by_version(lake, "t")
        found = {version: rows(lake, "t", at[version]) for version in sorted(at)}
        assert lake.verify(deep=True).ok
    assert found == {
        0: [],
        1: [(1,), (2,), (3,)],
        2: [(2,), (3,)],
        3: [(2, None)],
        4: [(2, None), (4, "z")],
    }


def test_fast_and_then_what_has_come_since(tmp_path: Path) -> None:
    log = Log(tmp_path / "table")
    log.begin([("x", "integer"), ("p", "string")], partitioned_by=["p"], features=DELETING)
    told = [log.add({"x": [1, 2]}, f"p={p}/f.parquet", partition={"p": p}) for p in "ab"]
    anew = [log.add({"x": [3, 4]}, f"{p}.parquet", partition={"p": p}) for p in "cd"]
    log.commit(*told, *anew)
    with lake_at(tmp_path) as lake:
        done = tidelake.import_delta(lake, str(log.root), "t")
        assert (done.rewritten, done.rows) == (2, 8)
        changed = [again(each, log.vector([1])) for each in (told[0], anew[0])]
        log.commit(remove(told[0]), remove(anew[0]), *changed)
        log.commit(remove(told[1]), remove(anew[1]))
        for _ in range(2):
            done = tidelake.import_delta(lake, str(log.root), "t", resume=True)
            assert rows(lake, "t") == [(1, "a"), (3, "c")]
            assert (done.last, done.rows) == (3, 2)
        assert done.snapshots == 0
        log.commit(remove(changed[0]), told[0], remove(changed[1]), anew[0])
        tidelake.import_delta(lake, str(log.root), "t", resume=True)
        assert rows(lake, "t") == [(1, "a"), (2, "a"), (3, "c"), (4, "c")]
        assert lake.verify(deep=True).ok


def test_what_is_there_already_is_not_touched(tmp_path: Path) -> None:
    log, other = Log(tmp_path / "table"), Log(tmp_path / "other")
    log.begin()
    other.begin()
    with lake_at(tmp_path) as lake:
        lake.create_table("mine", {"x": "int"})
        tidelake.import_delta(lake, str(log.root), "t")
        for name, root, options in [
            ("t", log.root, {}),
            ("mine", log.root, {}),
            ("mine", log.root, {"resume": True}),
            ("t", other.root, {"resume": True}),
            ("u", log.root, {"mode": "slow"}),
            ("u", log.root, {"up_to_version": "1"}),
        ]:
            with pytest.raises(Invalid):
                tidelake.import_delta(lake, str(root), name, **options)
        log.commit(log.add({"x": [1]}))
        lake.table("t").append([{"x": 7}])
        with pytest.raises(Invalid, match="changed since"):
            tidelake.import_delta(lake, str(log.root), "t", resume=True)
        with pytest.raises(Invalid, match="transaction"), lake.transaction() as tx:
            tidelake.import_delta(tx, str(log.root), "u")


def long_log(place: Path, versions: int) -> Log:
    log = Log(place)
    log.begin()
    before = None
    for n in range(1, versions):
        new = log.add({"x": [n]})
        log.commit(*([remove(before)] if before and n % 3 == 0 else []), new)
        before = new
    return log


def expected_rows(versions: int) -> list[tuple[int]]:
    return [(n,) for n in range(1, versions) if (n + 1) % 3 or n + 1 >= versions]


CHILD = """
import sys, tidelake
place, table = sys.argv[1:3]
with tidelake.connect(f"sqlite:///{place}/lake.db", data_path=f"{place}/data") as lake:
    print("ready", flush=True)
    try:
        tidelake.import_delta(lake, table, "t", mode="full-history", resume="resume" in sys.argv)
    except tidelake.errors.Invalid as error:
        print(error)
"""


def child(place: Path, log: Log, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", CHILD, str(place), str(log.root), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_whole(place: Path, versions: int) -> None:
    with lake_at(place) as lake:
        at = snapshots_by_version(lake, "t")
        assert sorted(at) == list(range(versions))
        assert len(lake.table("t").snapshots()) == versions
        for version in (0, 1, versions // 2, versions - 1):
            assert rows(lake, "t", at[version]) == sorted(expected_rows(version + 1), key=repr)
        assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_killed_half_way(tmp_path: Path) -> None:
    log = long_log(tmp_path / "table", 80)
    with lake_at(tmp_path):
        pass
    running = child(tmp_path, log)
    deadline = time.monotonic() + 60
    with lake_at(tmp_path) as lake:
        while len(lake.snapshots()) < 10 and time.monotonic() < deadline:
            time.sleep(0.01)
    running.kill()
    running.wait()
    with lake_at(tmp_path) as lake:
        assert len(lake.snapshots()) >= 10
        done = tidelake.import_delta(lake, str(log.root), "t", mode="full-history", resume=True)
        assert done.last == 79
    check_whole(tmp_path, 80)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    log = long_log(tmp_path / "table", 60)
    with lake_at(tmp_path):
        pass
    for wait in (0.05, 0.1, 0.2, 0.4, 0.1, 0.05, 0.3):
        running = child(tmp_path, log, "resume")
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(wait)
        running.kill()
        running.wait()
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(log.root), "t", mode="full-history", resume=True)
    check_whole(tmp_path, 60)


def test_two_imports_at_once(tmp_path: Path) -> None:
    log = long_log(tmp_path / "table", 20)
    with lake_at(tmp_path):
        pass
    said: list[str] = []

    def run(resume: bool) -> None:
        with lake_at(tmp_path) as lake:
            try:
                tidelake.import_delta(lake, str(log.root), "t", mode="full-history", resume=resume)
            except TidelakeError as error:
                said.append(str(error))

    threads = [threading.Thread(target=run, args=(resume,)) for resume in (False, True)]
    run_all(threads)
    with lake_at(tmp_path) as lake:
        tidelake.import_delta(lake, str(log.root), "t", mode="full-history", resume=True)
    check_whole(tmp_path, 20)
    assert all("already" in each or "somebody else" in each for each in said)


def run_all(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
