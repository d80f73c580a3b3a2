"""`partition_by` and `sort_by` as text; DuckDB says what it would store for them."""

import sqlite3

import pytest

from tidelake.errors import Invalid, NotFound
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, SortKey
from tidelake.plan.partitioning.bucket_hash import keeps_buckets
from tidelake.plan.partitioning.parse import (
    parse_partitioning,
    parse_sorting,
    sorted_column,
)
from tidelake.syntax.keywords import KEYWORDS

COLUMNS = (
    Column(1, "ts", "timestamp"),
    Column(2, "symbol", "varchar"),
    Column(3, "Region", "varchar"),
    Column(4, "odd, (name)", "int32"),
    Column(5, 'quo"te', "int32"),
    Column(6, "select", "int32"),
    Column(7, "d", "date"),
    Column(8, "tz", "timestamptz"),
    Column(9, "s", "struct", children=(Column(10, "x", "int32"),)),
    Column(11, "raw", "blob"),
    Column(12, "f", "float64"),
    Column(13, "wait", "interval"),
    Column(14, "a.b", "int32"),
)


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        (["symbol"], [(2, "identity")]),
        ("symbol", [(2, "identity")]),
        (["REGION"], [(3, "identity")]),
        (["day(ts)", "bucket(8, symbol)"], [(1, "day"), (2, "bucket(8)")]),
        (["year(ts)", "month(ts)", "hour(ts)"], [(1, "year"), (1, "month"), (1, "hour")]),
        ([" Day ( d ) ", "BUCKET(08,raw)"], [(7, "day"), (11, "bucket(8)")]),
        (["hour(tz)", "f"], [(8, "hour"), (12, "identity")]),
        (['"odd, (name)"', 'bucket(4, "odd, (name)")'], [(4, "identity"), (4, "bucket(4)")]),
        (['"quo""te"', "select"], [(5, "identity"), (6, "identity")]),
        (['"a.b"', "year(d)"], [(14, "identity"), (7, "year")]),
        ([], []),
    ],
)
def test_partitioning(texts, keys):
    assert parse_partitioning(texts, COLUMNS) == tuple(PartitionKey(*key) for key in keys)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["days(ts)"], r"days\(\).*write day\("),
        (["years(d)"], r"years\(\).*write year\("),
        (["identity(symbol)"], "the column's name alone"),
        (["truncate(4, symbol)"], "no truncate"),
        (["minute(ts)"], "no minute"),
        (["year(symbol)"], "'symbol' is a varchar"),
        (["hour(d)"], "'d' is a date"),
        (["year(f)"], "'f' is a float64"),
        (["bucket(symbol)"], r"bucket\(8, column\)"),
        (["bucket(symbol, 8)"], r"bucket\(8, column\)"),
        (["bucket(-1, symbol)"], r"bucket\(8, column\)"),
        (["bucket(0, symbol)"], "0 buckets"),
        (["bucket(2147483648, symbol)"], "2147483648 buckets"),
        (["bucket(4, s)"], "'s' is a struct"),
        (["bucket(4, wait)"], "'wait' is an interval"),
        (["s"], "a struct has no name for a folder"),
        (["raw"], "a blob has no name for a folder"),
        (["s.x"], "inside a column"),
        (["symbol", "Symbol"], "twice"),
        (["bucket(4, symbol)", "bucket(8, symbol)"], "twice"),
        (["day(ts)", "day(ts)"], "twice"),
        (["symbol, ts"], "cannot partition"),
        (["day(ts"], "cannot partition"),
        ([""], "cannot partition"),
        ([5], "cannot partition"),
    ],
)
def test_partitioning_that_makes_no_sense(texts, reason):
    with pytest.raises(Invalid, match=reason) as caught:
        parse_partitioning(texts, COLUMNS)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["nope", "day(nope)", "bucket(4, nope)"])
def test_an_unknown_column_is_not_found(text):
    with pytest.raises(NotFound, match="'nope'"):
        parse_partitioning([text], COLUMNS)
    with pytest.raises(NotFound, match="'nope'"):
        parse_sorting(["nope DESC"], COLUMNS)


@pytest.mark.parametrize(
    ("texts", "keys"),
    [
        (["symbol"], [("symbol", "ASC", "NULLS_LAST")]),
        ("ts desc", [("ts", "DESC", "NULLS_LAST")]),
        (["ts DESC NULLS FIRST", "d"], [("ts", "DESC", "NULLS_FIRST"), ("d", "ASC", "NULLS_LAST")]),
        (["ts  nulls  last"], [("ts", "ASC", "NULLS_LAST")]),
        (["region"], [("Region", "ASC", "NULLS_LAST")]),
        (['"odd, (name)" ASC'], [('"odd, (name)"', "ASC", "NULLS_LAST")]),
        (['"quo""te"'], [('"quo""te"', "ASC", "NULLS_LAST")]),
        (["select"], [('"select"', "ASC", "NULLS_LAST")]),
        (['"a.b"'], [('"a.b"', "ASC", "NULLS_LAST")]),
        (["s", "wait"], [("s", "ASC", "NULLS_LAST"), ("wait", "ASC", "NULLS_LAST")]),
    ],
)
def test_sorting(texts, keys):
    found = parse_sorting(texts, COLUMNS)
    assert found == tuple(SortKey(*key) for key in keys)
    assert all(sorted_column(key, COLUMNS) in COLUMNS for key in found)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["lower(symbol)"], "cannot sort"),
        (["symbol UP"], "cannot sort"),
        (["symbol, ts"], "cannot sort"),
        (["symbol NULLS"], "cannot sort"),
        (["s.x"], "inside a column"),
        (["symbol", "SYMBOL DESC"], "twice"),
        ([None], "cannot sort"),
    ],
)
def test_sorting_that_makes_no_sense(texts, reason):
    with pytest.raises(Invalid, match=reason) as caught:
        parse_sorting(texts, COLUMNS)
    assert caught.value.hint


def test_a_computed_sort_key_is_no_column():
    assert sorted_column(SortKey("lower(symbol)", "ASC", "NULLS_LAST"), COLUMNS) is None
    assert sorted_column(SortKey("gone", "ASC", "NULLS_LAST"), COLUMNS) is None


def test_duckdb_stores_the_same(new_duck, tmp_path):
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
    )
    reserved = connection.execute(
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    ).fetchall()
    assert {word for (word,) in reserved} == KEYWORDS
    columns = ", ".join(
        f'"{c.name.replace(chr(34), chr(34) * 2)}" {c.duckdb_type}' for c in COLUMNS
    )
    partition = [
        "year(ts)",
        "symbol",
        'bucket(4, "odd, (name)")',
        "f",
        "hour(tz)",
        "bucket(8, raw)",
    ]
    sort = ["ts DESC", "symbol NULLS FIRST", '"quo""te"', '"select" DESC', '"a.b"', '"Region"']
    connection.execute(f"CREATE TABLE lake.t ({columns})")
    connection.execute(f"ALTER TABLE lake.t SET PARTITIONED BY ({', '.join(partition)})")
    connection.execute(f"ALTER TABLE lake.t SET SORTED BY ({', '.join(sort)})")
    connection.close()
    catalog = sqlite3.connect(tmp_path / "c.db")
    keys = catalog.execute(
        "SELECT column_id, transform FROM ducklake_partition_column ORDER BY partition_key_index"
    )
    assert [PartitionKey(*key) for key in keys] == list(parse_partitioning(partition, COLUMNS))
    keys = catalog.execute(
        "SELECT expression, sort_direction, null_order FROM ducklake_sort_expression"
        " ORDER BY sort_key_index"
    )
    assert [SortKey(*key) for key in keys] == list(parse_sorting(sort, COLUMNS))


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("int32", "int64", True),
        ("float32", "float64", True),
        ("decimal(9,2)", "decimal(18,2)", True),
        ("decimal(9,2)", "decimal(9,3)", False),
        ("decimal(18,2)", "decimal(19,2)", False),
        ("decimal(20,2)", "decimal(30,2)", True),
        ("uint8", "uint16", True),
        ("uint8", "int16", False),
        ("date", "timestamp", False),
        ("varchar", "varchar", True),
    ],
)
def test_which_widenings_keep_buckets(old, new, kept):
    assert keeps_buckets(old, new) is kept
