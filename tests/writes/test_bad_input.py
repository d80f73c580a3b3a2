"""What a caller can get wrong: each is refused in words, and leaves the lake as it was."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tidelake
from tests.writes.place import Place, assert_same_now, rows
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError

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


@pytest.mark.parametrize("data", BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data_is_refused_by_every_write_that_takes_data(
    place: Place, t: tidelake.Table, data: Any
) -> None:
    for write in (t.append, t.overwrite, lambda d: t.overwrite(d, where="id < 5")):
        with place.refuses(TidelakeError):
            write(data)
    with place.refuses(TidelakeError):
        t.merge(data, on="id")
    with place.refuses(TidelakeError):
        t.merge_builder(data, on="id").when_not_matched_insert().execute()
    assert t.count() == MANY + 1


@pytest.mark.parametrize("count", [1, MANY])
def test_numbers_at_the_edge_are_kept_exactly(
    lake: tidelake.Lake, agree: Agree, count: int
) -> None:
    t = lake.create_table("t", "f DOUBLE, g FLOAT, d DECIMAL(38, 10), i BIGINT, u UBIGINT")
    digits = Decimal("9" * 28 + "." + "9" * 10)
    values = {
        "f": [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.7976931348623157e308],
        "g": [float("nan"), float("inf"), float("-inf"), -0.0, 1.5, -1.5],
        "d": [digits, digits.copy_negate(), Decimal("1E-10"), Decimal(0), Decimal("-0.5"), None],
        "i": [2**63 - 1, -(2**63), 0, None, 1, -1],
        "u": [2**64 - 1, 0, 1, None, 2**63, 5],
    }
    kinds = [pa.float64(), pa.float32(), pa.decimal128(38, 10), pa.int64(), pa.uint64()]
    columns = [pa.array(v * count, k) for v, k in zip(values.values(), kinds, strict=True)]
    t.append(pa.table(columns, list(values)))
    t.update({"i": "i"}, where="u = 0")
    read = t.to_arrow()
    assert t.scan(where="isnan(f)").count() == count
    assert t.scan(where="f = 'inf'").count() == count
    assert t.scan(where="f > 1e308").count() == 3 * count
    assert sorted(map(repr, read["f"].to_pylist())) == sorted(map(repr, values["f"] * count))
    assert {v for v in read["d"].to_pylist() if v} == {v for v in values["d"] if v}
    agree()


def test_a_thousand_columns(lake: tidelake.Lake, duck: Any) -> None:
    names = [f"column {n}" for n in range(1000)]
    t = lake.create_table("wide", dict.fromkeys(names, "int32"))
    t.append([{name: n for n, name in enumerate(names)}])
    t.append(pa.table({name: pa.array([n] * 20, pa.int32()) for n, name in enumerate(names)}))
    t.update({"column 999": 5}, where='"column 998" = 998')
    assert t.count() == 21
    assert set(t.scan(["column 0", "column 999"]).to_arrow()["column 999"].to_pylist()) == {5}
    assert_same_now(lake, duck)


ODD = [
    'quote " inside',
    "it's",
    "two words",
    " around ",
    "sélect ☃ 日本語",
    "🦆",
    "select",
    "../../up",
    "a/b\\c",
    "..",
    "a.b",
    "%s %20 :x ?",
    "CamelCase",
    "1st",
    "tab\tand\nnewline",
    DROP,
    "$var {brace}",
    "x" * 60,
]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_odd_names_are_written_and_read_by_all(
    place: Place, lake: tidelake.Lake, duck: Any
) -> None:
    for name in ODD:
        lake.create_schema(name)
        t = lake.create_table(
            f"{quoted(name)}.{quoted(name)}", {name: "BIGINT", f"{name} 2": "VARCHAR"}
        )
        t.append([{name: 1, f"{name} 2": name}])
        t.append(pa.table({f"{name} 2": [name] * 20, name: range(20)}))
        t.update({name: 100}, where=f"{quoted(name)} = 1")
        t.merge([{name: 5, f"{name} 2": "merged"}], on=name)
        assert t.scan([name], where=f"{quoted(f'{name} 2')} = 'merged'").count() == 1
        assert t.delete(f"{quoted(name)} = 7").deleted == 1
    for name in ODD:
        there = f"lake.{quoted(name)}.{quoted(name)}"
        duck.execute(f"INSERT INTO {there} VALUES (500, 'duck')")
        duck.execute(f"DELETE FROM {there} WHERE {quoted(name)} = 8")
        found = sorted(lake.table(f"{quoted(name)}.{quoted(name)}").to_arrow()[name].to_pylist())
        assert found == sorted([*range(2, 7), *range(9, 20), 0, 100, 100, 500])
    assert_same_now(lake, duck)
    outside = {p.name for p in place.folder.parent.iterdir()}
    assert outside == {place.folder.name}
    assert {p.name for p in place.folder.iterdir()} <= {"lake.db", "lake.db-journal", "data"}


@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_odd_values_of_partitions_stay_inside_the_table(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    t = lake.create_table("t", "p VARCHAR, n BIGINT", partition_by="p")
    values = [*ODD, "", None, "__HIVE_DEFAULT_PARTITION__", "/etc/passwd", "x" * 300]
    t.append(pa.table({"p": values * 2, "n": range(2 * len(values))}))
    for value in values:
        where = "p IS NULL" if value is None else f"p = '{value.replace(chr(39), chr(39) * 2)}'"
        assert t.scan(where=where).count() == 2, value
    t.delete("p LIKE '%/%' OR p IS NULL")
    agree()
    assert all(f.startswith("data/main/t/") for f in place.files())


def test_very_long_names(place: Place, lake: tidelake.Lake, agree: Agree) -> None:
    name = "long " * 60
    t = lake.create_table(quoted(name), {name: "BIGINT"})
    t.append([{name: 1}])
    t.append(pa.table({name: range(20)}))
    assert t.count() == 21
    agree()


BAD_NAMES = ["", '""', "a.b.c", '"unclosed', "a..b", ".", 'x"y', None, 5]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_no_table_name(place: Place, t: tidelake.Table, name: Any) -> None:
    lake = t._lake
    for call in (
        lambda: lake.create_table(name, "a BIGINT"),
        lambda: lake.create_view(name, "SELECT 1 AS a"),
        lambda: lake.drop(name),
        lambda: lake.rename("t", name),
        lambda: lake.rename(name, "u"),
        lambda: lake.table(name),
    ):
        with place.refuses(Invalid):
            call()


@pytest.mark.parametrize("name", ["", None, 5])
def test_what_is_no_schema_name(place: Place, lake: tidelake.Lake, name: Any) -> None:
    with place.refuses(Invalid):
        lake.create_schema(name)
    with place.refuses(TidelakeError):
        lake.drop_schema(name)


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
    "a bucket without an entity": {"event_time": "ts", "bucket": "1m"},
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
        t._lake.create_table("u", schema, **given)


def test_names_that_are_taken(place: Place, t: tidelake.Table) -> None:
    lake = t._lake
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


@pytest.mark.parametrize("values", BAD_VALUES, ids=repr)
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
        t._lake.set_option(name, value)
    with place.refuses(Invalid):
        t._lake.set_option(name, value, table="t")
    with place.refuses(NotFound):
        t._lake.set_option("data_inlining_row_limit", 1, table="nope")


WRITES: dict[str, Callable[[Any], Any]] = {
    "create_schema": lambda lake: lake.create_schema("s2"),
    "drop_schema": lambda lake: lake.drop_schema("main"),
    "create_table": lambda lake: lake.create_table("u", "a BIGINT"),
    "create_view": lambda lake: lake.create_view("w", "SELECT 1 AS a"),
    "rename": lambda lake: lake.rename("t", "u"),
    "drop": lambda lake: lake.drop("t"),
    "set_option": lambda lake: lake.set_option("data_inlining_row_limit", 5),
    "transaction": lambda lake: lake.transaction(),
    "append": lambda lake: lake.table("t").append([{"id": 1}]),
    "append many": lambda lake: lake.table("t").append(pa.table({"id": range(MANY)})),
    "overwrite": lambda lake: lake.table("t").overwrite([{"id": 1}]),
    "delete": lambda lake: lake.table("t").delete("true"),
    "update": lambda lake: lake.table("t").update({"v": "'x'"}),
    "merge": lambda lake: lake.table("t").merge([{"id": 1}], on="id"),
    "merge_builder": lambda lake: (
        lake.table("t").merge_builder([{"id": 1}], on="id").when_matched_delete().execute()
    ),
    "add_files": lambda lake: lake.table("t").add_files("x.parquet"),
    "evolve": lambda lake: lake.table("t").evolve(add={"x": "int32"}),
    "set_partitioning": lambda lake: lake.table("t").set_partitioning("v"),
    "set_sorting": lambda lake: lake.table("t").set_sorting("v"),
    "set_comment": lambda lake: lake.table("t").set_comment("x"),
    "table.drop": lambda lake: lake.table("t").drop(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_lake_that_takes_no_writes(
    place: Place, t: tidelake.Table, write: Callable[[Any], Any]
) -> None:
    with place.refuses(Denied, "pinned"):
        write(t._lake.known_at(1))
    with place.open(read_only=True) as read_only, place.refuses(Denied, "read-only"):
        write(read_only)
    closed = place.open()
    closed.close()
    with place.refuses(Invalid, "closed"):
        write(closed)
    tx = t._lake.transaction()
    tx.rollback()
    with place.refuses(Invalid):
        write(tx)


def test_a_transaction_that_is_over(place: Place, t: tidelake.Table) -> None:
    with t._lake.transaction() as tx:
        mine = tx.table("t")
        mine.append([{"id": 1}])
    for use in (
        lambda: mine.append([{"id": 2}]),
        lambda: mine.count(),
        lambda: tx.table("t"),
        tx.commit,
        lambda: tx.sql("SELECT 1 FROM t").to_arrow(),
    ):
        with place.refuses(Invalid, "over"):
            use()


def test_a_transaction_inside_another(place: Place, t: tidelake.Table) -> None:
    with t._lake.transaction() as tx, place.refuses(Invalid):
        tx.transaction()
    with t._lake.transaction() as tx, place.refuses(Invalid):
        tx.set_option("data_inlining_row_limit", 5)


def test_a_closed_lake_under_an_open_transaction(place: Place, t: tidelake.Table) -> None:
    lake = place.open()
    tx = lake.transaction()
    tx.table("t").append(pa.table({"id": range(MANY)}))
    lake.close()
    with pytest.raises(TidelakeError) as caught:
        tx.commit()
    assert caught.value.hint
    assert t.count() == MANY + 1


@pytest.mark.parametrize(
    "data", [[], pd.DataFrame({"id": pd.Series(dtype="int64")}), of(v=[]), iter([])], ids=repr
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


def test_text_that_looks_like_sql_is_only_text(
    place: Place, lake: tidelake.Lake, agree: Agree
) -> None:
    lake.create_schema(DROP)
    t = lake.create_table(
        quoted(DROP), {DROP: "VARCHAR"}, comment=DROP, sort_by=quoted(DROP), key=DROP
    )
    with lake.transaction(author=DROP, message=DROP) as tx:
        tx.table(quoted(DROP)).append([{DROP: DROP}])
    t.set_comment(DROP + DROP)
    t.evolve(comment={quoted(DROP): DROP}, default={quoted(DROP): DROP})
    t.update({DROP: "'" + DROP.replace("'", "''") + "'"})
    lake.create_view('"a view"', f"SELECT * FROM {quoted(DROP)}", columns=[DROP])
    with place.refuses(TidelakeError):
        t.known_at(DROP)
    with place.refuses(TidelakeError):
        t.add_files(DROP)
    with place.refuses(TidelakeError):
        lake.create_view(quoted("w"), DROP)
    assert rows(t) == [{DROP: DROP}]
    assert rows(lake.sql('SELECT * FROM "a view"')) == [{DROP: DROP}]
    agree()


WORDS = [
    "t",
    "s",
    "m",
    "o",
    "u",
    "r",
    "d",
    "f",
    "c",
    "gone",
    "target",
    "source",
    "kept",
    "incoming",
]


def test_columns_called_as_things_inside_our_own_sql(lake: tidelake.Lake, agree: Agree) -> None:
    """Structs of such names would be taken for tables, and tables for them."""
    kinds = dict.fromkeys(WORDS, "STRUCT(id BIGINT, t BIGINT)")
    t = lake.create_table("t", {"id": "BIGINT", **kinds})

    def of_words(ids: Any) -> list[dict[str, Any]]:
        return [{"id": n, **{word: {"id": n, "t": -n} for word in WORDS}} for n in ids]

    t.append(of_words(range(30)))
    t.append(of_words([30]))
    t.update(
        {word: f"{{'id': {word}.id + 1000, 't': {word}.t}}" for word in WORDS}, where="t.id < 3"
    )
    assert rows(t.scan(["id", "s"], where="t.id = 1002 AND s.t = -2")) == [
        {"id": 2, "s": {"id": 1002, "t": -2}}
    ]
    t.delete("s.id = 5 OR m.t = -6")
    t.merge(of_words([*range(7, 20), *range(40, 60)]), on="id")
    t.merge_builder(of_words([8, 70]), on="id").when_matched_update(
        {"t": "{'id': source.t.id, 't': target.s.t + source.m.t}"}, condition="target.t.id = 8"
    ).when_not_matched_insert(condition="source.s.id = 70").when_not_matched_by_source_update(
        {"o": None}, condition="target.id = 9"
    ).when_not_matched_by_source_delete(condition="target.u.id = 10").execute()
    found = {r["id"]: r for r in rows(t)}
    assert sorted(found) == sorted({*range(31), *range(40, 60), 70} - {5, 6, 10})
    assert (found[8]["t"], found[9]["o"]) == ({"id": 8, "t": -16}, None)
    with lake.transaction() as tx:
        mine = tx.table("t")
        mine.append(of_words(range(100, 130)))
        mine.update({"s": "{'id': t.id, 't': 0}"}, where="s.id BETWEEN 105 AND 120")
        mine.delete("d.id = 101")
        mine.merge(of_words(range(110, 125)), on="id")
        mine.evolve(add={"more": "INTEGER", "t.more": "INTEGER"})
        mine.update({"more": "t.id"}, where="r.id > 100")
        assert mine.count() == len(found) + 29
    agree()
