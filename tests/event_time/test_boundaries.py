"""Where one moment ends and the next begins, and other edges of as_of."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import tidelake
from tidelake import col
from tidelake.errors import Invalid
from tidelake.model.event_time import as_moment
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

MICROSECOND = timedelta(microseconds=1)
NOON = datetime(2024, 3, 12, 12)
Create = Callable[..., tidelake.Table]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


@pytest.fixture
def duck(lake: tidelake.Lake, tmp_path: Path) -> "Iterator[duckdb.DuckDBPyConnection]":
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("USE lake")
        yield duck


@pytest.fixture
def create(lake: tidelake.Lake) -> Create:
    """Rows that come alone stay in the catalog, others go to files."""
    lake.set_option("data_inlining_row_limit", 1)

    def make(ts: str = "TIMESTAMP", k: str = "VARCHAR", **more: Any) -> tidelake.Table:
        name = f"t{len(lake.tables())}"
        columns = f"k {k}, ts {ts}, v INTEGER, gone BOOLEAN"
        return lake.create_table(name, columns, key="k", event_time="ts", tombstone="gone", **more)

    return make


def fact(ts: Any, v: int, k: Any = "A", **more: Any) -> dict[str, Any]:
    return {"k": k, "ts": ts, "v": v, **more}


def values(table: tidelake.Table, moment: Any, where: str | None = None) -> list[int]:
    return sorted(table.scan(["v"], where, as_of=moment).to_arrow()["v"].to_pylist())


# Moments


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"]
)
@pytest.mark.parametrize("in_catalog", [True, False])
def test_an_event_holds_from_its_own_moment_on(create: Create, kind: str, in_catalog: bool) -> None:
    zone = UTC if kind == "TIMESTAMPTZ" else None
    t = create(kind)
    facts = [fact(NOON.replace(tzinfo=zone), 1), fact(NOON.replace(tzinfo=zone, hour=13), 2)]
    for rows in [[each] for each in facts] if in_catalog else [facts]:
        t.append(rows)
    assert values(t, NOON - MICROSECOND) == []
    assert values(t, NOON) == [1]
    assert values(t, NOON + MICROSECOND) == [1]
    assert values(t, NOON.replace(hour=13) - MICROSECOND) == [1]
    assert values(t, NOON.replace(hour=13)) == [2]
    assert values(t, datetime.min) == []
    assert values(t, datetime.max) == [2]


@pytest.mark.parametrize(
    ("kind", "step"), [("TIMESTAMP_S", timedelta(seconds=1)), ("TIMESTAMP_MS", 1000 * MICROSECOND)]
)
def test_a_moment_between_two_ticks_of_the_column(create: Create, kind: str, step: Any) -> None:
    t = create(kind)
    t.append([fact(NOON, 1), fact(NOON + step, 2)])
    assert values(t, NOON + step - MICROSECOND) == [1]
    assert values(t, NOON + step) == [2]


def test_nanoseconds(create: Create) -> None:
    t = create("TIMESTAMP_NS")
    t.append([fact("2024-03-12 12:00:00.123456788", 1), fact("2024-03-12 12:00:00.123456789", 2)])
    assert values(t, "2024-03-12T12:00:00.123456787") == []
    assert values(t, "2024-03-12 12:00:00.123456788") == [1]
    assert values(t, "2024-03-12T12:00:00.123456789Z") == [2]
    assert values(t, "2024-03-12T13:00:00.123456788+01:00") == [1]
    assert values(t, pd.Timestamp("2024-03-12 12:00:00.123456788")) == [1]
    assert values(t, pd.Timestamp("2024-03-12 13:00:00.123456789", tz="Europe/Berlin")) == [2]
    assert values(t, "2024-03-12T12:00:00.123456") == []
    assert values(t, "2024-03-12T12:00:00.123457") == [2]


def test_moments_that_a_column_of_nanoseconds_cannot_hold(create: Create) -> None:
    t = create("TIMESTAMP_NS")
    t.append([fact("1677-09-22 00:00:00", 1), fact("2262-04-11 23:47:16.854775806", 2)])
    assert values(t, "1500-01-01") == []
    assert values(t, "1677-09-22") == [1]
    assert values(t, "2262-04-11T23:47:16.854775805") == [1]
    assert values(t, "9999-12-31T23:59:59.999999999") == [2]


def test_nanoseconds_of_a_moment_beside_a_column_of_microseconds(create: Create) -> None:
    t = create("TIMESTAMP")
    t.append([fact(NOON, 1), fact(NOON + MICROSECOND, 2)])
    assert values(t, "2024-03-12T12:00:00.000000999") == [1]
    assert values(t, "2024-03-12T11:59:59.999999999") == []


def test_dates_hold_from_midnight_utc(create: Create) -> None:
    t = create("DATE")
    t.append([fact(date(2024, 3, 12), 1), fact(date(2024, 3, 13), 2)])
    assert values(t, date(2024, 3, 11)) == []
    assert values(t, date(2024, 3, 12)) == [1]
    assert values(t, "2024-03-12") == [1]
    assert values(t, "2024-03-12T23:59:59.999999999") == [1]
    assert values(t, "2024-03-13T00:30:00+01:00") == [1]
    assert values(t, "2024-03-12T23:30:00-01:00") == [2]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ"])
def test_zones(create: Create, kind: str) -> None:
    """A moment without a zone is UTC, and so is a column without one."""
    t = create(kind)
    zone = UTC if kind == "TIMESTAMPTZ" else None
    t.append([fact(NOON.replace(tzinfo=zone), 1)])
    for same in (
        NOON,
        "2024-03-12T12:00",
        "2024-03-12T12:00:00Z",
        "2024-03-12T13:00:00+01:00",
        "2024-03-12 06:30:00-05:30",
        NOON.replace(tzinfo=UTC),
        NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2))),
        NOON.replace(hour=8, tzinfo=ZoneInfo("America/New_York")),
        pd.Timestamp("2024-03-12 21:00", tz="Asia/Tokyo"),
    ):
        assert values(t, same) == [1]
    assert values(t, "2024-03-12T12:59:59.999999+01:00") == []
    assert values(t, NOON.replace(tzinfo=ZoneInfo("Europe/Berlin"))) == []


def test_an_hour_that_comes_twice(create: Create) -> None:
    """Clocks in Berlin went back at three in the morning."""
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    second = first.replace(fold=1)
    t = create("TIMESTAMPTZ")
    t.append([fact(first.astimezone(UTC), 1), fact(second.astimezone(UTC), 2)])
    assert values(t, first) == [1]
    assert values(t, second) == [2]
    assert values(t, "2024-10-27T02:30:00+02:00") == [1]
    assert values(t, "2024-10-27T02:30:00+01:00") == [2]


def test_zones_do_not_depend_on_where_one_is(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    t = create("TIMESTAMPTZ")
    t.append([fact(NOON.replace(tzinfo=UTC), 1)])
    assert values(t, NOON) == [1]
    assert values(t, NOON - MICROSECOND) == []


@pytest.mark.parametrize(
    "bad",
    [5, None, True, "", "yesterday", "2024-13-01", "2024-02-30", "NaT", pd.NaT, [], 1.5],
)
def test_what_is_no_moment(bad: Any) -> None:
    with pytest.raises(Invalid, match="is not a time") as caught:
        as_moment(bad)
    assert caught.value.hint


@pytest.mark.parametrize("bad", ["infinity", "-infinity", "0044-03-15 (BC)", "20000-01-01"])
def test_moments_that_nobody_asks_for(create: Create, bad: Any) -> None:
    with pytest.raises(Invalid, match="is out of range") as caught:
        create().as_of(bad)
    assert caught.value.hint


def test_before_all_events_there_is_nothing(create: Create) -> None:
    t = create()
    t.append([fact(NOON, 1)])
    before = t.as_of("1999-01-01")
    assert before.count() == 0
    assert before.to_arrow().schema == t.to_arrow().schema
    assert list(before.to_pandas().columns) == ["k", "ts", "v", "gone"]


def test_an_empty_table(create: Create) -> None:
    t = create()
    assert t.as_of(NOON).to_arrow().num_rows == 0
    assert t.as_of(NOON).to_arrow().schema == t.to_arrow().schema


def test_times_that_only_duckdb_writes(create: Create, duck: "duckdb.DuckDBPyConnection") -> None:
    for kind in ("TIMESTAMP", "DATE", "TIMESTAMPTZ"):
        t = create(kind)
        duck.execute(
            f"INSERT INTO {t.name} VALUES ('A', 'infinity', 1, false), ('A', '-infinity', 2, NULL),"
            " ('B', '4000-01-01 (BC)', 3, NULL), ('C', '20000-01-01', 4, NULL),"
            " ('A', '2024-03-12', 5, NULL)"
        )
        assert values(t, "0001-01-01") == [2, 3]
        assert values(t, "2024-03-12") == [3, 5]
        assert values(t, datetime.max) == [3, 5]


# Keys


@pytest.mark.parametrize(
    ("kind", "keys", "different"),
    [
        ("VARCHAR", ["a", "A", "", " a", "é", "e\u0301", "ß", "ss"], 8),
        ("INTEGER", [-1, 0, 2**31 - 1], 3),
        ("DECIMAL(38,0)", [Decimal(2**100), Decimal(-(2**100))], 2),
        ("DOUBLE", [0.0, -0.0, float("nan"), float("inf"), 0.1], 4),
        ("DECIMAL(20,3)", [Decimal("1.100"), Decimal("-1.100"), Decimal(0)], 3),
        ("BLOB", [b"", b"\x00", b"\xff\x00", b"a", b"A"], 5),
        (
            "UUID",
            ["ffffffff-ffff-4fff-bfff-ffffffffffff", "0" * 8 + "-0000-4000-8000-" + "0" * 12],
            2,
        ),
        ("BOOLEAN", [True, False], 2),
        ("DATE", [date(1, 1, 1), date(9999, 12, 31)], 2),
        ("TIMESTAMPTZ", [datetime(2024, 3, 12, tzinfo=UTC)], 1),
    ],
)
def test_keys_of_every_kind(create: Create, kind: str, keys: list[Any], different: int) -> None:
    """Two keys are the same if DuckDB's `=` says so."""
    t = create(k=kind)
    t.append([fact(NOON, n, k) for n, k in enumerate(keys)])
    t.append([fact(NOON + MICROSECOND, n, k) for n, k in enumerate(keys, 100)])
    for moment, first in ((NOON, 0), (NOON + MICROSECOND, 100)):
        found = values(t, moment)
        assert len(found) == different
        assert all(first <= v < first + len(keys) for v in found)


def test_several_columns_make_a_key(lake: tidelake.Lake) -> None:
    t = lake.create_table("t", "a INT, ts DATE, b VARCHAR, v INT", key=["b", "a"], event_time="ts")
    said = [(1, "x"), (1, "y"), (2, "x")]
    for day in (1, 2):
        t.append([{"a": a, "b": b, "ts": date(2024, 3, day), "v": day} for a, b in said])
    assert t.as_of("2024-03-01").count() == 3
    assert t.scan(where="b = 'x' AND a = 2", as_of="2024-03-02").to_arrow().to_pylist() == [
        {"a": 2, "ts": date(2024, 3, 2), "b": "x", "v": 2}
    ]


def test_facts_without_a_key_are_reported(
    lake: tidelake.Lake, create: Create, duck: "duckdb.DuckDBPyConnection"
) -> None:
    """No Tidelake lets them in; DuckDB may have taken the declaration away."""
    t = create()
    t.append([fact(NOON, 1)])
    before = t.snapshots()[-1].snapshot_id
    duck.execute(f"ALTER TABLE {t.name} ALTER COLUMN k DROP NOT NULL")
    assert values(t, NOON) == [1]
    duck.execute(f"INSERT INTO {t.name} VALUES (NULL, '2030-01-01', 2, NULL)")
    with pytest.raises(Invalid, match="1 row without a key or event time") as caught:
        t.as_of(NOON).count()
    assert caught.value.hint
    assert values(t.known_at(before), NOON) == [1]
    with lake.transaction() as tx:
        tx.table(t.name).append([fact(NOON, 3)])
        pinned = tx.table(t.name).as_of(NOON)
        with pytest.raises(Invalid, match="1 row without a key or event time"):
            pinned.count()


# Conditions


@pytest.fixture
def prices(create: Create) -> tidelake.Table:
    """A rises from 1 to 3, B falls from 3 to 1, C has ended."""
    t = create()
    hour = timedelta(hours=1)
    t.append([fact(NOON, 1, "A"), fact(NOON, 3, "B"), fact(NOON, 2, "C")])
    t.append([fact(NOON + hour, 3, "A"), fact(NOON + hour, 1, "B")])
    t.append([fact(NOON + hour, 2, "C", gone=True)])
    return t


def test_a_condition_on_values_is_asked_of_the_winners(prices: tidelake.Table) -> None:
    later = NOON.replace(hour=13)
    assert values(prices, later, "v = 1") == [1]
    assert prices.scan(["k"], "v >= 3", as_of=later).to_arrow()["k"].to_pylist() == ["A"]
    assert prices.scan(["k"], "v + 0 >= 3", as_of=later).to_arrow()["k"].to_pylist() == ["A"]
    assert values(prices, later, "v = 2") == []
    assert values(prices, later, "gone IS NULL OR NOT gone") == [1, 3]
    assert values(prices, later, "gone") == []


def test_a_condition_on_times_is_asked_of_the_winners(prices: tidelake.Table) -> None:
    later = NOON.replace(hour=13)
    assert values(prices, later, "ts = TIMESTAMP '2024-03-12 12:00:00'") == []
    assert values(prices, later, "ts < TIMESTAMP '2024-03-12 13:00:00'") == []
    assert values(prices, later, "ts > TIMESTAMP '2024-03-12 12:00:00'") == [1, 3]
    assert values(prices, later, "ts >= TIMESTAMP '2024-03-12 13:00:00'") == [1, 3]
    assert values(prices, later, "ts > TIMESTAMP '2024-03-12 13:00:00'") == []
    assert values(prices, NOON, "ts >= TIMESTAMP '2024-03-12 12:00:00'") == [1, 2, 3]
    assert values(prices, later, "NOT (ts > TIMESTAMP '2024-03-12 12:00:00')") == []


def test_a_condition_on_keys_and_values_at_once(prices: tidelake.Table) -> None:
    later = NOON.replace(hour=13)
    assert values(prices, later, "k = 'A' AND v = 1") == []
    assert values(prices, later, "k = 'B' AND v = 1") == [1]
    assert values(prices, later, "k = 'A' OR v = 1") == [1, 3]
    assert values(prices, later, "lower(k) = 'a'") == [3]
    assert values(prices, later, "k <> 'A' AND (v = 1 OR v = 3)") == [1]
    found = prices.scan(["v"], (col("k") == "A") & (col("v") > 2), as_of=later).to_arrow()
    assert found["v"].to_pylist() == [3]


def test_a_condition_that_throws_dice_is_asked_of_the_winners(create: Create) -> None:
    t = create()
    t.append([fact(NOON + n * MICROSECOND, n, k) for n in range(50) for k in "ABCDEFGH"])
    for where in ("random() < 0.5", "k >= 'A' AND random() < 0.5", "uuid()::VARCHAR > '8'"):
        assert set(values(t, datetime.max, where)) <= {49}


@pytest.mark.parametrize("column", ["v", "gone", "k", "ts"])
def test_a_single_column(prices: tidelake.Table, column: str) -> None:
    whole = prices.as_of(NOON.replace(hour=13)).to_arrow()
    found = prices.scan([column], as_of=NOON.replace(hour=13)).to_arrow()
    assert found.column_names == [column]
    assert sorted(found[column].to_pylist(), key=str) == sorted(whole[column].to_pylist(), key=str)


def test_row_ids_and_snapshots_of_the_facts_that_hold(prices: tidelake.Table) -> None:
    later = NOON.replace(hour=13)
    shown = ["k", "rowid", "snapshot_id"]
    plain = {row["rowid"]: row for row in prices.scan(shown).to_arrow().to_pylist()}
    found = prices.scan(shown, as_of=later).to_arrow().to_pylist()
    assert [plain[row["rowid"]] for row in found] == found
    last = max(row["rowid"] for row in found)
    assert prices.scan(["rowid"], f"rowid < {last}", as_of=later).count() == 1
    assert prices.scan(["rowid"], "rowid = 0", as_of=later).count() == 0
    assert prices.scan(["k"], f"snapshot_id = {found[0]['snapshot_id']}", as_of=later).count() == 2


# Which files are opened


@pytest.fixture
def days(lake: tidelake.Lake) -> tidelake.Table:
    """Ten files, each of one day, and in each a few keys."""
    t = lake.create_table("days", "k INT, ts TIMESTAMP, v INT", key="k", event_time="ts")
    for day in range(10):
        t.append([fact(NOON + timedelta(days=day), n, day * 5 + n) for n in range(20)])
    return t


def test_files_that_are_later_are_not_opened(days: tidelake.Table) -> None:
    plan = days.scan(as_of=NOON + timedelta(days=3)).explain()
    assert (plan.files, plan.total_files) == (4, 10)
    assert days.scan(as_of=NOON - MICROSECOND).explain().files == 0
    assert days.scan(as_of=datetime.max).explain().files == 10


def test_files_without_the_key_are_not_opened(days: tidelake.Table) -> None:
    assert days.scan(where="k = 0", as_of=datetime.max).explain().files == 1
    assert days.scan(where="k = 40 AND v > 3", as_of=datetime.max).explain().files == 4
    assert days.scan(where="v = 3", as_of=datetime.max).explain().files == 10


def test_an_explanation_tells_the_whole_condition(days: tidelake.Table) -> None:
    told = days.scan(where="k = 40 AND v > 3", as_of="2024-03-20").explain()
    assert told.where == '(("k" = 40) AND ("v" > 3))'
    assert "as of 2024-03-20T00:00:00Z" in str(told)
    assert days.scan(as_of="2024-03-20").explain().where is None


def test_files_that_are_too_early_are_not_opened(days: tidelake.Table) -> None:
    since = "ts >= TIMESTAMP '2024-03-20'"
    assert days.scan(where=since, as_of=datetime.max).explain().files == 2
    assert days.scan(where="ts < TIMESTAMP '2024-03-14'", as_of=datetime.max).explain().files == 10


def test_partitions_that_are_later_are_not_opened(lake: tidelake.Lake) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table(
        "t",
        "k INT, ts TIMESTAMP, v INT",
        partition_by=["year(ts)", "month(ts)", "day(ts)"],
        key="k",
        event_time="ts",
    )
    t.append([fact(NOON + timedelta(days=day), day, n) for day in range(5) for n in range(3)])
    assert t.scan(as_of=NOON + timedelta(days=1)).explain().files == 2
    assert values(t, NOON + timedelta(days=1)) == [1, 1, 1]
    by_key = lake.create_table(
        "u", "k INT, ts TIMESTAMP, v INT", partition_by=["k"], key="k", event_time="ts"
    )
    by_key.append([fact(NOON + timedelta(days=day), day, n) for day in range(5) for n in range(3)])
    assert by_key.scan(where="k = 1", as_of=datetime.max).explain().files == 1


# Both engines alike


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "DATE"])
def test_moments_on_spark(create: Create, spark: "SparkSession", kind: str) -> None:
    t = create(kind)
    zone = UTC if kind == "TIMESTAMPTZ" else None
    first = NOON.replace(hour=0, tzinfo=zone)
    times = [first, first + timedelta(days=1)]
    t.append([fact(ts.date() if kind == "DATE" else ts, n) for n, ts in enumerate(times)])
    for moment, expected in ((first, [0]), (first + timedelta(days=1) - MICROSECOND, [0])):
        found = t.scan(["v"], as_of=moment).to_spark(spark).collect()
        assert [row.v for row in found] == expected


@pytest.mark.slow
@pytest.mark.spark
def test_conditions_on_spark(prices: tidelake.Table, spark: "SparkSession") -> None:
    later = NOON.replace(hour=13)
    for where in ("k <> 'Z' AND v = 1", "lower(k) = 'a' AND v + 0 >= 3 AND ts > '2024-03-12'"):
        local = prices.scan(["v", "k", "rowid"], where, as_of=later)
        assert [tuple(row) for row in local.to_spark(spark).collect()] == [
            tuple(row.values()) for row in local.to_arrow().to_pylist()
        ]


@pytest.mark.slow
@pytest.mark.spark
def test_keys_on_spark(lake: tidelake.Lake, spark: "SparkSession") -> None:
    t = lake.create_table(
        "t",
        "a VARCHAR, b DOUBLE, c BLOB, ts TIMESTAMP, v INT",
        key=["a", "b", "c"],
        event_time="ts",
    )
    keys = [("a", 0.0, b""), ("A", 0.0, b""), ("a", -0.0, b""), ("a", float("nan"), b"\x00")]
    for step in range(2):
        rows = enumerate(keys, 10 * step)
        moment = NOON + step * MICROSECOND
        t.append([{"a": a, "b": b, "c": c, "ts": moment, "v": v} for v, (a, b, c) in rows])
    for moment in (NOON, NOON + MICROSECOND):
        found = t.scan(["v"], as_of=moment).to_spark(spark).collect()
        assert sorted(row.v for row in found) == values(t, moment)


def test_a_condition_that_tells_equal_keys_apart_is_asked_of_the_winner(create: Create) -> None:
    table = create(k="DOUBLE")
    table.append([fact(NOON, 1, k=0.0)])
    table.append([fact(NOON + MICROSECOND, 2, k=-0.0)])
    later = NOON + timedelta(days=1)
    assert values(table, later) == [2]
    assert values(table, later, "k::VARCHAR = '0.0'") == []
    assert values(table, later, "NOT (k::VARCHAR = '0.0')") == [2]
    assert values(table, later, "k = 0") == [2]
