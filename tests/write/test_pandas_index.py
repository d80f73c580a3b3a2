"""A pandas index that carries data is a column, or refused with the way out."""

import pandas as pd
import pytest

import tidelake
from tidelake.errors import Invalid

KEYS = pd.DataFrame({"k": ["a", "a", "b"], "v": [1, 2, 3]}).groupby("k").sum()
UNNAMED = pd.DataFrame({"v": [1, 2]}, index=["a", "b"])


@pytest.fixture
def table(lake):
    return lake.create_table("t", "k VARCHAR, v BIGINT")


def rows(table):
    return sorted((row["k"], row["v"]) for row in table.to_arrow().to_pylist())


def test_a_named_index_is_a_column_for_every_write(table):
    table.append(KEYS)
    assert rows(table) == [("a", 3), ("b", 3)]
    table.overwrite(KEYS * 2)
    assert rows(table) == [("a", 6), ("b", 6)]
    table.merge(KEYS * 3, on="k")
    assert rows(table) == [("a", 9), ("b", 9)]
    builder = table.merge_builder(KEYS * 4, on="k")
    builder.when_matched_update({"v": "source.v"}).execute()
    assert rows(table) == [("a", 12), ("b", 12)]


def test_a_new_table_has_the_index_as_its_first_columns(lake):
    made = lake.create_table("one", KEYS, rows=False)
    assert made.schema.names == ["k", "v"]
    made.append(KEYS)
    assert rows(made) == [("a", 3), ("b", 3)]
    several = KEYS.reset_index().assign(x=1).set_index(["x", "k"])
    assert lake.create_table("two", several, rows=False).schema.names == ["x", "k", "v"]
    times = pd.DataFrame({"v": [1.5]}, index=pd.DatetimeIndex(["2024-01-01"], name="ts"))
    assert lake.create_table("three", times, rows=False).schema.names == ["ts", "v"]


def test_several_named_levels_are_columns(lake):
    frame = pd.DataFrame({"k": ["a"], "j": [1], "v": [2]}).set_index(["k", "j"])
    table = lake.create_table("t", "k VARCHAR, j BIGINT, v BIGINT")
    table.append(frame)
    assert table.to_arrow().to_pylist() == [{"k": "a", "j": 1, "v": 2}]


def test_evolve_adds_the_index_too(table):
    table.evolve(add=pd.DataFrame({"w": [1.5]}, index=pd.Index([1], name="n")))
    assert table.schema.names == ["k", "v", "n", "w"]


def test_both_sides_of_a_join_have_their_index():
    left = pd.DataFrame({"k": ["b", "a"], "ts": [5, 6]}).set_index("k")
    right = pd.DataFrame({"ts": [1, 2], "k": ["a", "b"], "w": [10, 20]}).set_index(["k", "ts"])
    joined = tidelake.asof_join(left, right, on="k", left_time="ts", right_time="ts")
    found = joined.to_arrow().to_pylist()
    assert [(row["k"], row["w"]) for row in found] == [("b", 20), ("a", 10)]


def test_an_index_without_a_name_is_refused_with_the_way_out(lake, table):
    builder = table.merge_builder(UNNAMED, on="k").when_not_matched_insert()
    for write in (
        lambda: table.append(UNNAMED),
        lambda: table.overwrite(UNNAMED),
        lambda: table.merge(UNNAMED, on="k"),
        builder.execute,
        lambda: lake.create_table("new", UNNAMED),
        lambda: table.evolve(add=UNNAMED),
        lambda: tidelake.asof_join(
            UNNAMED, UNNAMED, on="v", left_time="v", right_time="v"
        ).to_arrow(),
    ):
        with pytest.raises(Invalid, match="index of the frame has no name") as refused:
            write()
        assert "reset_index()" in str(refused.value.hint)
    assert table.count() == 0
    half = KEYS.reset_index().set_index(["k", pd.Index([1, 2])])
    with pytest.raises(Invalid, match="has no name"):
        table.append(half)


def test_an_index_called_as_a_column_is_refused(table, lake):
    frame = pd.DataFrame({"k": ["a"], "v": [1]}, index=pd.Index(["z"], name="K"))
    for write in (lambda: table.append(frame), lambda: lake.create_table("new", frame)):
        with pytest.raises(Invalid, match="index of the frame is called 'K', and so is a column"):
            write()


def test_an_index_that_the_table_has_no_column_for_is_refused(table):
    with pytest.raises(Invalid, match="called 'day'") as refused:
        table.append(pd.DataFrame({"v": [1]}, index=pd.Index([1], name="day")))
    assert "reset_index(drop=True)" in str(refused.value.hint)


def test_the_index_that_pandas_makes_is_left_out(table):
    frame = pd.DataFrame({"k": ["a", "b", "c"], "v": [1, 2, 3]})
    table.append(frame)
    table.append(frame[1:])
    table.append(frame[frame.v > 5])
    table.append(frame[frame.v > 2].reset_index(drop=True))
    assert [key for key, _ in rows(table)] == ["a", "b", "b", "c", "c", "c"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame({"k": [], "v": []}),
        pd.DataFrame(columns=["k", "v"]),
        pd.DataFrame({"v": pd.Series(dtype=object)}),
    ],
)
def test_frames_without_rows_write_nothing(table, frame):
    table.append([{"k": "a", "v": 1}])
    assert table.append(frame).rows == 0
    assert table.merge(frame.assign(k=[]), on="k").rows == 0
    builder = table.merge_builder(frame.assign(k=[]), on="k").when_not_matched_insert()
    assert builder.execute().rows == 0
    assert table.overwrite(frame, where="v = 1").deleted == 1


def test_a_column_of_nulls_may_come_with_a_merge_of_clauses(table):
    frame = pd.DataFrame({"k": ["a"], "v": [None], "op": [None]})
    builder = table.merge_builder(frame, on="k")
    assert builder.when_not_matched_insert(condition="source.op IS NULL").execute().inserted == 1
    assert rows(table) == [("a", None)]


def test_a_relation_of_duckdb_can_be_merged(table):
    import duckdb

    with duckdb.connect() as connection:
        source = connection.sql("SELECT 'a' AS k, 'nan'::DOUBLE AS f")
        builder = table.merge_builder(source, on="k")
        done = builder.when_not_matched_insert({"k": "source.k"}, condition="source.f > 1")
        assert done.execute().inserted == 1
