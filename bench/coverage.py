"""Coverage: ten thousand entities with a year of minutes each, against counting rows."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from bench import coverage_lakes as lakes
from bench.report import Part, Verdict, milliseconds
from bench.timing import medians, seconds

_ROUNDS = 21
_FEW_ROUNDS = 5
_WINDOW = 1440
_ROWS_OF = 20
_LONGEST_OUTAGE = 600
_APPENDED = 1_000_000
_SENSORS = 1_000
_WIDE = 10_000
_MINUTE = "epoch_us(ts) // 60000000"


def run(folder: Path) -> Part:
    place = folder / "coverage"
    part = Part("Coverage", ["what", "ms"])
    _years(part, place)
    _many_files(part, place / "hours")
    _against_rows(part, place / "rows")
    _appends(part, place / "append")
    _appends_on_spark(part, place / "spark")
    _locks(part, place)
    part.notes = [
        f"a year of minutes of {lakes.ENTITIES:,} entities, {lakes.MONTHS} files: bitmaps alone,"
        " made up; outages: up to three a month, up to ten hours each",
        "one entity: another each time, medians; a window of a day of minutes",
        f"{lakes.FILES:,} files: an hour of ten entities in each, asked for one of them",
        f"by rows: GROUP BY in DuckDB over the Parquet files of {_ROWS_OF} such entities",
        f"append: {_APPENDED:,} rows, {_SENSORS:,} entities, five columns from Arrow, SQLite",
        f"lock: how long others wait for the commit of a file with {_WIDE:,} entities",
    ]
    return part


def _years(part: Part, place: Path) -> None:
    for kind, missing in {"outages": lakes.outages, "1 % missing": lakes.at_random}.items():
        lake = lakes.year(place / kind.split()[0], missing)
        size = (place / kind.split()[0] / "lake.db").stat().st_size / 1e6
        found = _asked(lake.table("ticks"))
        for what, taken in found.items():
            part.rows.append([f"{kind}: {what}", milliseconds(taken)])
        part.rows.append([f"{kind}: catalog, MB", f"{size:,.0f}"])
        part.numbers[kind] = {**found, "catalog, MB": size}
        lake.close()
        for what, target in (
            ("gaps of one entity", 5),
            ("ratio of all", 300),
            ("last complete window of one", 5),
        ):
            said = f"{what}, {kind}"
            part.verdicts.append(Verdict(said, found[what] * 1000, target, unit="ms"))


def _asked(table: Any) -> dict[str, float]:
    drawn = random.Random(11)

    def one() -> str:
        return lakes.sensor(drawn.randrange(lakes.ENTITIES))

    first = seconds(lambda: table.coverage(entity=one()).gaps)
    small = {
        "gaps of one entity": lambda: table.coverage(entity=one()).gaps,
        "ratio of one entity": lambda: table.coverage(entity=one()).ratio,
        "last complete window of one": lambda: table.last_complete_window(_WINDOW, entity=one()),
    }
    large = {
        "ratio of all": lambda: table.coverage().ratio,
        "last complete window of all": lambda: table.last_complete_window(_WINDOW),
    }
    return {
        "gaps of one entity, the first time": first,
        **medians(small, _ROUNDS),
        **medians(large, _FEW_ROUNDS),
    }


def _many_files(part: Part, place: Path) -> None:
    lake = lakes.hours(place)
    table = lake.table("ticks")
    found = {
        "gaps, the first time": seconds(lambda: table.coverage(entity=lakes.sensor(3)).gaps),
        **medians({"gaps": lambda: table.coverage(entity=lakes.sensor(3)).gaps}, _ROUNDS),
    }
    hours = iter(range(lakes.FILES, 2 * lakes.FILES))
    for policy in ("allow", "reject"):
        table.set_coverage("1m", entity="sensor", overlap=policy)
        table.append(_an_hour(next(hours)))
        call = {f"append, {policy}": lambda: table.append(_an_hour(next(hours)))}
        found |= medians(call, _FEW_ROUNDS)
    lake.close()
    for what, taken in found.items():
        part.rows.append([f"{lakes.FILES:,} files: {what}", milliseconds(taken)])
    part.numbers["files"] = found
    part.verdicts.append(
        Verdict(f"gaps of one entity in {lakes.FILES:,} files", found["gaps"] * 1000, 5, unit="ms")
    )


def _an_hour(number: int) -> list[dict[str, Any]]:
    start = lakes.START + timedelta(hours=number)
    return [
        {"sensor": lakes.sensor(n), "ts": start + timedelta(minutes=minute)}
        for n in range(10)
        for minute in range(60)
    ]


def _against_rows(part: Part, place: Path) -> None:
    from tidelake.testing.duck import duck_connection

    lake = lakes.new_lake(place)
    table = lake.create_table("ticks", lakes.DDL, **lakes.SERIES)
    with duck_connection() as duck:
        duck.execute("SET enable_progress_bar = false")
        for number in range(lakes.MONTHS):
            table.append(duck.execute(_a_month(number)).to_arrow_table())
        files = ", ".join(f"'{file.path}'" for file in table.files())
        source = f"read_parquet([{files}])"
        pairs = {
            "ratio of all": (
                lambda: table.coverage().ratio,
                _ratio_sql(source),
            ),
            "gaps of one entity": (
                lambda: table.coverage(entity=lakes.sensor(7)).gaps,
                _gaps_sql(source, lakes.sensor(7)),
            ),
        }
        for what, (ours, sql) in pairs.items():
            _check(ours(), duck.execute(sql).fetchall())
            found = medians(
                {"bitmaps": ours, "rows": lambda sql=sql: duck.execute(sql).fetchall()},
                _FEW_ROUNDS,
            )
            for how, taken in found.items():
                part.rows.append([f"by {how}: {what}", milliseconds(taken)])
            part.numbers[f"by rows: {what}"] = found
            ratio = found["rows"] / found["bitmaps"]
            part.verdicts.append(
                Verdict(f"{what}, against GROUP BY, times faster", ratio, 100, False)
            )
    lake.close()


def _check(ours: Any, theirs: list[Any]) -> None:
    """Both have to say the same, or there is nothing to compare."""
    said = ours if isinstance(ours, float) else len(ours)
    there = theirs[0][0] if isinstance(ours, float) else len(theirs)
    assert abs(said - there) < 1e-9, (said, there)


def _a_month(number: int) -> str:
    """Rows of every minute but those of two outages, which are different for every entity."""
    minutes = (lakes.month(number + 1) - lakes.month(number)).days * 1440
    outages = " AND ".join(
        f"m NOT BETWEEN {first} AND {first} + hash(s, {number}, {seed}) % {_LONGEST_OUTAGE}"
        for seed in (1, 2)
        for first in [f"100 + hash(s, {seed}, {number}) % {minutes - 2 * _LONGEST_OUTAGE}"]
    )
    return (
        f"SELECT printf('sensor-%05d', s) AS sensor, TIMESTAMP '{lakes.month(number)}'"
        " + INTERVAL 1 MINUTE * m AS ts, random() AS a, m AS b, 'note' AS c"
        f" FROM range({_ROWS_OF}) AS s(s), range({minutes}) AS m(m) WHERE {outages} ORDER BY s, m"
    )


def _ratio_sql(source: str) -> str:
    covered = f"SELECT sensor, {_MINUTE} AS n FROM {source} GROUP BY ALL"
    return (
        "SELECT count(*) / ((max(n) - min(n) + 1) * count(DISTINCT sensor))"
        f" FROM ({covered}) AS covered"
    )


def _gaps_sql(source: str, sensor: str) -> str:
    covered = f"SELECT {_MINUTE} AS n FROM {source} WHERE sensor = '{sensor}' GROUP BY ALL"
    return (
        f"SELECT n + 1, next FROM (SELECT n, lead(n) OVER (ORDER BY n) AS next FROM ({covered}) AS"
        " covered) AS followed WHERE next > n + 1"
    )


def _appends(part: Part, place: Path) -> None:
    from tidelake.testing.duck import duck_connection

    lake = lakes.new_lake(place)
    with duck_connection() as duck:
        for order in ("by time", "by entity"):
            rows = duck.execute(_appended(order)).to_arrow_table()
            tables = _pair(lake, order)
            calls = {name: _append(table, rows) for name, table in tables.items()}
            for call in calls.values():
                call()
            found = medians(calls, _ROUNDS)
            _overhead(part, f"append {order}", found)
    lake.close()


def _pair(lake: Any, order: str) -> dict[str, Any]:
    name = order.replace(" ", "_")
    return {
        "without": lake.create_table(f"plain_{name}", lakes.DDL),
        "with coverage": lake.create_table(f"series_{name}", lakes.DDL, **lakes.SERIES),
    }


def _append(table: Any, rows: Any) -> Callable[[], Any]:
    return lambda: table.append(rows)


def _overhead(part: Part, what: str, found: dict[str, float], target: float | None = 8) -> None:
    for how, taken in found.items():
        part.rows.append([f"{what}, {how}", milliseconds(taken)])
    part.numbers[what] = found
    if target is not None:
        more = (found["with coverage"] / found["without"] - 1) * 100
        part.verdicts.append(Verdict(f"coverage of an {what}", more, target, unit="%"))


def _appended(order: str) -> str:
    by = {"by time": "i", "by entity": "sensor, ts"}[order]
    return (
        f"SELECT printf('sensor-%05d', i % {_SENSORS}) AS sensor, TIMESTAMP '{lakes.START}'"
        f" + INTERVAL 1 MINUTE * (i // {_SENSORS}) AS ts, random() AS a, i AS b,"
        f" 'note ' || (i % 50) AS c FROM range({_APPENDED}) AS r(i) ORDER BY {by}"
    )


def _appends_on_spark(part: Part, place: Path) -> None:
    import tidelake
    from tests.servers.spark import local_session

    lakes.empty(place)
    spark = local_session()
    try:
        frame = spark.range(0, _APPENDED, 1, 4).selectExpr(
            f"concat('sensor-', lpad(cast(id % {_SENSORS} as string), 5, '0')) AS sensor",
            f"timestamp_ntz '{lakes.START}'"
            f" + make_interval(0, 0, 0, 0, 0, cast(floor(id / {_SENSORS}) as int)) AS ts",
            "cast(hash(id) as double) AS a",
            "id AS b",
            "concat('note ', cast(id % 50 as string)) AS c",
        )
        with tidelake.connect(f"sqlite:///{place}/lake.db", engine="spark", spark=spark) as lake:
            calls = {name: _append(table, frame) for name, table in _pair(lake, "spark").items()}
            for call in calls.values():
                call()
            _overhead(part, "append on Spark", medians(calls, _FEW_ROUNDS), None)
    finally:
        spark.stop()


def _locks(part: Part, place: Path) -> None:
    """How long the lake's lock is held for a commit, beyond what it is without coverage."""
    import tidelake

    rows = [{"sensor": lakes.sensor(n), "ts": lakes.START} for n in range(_WIDE)]
    for kind, url in _catalogs(place / "locks"):
        files = str(place / "locks" / "data")
        with tidelake.connect(url, data_path=files, share_data_path=True) as lake:
            lake.set_option("data_inlining_row_limit", 0)
            held = {name: _held(table, rows) for name, table in _pair(lake, "lock").items()}
        part.rows.append([f"lock, {kind}, without", milliseconds(held["without"])])
        part.rows.append([f"lock, {kind}, with coverage", milliseconds(held["with coverage"])])
        part.numbers[f"lock, {kind}"] = held


def _held(table: Any, rows: Any) -> float:
    table.append(rows)
    return median(table.append(rows).commit_ms / 1000 for _ in range(_FEW_ROUNDS))


def _catalogs(place: Path) -> Iterator[tuple[str, str]]:
    from tests.servers.mariadb import MariadbServer
    from tests.servers.postgres import PostgresServer

    lakes.empty(place)
    yield "SQLite", f"sqlite:///{place}/lake.sqlite"
    yield "DuckDB", f"duckdb:///{place}/lake.duckdb"
    for kind, server in (("PostgreSQL", PostgresServer), ("MariaDB", MariadbServer)):
        with _running(server) as started:
            yield kind, started.new_database()


@contextmanager
def _running(server: Any) -> Iterator[Any]:
    started = server()
    try:
        yield started
    finally:
        started.stop()
