"""Merge: what becomes of rows that match, of rows that do not, and of those the source lacks."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.testing.faces import lake_of

ROWS = [{"id": i, "name": f"n{i}", "amount": i * 10} for i in range(6)]


@pytest.fixture
def table(tmp_path: Path) -> tidelake.Table:
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db")
    table = lake.create_table("t", "id BIGINT, name VARCHAR, amount BIGINT DEFAULT 7")
    table.append(ROWS)
    return table


def contents(table: tidelake.Table) -> list[tuple[Any, ...]]:
    rows = table.to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def row_ids(table: tidelake.Table) -> dict[int, int]:
    rows = table.scan(columns=["id", "rowid"]).to_arrow().to_pylist()
    return {row["id"]: row["rowid"] for row in rows}


def test_upsert_updates_what_is_there_and_adds_the_rest(table: tidelake.Table) -> None:
    before = row_ids(table)
    result = table.merge(
        [{"id": 1, "name": "x", "amount": 1}, {"id": 9, "name": "y", "amount": None}], on="id"
    )
    assert (result.inserted, result.updated, result.deleted, result.rows) == (1, 1, 0, 2)
    assert contents(table) == [
        (0, "n0", 0),
        (1, "x", 1),
        *((i, f"n{i}", i * 10) for i in range(2, 6)),
        (9, "y", None),
    ]
    after = row_ids(table)
    assert {i: after[i] for i in before} == before


def test_a_long_list_is_merged_again_if_somebody_else_was_first(
    table: tidelake.Table, tmp_path: Path
) -> None:
    class Rows(list[dict[str, int]]):
        visited = False

        def __iter__(self) -> Any:
            if not self.visited:
                self.visited = True
                with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as other:
                    other.table("t").update({"name": "'theirs'"}, "id = 5")
            return super().__iter__()

    count = 10_001  # more than are brought at once
    done = table.merge(Rows({"id": i, "amount": -i} for i in range(count)), on="id")
    assert (done.updated, done.inserted, done.attempts) == (6, count - 6, 2)
    assert contents(table)[5] == (5, "theirs", -5)


def test_columns_that_the_source_lacks_stay_or_get_their_defaults(table: tidelake.Table) -> None:
    table.merge([{"id": 1, "name": "x"}, {"id": 9, "name": "y"}], on="id")
    assert [row for row in contents(table) if row[0] in (1, 9)] == [(1, "x", 10), (9, "y", 7)]


def test_by_the_table_s_own_key(tmp_path: Path) -> None:
    lake = tidelake.connect(f"sqlite:///{tmp_path}/keyed.db")
    table = lake.create_table("k", "a INT, b INT, v INT", key=["a", "b"])
    table.append([{"a": 1, "b": 1, "v": 1}, {"a": 1, "b": 2, "v": 2}])
    table.merge([{"a": 1, "b": 2, "v": 3}, {"a": 2, "b": 1, "v": 4}])
    assert contents(table) == [(1, 1, 1), (1, 2, 3), (2, 1, 4)]


def test_clauses_apply_in_the_order_given(table: tidelake.Table) -> None:
    source = [{"id": i, "name": "s", "amount": 1} for i in (1, 2, 3, 8, 9)]
    result = (
        table.merge_builder(source, on="id")
        .when_matched_delete(condition="target.id = 1")
        .when_matched_update({"amount": "target.amount + source.amount"}, condition="target.id < 3")
        .when_not_matched_insert({"id": "source.id", "name": "'new'"}, condition="source.id > 8")
        .when_not_matched_by_source_update(
            {"name": "upper(target.name)"}, condition="target.id = 0"
        )
        .when_not_matched_by_source_delete(condition="target.id = 5")
        .execute()
    )
    assert (result.inserted, result.updated, result.deleted) == (1, 2, 2)
    assert contents(table) == [
        (0, "N0", 0),
        (2, "n2", 21),
        (3, "n3", 30),
        (4, "n4", 40),
        (9, "new", 7),
    ]


@pytest.mark.parametrize("wrap", [list, pa.Table.from_pylist], ids=["dicts", "arrow"])
def test_a_column_of_the_source_may_say_what_to_do(table: tidelake.Table, wrap: Any) -> None:
    source = [
        {"id": 1, "name": "b", "amount": 0, "op": "u"},
        {"id": 2, "name": None, "amount": None, "op": "d"},
        {"id": 9, "name": "n", "amount": 1, "op": "i"},
    ]
    (
        table.merge_builder(wrap(source), on="id")
        .when_matched_delete(condition="source.op = 'd'")
        .when_matched_update()
        .when_not_matched_insert(condition="source.op <> 'd'")
        .execute()
    )
    assert [row for row in contents(table) if row[0] in (1, 2, 9)] == [(1, "b", 0), (9, "n", 1)]


def test_nulls_in_keys_match_nothing(table: tidelake.Table) -> None:
    table.append({"id": None, "name": "nobody"})
    result = table.merge([{"id": None, "name": "x"}, {"id": None, "name": "y"}], on="id")
    assert (result.inserted, result.updated) == (2, 0)


@pytest.mark.parametrize("rows", [3, 300], ids=["few", "many"])
def test_a_large_merge_is_as_a_small_one(table: tidelake.Table, rows: int) -> None:
    source = [{"id": i, "name": "m", "amount": -i} for i in range(3, 3 + rows)]
    result = table.merge(source, on="id")
    assert (result.updated, result.inserted) == (3, rows - 3)
    assert contents(table)[3:] == [(i, "m", -i) for i in range(3, 3 + rows)]


def test_inside_a_transaction_it_sees_what_came_before(table: tidelake.Table) -> None:
    with lake_of(table).transaction() as tx:
        t = tx.table("t")
        t.append([{"id": i, "name": "new"} for i in range(20, 60)])
        t.merge([{"id": 21, "name": "merged"}, {"id": 0, "name": "zero"}], on="id")
        t.merge([{"id": 21, "name": "again"}], on="id")
        t.delete("id > 50")
    found = dict(row[:2] for row in contents(table))
    assert (found[0], found[21], found[22]) == ("zero", "again", "new")
    assert len(found) == 6 + 31


def test_nothing_to_do_makes_no_snapshot(table: tidelake.Table) -> None:
    before = lake_of(table).snapshots()[-1].snapshot_id
    result = table.merge_builder([{"id": 99}], on="id").when_matched_delete().execute()
    assert (result.snapshot_id, result.rows) == (before, 0)
    assert lake_of(table).snapshots()[-1].snapshot_id == before


@pytest.mark.parametrize(
    ("source", "on", "error", "said"),
    [
        ([{"id": 1}, {"id": 1}], "id", Invalid, "several rows for one key: id=1"),
        ([{"name": "x"}], "id", Invalid, "no column id"),
        ([{"id": 1, "nope": 2}], "id", Invalid, "nope"),
        ([{"id": 1}], "nope", NotFound, "nope"),
        ([{"id": 1}], [], Invalid, "no key"),
        ([{"id": 1}], None, Invalid, "no key"),
        ([{"id": "text"}], "id", Invalid, "id"),
    ],
)
def test_refused(
    table: tidelake.Table, source: Any, on: Any, error: type[Exception], said: str
) -> None:
    before = contents(table), len(lake_of(table).snapshots())
    with pytest.raises(error, match=said):
        table.merge(source, on=on)
    assert (contents(table), len(lake_of(table).snapshots())) == before


@pytest.mark.parametrize(
    "clause",
    [
        lambda m: m,
        lambda m: m.when_matched_update({}),
        lambda m: m.when_matched_update({"nope": "1"}),
        lambda m: m.when_matched_update({"name": "name"}),
        lambda m: m.when_matched_update({"name": "other.name"}),
        lambda m: m.when_matched_update(condition="count(*) > 1"),
        lambda m: m.when_matched_delete(condition="target.id IN (SELECT 1)"),
        lambda m: m.when_not_matched_insert({"id": "target.id"}),
    ],
)
def test_clauses_that_make_no_sense(table: tidelake.Table, clause: Any) -> None:
    before = contents(table), len(lake_of(table).snapshots())
    with pytest.raises((Invalid, NotFound)):
        clause(table.merge_builder([{"id": 1}, {"id": 77}], on="id")).execute()
    assert (contents(table), len(lake_of(table).snapshots())) == before


def test_a_key_may_be_an_infinity_or_far_away(lake):
    """For Python an infinity is the last day it knows, and that is another key."""
    ends = ["infinity", "-infinity", "12024-03-01", "0044-03-15 (BC)", "9999-12-31", "0001-01-01"]
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
        near = f"SELECT CAST(DATE '2024-01-01' + range::INT AS {kind}) AS k, 2 AS v FROM range(150)"
        for name, more in ((f"few_{kind}", ""), (f"many_{kind}", f" UNION ALL {near}")):
            source = " UNION ALL ".join(
                f"SELECT CAST('{end}' AS {kind}) AS k, 2 AS v" for end in ends
            )
            lake.create_table(name, f"k {kind}, v INT")
            lake.sql(f"INSERT INTO {name} SELECT k, 1 FROM ({source}{more}) AS s")
            done = lake.table(name).merge(lake.sql(source + more), on="k")
            assert (done.inserted, done.updated) == (0, 156 if more else 6)
            assert lake.sql(f"SELECT DISTINCT v FROM {name}").to_dicts() == [{"v": 2}]
