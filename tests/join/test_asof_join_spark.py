"""Point-in-time joins on Spark, classic and Connect: the same answers as in this process."""

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

import tidelake
from tests.join.pairs import Row, flattened, in_order, joined
from tests.join.test_features import SCHEMA, Market, one_join
from tidelake import Feature
from tidelake.errors import Invalid, Unsupported
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

START = datetime(2024, 3, 10, tzinfo=UTC)


@pytest.fixture(params=["classic", pytest.param("connect", marks=pytest.mark.slow)])
def session(request):
    return request.getfixturevalue("spark" if request.param == "classic" else "spark_connect")


def sides(seed: int) -> tuple[list[Row], list[Row]]:
    chance = random.Random(seed)

    def moment() -> datetime | None:
        return None if chance.random() < 0.05 else START + timedelta(minutes=chance.randrange(30))

    def row(**more: Any) -> Row:
        return {"k": chance.choice(["a", "b", None]), "n": chance.choice([1, 2]), **more}

    left = [row(t=moment(), x=place) for place in range(60)]
    right = [row(at=moment(), p=place, gone=chance.random() < 0.1) for place in range(60)]
    return left, right


LEFT_TYPES = {"k": pa.string(), "n": pa.int64(), "t": pa.timestamp("us", "UTC"), "x": pa.int64()}
RIGHT_TYPES = {
    "k": pa.string(),
    "n": pa.int32(),
    "at": pa.timestamp("us", "UTC"),
    "p": pa.int64(),
    "gone": pa.bool_(),
}
NEAR = timedelta(minutes=2)
OPTIONS = [
    {"direction": "backward", "exact": True, "tolerance": None},
    {"direction": "forward", "exact": False, "tolerance": NEAR},
    {"direction": "nearest", "exact": True, "tolerance": NEAR},
]


def test_the_same_as_two_loops(session):
    """All cases are one job: what each gives, united."""
    left, right = sides(1)
    mine = session.createDataFrame(pa.Table.from_pylist(left, pa.schema(LEFT_TYPES)))
    theirs = session.createDataFrame(pa.Table.from_pylist(right, pa.schema(RIGHT_TYPES)))
    united, expected = None, []
    for case, options in enumerate(OPTIONS):
        join = tidelake.asof_join(
            mine,
            theirs.coalesce(1),
            on=["k", "n"],
            left_time="t",
            right_time="at",
            direction=options["direction"],
            allow_exact_matches=options["exact"],
            tolerance=options["tolerance"],
        )
        found = join.to_spark().selectExpr("*", f"{case} AS case")
        united = found if united is None else united.union(found)
        pairs = joined(left, right, on=[("k", "k"), ("n", "n")], times=("t", "at"), **options)
        expected += [({**mine_, "case": case}, theirs_) for mine_, theirs_ in pairs]
    got = united.toArrow().to_pylist()
    assert in_order(got) == flattened(expected, {"at": "at", "p": "p", "gone": "gone"})


@pytest.mark.slow
def test_sides_that_are_not_on_spark_are_brought(spark, tmp_path):
    left, right = sides(2)
    here = pd.DataFrame(left).assign(t=lambda frame: frame["t"].dt.tz_localize(None))
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", engine="spark", spark=spark) as lake:
        table = lake.create_table(
            "facts",
            "k VARCHAR, n INTEGER, at TIMESTAMPTZ NOT NULL, p BIGINT, gone BOOLEAN".replace(
                " at ", ' "at" '
            ),
            key=["k", "n"],
            event_time="at",
            tombstone="gone",
        )
        whole = [row for row in right if row["k"] and row["at"]]
        table.append(whole)
        expected = joined(
            left, whole, on=[("k", "k"), ("n", "n")], times=("t", "at"), tombstone="gone"
        )
        wanted = flattened(expected, {"at": "at", "p": "p"})
        join = tidelake.asof_join(here, table, left_time="t")
        assert in_order(join.to_arrow().to_pylist()) == wanted
        assert in_order(join.to_batches().read_all().to_pylist()) == wanted
        assert join.count() == len(left)
        query = lake.sql('SELECT k, n, "at", p FROM facts WHERE NOT gone')
        told = tidelake.asof_join(query, table, left_time="at").to_arrow().to_pylist()
        alive = [{**row} for row in whole if not row["gone"]]
        mine = [{name: row[name] for name in ("k", "n", "at", "p")} for row in alive]
        expected = joined(
            mine, whole, on=[("k", "k"), ("n", "n")], times=("at", "at"), tombstone="gone"
        )
        assert in_order(told) == flattened(expected, {"at": "at_right", "p": "p_right"})
        with pytest.raises(Unsupported, match="DuckDB does not read"):
            tidelake.asof_join(query, table, left_time="at").to_duckdb()


@pytest.mark.slow
def test_knowing_row_by_row(session, request, tmp_path):
    """By snapshot ids on one session, by times on the other."""
    url = f"sqlite:///{tmp_path}/lake.db"
    day = datetime(2024, 3, 10)
    with tidelake.connect(url) as lake:
        table = lake.create_table(
            "facts", "k VARCHAR NOT NULL, t TIMESTAMP NOT NULL, p BIGINT", key="k", event_time="t"
        )
        first = table.append([fact(day, 0), fact(day + timedelta(days=1), 1)]).snapshot_id
        table.append([fact(day + timedelta(hours=12), 9)])
        table.update({"p": "p + 100"}, where="p = 1")
        table.delete("p = 9")
        times = {snapshot.snapshot_id: snapshot.time for snapshot in lake.snapshots()}
    expected = {13: [0, 9, 9, 0], 6: [1, 1, 101, 101]}
    timed = "connect" in request.node.name
    left = [
        {
            "k": "a",
            "t": day + timedelta(hours=hours),
            "known": times[first + place] if timed else first + place,
            "wanted": wanted,
        }
        for hours in (13, 30)
        for place, wanted in enumerate(expected[hours % 24])
    ]
    mine = session.createDataFrame(pa.Table.from_pylist(left))
    with tidelake.connect(url, engine="spark", spark=session) as lake:
        join = tidelake.asof_join(mine, lake.table("facts"), left_time="t", known_at="known")
        found = join.to_arrow().to_pylist()
    assert [row["p"] for row in found] == [row["wanted"] for row in found]
    assert len(found) == len(left)


def fact(time: datetime, number: int) -> Row:
    return {"k": "a", "t": time, "p": number}


def test_a_spark_frame_takes_a_local_lake_to_spark(spark, tmp_path):
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        table = lake.create_table("f", "k INTEGER, t DATE, p INTEGER", key="k", event_time="t")
        table.append([{"k": 1, "t": "2024-03-10", "p": 1}])
        frame = spark.sql("SELECT 1L AS k, TIMESTAMP_NTZ '2024-03-10 12:00:00' AS ts")
        join = tidelake.asof_join(frame, table, left_time="ts", tolerance="12h", age=True)
        assert [(row.p, row.age) for row in join.to_spark().collect()] == [(1, 43200.0)]
        near = tidelake.asof_join(frame, table, left_time="ts", tolerance="11h").to_arrow()
        assert near.column("p").to_pylist() == [None]
        with pytest.raises(Unsupported, match="DuckDB's SQL"):
            tidelake.asof_join(frame, lake.sql("FROM f"), "k", "ts", "t").to_arrow()
        with pytest.raises(Invalid, match="no column"):
            tidelake.asof_join(frame, table, left_time="nothing").to_spark()


@pytest.mark.spark
def test_the_rows_of_a_frame_stay_in_their_order_there_too(spark, tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, f"{tmp_path}/data/", engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "k VARCHAR, ts BIGINT, v BIGINT")
        table.append([{"k": k, "ts": n, "v": n} for k in "abc" for n in range(20)])
        left = [{"k": "abcd"[n * 7 % 4], "ts": n * 13 % 30, "x": n} for n in range(3000)]
        join = tidelake.asof_join(left, table, on="k", left_time="ts", right_time="ts")
        assert join.to_arrow()["x"].to_pylist() == list(range(3000))


@pytest.mark.slow
@pytest.mark.parametrize("known_at", [None, pytest.param("known", marks=pytest.mark.slow)])
def test_several_sides_in_one_pass_and_in_several(spark, tmp_path, known_at):
    """As in this process: sides that are asked alike, and one that is not."""
    url = f"sqlite:///{tmp_path}/lake.db"
    market = Market(tidelake.connect(url, f"{tmp_path}/data/"), random.Random(5))
    market.create()
    market.live(12)
    market.lake.table("ratings").set_coverage("1m", entity="k")
    market.lake.close()
    left = pa.Table.from_pylist(market.labels_of(range(4, 12)), SCHEMA)
    with tidelake.connect(url, engine="spark", spark=spark) as lake:
        right = {
            "prices": lake.table("prices"),
            "ratings": lake.table("ratings"),
            "near": Feature(lake.table("rates"), direction="nearest", tolerance=NEAR),
        }
        options = {"left_time": "t", "age": True, "known_at": known_at}
        join = tidelake.asof_join(left, right, completeness=True, **options)
        found = join.to_arrow()
        assert in_order(found.to_pylist()) == in_order(join.to_batches().read_all().to_pylist())
        assert found["y"].to_pylist() == list(range(12))
        assert any(found["ratings_completeness"].to_pylist())


@pytest.mark.slow
def test_calendars_count_on_spark_too(tmp_path, spark):
    here = Place.at("sqlite", tmp_path)
    days = [date(2024, 3, n) for n in range(1, 20)]
    with here.open() as lake:
        t = lake.create_table(
            "t", "k BIGINT, d DATE", key="k", event_time="d", entity="k", bucket="1d"
        )
        t.append([{"k": 1, "d": day} for day in days[:12] if day.day % 3])
        t.set_calendar("weekdays")
        left = [{"k": 1, "at": datetime(day.year, day.month, day.day)} for day in days]
        wanted = tidelake.asof_join(left, t, left_time="at", completeness=True).to_arrow()
    with here.open(engine="spark", spark=spark) as lake:
        join = tidelake.asof_join(left, lake.table("t"), left_time="at", completeness=True)
        found = join.to_spark().orderBy("at").toArrow()
    assert found["completeness"].to_pylist() == wanted["completeness"].to_pylist()


@pytest.mark.parametrize(
    ("seed", "joins"),
    [(100, 2), *(pytest.param(n, 8, marks=pytest.mark.slow) for n in range(101, 110))],
)
def test_random_joins_over_several_tables_are_nested_loops(spark, tmp_path, seed, joins):
    """Late facts, facts that end by themselves, and row by row what was known."""
    here, chance = Place.at("sqlite", tmp_path), random.Random(seed)
    with here.open() as lake:
        market = Market(lake, chance)
        market.create()
        market.live(10)
    with here.open(engine="spark", spark=spark) as lake:
        market.lake = lake
        for name, versions in market.tables.items():
            versions.table = lake.table(name)
        for _ in range(joins):
            join, wanted = one_join(market, chance)
            found = join.to_arrow().to_pylist()
            assert in_order(found) == in_order(wanted)
            assert [row["y"] for row in found] == list(range(12))


@pytest.mark.parametrize(
    ("seed", "joins"),
    [(200, 4), *(pytest.param(n, 12, marks=pytest.mark.slow) for n in range(201, 207))],
)
def test_random_joins_of_tables_of_a_lake_are_nested_loops(session, tmp_path, seed, joins):
    """Both sides are tables, which tasks read themselves: in several files, of which rows were
    deleted, and in the catalog."""
    here, chance = Place.at("sqlite", tmp_path), random.Random(seed)

    def labels(rows: pa.Table) -> Any:
        with here.open() as lake:
            table = lake.create_table(f"labels_{len(lake.tables())}", rows.schema)
            for start, count in ((0, 12), (0, 5), (5, 4), (9, 3)):
                table.append(rows.slice(start, count))
            table.delete("y = 3")
            table.append(rows.slice(3, 1))
        return market.lake.table(table.name)

    with here.open() as lake:
        market = Market(lake, chance)
        market.create()
        market.live(10)
    with here.open(engine="spark", spark=session) as lake:
        market.lake = lake
        for name, versions in market.tables.items():
            versions.table = lake.table(name)
        for _ in range(joins):
            join, wanted = one_join(market, chance, labels)
            found = join.to_spark().toArrow().to_pylist()
            twice = [row for row in wanted if row["y"] != 3]
            assert in_order(found) == in_order([*wanted, *twice])


TYPES = {
    "b": ("BLOB", b"\x00\xff"),
    "d": ("DECIMAL(38, 10)", Decimal("12345678901234567890.0123456789")),
    "i": ("INTEGER[]", [1, None]),
    "n": ("STRUCT(x DOUBLE, y VARCHAR[])", {"x": 0.5, "y": ["ü", None]}),
    "s": ("UTINYINT", 255),
    "u": ("UUID", UUID(int=7)),
    "w": ("TIMESTAMPTZ", START),
}


@pytest.mark.slow
@pytest.mark.parametrize("known_at", ["known", None])
def test_values_of_every_type_where_a_match_may_not_count(spark, tmp_path, known_at):
    """They are handed to tasks and back; keys that are equal meet, however they are written."""
    here, day = Place.at("sqlite", tmp_path), datetime(2024, 3, 10)
    listed = ", ".join(f'"{name}" {kind}' for name, (kind, _) in TYPES.items())
    with here.open() as lake:
        t = lake.create_table(
            "t",
            f"k DOUBLE, t TIMESTAMP, e TIMESTAMP, {listed}",
            key="k",
            event_time="t",
            valid_to="e",
        )
        told = {name: value for name, (_, value) in TYPES.items()}
        for key in (0.0, math.nan):
            t.append([{"k": key, "t": day, "e": day + timedelta(hours=5), **told}])
            t.append([{"k": key, "t": day + timedelta(hours=1), "e": day + timedelta(hours=2)}])
        left = [
            {"k": key, "at": at and day + timedelta(hours=at), "known": known, "x": place}
            for place, (key, at, known) in enumerate(
                product((-0.0, math.nan, 1.0, None), (1, 1.5, 3, 9, None), (None, 3, 5))
            )
        ]
        wanted = tidelake.asof_join(left, t, left_time="at", known_at=known_at).to_arrow()
        assert any(wanted["u"].is_valid().to_pylist())
    with here.open(engine="spark", spark=spark) as lake:
        join = tidelake.asof_join(left, lake.table("t"), left_time="at", known_at=known_at)
        found = join.to_arrow()
    assert found.column_names == wanted.column_names
    assert [repr(row) for row in found.to_pylist()] == [repr(row) for row in wanted.to_pylist()]
