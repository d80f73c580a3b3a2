"""Calls that make no sense end in errors of ours, which say what to do."""

import numpy
import pandas as pd
import polars
import pytest

import tidelake
from tidelake.errors import Conflict, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing import duck
from tidelake.testing.place import Place


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    with Place.at("sqlite", folder).open() as lake:
        lake.create_table("t", "k VARCHAR, v BIGINT").append([{"k": "a", "v": 1}])
        yield lake


CALLS = {
    "two columns of one name": (
        lambda lake: lake.create_table("new", pd.DataFrame([[1, 2]], columns=["a", "a"])),
        "two columns of one name, 'a'",
    ),
    "an integer beyond 64 bits": (
        lambda lake: lake.create_table("new", pd.DataFrame({"c": [2**70]})),
        "no Arrow types",
    ),
    "the types of a frame": (
        lambda lake: lake.create_table("new", pd.DataFrame({"c": [1]}).dtypes),
        "Series",
    ),
    "a series": (lambda lake: lake.table("t").append(pd.Series([1], name="v")), "Series"),
    "no rows a batch": (lambda lake: lake.table("t").to_batches(rows=0), "rows=0"),
    "fewer than none": (lambda lake: lake.table("t").to_batches(rows=-5), "rows=-5"),
    "half a row": (lambda lake: lake.table("t").to_batches(rows=1.5), r"rows=1\.5"),
    "batches of a query": (lambda lake: lake.sql("FROM t").to_batches(rows=0), "rows=0"),
    "no SQL": (lambda lake: lake.sql(None), "None is no SQL"),
    "names twice for Polars": (
        lambda lake: lake.sql("SELECT * FROM t x JOIN t y ON x.k = y.k").to_polars(),
        "two columns are called 'k'",
    ),
    "a calendar of nothing": (lambda _: tidelake.Calendar(), "a calendar needs a rule"),
    "a text to order by that is a way": (
        lambda lake: lake.table("t").order_by("-v").to_dicts(),
        "no column '-v' to order by",
    ),
    "a condition among columns": (
        lambda lake: lake.table("t").scan("v > 3").count(),
        "no column 'v > 3'",
    ),
    "columns as one text": (lambda lake: lake.table("t").scan("k, v").count(), r"\['k', 'v'\]"),
    "a star": (lambda lake: lake.table("t").scan(["*"]).count(), "where none are named"),
    "an expression": (lambda lake: lake.table("t").scan("lower(k)").count(), r"lake\.sql\("),
    "a number for a column": (lambda _: tidelake.col(5), r"col\(5\) names no column"),
    "a number for a pattern": (
        lambda _: tidelake.col("k").like(5),
        "like takes a text, not 5",
    ),
    "a number for a beginning": (
        lambda _: tidelake.col("k").starts_with(5),
        "starts_with takes a text, not 5",
    ),
    "a column twice": (
        lambda lake: lake.table("t").scan(["k", "k"]).to_arrow(),
        "named twice",
    ),
    "one table to verify": (
        lambda lake: lake.verify(tables="nosuch"),
        "never been a table main.nosuch",
    ),
    "a delete to freeze": (
        lambda lake: lake.freeze("x", "DELETE FROM t"),
        "DELETE is not a query",
    ),
    "a view of a column that is not there": (
        lambda lake: lake.create_view("new", "SELECT nosuch FROM t"),
        'column "nosuch" not found',
    ),
    "a view of a function that is not there, in SQL": (
        lambda lake: lake.sql("CREATE VIEW new AS SELECT v + k FROM t"),
        "No function matches",
    ),
    "a view of a state of columns that are not there": (
        lambda lake: lake.create_view("new", "SELECT nosuch FROM t AT (VERSION => 1)"),
        'column "nosuch" not found',
    ),
    "no key to merge by": (
        lambda lake: lake.table("t").merge([{"k": "a", "v": 1}]),
        r"a merge into main\.t must be told its key: main\.t has no key",
    ),
    "a condition for a key": (
        lambda lake: lake.table("t").merge([{"k": "a", "v": 1}], on="s.k = t.k"),
        "on='s.k = t.k' is a condition",
    ),
    "a column to compute with": (
        lambda lake: lake.table("t").update({"v": tidelake.col("v") + 1}),
        r"col\('v'\) can be compared, and not computed with",
    ),
    "two columns to compare": (
        lambda lake: lake.table("t").scan(where=tidelake.col("v") > tidelake.col("w")),
        "only be compared with a value",
    ),
    "columns in a dict": (
        lambda lake: lake.table("t").append({"k": ["a", "b"], "v": [1, 2]}),
        r"row 1: column 'k': \['a', 'b'\] \(list\) is not text",
    ),
    "arrays in a dict": (
        lambda lake: lake.table("t").append({"v": numpy.array([1, 2])}),
        "row 1: column 'v'",
    ),
    "columns in a dict for a new table": (
        lambda lake: lake.append("new", {"k": ["a", "b"], "v": [1, 2]}, create=True),
        "one row with lists, or columns",
    ),
    "the same with rows=True": (
        lambda lake: lake.create_table("new", {"v": numpy.array([1, 2])}, rows=True),
        "one row with lists, or columns",
    ),
    "a snapshot for its number": (
        lambda lake: lake.table("t").known_at(lake.snapshots()[-1]),
        "known_at=a Snapshot is neither",
    ),
    "minutes or months": (
        lambda lake: lake.expire(older_than="1h30m", dry_run=True),
        "may be minutes or months",
    ),
    "an option that is a Polars frame": (
        lambda lake: lake.set_option(polars.DataFrame({"id": [1]}), 1),
        "set_option\\(\\) cannot take name=",
    ),
    "no address": (
        lambda _: tidelake.connect("sqlite:///nowhere.db", storage_options="x"),
        r"connect\(\) cannot take storage_options='x'",
    ),
    "a setting of CSV that there is not": (
        lambda lake: tidelake.ingest(lake, "t", "no/*.csv", csv={"sep": ";"}),
        "csv= takes no 'sep'",
    ),
    "a tenant that is not there": (
        lambda lake: lake.across_tenants("t", tenants="acme"),
        "there is no tenant 'acme'",
    ),
    "a column that is not there": (
        lambda lake: lake.table("t").scan(columns=["typo"]).count(),
        "no column 'typo'",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_calls_are_told_in_our_words(lake, call):
    do, message = CALLS[call]
    with pytest.raises(TidelakeError, match=message) as refused:
        do(lake)
    assert refused.value.hint


def test_hints_say_what_to_write(lake):
    def hint_of(name):
        with pytest.raises(TidelakeError) as refused:
            CALLS[name][0](lake)
        return refused.value.hint

    assert 'order_by("v DESC")' in hint_of("a text to order by that is a way")
    assert "where=" in hint_of("a condition among columns")
    assert '"1h30min" or "1h30mo"' in hint_of("minutes or months")
    assert "pyarrow.table" in hint_of("columns in a dict")
    assert "snapshot_id" in hint_of("a snapshot for its number")
    assert 'where="v > w"' in hint_of("two columns to compare")


def test_of_many_columns_the_nearest_are_named(lake):
    wide = lake.create_table("wide", {f"column_{n}": int for n in range(200)})
    with pytest.raises(NotFound) as refused:
        wide.scan(["colum_17"]).count()
    assert "column_17" in refused.value.hint
    assert "(200 in all)" in refused.value.hint
    assert len(refused.value.hint) < 500
    lake.drop("wide")


def test_fields_of_structs_by_brackets(lake):
    t = lake.create_table("nested", 'a STRUCT(b STRUCT("c.d" INTEGER, e INTEGER))')
    t.append([{"a": {"b": {"c.d": n, "e": -n}}} for n in range(3)])
    assert t.scan(where=tidelake.col("a")["b"]["e"] == -2).count() == 1
    assert t.scan(where=tidelake.col("a")["b"]["c.d"] > 0).count() == 2
    for wrong in (lambda: tidelake.col("a")[0], lambda: [*tidelake.col("a")]):
        with pytest.raises((Invalid, TypeError)):
            wrong()
    lake.drop("nested")


def test_order_by_takes_a_list_too(lake):
    t = lake.table("t")
    assert t.order_by(["v DESC", "k"]).to_dicts() == t.order_by("v DESC", "k").to_dicts()


def test_a_tolerance_of_numpy_is_a_span(lake):
    facts = lake.create_table("f", "k INT, ts TIMESTAMP, v INT", key="k", event_time="ts")
    facts.append([{"k": 1, "ts": "2024-01-01T00:00:00", "v": 7}])
    at = pd.to_datetime(["2024-01-01T00:30", "2024-01-01T02:00"])
    left = pd.DataFrame({"k": [1, 1], "at": at})
    for span in (numpy.timedelta64(1, "h"), pd.Timedelta("1h"), "1h"):
        joined = tidelake.asof_join(left, facts, left_time="at", tolerance=span).to_dicts()
        assert sorted(str(row["v"]) for row in joined) == ["7", "None"]
    lake.drop("f")


def test_a_typo_is_not_found_whoever_counts(lake):
    for where in (None, "v > 0"):
        with pytest.raises(NotFound):
            lake.table("t").scan(columns=["typo"], where=where).count()
    assert lake.table("t").scan(columns=["v"]).count() == 1


def test_all_missing_extensions_are_named_at_once():
    with pytest.raises(Unsupported, match="duckdb-extension-no-one, duckdb-extension-no-two") as no:
        duck.duck_connection(extensions=["no_one", "ducklake", "no_two"])
    assert no.value.hint == "pip install duckdb-extension-no-one duckdb-extension-no-two"


def test_the_calendars_that_there_are_can_be_made():
    assert tidelake.Calendar.weekdays() & tidelake.Calendar.sessions("09:00", "17:00")
    with pytest.raises(Invalid):
        tidelake.Calendar("mon-fri")


def test_a_query_whose_table_is_gone_says_so_each_time(lake):
    lake.create_table("brief", "v INT").append([{"v": 1}])
    queries = [lake.sql("FROM brief"), lake.sql("SELECT max(b.v) AS v FROM t, brief b")]
    assert queries[0].count() == 1
    lake.drop("brief")
    for query in queries:
        for _ in range(2):
            with pytest.raises(NotFound, match=r"there is no table main\.brief"):
                query.count()
            with pytest.raises(NotFound, match=r"there is no table main\.brief"):
                query.column_types()
    lake.undrop("brief")
    assert [query.count() for query in queries] == [1, 1]
    lake.drop("brief")


def test_one_name_is_not_its_letters(lake):
    lake.create_view("letters", "SELECT v FROM t", columns="xy")
    assert lake.sql("FROM letters").column_names() == ["xy"]
    lake.drop("letters")


def test_a_transaction_that_was_too_late_is_told_what_came_between(lake):
    counters = lake.create_table("counters", "id BIGINT, n BIGINT")
    counters.append([{"id": 1, "n": 0}])
    for do, said in (
        (lambda t: t.update({"n": "n + 1"}), "somebody else changed rows of main.counters"),
        (lambda t: t.append([{"id": 2, "n": 0}]), "somebody else added rows to main.counters"),
    ):
        tx = lake.transaction()
        tx.table("counters").update({"n": "n + 10"})
        do(counters)
        with pytest.raises(Conflict, match=said):
            tx.commit()
    lake.drop("counters")
