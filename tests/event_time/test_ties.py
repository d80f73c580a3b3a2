"""Facts with the same key and time: the one that was written later holds."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

NOON = "2024-03-12 12:00:00"
ARRANGED: list[dict[str, Any]] = [
    {},
    {"sort_by": ["v DESC"]},
    {"partition_by": ["v"]},
]


@pytest.fixture
def lake(tmp_path: Path):
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


def create(lake: tidelake.Lake, **arranged: Any) -> tidelake.Table:
    return lake.create_table(
        "facts", "k VARCHAR, ts TIMESTAMP, v INTEGER", key="k", event_time="ts", **arranged
    )


def said(v: int, others: int = 0) -> list[dict[str, Any]]:
    """A fact about A at noon; with others it goes to a file, alone it stays in the catalog."""
    rows = [{"k": "A", "ts": NOON, "v": v}]
    return rows + [{"k": f"other {n}", "ts": NOON, "v": v} for n in range(others)]


def value(table: tidelake.Table) -> int:
    (found,) = table.scan(["v"], "k = 'A'", as_of=NOON).to_arrow()["v"].to_pylist()
    return int(found)


@pytest.mark.parametrize("first", [0, 50])
@pytest.mark.parametrize("second", [0, 50])
@pytest.mark.parametrize("arranged", ARRANGED)
def test_a_correction_in_a_later_commit(lake, first, second, arranged):
    t = create(lake, **arranged)
    t.append(said(2, first))
    t.append(said(1, second))
    assert value(t) == 1
    assert value(t.known_at(2)) == 2
    t.compact()
    assert value(t) == 1


@pytest.mark.parametrize("first", [0, 50])
@pytest.mark.parametrize("second", [0, 50])
@pytest.mark.parametrize("arranged", ARRANGED)
def test_a_correction_in_the_same_transaction(lake, first, second, arranged):
    create(lake, **arranged)
    with lake.transaction() as tx:
        tx.table("facts").append(said(2, first))
        tx.table("facts").append(said(1, second))
        assert value(tx.table("facts")) == 1
    assert value(lake.table("facts")) == 1


@pytest.mark.parametrize("arranged", ARRANGED)
@pytest.mark.parametrize("others", [0, 50])
def test_a_write_that_is_changed_in_its_transaction_keeps_its_turn(lake, arranged, others):
    create(lake, **arranged)
    with lake.transaction() as tx:
        t = tx.table("facts")
        t.append(said(5, others))
        t.append(said(1, others))
        t.delete("v = 5 AND k = 'other 1'")
        t.update({"v": 7}, where="v = 5")
        assert value(t) == 1
        t.evolve(add={"more": int})
        assert value(t) == 1
    assert value(lake.table("facts")) == 1
    assert lake.table("facts").count() == 2 + max(0, 2 * others - 1)


@pytest.mark.parametrize("arranged", ARRANGED)
def test_many_small_writes_in_one_transaction(lake, arranged):
    create(lake, **arranged)
    with lake.transaction() as tx:
        for v in [*range(30, 10, -1), 1]:
            tx.table("facts").append(said(v))
    assert value(lake.table("facts")) == 1
    assert lake.verify(deep=True).ok


def test_what_is_updated_keeps_its_turn(lake):
    t = create(lake)
    t.append(said(2))
    t.append(said(1))
    t.update({"v": 3}, where="v = 2")
    assert value(t) == 1
    t.update({"v": 4}, where="v = 1")
    assert value(t) == 4


def test_what_comes_back_by_a_rollback_keeps_its_turn(lake):
    t = create(lake)
    t.append(said(2))
    t.append(said(1))
    before = lake.snapshots()[-1].snapshot_id
    t.delete("v = 1")
    assert value(t) == 2
    t.append(said(3))
    t.rollback(to=before)
    assert value(t) == 1


def test_the_later_of_two_rows_of_one_write(lake):
    t = create(lake)
    t.append([*said(2, 20), *said(1, 20)])
    assert value(t) == 1


def test_rows_that_are_equal_are_one_fact(lake):
    t = create(lake)
    t.append(said(1))
    t.append(said(1))
    assert t.as_of(NOON).count() == 1
    assert t.count() == 2


def test_duckdbs_merge_forgets_which_came_last_if_it_sorts(lake, tmp_path):
    """It numbers the rows of sorted tables anew, in the order of the sorting, and the past with
    them. Our own compaction does not."""
    t = create(lake, sort_by=["v"])
    lake.set_option("data_inlining_row_limit", 0)
    t.append(said(2))
    t.append(said(1))
    assert value(t) == 1
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert value(t) == 2


def test_ids_that_duckdb_makes_up(lake, tmp_path):
    """Rows that DuckDB inserts and updates in one transaction keep ids from inside of it: high
    ones, the same in every such transaction. There is one answer for each key all the same, and
    only what has the very same time is beaten by them."""
    t = create(lake)
    lake.set_option("data_inlining_row_limit", 0)
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        for hour in (11, 12):
            duck.execute("BEGIN")
            duck.execute(f"INSERT INTO lake.facts VALUES ('A', '2024-03-12 {hour}:00', 0)")
            duck.execute(f"UPDATE lake.facts SET v = {hour} WHERE v = 0")
            duck.execute("COMMIT")
    ids = t.scan(["rowid"]).to_arrow()["rowid"].to_pylist()
    assert ids == [10**18, 10**18]
    assert value(t) == 12
    t.append([{"k": "A", "ts": "2024-03-12 11:30:00", "v": 1}])
    assert t.scan(["v"], as_of="2024-03-12 11:45:00").to_arrow()["v"].to_pylist() == [1]
    t.append(said(2))
    assert value(t) == 12
    t.merge(said(2), on=["k", "ts"])
    assert value(t) == 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["batches", "stream", "file"])
def test_of_many_facts_in_one_write_the_last_holds(lake, tmp_path, form):
    """Enough of them, in enough batches, for several threads to write at once."""
    many, keys = 400_000, 7
    numbers = pa.array(range(many), pa.int32())
    facts = pa.table(
        {
            "k": [f"k{n % keys}" for n in range(many)],
            "ts": pa.array([datetime(2024, 3, 12, 12)] * many, pa.timestamp("us")),
            "v": numbers,
        }
    )
    batches = facts.to_batches(max_chunksize=2_000)
    if form == "file":
        pq.write_table(facts, tmp_path / "facts.parquet", row_group_size=20_000)
    t = create(lake)
    t.append(
        {
            "batches": pa.Table.from_batches(batches),
            "stream": pa.RecordBatchReader.from_batches(facts.schema, iter(batches)),
            "file": tmp_path / "facts.parquet",
        }[form]
    )
    ids = t.scan(columns=["v", "rowid"]).to_arrow().sort_by("rowid")
    assert ids["v"].equals(pa.chunked_array([numbers]))
    assert sorted(t.as_of(NOON).to_arrow()["v"].to_pylist()) == list(range(many - keys, many))
    assert len(t.files()) == 1


@pytest.mark.parametrize("valid_to", [None, "until"])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_zero_keeps_the_sign_that_its_fact_has(lake, kind, valid_to):
    """Both zeros are one key, and of two facts the one that holds shows its own."""
    schema = f"k {kind}, ts TIMESTAMP, until TIMESTAMP, v INTEGER"
    t = lake.create_table("z", schema, key="k", event_time="ts", valid_to=valid_to)
    t.put({"k": -0.0, "ts": "2024-03-12 11:00:00", "v": 1})
    before = t.put({"k": 0.0, "ts": NOON, "v": 2}).snapshot_id
    t.put({"k": -0.0, "ts": NOON, "v": 3})

    def shown(rows) -> list[tuple[str, int]]:
        return [(str(row["k"]), row["v"]) for row in rows.to_arrow().to_pylist()]

    assert shown(t.as_of(NOON)) == [("-0.0", 3)]
    assert shown(t.known_at(before).as_of(NOON)) == [("0.0", 2)]
    assert shown(t.between()) == [("-0.0", 1), ("-0.0", 3)]
    assert shown(t.as_of(NOON).versions()) == [("-0.0", 1), ("0.0", 2), ("-0.0", 3)]
    assert shown(t.history(0.0))[-1] == ("-0.0", 3)
    t.rollup(as_of=NOON)
    assert shown(t.as_of(NOON)) == [("-0.0", 3)]
    (found,) = t.as_of("2024-03-12 11:30:00").changes_of_belief(since=before - 2).to_dicts()
    assert str(found["k"]) == "-0.0"


def test_no_facts_make_no_file(lake):
    t = create(lake)
    t.append(said(1, 50))
    t.append(t.scan(where="v > 5").to_arrow())
    assert lake.sql("INSERT INTO facts SELECT * FROM facts WHERE v > 5").rows == 0
    assert len(t.files()) == 1
