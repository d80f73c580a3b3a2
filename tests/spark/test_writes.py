"""What the data source writes is there once or not at all, and DuckDB reads it."""

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.caller import Write, sent, write
from tidelake.errors import Conflict, Invalid, NotFound, Overlap, TidelakeError
from tidelake.testing.place import Place

TARGET = "ns.t"


@pytest.fixture
def made(place: Place) -> Place:
    with place.open() as lake:
        lake.create_schema("ns")
        lake.create_table(TARGET, {"id": "BIGINT", "s": "VARCHAR", "n": "INTEGER"})
    return place


def rows(*ids: int, s: str = "x") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"{s}{each}" for each in ids]})


def ids(place: Place) -> list[int]:
    """As DuckDB reads them, and as we do."""
    with place.duck() as connection:
        theirs = connection.execute(f"SELECT id FROM lake.{TARGET} ORDER BY ALL").fetchall()
    with place.open() as lake:
        ours = sorted(lake.table(TARGET).scan(columns=["id"]).to_arrow().column(0).to_pylist())
        report = lake.verify(deep=True)
    assert report.ok, report.problems
    assert ours == [row[0] for row in theirs]
    return ours


def leftovers(place: Place) -> set[str]:
    """Files that no snapshot has, and leases that nobody has ended."""
    leases = {str(path) for path in place.data.glob("_tidelake/writer-*")}
    return place.unknown_files() | leases


def test_append_by_two_tasks_is_one_snapshot(made: Place) -> None:
    with made.open() as lake:
        before = len(lake.snapshots())
    write(rows(1, 2), rows(3), catalog=made.url, path=TARGET)
    assert ids(made) == [1, 2, 3]
    with made.open() as lake:
        assert len(lake.snapshots()) == before + 1
        assert lake.table(TARGET).log()[-1].operation == "append"
    assert not leftovers(made)


def test_overwrite_all_or_where(made: Place) -> None:
    write(rows(1, 2, 30), catalog=made.url, path=TARGET)
    write(rows(31, 32), overwrite=True, catalog=made.url, path=TARGET, overwriteWhere="id >= 30")
    assert ids(made) == [1, 2, 31, 32]
    with pytest.raises(Invalid, match="does not meet"):
        write(rows(5), overwrite=True, catalog=made.url, path=TARGET, overwriteWhere="id >= 30")
    assert ids(made) == [1, 2, 31, 32]
    write(rows(7), overwrite=True, catalog=made.url, path=TARGET)
    assert ids(made) == [7]
    write(rows().slice(0, 0), overwrite=True, catalog=made.url, path=TARGET)
    assert ids(made) == []
    assert not leftovers(made)


def test_merge_schema_adds_columns_in_the_same_commit(made: Place) -> None:
    more = rows(1).append_column("y", pa.array([2.5]))
    with pytest.raises(Invalid, match="'y'"):
        write(more, catalog=made.url, path=TARGET)
    write(more, catalog=made.url, path=TARGET, mergeSchema=True)
    write(rows(2), catalog=made.url, path=TARGET, mergeSchema=True)
    assert ids(made) == [1, 2]
    with made.open() as lake:
        found = lake.table(TARGET).scan(columns=["id", "y"]).to_arrow().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [{"id": 1, "y": 2.5}, {"id": 2, "y": None}]


def test_merge_on_a_key(made: Place) -> None:
    with made.open() as lake:
        lake.table(TARGET).append([{"id": 1, "s": "old", "n": 5}, {"id": 2, "s": "old", "n": 6}])
    write(rows(2, 3, s="new "), catalog=made.url, path=TARGET, mergeOn="id")
    assert ids(made) == [1, 2, 3]
    with made.open() as lake:
        found = {r["id"]: (r["s"], r["n"]) for r in lake.table(TARGET).to_arrow().to_pylist()}
    assert found == {1: ("old", 5), 2: ("new 2", 6), 3: ("new 3", None)}
    assert not leftovers(made)


def test_once(made: Place) -> None:
    for _ in range(3):
        write(rows(1), catalog=made.url, path=TARGET, once="job/1")
    write(rows(2), catalog=made.url, path=TARGET, once="job/2")
    assert ids(made) == [1, 2]
    assert not leftovers(made)


def test_the_terms_of_a_commit(made: Place) -> None:
    with made.open() as lake:
        before = lake.snapshots()[-1].snapshot_id
        options = {"catalog": made.url, "path": TARGET, "expected": before}
        write(rows(1), author="ann", message="hello", **options)
        last = lake.snapshots()[-1]
        assert (last.author, last.message) == ("ann", "hello")
        with pytest.raises(Conflict):
            write(rows(2), **options)
    assert ids(made) == [1]
    assert not leftovers(made)


def test_what_fails_leaves_nothing(made: Place) -> None:
    job = Write(rows(1), rows(2), catalog=made.url, path=TARGET)
    messages = job.run()
    sent(job.writer).abort([messages[0], None, messages[1]])
    assert ids(made) == []
    assert not leftovers(made)


def test_a_table_that_changes_meanwhile_is_a_conflict(made: Place) -> None:
    job = Write(rows(1), catalog=made.url, path=TARGET)
    messages = job.run()
    with made.open() as lake:
        lake.table(TARGET).evolve(rename={"s": "t"})
    with pytest.raises(Conflict, match="have changed while rows were written"):
        sent(job.writer).commit(messages)
    sent(job.writer).abort(messages)
    assert ids(made) == []
    assert not leftovers(made)


def test_abort_after_a_commit_takes_nothing_away(made: Place) -> None:
    """As when the commit landed, and Spark did not hear of it."""
    job = Write(rows(1), catalog=made.url, path=TARGET)
    messages = job.run()
    sent(job.writer).commit(messages)
    sent(job.writer).abort(messages)
    assert ids(made) == [1]


def test_two_writers_at_once(made: Place) -> None:
    failures: list[BaseException] = []

    def run(first: int) -> None:
        try:
            for number in range(first, first + 4):
                write(rows(number), catalog=made.url, path=TARGET)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert ids(made) == [0, 1, 2, 3, 100, 101, 102, 103]


def test_cleanup_spares_what_is_being_written(made: Place) -> None:
    job = Write(rows(1), catalog=made.url, path=TARGET)
    messages = job.run()
    with made.open() as lake:
        lake.cleanup(older_than="0 seconds")
    sent(job.writer).commit(messages)
    assert ids(made) == [1]


def test_partitions_sorting_and_nulls(place: Place) -> None:
    with place.open() as lake:
        lake.create_schema("ns")
        lake.create_table(
            TARGET, "id BIGINT NOT NULL, s VARCHAR", partition_by="bucket(2, id)", sort_by="id"
        )
    write(rows(*range(20)), rows(*range(20, 30)), catalog=place.url, path=TARGET)
    assert ids(place) == list(range(30))
    nulls = pa.table({"id": pa.array([None], pa.int64()), "s": ["x"]})
    with pytest.raises(Invalid, match="'id'"):
        write(nulls, catalog=place.url, path=TARGET)
    assert ids(place) == list(range(30))
    assert not leftovers(place)


@pytest.mark.parametrize("overlap", ["reject", "skip", "replace"])
def test_series_keep_their_policy(place: Place, overlap: str) -> None:
    with place.open() as lake:
        lake.create_schema("ns")
        lake.create_table(
            TARGET, "id BIGINT, ts TIMESTAMP", event_time="ts", bucket="1d", overlap=overlap
        )

    def days(*numbers: int, first: int) -> pa.Table:
        times = pa.array([f"2024-01-{n:02} 12:00:00" for n in numbers]).cast(pa.timestamp("us"))
        return pa.table({"id": range(first, first + len(numbers)), "ts": times})

    write(days(1, 2, first=0), catalog=place.url, path=TARGET)
    if overlap == "reject":
        with pytest.raises(Overlap):
            write(days(2, 3, first=10), catalog=place.url, path=TARGET)
        assert ids(place) == [0, 1]
        assert not leftovers(place)
    else:
        write(days(2, 3, first=10), catalog=place.url, path=TARGET)
        assert ids(place) == ([0, 1, 11] if overlap == "skip" else [0, 10, 11])
    with place.open() as lake:
        held = lake.table(TARGET).coverage(start="2024-01-01", end="2024-01-04").ratio
    assert held == pytest.approx(2 / 3 if overlap == "reject" else 1)


NONSENSE: list[tuple[dict[str, Any], type[TidelakeError], str]] = [
    ({"path": "ns.nope"}, NotFound, "there is no table"),
    ({"overwriteWhere": "id = 1"}, Invalid, "for mode overwrite"),
    ({"mergeOn": "id", "mergeSchema": "true"}, Invalid, "neither overwrite nor merge_schema"),
    ({"mergeOn": "nope"}, TidelakeError, "nope"),
    ({"mergeSchema": "yes"}, Invalid, "neither true nor false"),
    ({"as_of": "2024-01-01"}, Invalid, "means nothing when rows are written"),
    ({"merge_shema": "true"}, Invalid, "do you mean merge_schema"),
]


@pytest.mark.parametrize(("options", "kind", "message"), NONSENSE, ids=str)
def test_nonsense_is_refused(
    made: Place, options: dict[str, Any], kind: type[TidelakeError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        write(rows(1), **{"catalog": made.url, "path": TARGET, **options})
    assert ids(made) == []
    assert not made.unknown_files()


def test_the_drivers_vault_is_private(made: Place, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TIDELAKE_TEMP_DIRECTORY", str(tmp_path / "tmp"))
    job = Write(rows(1), catalog=made.url, path=TARGET)
    (folder,) = (tmp_path / "tmp").glob("tidelake-lakes-*")
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    job.save()
    assert not list(folder.iterdir())
    folder.chmod(0o755)
    with pytest.raises(TidelakeError, match="open to others"):
        write(rows(2), catalog=made.url, path=TARGET)
