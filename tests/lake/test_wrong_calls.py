"""Calls that make no sense end in errors of ours, which say what to do."""

import pandas as pd
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound, TidelakeError, Unsupported
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
