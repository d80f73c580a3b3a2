"""The state as of a moment: ten million events of three years, with and without rollups."""

import random
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from bench.report import Part, Verdict, milliseconds
from bench.timing import medians

_KEYS = 100_000
_MONTHS = 36
_FIRST_YEAR = 2021
_MONTH_ROWS = 10_000_000 // _MONTHS
_LATE_ROWS = _MONTHS * _MONTH_ROWS // 100
_DDL = "key INTEGER, ts TIMESTAMP, price DOUBLE, size BIGINT, note VARCHAR, gone BOOLEAN"
_COLUMNS = "key, ts, price, size, note, gone"
_TABLES = {"long": _MONTHS, "late": _MONTHS, "short": 12}
_ROUNDS = {"local": 9, "Spark": 5}


class Engine(Protocol):
    """One of the two that the same queries run on."""

    name: str

    def state(self, table: str, moment: datetime) -> None: ...

    def query(self, sql: str) -> None: ...

    def files(self, paths: list[str]) -> str: ...

    def latest(self, source: str) -> str: ...

    def stop(self) -> None: ...


def run(folder: Path) -> Part:
    import tidelake

    place = folder / "as_of"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("As of a moment", ["engine", "what", "ms"])
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        for name, months in _TABLES.items():
            _fill(lake, name, months)
        hand = ByHand(place, [file.path for file in lake.table("long").files()])
        engines: list[Engine] = [Local(lake), Spark(place)]
        try:
            for engine in engines:
                _warm(engine, hand)
                _without_rollups(part, engine, hand)
            for name in _TABLES:
                lake.table(name).rollup(every="1mo")
            lake.table("late").append(_events(_LATE_ROWS, 0, _MONTHS))
            for engine in engines:
                _with_rollups(part, engine, hand)
        finally:
            for engine in engines:
                engine.stop()
    part.notes = [
        f"{_MONTHS * _MONTH_ROWS:,} events, {_KEYS:,} keys, a file for each of {_MONTHS} months;"
        " as of random moments of the last year, each asked of all in turns, medians",
        "by hand: max_by over the same files, or over a rollup and the month's file, without"
        " an order among facts of one time; window: row_number() = 1 over all files",
        "late: one row in a hundred came after the rollups, about any time",
    ]
    return part


def _fill(lake: Any, name: str, months: int) -> None:
    table = lake.create_table(name, _DDL, key="key", event_time="ts", tombstone="gone")
    for month in range(_MONTHS - months, _MONTHS):
        table.append(_events(_MONTH_ROWS, month, month + 1))


def _events(rows: int, first: int, last: int) -> Any:
    """Events at even distances from the start of one month to that of another."""
    import duckdb

    start, end = _start(first), _start(last)
    step = (end - start).total_seconds() / rows * 1_000_000
    return duckdb.sql(
        f"SELECT CAST(hash(i, {first}) % {_KEYS} AS INTEGER) AS key,"
        f" TIMESTAMP '{start}' + to_microseconds(CAST(i * {step} AS BIGINT)) AS ts,"
        " hash(i) % 100000 / 100 AS price, CAST(hash(i, 1) % 1000 AS BIGINT) AS size,"
        f" 'note ' || i % 1000 AS note, hash(i, 2) % 1000 = 0 AS gone FROM range({rows}) AS r(i)"
    ).to_arrow_table()


def _start(month: int) -> datetime:
    return datetime(_FIRST_YEAR + month // 12, month % 12 + 1, 1)


class ByHand:
    """What somebody would write who has the same files and no Tidelake."""

    def __init__(self, place: Path, files: list[str]) -> None:
        self._months = dict(enumerate(files))
        self._place = place
        self._rollups: dict[int, str] = {}

    def window(self, engine: Engine, moment: datetime) -> str:
        return (
            f"SELECT {_COLUMNS} FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY ts"
            f" DESC) AS n FROM {engine.files(list(self._months.values()))} AS e"
            f" WHERE ts <= {_literal(moment)}) AS w WHERE n = 1"
        )

    def over_all(self, engine: Engine, moment: datetime) -> str:
        files = engine.files(list(self._months.values()))
        return engine.latest(f"{files} AS e WHERE ts <= {_literal(moment)}")

    def rolled_up(self, engine: Engine, moment: datetime) -> str:
        month = _month(moment)
        earlier = engine.files([self.rollup(month)])
        since = engine.files([self._months[month]])
        return engine.latest(
            f"(SELECT {_COLUMNS} FROM {earlier} AS r UNION ALL"
            f" SELECT {_COLUMNS} FROM {since} AS e WHERE ts <= {_literal(moment)}) AS f"
        )

    def rollup(self, month: int) -> str:
        """The state at the start of a month, as a file."""
        import duckdb

        if month not in self._rollups:
            path = str(self._place / f"rollup_{month}.parquet")
            files = [self._months[n] for n in range(month)]
            facts = f"read_parquet({files}) WHERE ts <= {_literal(_start(month))}"
            duckdb.sql(f"COPY ({_latest_in_duckdb(facts)}) TO '{path}' (FORMAT parquet)")
            self._rollups[month] = path
        return self._rollups[month]


def _month(moment: datetime) -> int:
    return (moment.year - _FIRST_YEAR) * 12 + moment.month - 1


def _literal(moment: datetime) -> str:
    return f"CAST('{moment}' AS TIMESTAMP)"


def _latest_in_duckdb(source: str) -> str:
    values = ", ".join(f"max_by({name}, ts) AS {name}" for name in _COLUMNS.split(", ")[2:])
    return f"SELECT key, max(ts) AS ts, {values} FROM {source} GROUP BY key"


class Local:
    name = "local"

    def __init__(self, lake: Any) -> None:
        import duckdb

        self._lake = lake
        self._duck = duckdb.connect()

    def state(self, table: str, moment: datetime) -> None:
        self._lake.table(table).as_of(moment).to_arrow()

    def query(self, sql: str) -> None:
        self._duck.execute(sql).to_arrow_table()

    def files(self, paths: list[str]) -> str:
        return f"read_parquet({paths})"

    def latest(self, source: str) -> str:
        return _latest_in_duckdb(source)

    def stop(self) -> None:
        self._duck.close()


class Spark:
    name = "Spark"

    def __init__(self, place: Path) -> None:
        import tidelake
        from tests.servers.spark import local_session

        self._spark = local_session()
        self._lake = tidelake.connect(
            f"sqlite:///{place}/lake.db", engine="spark", spark=self._spark
        )
        self._views: dict[str, str] = {}

    def state(self, table: str, moment: datetime) -> None:
        _run(self._lake.table(table).as_of(moment).to_spark())

    def query(self, sql: str) -> None:
        _run(self._spark.sql(sql.replace("AS TIMESTAMP)", "AS TIMESTAMP_NTZ)")))

    def files(self, paths: list[str]) -> str:
        key = repr(paths)
        if key not in self._views:
            self._views[key] = f"files_{len(self._views)}"
            self._spark.read.parquet(*paths).createOrReplaceTempView(self._views[key])
        return self._views[key]

    def latest(self, source: str) -> str:
        values = ", ".join(_COLUMNS.split(", ")[1:])
        return (
            f"SELECT key, best.* FROM (SELECT key, max_by(struct({values}), ts) AS best"
            f" FROM {source} GROUP BY key) AS w"
        )

    def stop(self) -> None:
        self._lake.close()
        self._spark.stop()


def _run(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _warm(engine: Engine, hand: ByHand) -> None:
    moment = next(_moments())
    engine.state("short", moment)
    engine.query(hand.over_all(engine, moment))
    engine.query(hand.window(engine, moment))


def _moments() -> Any:
    """Moments of the last year, none twice: a plan that is kept would help us alone."""
    drawn = random.Random(7)
    start, days = _start(_MONTHS - 12), 364
    while True:
        yield start + timedelta(seconds=drawn.randrange(days * 86_400))


def _without_rollups(part: Part, engine: Engine, hand: ByHand) -> None:
    found = _measured(
        engine,
        {
            "tidelake": lambda moment: engine.state("long", moment),
            "by hand": lambda moment: engine.query(hand.over_all(engine, moment)),
        },
    )
    _add(part, engine, "no rollups", found)
    ratio = found["tidelake"] / found["by hand"]
    what = f"as of, {engine.name}, no rollups, against max_by by hand"
    part.verdicts.append(Verdict(what, ratio, 1.1))


def _with_rollups(part: Part, engine: Engine, hand: ByHand) -> None:
    for month in range(_MONTHS - 12, _MONTHS):
        hand.rollup(month)
    found = _measured(
        engine,
        {
            "tidelake": lambda moment: engine.state("long", moment),
            "tidelake, one year": lambda moment: engine.state("short", moment),
            "tidelake, 1 % late": lambda moment: engine.state("late", moment),
            "by hand": lambda moment: engine.query(hand.rolled_up(engine, moment)),
            "window": lambda moment: engine.query(hand.window(engine, moment)),
        },
    )
    _add(part, engine, "rollups", found)
    ours = found["tidelake"]
    for what, ratio, target, at_most in (
        ("against a window, times faster", found["window"] / ours, 12, False),
        ("against the same by hand", ours / found["by hand"], 1.3, True),
        ("three years against one", ours / found["tidelake, one year"], 1.3, True),
        ("1 % late, times faster", found["window"] / found["tidelake, 1 % late"], 4, False),
    ):
        part.verdicts.append(Verdict(f"as of, {engine.name}, {what}", ratio, target, at_most))


def _measured(engine: Engine, calls: dict[str, Callable[[datetime], None]]) -> dict[str, float]:
    drawn = {name: _moments() for name in calls}

    def asked(name: str) -> Callable[[], None]:
        return lambda: calls[name](next(drawn[name]))

    for name in calls:
        asked(name)()
    return medians({name: asked(name) for name in calls}, _ROUNDS[engine.name])


def _add(part: Part, engine: Engine, where: str, found: dict[str, float]) -> None:
    for what, taken in found.items():
        part.rows.append([engine.name, f"{where}: {what}", milliseconds(taken)])
    part.numbers.setdefault(engine.name, {})[where] = found
