"""What a caller can get wrong: each is refused in words, and leaves the lake as it was."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidelake
from tests.cases import every
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.testing.faces import lake_of
from tidelake.testing.place import Place

Agree = Callable[[], None]
Write = Callable[[tidelake.Table], Any]
DROP = "x'); DROP TABLE ducklake_snapshot; --"
MANY = 100


@pytest.fixture
def t(lake: tidelake.Lake) -> tidelake.Table:
    t = lake.create_table(
        "t", "id BIGINT NOT NULL, v VARCHAR, n INTEGER, d DECIMAL(10, 2), ts TIMESTAMP, b BOOLEAN"
    )
    t.append(pa.table({"id": range(MANY), "v": ["x"] * MANY}))
    t.append([{"id": 1000, "v": "row"}])
    return t


def of(**columns: Any) -> pa.Table:
    """Rows for `t` with an id each; a single value stands for one row."""
    lists = {name: v if isinstance(v, list) else [v] for name, v in columns.items()}
    count = len(next(iter(lists.values())))
    return pa.table({"id": range(count), **lists})


BAD_DATA: dict[str, Any] = {
    "text for a number": of(n="abc"),
    "many texts for numbers": of(n=["1"] * MANY + ["abc"]),
    "a number for a text": pa.table({"id": [1], "v": [b"bytes \xff"]}),
    "too large a number": of(n=2**31),
    "many numbers, one too large": of(n=[1] * MANY + [2**31]),
    "a fraction for a whole number": of(n=1.5),
    "nan for a whole number": of(n=float("nan")),
    "infinity for a whole number": of(n=float("inf")),
    "a decimal with too many digits": of(d=Decimal("123456789.12")),
    "a decimal with too fine a fraction": of(d=Decimal("1.234")),
    "infinity for a decimal": of(d=float("inf")),
    "a struct for a text": of(n=[{"a": 1}]),
    "a list for a time": of(ts=[[1]]),
    "text for a time": of(ts="not a time"),
    "a number for a boolean": of(b=7),
    "an unknown column": of(nope=1),
    "a column twice": pa.table([pa.array([1]), pa.array([2])], names=["id", "id"]),
    "a column twice but for case": pa.table([pa.array([1]), pa.array([2])], names=["id", "ID"]),
    "a column without a name": pa.table([pa.array([1]), pa.array([2])], names=["id", ""]),
    "no required column": pa.table({"v": ["x"]}),
    "no required column, many rows": pa.table({"v": ["x"] * MANY}),
    "a null where none may be": pa.table({"id": pa.array([None], pa.int64())}),
    "a null among many": pa.table({"id": pa.array([*range(MANY), None], pa.int64())}),
    "nothing at all": None,
    "a number": 5,
    "a class": int,
    "a list of numbers": [1, 2],
    "rows of two kinds": [{"id": 1}, 5],
    "a row of another kind of key": [{1: 2}],
    "a path that is not there": "nowhere/at/all.parquet",
    "mixed objects of pandas": pd.DataFrame({"id": [1, 2], "v": ["a", object()]}),
    "an SQL statement": DROP,
}


@pytest.mark.parametrize("data", every(2, BAD_DATA.values(), BAD_DATA))
def test_bad_data_is_refused_by_every_write_that_takes_data(
    place: Place, t: tidelake.Table, data: Any
) -> None:
    for write in (t.append, t.overwrite, lambda d: t.overwrite(d, where="id < 5")):
        with place.refuses(TidelakeError):
            write(data)
    with place.refuses(TidelakeError):
        t.merge(data, on="id")
    if data is not BAD_DATA["an unknown column"]:  # clauses may want it for their conditions
        with place.refuses(TidelakeError):
            t.merge_builder(data, on="id").when_not_matched_insert().execute()
    assert t.count() == MANY + 1


BAD_TABLES: dict[str, dict[str, Any]] = {
    "no columns": {"schema": {}},
    "no columns in words": {"schema": ""},
    "an unknown type": {"schema": "a NOSUCHTYPE"},
    "a statement": {"schema": DROP},
    "a column twice": {"schema": "a INT, A INT"},
    "a column without a name": {"schema": {"": "INT"}},
    "a name of the format's own": {"schema": {"_ducklake_internal_row_id": "BIGINT"}},
    "no schema": {"schema": None},
    "a number": {"schema": 5},
    "partitions by an unknown column": {"partition_by": "nope"},
    "partitions by nonsense": {"partition_by": "day("},
    "partitions by an unknown transform": {"partition_by": "week(ts)"},
    "partitions by the day of a number": {"partition_by": "day(id)"},
    "no buckets": {"partition_by": "bucket(0, id)"},
    "a statement for partitions": {"partition_by": DROP},
    "sorted by an unknown column": {"sort_by": "nope"},
    "a statement to sort by": {"sort_by": DROP},
    "an unknown key": {"key": "nope"},
    "an event time that is no time": {"key": "id", "event_time": "v"},
    "a tombstone alone": {"tombstone": "b"},
    "a bucket without an event time": {"entity": "id", "bucket": "1m"},
    "an overlap without a bucket": {"event_time": "ts", "key": "id", "overlap": "skip"},
    "an overlap that is no text": {"event_time": "ts", "bucket": "1m", "overlap": ["skip"]},
    "a width that is none": {"event_time": "ts", "entity": "id", "bucket": "1 fortnight"},
    "an unknown overlap": {"event_time": "ts", "entity": "id", "bucket": "1m", "overlap": "eat"},
    "an unknown setting": {"colour": "red"},
    "a comment that is no text": {"comment": 5},
}


@pytest.mark.parametrize("wrong", BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_tables_that_cannot_be(place: Place, t: tidelake.Table, wrong: dict[str, Any]) -> None:
    given = {"schema": "id BIGINT, v VARCHAR, ts TIMESTAMP, b BOOLEAN", **wrong}
    schema = given.pop("schema")
    with place.refuses(TidelakeError):
        lake_of(t).create_table("u", schema, **given)


def test_names_that_are_taken(place: Place, t: tidelake.Table) -> None:
    lake = lake_of(t)
    lake.create_schema("s")
    lake.create_view("w", "SELECT id FROM t")
    for name in ("t", "T", "main.t", "w"):
        with place.refuses(Invalid, "already"):
            lake.create_table(name, "a BIGINT")
        with place.refuses(Invalid):
            lake.create_view(name, "SELECT 1 AS a")
    with place.refuses(Invalid, "already"):
        lake.create_schema("S")
    with place.refuses(Invalid, "already"):
        lake.rename("t", "w")
    with place.refuses(NotFound, "nowhere"):
        lake.create_table("nowhere.x", "a BIGINT")
    with place.refuses(NotFound, "nowhere"):
        lake.rename("t", "nowhere.x")
    with place.refuses(NotFound):
        lake.drop("nothing")
    with place.refuses(NotFound):
        lake.drop_schema("nothing")
    with place.refuses(Invalid, "main"):
        lake.drop_schema("main", cascade=True)


BAD_CONDITIONS = [
    "",
    " ",
    "id =",
    "'text'",
    "nope = 1",
    "id = (SELECT max(id) FROM t)",
    "id IN (SELECT 1)",
    "EXISTS (SELECT 1)",
    "max(id) = 5",
    "row_number() OVER () = 1",
    "id = ?",
    "id = $1",
    "id = 1; DROP TABLE t",
    "SELECT 1",
    "DELETE FROM t",
    "nosuchfunction(id)",
    "id = 'abc'",
    "id = 1 = 1 IS NULL",
    "*",
    DROP,
    5,
    True,
    ["id = 1"],
]


@pytest.mark.parametrize("where", BAD_CONDITIONS, ids=repr)
def test_conditions_that_are_none(place: Place, t: tidelake.Table, where: Any) -> None:
    with place.refuses(Invalid):
        t.delete(where)
    with place.refuses(Invalid):
        t.update({"v": "'y'"}, where=where)
    with place.refuses(Invalid):
        t.overwrite([{"id": 1}], where=where)


def test_a_delete_must_be_told_what(place: Place, t: tidelake.Table) -> None:
    with place.refuses(Invalid):
        t.delete(None)  # type: ignore[arg-type]


BAD_VALUES: list[Any] = [
    {},
    {"nope": 1},
    {"id": None},
    {"id": "NULL"},
    {"id": 1, "ID": 2},
    {"n": "'abc'"},
    {"n": 2**31},
    {"n": "id * 3000000000"},
    {"n": "(SELECT 1)"},
    {"n": "count(*)"},
    {"n": "sum(id) OVER ()"},
    {"n": "nope + 1"},
    {"n": "abc def"},
    {"n": ""},
    {"n": "1; DROP TABLE t"},
    {"n": "?"},
    {"v": DROP},
    {"n": object()},
    {"n": [1]},
    {"d": Decimal("1e20")},
    {5: 1},
    None,
    [("n", 1)],
    "n = 1",
]


@pytest.mark.parametrize("values", BAD_VALUES)
def test_updates_that_cannot_be(place: Place, t: tidelake.Table, values: Any) -> None:
    for where in ("id = 1000", "id < 50", None):
        with place.refuses(TidelakeError):
            t.update(values, where=where)
    with place.refuses(TidelakeError):
        t.merge_builder([{"id": 1}], on="id").when_matched_update(
            values if values is not None else {"nope": 1}
        ).execute()


BAD_MERGES: dict[str, Write] = {
    "no key": lambda t: t.merge([{"id": 1}]),
    "an empty key": lambda t: t.merge([{"id": 1}], on=[]),
    "an unknown key": lambda t: t.merge([{"id": 1}], on="nope"),
    "a key that the source lacks": lambda t: t.merge([{"id": 1}], on=["id", "v"]),
    "a key twice": lambda t: t.merge([{"id": 1}], on=["id", "ID"]),
    "a condition for a key": lambda t: t.merge([{"id": 1}], on="target.id = source.id"),
    "a statement for a key": lambda t: t.merge([{"id": 1}], on=DROP),
    "a number for a key": lambda t: t.merge([{"id": 1}], on=5),
    "rows that repeat a key": lambda t: t.merge([{"id": 1}, {"id": 1}], on="id"),
    "rows that repeat a key of two": lambda t: t.merge(
        [{"id": 1, "v": "a"}, {"id": 1, "v": "a"}], on=["id", "v"]
    ),
    "nothing to do": lambda t: t.merge_builder([{"id": 1}], on="id").execute(),
    "a clause that sets nothing": lambda t: (
        t.merge_builder([{"id": 1}], on="id").when_matched_update({}).execute()
    ),
    "a condition that is none": lambda t: (
        t.merge_builder([{"id": 1}], on="id").when_matched_delete(condition="nope").execute()
    ),
    "a statement for a condition": lambda t: (
        t.merge_builder([{"id": 1}], on="id").when_matched_delete(condition=DROP).execute()
    ),
    "a condition on nobody's column": lambda t: (
        t.merge_builder([{"id": 1}], on="id").when_matched_delete(condition="id = 1").execute()
    ),
    "the source where there is none": lambda t: (
        t.merge_builder([{"id": 1}], on="id")
        .when_not_matched_by_source_delete(condition="source.id = 1")
        .execute()
    ),
    "the target where there is none": lambda t: (
        t.merge_builder([{"id": 5000}], on="id")
        .when_not_matched_insert({"id": "target.id"})
        .execute()
    ),
    "a required column left out": lambda t: (
        t.merge_builder([{"id": 5000}], on="id").when_not_matched_insert({"v": "'x'"}).execute()
    ),
}


@pytest.mark.parametrize("merge", BAD_MERGES.values(), ids=BAD_MERGES.keys())
def test_merges_that_cannot_be(place: Place, t: tidelake.Table, merge: Write) -> None:
    with place.refuses(TidelakeError):
        merge(t)


BAD_EVOLUTIONS: list[dict[str, Any]] = [
    {"add": {"v": "int32"}},
    {"add": {"x": "NOSUCHTYPE"}},
    {"add": {"x": "int32 NOT NULL"}},
    {"add": {"": "int32"}},
    {"add": {"x": DROP}},
    {"add": {"v.inside": "int32"}},
    {"add": 5},
    {"drop": "nope"},
    {"drop": ["id", "v", "n", "d", "ts", "b"]},
    {"drop": 5},
    {"rename": {"nope": "x"}},
    {"rename": {"v": "n"}},
    {"rename": {"v": ""}},
    {"rename": "v"},
    {"widen": {"n": "int16"}},
    {"widen": {"v": "int32"}},
    {"widen": {"id": "float64"}},
    {"nullable": {"v": False, "nope": True}},
    {"nullable": {"n": False}},
    {"default": {"n": "abc"}},
    {"default": {"nope": 1}},
    {"comment": {"nope": "x"}},
    {"order": ["nope"]},
    {"order": ["id", "id"]},
]


@pytest.mark.parametrize("changes", BAD_EVOLUTIONS, ids=repr)
def test_columns_that_cannot_change_so(
    place: Place, t: tidelake.Table, changes: dict[str, Any]
) -> None:
    with place.refuses(TidelakeError):
        t.evolve(**changes)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nope", 1),
        ("data_inlining_row_limit", -1),
        ("data_inlining_row_limit", "many"),
        ("data_inlining_row_limit", None),
        ("target_file_size", 0),
        ("target_file_size", "10 parsecs"),
        ("parquet_row_group_size", 0),
        ("parquet_compression", "zip"),
        ("require_commit_message", "perhaps"),
        (DROP, DROP),
        (None, 1),
    ],
)
def test_options_that_make_no_sense(place: Place, t: tidelake.Table, name: Any, value: Any) -> None:
    with place.refuses(Invalid):
        lake_of(t).set_option(name, value)
    with place.refuses(Invalid):
        lake_of(t).set_option(name, value, table="t")
    with place.refuses(NotFound):
        lake_of(t).set_option("data_inlining_row_limit", 1, table="nope")


@pytest.mark.parametrize(
    "data",
    [[], pd.DataFrame({"id": pd.Series(dtype="int64")}), of(v=[]), iter([])],
    ids=["list", "pandas", "arrow", "iterator"],
)
def test_empty_frames_write_nothing(place: Place, t: tidelake.Table, data: Any) -> None:
    before = place.state()
    assert t.append(data).rows == 0
    assert t.delete("false").rows == 0
    assert t.update({"v": "'x'"}, where="id = -1").rows == 0
    assert place.state() == before
    if not hasattr(data, "__next__"):
        assert t.merge(data if len(data) else of(v=[]), on="id").rows == 0
        assert place.state() == before
    assert t.overwrite(of(v=[])).deleted == MANY + 1
    assert t.count() == 0
