"""Differences between two snapshots, compared with what the snapshots themselves hold."""

from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.history.feed import snapshot_ids, state
from tests.history.growth import FLUSH, MERGE, REWRITE, grown, numbers, written
from tidelake.errors import NotFound
from tidelake.history.values_diff import RowDifference
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection


def told(table: Any, a: int, b: int) -> dict[str, dict[int, str]]:
    """Rows by kind of difference and id."""
    found: dict[str, dict[int, str]] = {}
    diff = table.diff(a, b)
    for row in diff.rows.to_arrow().to_pylist():
        row_id, kind, *values = row.values()
        assert found.setdefault(kind, {}).setdefault(row_id, repr(tuple(values))) == repr(
            tuple(values)
        )
    kinds = ("insert", "update_postimage", "delete")
    assert diff.counts == RowDifference(*(len(found.get(kind, ())) for kind in kinds))
    return found


def expected(lake: tidelake.Lake, a: int, b: int) -> dict[str, dict[int, str]]:
    old, new = state(lake, a, b), state(lake, b, b)
    changed = [row_id for row_id in old.keys() & new.keys() if old[row_id] != new[row_id]]
    found = {
        "insert": {row_id: new[row_id] for row_id in new.keys() - old.keys()},
        "delete": {row_id: old[row_id] for row_id in old.keys() - new.keys()},
        "update_preimage": {row_id: old[row_id] for row_id in changed},
        "update_postimage": {row_id: new[row_id] for row_id in changed},
    }
    return {kind: rows for kind, rows in found.items() if rows}


def check(lake: tidelake.Lake, pairs: list[tuple[int, int]]) -> None:
    for a, b in pairs:
        assert told(lake.table("t"), a, b) == expected(lake, a, b), (a, b)


@pytest.mark.slow
def test_rows_both_ways(lake: tidelake.Lake, duck: Duck) -> None:
    written(lake)
    ids = snapshot_ids(lake)
    pairs = [(a, b) for a in ids[::4] for b in ids[1::4]]
    pairs += [(b, a) for a, b in pairs]
    check(lake, [*pairs, (ids[3], ids[3])])
    for step in (FLUSH, MERGE, REWRITE):
        duck.execute(step)
    check(lake, pairs)


def test_compaction_changes_files_and_no_rows(lake: tidelake.Lake, duck: Duck) -> None:
    written(lake)
    before = snapshot_ids(lake)[-1]
    t = lake.table("t")
    duck.execute(FLUSH)
    duck.execute(REWRITE)
    diff = t.diff(before)
    assert diff.files.added
    assert diff.files.removed
    assert not diff.schema
    assert diff.counts == RowDifference()
    assert diff.rows.to_arrow().num_rows == 0
    assert "0 inserted, 0 updated, 0 deleted" in str(diff)


def test_only_files_that_differ_are_read(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    for start in range(0, 300, 100):
        t.append(numbers(start, start + 100))
    t.delete("id < 20")
    one, two, three = t.files()
    assert [file.id for file in t.diff(3, 4).rows.files()] == [three.id]
    assert [file.id for file in t.diff(5, 2).rows.files()] == [one.id, two.id, three.id]
    Path(two.path).unlink()
    Path(three.path).unlink()
    assert t.diff(4, 5).counts == RowDifference(deleted=20)
    assert t.diff(5, 4).counts == RowDifference(inserted=20)
    assert t.diff(4, 4).rows.files() == []


def test_values_are_compared_exactly(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "t", "id INTEGER, x DOUBLE, l DOUBLE[], s STRUCT(a FLOAT, b VARCHAR), i INTERVAL, b BLOB"
    )
    row = {"x": 0.0, "l": [0.0, None], "s": {"a": float("nan"), "b": None}, "b": b"\0'"}
    t.append([{"id": n, **row} for n in range(30)])
    t.update({"i": "INTERVAL 1 MONTH"})
    before = t.snapshots()[-1].snapshot_id
    t.update({"x": "x"})
    assert t.diff(before).counts == RowDifference()
    t.update({"x": "'-0.0'::DOUBLE"}, where="id = 1")
    t.update({"l": "['-0.0'::DOUBLE, NULL]"}, where="id = 2")
    t.update({"s": "{'a': 'nan'::FLOAT, 'b': 'NULL'}"}, where="id = 3")
    t.update({"i": "INTERVAL 30 DAY"}, where="id = 4")
    t.update({"s": "{'a': 'nan'::FLOAT, 'b': NULL}"}, where="id = 5")
    t.update({"l": "NULL"}, where="id = 6")
    found = t.diff(before).rows.to_arrow().to_pylist()
    assert [row["id"] for row in found] == [1, 1, 2, 2, 3, 3, 4, 4, 6, 6]


def test_what_is_declared(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id INTEGER NOT NULL, v VARCHAR, s STRUCT(a INTEGER), gone DATE")
    before = lake.snapshots()[-1].snapshot_id
    t.evolve(add={"n": "INTEGER DEFAULT 7", "s.b": "VARCHAR"}, drop="gone", rename={"v": "w"})
    t.evolve(widen={"id": "BIGINT"}, nullable={"id": True}, default={"w": "none yet"})
    t.set_partitioning(["id"])
    t.set_sorting(["w DESC"])
    t.set_comment("prices")
    lake.rename("t", "u")
    after = lake.snapshots()[-1].snapshot_id
    there = {(d.kind, d.subject, d.before, d.after) for d in lake.table("u").diff(before).schema}
    assert there >= {
        ("table renamed", "main.u", "main.t", "main.u"),
        ("column added", "n", None, "INTEGER"),
        ("column added", "s.b", None, "VARCHAR"),
        ("column dropped", "gone", "DATE", None),
        ("column renamed", "w", "v", "w"),
        ("column retyped", "id", "INTEGER", "BIGINT"),
        ("nullability changed", "id", "not null", "nullable"),
        ("default changed", "w", "none", "none yet"),
        ("partitioning changed", "main.u", "none", "id"),
        ("comment changed", "main.u", "none", "prices"),
    }
    assert {kind for kind, *_ in there} >= {"sorting changed"}
    back = {
        (d.kind, d.subject, d.before, d.after) for d in lake.diff(after, before).tables[0].schema
    }
    assert back >= {
        ("table renamed", "main.t", "main.u", "main.t"),
        ("column added", "gone", None, "DATE"),
        ("column dropped", "n", "INTEGER", None),
        ("column retyped", "id", "BIGINT", "INTEGER"),
    }
    assert "column renamed: w (v -> w)" in str(lake.diff(before))


def test_wider_values_seen_from_the_narrow_side(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "id INTEGER, s STRUCT(a INTEGER)")
    t.append([{"id": n, "s": {"a": n}} for n in range(20)])
    before = t.snapshots()[-1].snapshot_id
    t.evolve(widen={"id": "BIGINT", "s.a": "BIGINT"})
    t.append([{"id": 2**40, "s": {"a": 2**50}}])
    t.update({"id": "id + 1099511627776"}, where="id < 2")
    t.evolve(drop="s")
    found = t.diff(t.snapshots()[-1].snapshot_id, before)
    assert found.counts == RowDifference(deleted=1, updated=2)
    assert {row["id"] for row in found.rows.to_arrow().to_pylist()} == {
        0,
        1,
        2**40,
        2**40 + 1,
    }


def test_a_whole_lake(lake: tidelake.Lake, duck: Duck) -> None:
    lake.create_table("still", "id BIGINT").append([{"id": 1}])
    lake.create_table("t", "id BIGINT, v VARCHAR").append(numbers(0, 30))
    lake.create_table("old", "id BIGINT, v VARCHAR").append(numbers(0, 5))
    before = lake.snapshots()[-1].snapshot_id
    lake.create_schema("s")
    lake.create_view("view", "SELECT 1 AS x")
    lake.drop("old")
    lake.create_table("old", "other VARCHAR").append([{"other": "x"}])
    lake.table("t").delete("id < 4")
    diff = lake.diff(before)
    assert [str(each) for each in diff.schema] == ["schema created: s", "view created: main.view"]
    assert [(each.table, [d.kind for d in each.schema], each.counts) for each in diff] == [
        ("main.t", [], RowDifference(deleted=4)),
        ("main.old", ["table dropped"], RowDifference(deleted=5)),
        ("main.old", ["table created"], RowDifference(inserted=1)),
    ]
    back = lake.diff(lake.snapshots()[-1].snapshot_id, before)
    assert [str(each) for each in back.schema] == ["schema dropped: s", "view dropped: main.view"]
    assert [each.counts for each in back] == [
        RowDifference(inserted=4),
        RowDifference(inserted=5),
        RowDifference(deleted=1),
    ]
    assert lake.table("old").diff(before).counts == RowDifference(inserted=1)
    head = lake.snapshots()[-1].snapshot_id
    duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => [{head - 1}])")
    assert str(lake.diff(before)) == str(diff)
    assert not lake.diff(head)
    assert str(lake.diff(head)) == "no difference"
    with pytest.raises(NotFound) as caught:
        lake.diff(head - 1)
    assert caught.value.hint


@pytest.mark.parametrize("seed", range(20, 23))
def test_random_histories(lake: tidelake.Lake, duck: Duck, seed: int) -> None:
    random = Random(seed)
    print(grown(lake, duck, random, 14))
    ids = snapshot_ids(lake)
    check(lake, [tuple(random.choices(ids, k=2)) for _ in range(12)])  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 240))
def test_more_random_histories(lake: tidelake.Lake, duck: Duck, seed: int) -> None:
    random = Random(seed)
    print(grown(lake, duck, random, 25))
    ids = snapshot_ids(lake)
    check(lake, [(a, b) for a in ids for b in ids])


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(place: Place, lake: tidelake.Lake, duck: Duck, spark: Any) -> None:
    written(lake)
    duck.execute(REWRITE)
    ids = snapshot_ids(lake)
    with place.open(engine="spark", spark=spark) as other:
        assert told(other.table("t"), ids[-1], ids[2]) == expected(lake, ids[-1], ids[2])
        frame = other.table("t").diff(ids[0], ids[1]).rows.to_spark()
        assert frame.columns[:2] == ["rowid", "change_type"]


@pytest.mark.slow
@pytest.mark.spark
def test_what_was_counted_on_spark_is_not_compared_again(
    place: Place, lake: tidelake.Lake, spark: Any
) -> None:
    written(lake)
    ids = snapshot_ids(lake)
    wanted = lake.table("t").diff(ids[2], ids[-1])
    rows = wanted.rows.to_arrow().to_pylist()
    with place.open(engine="spark", spark=spark) as other:
        found = other.table("t").diff(ids[2], ids[-1])
        assert found.counts == wanted.counts
        lake.session.local.store.delete([file.path for file in wanted.rows.files()])
        assert found.rows.to_arrow().to_pylist() == rows
        assert found.rows.to_spark().count() == found.rows.count() == len(rows)
