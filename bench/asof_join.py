"""Point-in-time joins: 200,000 trades and for each the last of 400,000 quotes before it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians, seconds

_TRADES = 200_000
_QUOTES = 400_000
_KEYS = 50
_FEATURES = 5
_ROUNDS = {"local": 15, "Spark": 5}
_BUILT_IN = (
    "SELECT l.*, r.ts AS quoted, r.bid, r.ask FROM {trades} AS l LEFT ASOF JOIN {quotes} AS r"
    " MATCH_CONDITION (l.ts >= r.ts) ON l.symbol = r.symbol"
)
_UNION_AND_WINDOW = """
    SELECT symbol, ts, size, q.ts AS quoted, q.bid AS bid, q.ask AS ask FROM (
        SELECT symbol, ts, size, side, last(q, true) OVER (
            PARTITION BY symbol ORDER BY ts, side ROWS UNBOUNDED PRECEDING
        ) AS q FROM (
            SELECT symbol, ts, size, 1 AS side, NULL AS q FROM {trades}
            UNION ALL
            SELECT symbol, ts, NULL, 0, named_struct('ts', ts, 'bid', bid, 'ask', ask)
            FROM {quotes}
        )
    ) WHERE side = 1
"""


def run(folder: Path) -> Part:
    import tidelake

    place = folder / "asof_join"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Point-in-time joins", ["engine", "what", "ms"])
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        lake.create_table("trades", "symbol BIGINT, ts TIMESTAMP, size DOUBLE")
        quotes = lake.create_table(
            "quotes",
            "symbol BIGINT, ts TIMESTAMP, bid DOUBLE, ask DOUBLE",
            key="symbol",
            event_time="ts",
        )
        lake.table("trades").append(_rows(_TRADES, 1, "size"))
        quotes.append(_rows(_QUOTES, 2, "bid", "ask"))
        for number in range(_FEATURES):
            table = lake.create_table(
                f"feature_{number}",
                "symbol BIGINT, ts TIMESTAMP, bid DOUBLE, ask DOUBLE",
                key="symbol",
                event_time="ts",
            )
            table.append(_rows(_QUOTES // 2, 10 + number, "bid", "ask"))
        _local(part, lake)
        _features_locally(part, lake)
        _spark(part, place)
    part.notes = [
        f"{_TRADES:,} rows with {_QUOTES:,}, {_KEYS} keys, times at random; medians of"
        f" {_ROUNDS['local']} and {_ROUNDS['Spark']} runs in turns, Spark's own of one",
        "by hand: over the same files, with nothing done for two facts at one time; locally"
        " DuckDB's ASOF JOIN, on Spark union and window",
        f"{_FEATURES} tables: features of {_QUOTES // 2:,} rows each, in one call, and in as many",
        "the first time: also looks whether two facts have one key and time, which is remembered",
    ]
    return part


def _rows(count: int, seed: int, *values: str) -> Any:
    """Rows of one month."""
    import duckdb

    numbers = ", ".join(f"hash(i, {seed}, '{name}') % 100000 / 100 AS {name}" for name in values)
    return duckdb.sql(
        f"SELECT CAST(hash(i, {seed}, 'k') % {_KEYS} AS BIGINT) AS symbol, TIMESTAMP '2024-01-01'"
        f" + to_microseconds(CAST(hash(i, {seed}, 't') % 2592000000000 AS BIGINT)) AS ts,"
        f" {numbers} FROM range({count}) AS r(i)"
    ).to_arrow_table()


def _local(part: Part, lake: Any) -> None:
    import duckdb

    import tidelake

    trades, quotes = (
        f"read_parquet({[file.path for file in lake.table(name).files()]})"
        for name in ("trades", "quotes")
    )
    by_hand = (
        f"SELECT l.*, r.ts AS quoted, r.bid, r.ask FROM {trades} AS l"
        f" ASOF LEFT JOIN {quotes} AS r ON l.symbol = r.symbol AND l.ts >= r.ts"
    )
    connection = duckdb.connect()

    def ours() -> Any:
        join = tidelake.asof_join(lake.table("trades"), lake.table("quotes"), left_time="ts")
        return join.to_arrow()

    def theirs() -> Any:
        return connection.sql(by_hand).to_arrow_table()

    first = seconds(ours)
    assert ours().num_rows == theirs().num_rows == _TRADES
    found = medians({"Tidelake": ours, "by hand": theirs}, _ROUNDS["local"])
    _tell(part, "local", {**found, "Tidelake, the first time": first})
    ratio = found["Tidelake"] / found["by hand"]
    part.verdicts.append(Verdict("local join, against DuckDB's ASOF JOIN", ratio, 1.1))


def _features_locally(part: Part, lake: Any) -> None:
    together, apart = _joins(lake, lambda join: join.to_arrow())
    together()
    found = medians({"together": together, "apart": apart}, _ROUNDS["local"])
    _tell(part, "local", {f"{_FEATURES} tables, {how}": time for how, time in found.items()})
    ratio = found["together"] / found["apart"]
    part.verdicts.append(Verdict(f"local join of {_FEATURES} tables, against as many", ratio, 1.2))


def _joins(lake: Any, compute: Callable[[Any], object]) -> list[Callable[[], None]]:
    """A join of all features in one call, and one for each of them."""
    import tidelake

    def together() -> None:
        tables = [lake.table(f"feature_{number}") for number in range(_FEATURES)]
        compute(tidelake.asof_join(lake.table("trades"), tables, left_time="ts"))

    def apart() -> None:
        for number in range(_FEATURES):
            table = lake.table(f"feature_{number}")
            compute(tidelake.asof_join(lake.table("trades"), table, left_time="ts"))

    return [together, apart]


def _spark(part: Part, place: Path) -> None:
    import tidelake
    from tests.servers.spark import local_session

    spark = local_session()
    spark.conf.set("spark.sql.join.asofJoin.enabled", "true")
    try:
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            frames = {
                name: spark.read.parquet(*(file.path for file in lake.table(name).files()))
                for name in ("trades", "quotes")
            }

            def ours() -> None:
                join = tidelake.asof_join(
                    lake.table("trades"), lake.table("quotes"), left_time="ts"
                )
                _computed(join.to_spark())

            def by_hand() -> None:
                _computed(spark.sql(_UNION_AND_WINDOW, None, **frames))

            calls: dict[str, Callable[[], object]] = {"Tidelake": ours, "by hand": by_hand}
            medians(calls, 2)
            found = medians(calls, _ROUNDS["Spark"])
            together, apart = _joins(lake, lambda join: _computed(join.to_spark()))
            many = medians({"together": together, "apart": apart}, _ROUNDS["Spark"])
            found["Spark's ASOF JOIN"] = seconds(
                lambda: _computed(spark.sql(_BUILT_IN, None, **frames))
            )
    finally:
        spark.stop()
    _tell(part, "Spark", found)
    _tell(part, "Spark", {f"{_FEATURES} tables, {how}": time for how, time in many.items()})
    part.verdicts += [
        Verdict(
            f"Spark join of {_FEATURES} tables, against as many",
            many["together"] / many["apart"],
            1.0,
        ),
        Verdict("Spark join, against union and window", found["Tidelake"] / found["by hand"], 1.0),
        Verdict(
            "Spark's own ASOF JOIN, against Tidelake",
            found["Spark's ASOF JOIN"] / found["Tidelake"],
            5,
            at_most=False,
        ),
    ]


def _computed(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _tell(part: Part, engine: str, found: dict[str, float]) -> None:
    part.rows += [[engine, what, f"{time * 1000:,.0f}"] for what, time in found.items()]
    part.numbers[engine] = {**part.numbers.get(engine, {}), **found}
