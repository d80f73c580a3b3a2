"""Durations and maps come back from frames as they went in."""

import datetime as dt
from datetime import timedelta

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidelake.duck import makes_days_of_hours
from tidelake.errors import Invalid, Unsupported

SPANS = [
    timedelta(days=3, seconds=5, microseconds=7),
    None,
    timedelta(days=-2, seconds=3),
    timedelta(0),
    timedelta(microseconds=-1),
    timedelta(days=100_000),
]
MAPS = [
    {"id": 1, "m": {"a": 1, "b": None}, "s": {"x": {5: dt.date(2024, 1, 1)}}, "l": [{"q": 1.5}]},
    {"id": 2, "m": None, "s": None, "l": None},
    {"id": 3, "m": {}, "s": {"x": None}, "l": []},
]


def test_durations_come_back(lake):
    given = pl.DataFrame({"i": range(len(SPANS)), "d": SPANS})
    table = lake.create_table("t", given, rows=True)
    assert table.to_polars().sort("i").equals(given)
    frame = table.to_pandas().sort_values("i", ignore_index=True)
    assert str(frame["d"].dtype) == "timedelta64[us]"
    table.overwrite(frame)
    assert table.to_polars().sort("i").equals(given)
    some = table.scan(where="i > 1").to_polars().sort("i")
    assert some["d"].to_list() == SPANS[2:]
    assert table.scan(where="i > 99").to_polars().schema["d"] == pl.Duration("us")


LONG = [*SPANS[:2], *(timedelta(hours=n) for n in (24, 720, 1192, 1193, 1194, 2_400_000))]


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "dicts"])
def test_files_hold_long_durations(lake, kind):
    """Parquet counts milliseconds with 32 bits: days are told apart from them."""
    lake.set_option("data_inlining_row_limit", 0)
    spans = [timedelta(days=3, seconds=5, milliseconds=7), *LONG[1:]]
    frame = pl.DataFrame({"d": spans, "l": [{"x": [each]} for each in spans]})
    of = {
        "polars": frame,
        "pandas": frame.select("d").to_pandas(),
        "arrow": frame.to_arrow(),
        "dicts": frame.to_dicts(),
    }
    table = lake.create_table("t", "d INTERVAL, l STRUCT(x INTERVAL[])")
    table.append(of[kind])
    table.compact()
    assert table.files()
    assert table.scan(columns=["d"]).to_polars()["d"].to_list() == spans
    inside = lake.sql("SELECT CAST(coalesce(l.x[1], d) AS VARCHAR) AS t FROM t")
    outside = lake.sql("SELECT CAST(d AS VARCHAR) AS t FROM t")
    assert inside.to_dicts() == outside.to_dicts()


def test_equal_spans_stay_what_they_are(lake):
    """To SQL a month, 30 days and 720 hours are equal. What they make of a date is not."""
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", "id INT, i INTERVAL, s STRUCT(l INTERVAL[])", sort_by=["id"])
    spans = ("1 MONTH", "30 DAYS", "720 HOURS")
    if makes_days_of_hours():
        spans = ("1 MONTH", "30 DAYS", "0 HOURS")  # more hours than a file holds
    for place, span in enumerate(spans * 2):
        lake.sql(
            f"INSERT INTO t SELECT 3 * n + {place % 3}, INTERVAL {span}, {{l: [INTERVAL {span}]}}"
            f" FROM range({100 * place}, {100 * place + 40}) AS r(n)"
        )
    shown = "SELECT id % 3, i::VARCHAR, s.l[1]::VARCHAR, count(*) FROM t GROUP BY ALL ORDER BY 1"
    hours = "00:00:00" if makes_days_of_hours() else "720:00:00"
    wanted = [(n, text, text, 80) for n, text in enumerate(("1 month", "30 days", hours))]
    assert lake.sql(shown).to_duckdb().fetchall() == wanted
    table.compact()
    assert len(table.scan().files()) == 1
    assert lake.sql(shown).to_duckdb().fetchall() == wanted


def test_months_are_no_durations(lake):
    table = lake.create_table("t", "i INT, d INTERVAL")
    table.append([{"i": 1, "d": timedelta(days=1)}, {"i": 2, "d": None}])
    table.update({"d": "INTERVAL 1 MONTH"}, where="i = 2")
    with pytest.raises(Unsupported, match=r"column 'd'.*months") as refused:
        table.to_polars()
    assert "to_arrow()" in str(refused.value.hint)
    frame = table.to_pandas()
    assert frame["d"].dtype == object
    table.append(frame)
    assert table.count() == 4
    lists = lake.sql("SELECT [INTERVAL 1 DAY] AS d")
    with pytest.raises(Unsupported, match="'d'"):
        lists.to_polars()


def test_an_interval_too_long_for_microseconds_stays_an_object(lake):
    query = lake.sql("SELECT INTERVAL 2000000000 DAYS AS d")
    assert query.to_pandas()["d"].dtype == object
    with pytest.raises(Unsupported):
        query.to_polars()


def test_maps_of_pandas_come_back(lake):
    table = lake.create_table(
        "t",
        "id BIGINT, m MAP(VARCHAR, BIGINT), s STRUCT(x MAP(BIGINT, DATE)),"
        " l MAP(VARCHAR, DOUBLE)[]",
    )
    table.append(MAPS)
    before = table.to_arrow().sort_by("id")
    table.overwrite(table.to_pandas())
    assert table.to_arrow().sort_by("id") == before
    table.overwrite(pd.DataFrame(MAPS))
    assert table.to_arrow().sort_by("id") == before
    table.merge(table.to_pandas(), on="id")
    assert table.to_arrow().sort_by("id") == before


def test_maps_are_checked_as_rows_are(lake):
    table = lake.create_table("t", "m MAP(VARCHAR, BIGINT)")
    for wrong in ({"a": 1.5}, {1: 1}, [("a", 1), ("a", 2)], "a"):
        with pytest.raises(Invalid, match=r"main\.t: row 2: column 'm'"):
            table.append(pd.DataFrame({"m": [{"a": 1}, wrong]}))
    table.append(pd.DataFrame({"m": [float("nan"), None, {"a": 2}]}))
    assert table.to_arrow()["m"].to_pylist() == [None, None, [("a", 2)]]
    table.append(pa.table({"m": pa.array([[("b", 3)]], pa.map_(pa.string(), pa.int64()))}))
    assert table.count() == 4


MOST_HOURS = 23 if makes_days_of_hours() else 1192
UNFIT = [
    "1 day 00:00:00.000007",
    "-1 month",
    "-00:00:00.001",
    "00:00:00.1234",
    f"1 day {MOST_HOURS + 1}:00:00",
    "1000000:00:00",
]


def test_a_file_takes_no_interval_that_would_be_another_there(lake):
    lake.create_table("t", "i BIGINT, d INTERVAL, l STRUCT(x INTERVAL[])")
    fit = f"INTERVAL '3 days {MOST_HOURS}:05:06.789'"
    lake.sql(f"INSERT INTO t SELECT range, {fit}, {{'x': [{fit}, NULL]}} FROM range(20)")
    for text in UNFIT:
        for given in (f"INTERVAL '{text}', NULL", f"NULL, {{'x': [NULL, INTERVAL '{text}']}}"):
            with pytest.raises(Invalid, match="interval that files cannot hold") as refused:
                lake.sql(f"INSERT INTO t SELECT range, {given} FROM range(20)")
            assert refused.value.hint
    told = lake.sql("SELECT DISTINCT CAST(d AS VARCHAR) AS d, CAST(l AS VARCHAR) AS l FROM t")
    spelled = f"3 days {MOST_HOURS}:05:06.789"
    assert told.to_dicts() == [{"d": spelled, "l": f"{{'x': ['{spelled}', NULL]}}"}]


def test_compaction_leaves_in_the_catalog_what_no_file_holds(lake):
    for n, text in enumerate(UNFIT):
        lake.sql(f"CREATE TABLE t{n} (d INTERVAL)")
        lake.sql(f"INSERT INTO t{n} VALUES ('{text}'), ('1 day')")
    lake.sql("CREATE TABLE s (v TIMESTAMP_S)")
    lake.sql("INSERT INTO s VALUES ('infinity'), ('2024-03-01')")
    lake.sql("CREATE TABLE u (d INTERVAL)")
    lake.sql("INSERT INTO u VALUES ('3 days 04:05:06.789')")
    assert lake.compact().rows_flushed == 1
    for n, text in enumerate(UNFIT):
        rows = lake.sql(f"SELECT CAST(d AS VARCHAR) AS d FROM t{n}").to_dicts()
        assert sorted(row["d"] for row in rows) == sorted([text, "1 day"])
        assert not lake.table(f"t{n}").files()
    assert lake.table("s").count() == 2
    assert len(lake.table("u").files()) == 1
