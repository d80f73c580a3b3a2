"""Streams, as Spark drives them: batches that come again, places in checkpoints, what is gone."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.caller import Sink, Stream, sent, source, spark_type
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.testing.place import Place

TARGET = "ns.t"
ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["a", "b"]})


@pytest.fixture
def made(place: Place) -> Place:
    with place.open() as lake:
        lake.create_schema("ns")
        lake.create_table(TARGET, {"id": "BIGINT", "s": "VARCHAR"})
    return place


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return new_checkpoint(tmp_path / "checkpoint", "query-1")


def new_checkpoint(folder: Path, query: str) -> Path:
    folder.mkdir()
    (folder / "metadata").write_text(json.dumps({"id": query}))
    return folder


def sink(place: Place, checkpoint: Path, **options: Any) -> Sink:
    return Sink(
        spark_type(ROWS),
        catalog=place.url,
        path=TARGET,
        checkpointLocation=checkpoint,
        **options,
    )


def rows(*ids: int, s: str = "x") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [s for _ in ids]})


def ids(place: Place) -> list[int]:
    with place.duck() as connection:
        found = connection.execute(f"SELECT id FROM lake.{TARGET} ORDER BY ALL").fetchall()
    return [row[0] for row in found]


def test_a_batch_that_comes_again_is_there_once(made: Place, checkpoint: Path) -> None:
    """A restart may find a batch that was written, or committed, or both."""
    stream = sink(made, checkpoint)
    lost = stream.write(rows(1), rows(2))
    stream.commit(0, stream.write(rows(1), rows(2)))
    again = stream.write(rows(1), rows(2))
    stream.commit(0, again)
    stream.commit(0, lost)
    stream.commit(1, stream.write(rows(3)))
    assert ids(made) == [1, 2, 3]
    assert not made.unknown_files()


def test_the_last_batch_comes_again_after_its_snapshot_has_expired(
    made: Place, checkpoint: Path
) -> None:
    stream = sink(made, checkpoint)
    for batch in range(3):
        stream.commit(batch, stream.write(rows(batch)))
    with made.open() as lake:
        lake.table(TARGET).compact()
        lake.table(TARGET).append([{"id": 9}])
        lake.expire(older_than="0 seconds")
        assert len(lake.snapshots()) == 1
    stream.commit(2, stream.write(rows(2)))
    stream.commit(3, stream.write(rows(3)))
    assert ids(made) == [0, 1, 2, 3, 9]
    assert not made.unknown_files()


def test_another_checkpoint_is_another_query(made: Place, checkpoint: Path, tmp_path: Path) -> None:
    """Its batches have the same numbers, and are not those that are there."""
    sink(made, checkpoint).commit(0, sink(made, checkpoint).write(rows(1)))
    other = sink(made, new_checkpoint(tmp_path / "other", "query-2"))
    other.commit(0, other.write(rows(2)))
    assert ids(made) == [1, 2]


def test_a_name_stands_for_the_checkpoint(made: Place) -> None:
    for _ in range(2):
        stream = sink(made, Path("hdfs://nowhere/checkpoint"), query_id="mine")
        stream.commit(5, stream.write(rows(1)))
    assert ids(made) == [1]
    stream = sink(made, Path("hdfs://nowhere/checkpoint"))
    with pytest.raises(Invalid, match="query_id"):
        stream.commit(6, stream.write(rows(2)))
    assert ids(made) == [1]


def test_upsert(made: Place, checkpoint: Path) -> None:
    stream = sink(made, checkpoint, mergeOn="id")
    stream.commit(0, stream.write(rows(1, 2, s="old")))
    for _ in range(2):
        stream.commit(1, stream.write(rows(2, s="new"), rows(3, s="new")))
    with made.open() as lake:
        found = {r["id"]: r["s"] for r in lake.table(TARGET).to_arrow().to_pylist()}
    assert found == {1: "old", 2: "new", 3: "new"}
    assert not made.unknown_files()


def test_late_facts_of_a_stream(place: Place, checkpoint: Path) -> None:
    with place.open() as lake:
        lake.create_schema("ns")
        lake.create_table(
            TARGET, {"k": "VARCHAR", "ts": "TIMESTAMP", "v": "BIGINT"}, key="k", event_time="ts"
        )

    def fact(day: int, value: int) -> pa.Table:
        when = pa.array([f"2024-01-{day:02} 00:00:00"]).cast(pa.timestamp("us"))
        return pa.table({"k": ["a"], "ts": when, "v": pa.array([value], pa.int64())})

    stream = Sink(
        spark_type(fact(1, 0)), catalog=place.url, path=TARGET, checkpointLocation=checkpoint
    )
    for batch, (day, value) in enumerate([(1, 10), (5, 50), (3, 30), (3, 31)]):
        stream.commit(batch, stream.write(fact(day, value)))
    with place.open() as lake:
        table = lake.table(TARGET)
        wanted = {"2024-01-02": 10, "2024-01-04": 31, "2024-01-06": 50}
        for day, value in wanted.items():
            assert table.as_of(day).to_arrow().column("v").to_pylist() == [value]


def test_abort_takes_files_away_unless_a_commit_was_tried(made: Place, checkpoint: Path) -> None:
    stream = sink(made, checkpoint)
    messages = stream.write(rows(1))
    stream.abort(0, [*messages, None])
    assert not made.unknown_files()
    messages = stream.write(rows(1))
    stream.commit(0, messages)
    stream.abort(0, messages)
    assert ids(made) == [1]


def test_streams_need_something_to_be_told_by(made: Place) -> None:
    with pytest.raises(Invalid, match="nothing tells this stream from others"):
        source(catalog=made.url, path=TARGET).streamWriter(spark_type(ROWS), False)
    with pytest.raises(Invalid, match="once means nothing in a stream"):
        source(catalog=made.url, path=TARGET, once="x", query_id="q").streamWriter(
            spark_type(ROWS), False
        )


def stream_of(place: Place, offset: dict[str, Any] | None = None, **options: Any) -> Stream:
    return Stream(offset, catalog=place.url, path=TARGET, **options)


def read_ids(batch: pa.Table) -> list[int]:
    return sorted(batch.column("id").to_pylist())


def test_new_rows_come_once_whatever_is_compacted(made: Place) -> None:
    with made.open() as lake:
        table = lake.table(TARGET)
        table.append(rows(1, 2))
        table.append(rows(3))
        stream = stream_of(made)
        assert [read_ids(batch) for batch in stream.batches()] == [[1, 2, 3]]
        place = stream.offset
        table.append(rows(4))
        table.append(rows(*range(100, 200)))
        table.append(rows(5))
        table.compact()
        lake.create_table("ns.other", {"x": "INTEGER"})
        stream = stream_of(made, place)
        assert [read_ids(batch) for batch in stream.batches()] == [[4, 5, *range(100, 200)]]
        assert not list(stream.batches())
        lake.compact()
        assert read_ids(stream.between(place, stream.offset)) == [4, 5, *range(100, 200)]


def test_batches_are_as_large_as_they_may_be(made: Place) -> None:
    with made.open() as lake:
        for number in range(6):
            lake.table(TARGET).append(rows(*range(number * 1000, number * 1000 + 500)))

    def sizes(**options: Any) -> list[int]:
        found = stream_of(made, starting_at=2, **options).batches()
        return [len(batch) for batch in found]

    assert sizes() == [3000]
    assert sizes(maxSnapshotsPerTrigger=4) == [2000, 1000]
    assert sizes(maxFilesPerTrigger=2) == [1000, 1000, 1000]
    assert sizes(maxRowsPerTrigger=1700) == [1500, 1500]
    assert sizes(maxRowsPerTrigger=1) == [500] * 6


def test_changes_as_a_stream(made: Place) -> None:
    with made.open() as lake:
        table = lake.table(TARGET)
        table.append(rows(1, 2, 3))
        table.update({"s": "'u'"}, where="id = 2")
        table.delete("id = 3")
        stream = stream_of(made, starting_at=2, changes=True, maxSnapshotsPerTrigger=1)
        kinds = [sorted(batch.column("change_type").to_pylist()) for batch in stream.batches()]
        assert kinds == [["insert"] * 3, ["update_postimage", "update_preimage"], ["delete"]]
        stream = stream_of(made, changes=True)
        (state,) = stream.batches()
        assert sorted(zip(state["id"].to_pylist(), state["s"].to_pylist(), strict=True)) == [
            (1, "x"),
            (2, "u"),
        ]


def test_a_stream_of_new_rows_says_that_rows_changed(made: Place) -> None:
    with made.open() as lake:
        table = lake.table(TARGET)
        table.append(rows(1, 2))
        stream = stream_of(made)
        list(stream.batches())
        place = stream.offset
        table.update({"s": "'u'"}, where="id = 2")
        table.append(rows(3))
    with pytest.raises(TidelakeError, match="were updated or deleted"):
        list(stream_of(made, place).batches())
    assert [read_ids(b) for b in stream_of(made, place, skipChanges=True).batches()] == [[3]]


def test_what_was_expired_is_missed(made: Place) -> None:
    with made.open() as lake:
        table = lake.table(TARGET)
        table.append(rows(1))
        stream = stream_of(made)
        list(stream.batches())
        place = stream.offset
        table.append(rows(2))
        table.append(rows(3))
        lake.expire(keep_last=1)
    with pytest.raises(NotFound, match=rf"needs snapshot {place['snapshot']} to go on"):
        list(stream_of(made, place).batches())


def test_a_stream_of_a_quiet_table_does_not_fall_behind(made: Place) -> None:
    with made.open() as lake:
        lake.table(TARGET).append(rows(1))
        other = lake.create_table("ns.other", {"x": "INTEGER"})
        stream = stream_of(made)
        assert len(list(stream.batches())) == 1
        place = stream.offset
        for number in range(10):
            other.append([{"x": number}])
        assert not list(stream.batches()), "others do not wake it"
        for number in range(50):
            other.append([{"x": number}])
        assert [len(batch) for batch in stream.batches()] == [0]
        assert stream.offset["snapshot"] > place["snapshot"]
        lake.expire(keep_last=2)
        lake.table(TARGET).append(rows(2))
        assert [read_ids(batch) for batch in stream.batches()] == [[2]]


def test_columns_that_come_and_go(made: Place) -> None:
    with made.open() as lake:
        table = lake.table(TARGET)
        table.append(rows(1))
        running = stream_of(made, starting_at=2)
        table.evolve(add={"late": "INTEGER"})
        table.append([{"id": 2, "s": "y", "late": 5}])
        assert running.schema.fieldNames() == ["id", "s"]
        assert [read_ids(batch) for batch in running.batches()] == [[1, 2]]
        (batch,) = stream_of(made, starting_at=2).batches()
        assert sorted(batch["late"].to_pylist(), key=str) == [5, None]
        table.evolve(drop="s")
        table.append([{"id": 3}])
        with pytest.raises(Invalid, match="has no column 's'"):
            list(running.batches())


def test_where_a_stream_begins(made: Place) -> None:
    with made.open() as lake:
        lake.table(TARGET).append(rows(1))
        lake.tag("here")
        lake.table(TARGET).append(rows(2))
    assert [read_ids(b) for b in stream_of(made, starting_at="here").batches()] == [[2]]
    assert not list(stream_of(made, starting_at="latest").batches())
    assert sum(len(b) for b in stream_of(made, starting_at="earliest").batches()) == 2
    with pytest.raises(NotFound, match="no-tag"):
        stream_of(made, starting_at="no-tag")
    for wrong in ({"as_of": "2024-01-01"}, {"known_at": 3}, {"mergeSchema": "true"}):
        with pytest.raises(Invalid, match="when a stream is read"):
            stream_of(made, **wrong)
    with pytest.raises(Invalid, match="no number above 0"):
        stream_of(made, maxRowsPerTrigger="many")


def test_handles_travel(made: Place) -> None:
    """What `foreachBatch` and user-defined functions close over."""
    with made.open() as lake:
        lake.table(TARGET).append(rows(1, 2))
        at = lake.snapshots()[-1].snapshot_id
        lake.table(TARGET).append(rows(3))
        table = lake.table(TARGET)
        for handle, count in (
            (sent(lake).table(TARGET), 3),
            (sent(lake.known_at(at)).table(TARGET), 2),
            (sent(table), 3),
            (sent(table.known_at(at)), 2),
            (sent(table.scan(where="id > 1")), 2),
        ):
            assert handle.count() == count
        sent(table).append(rows(4), once="q/1")
        sent(table).append(rows(4), once="q/1")
    assert ids(made) == [1, 2, 3, 4]
