"""How time grows with the work: as of a moment by the length of history, coverage by entities."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench.report import Curve, Part, milliseconds
from bench.timing import medians

_MONTHS = (3, 12, 48, 192)
_EVENTS = 50_000
_KEYS = 5_000
_ENTITIES = (100, 1_000, 10_000)
_BUCKETS = 96
_START = datetime(2008, 1, 1)
_ROUNDS = 7
_WAYS = _ROLLED, _PLAIN, _WINDOW = "Tidelake, with rollups", "Tidelake", "DuckDB, by a window"
_RATIO, _GAPS, _ROWS = "Tidelake, ratio of all", "Tidelake, gaps of one", "DuckDB, ratio by rows"


def run(folder: Path) -> Part:
    place = folder / "growth"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Growth", ["what", "size", "ms"])
    part.curves = [_history(place), _entities(place)]
    for curve in part.curves:
        for name, line in curve.lines.items():
            part.rows += [[name, f"{x:,}", milliseconds(y / 1000)] for x, y in line]
        part.numbers[curve.name] = curve.lines
    part.notes = [
        f"as of: {_EVENTS:,} events a month of {_KEYS:,} keys, the state at a moment of the last"
        " month, in process; by a window: row_number() = 1 over the same files",
        f"coverage: {_BUCKETS} quarters of an hour of each entity, every tenth missing;"
        " by rows: DuckDB counts the different buckets in the Parquet files",
        f"medians of {_ROUNDS} that took turns",
    ]
    return part


def _history(place: Path) -> Curve:
    import duckdb

    import tidelake

    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in _WAYS}
    with tidelake.connect(f"sqlite:///{place}/history.db") as lake, duckdb.connect() as duck:
        for months in _MONTHS:
            plain, rolled = (_events(lake, f"{kind}_{months}", months) for kind in ("plain", "up"))
            rolled.rollup(every="1mo")
            moment = _month(months) - timedelta(days=9)
            files = [file.path for file in plain.files()]
            window = (
                "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY ts DESC)"
                f" AS n FROM read_parquet({files}) WHERE ts <= TIMESTAMP '{moment}') WHERE n = 1"
            )
            found = medians(
                {
                    _ROLLED: rolled.as_of(moment).to_arrow,
                    _PLAIN: plain.as_of(moment).to_arrow,
                    _WINDOW: lambda sql=window: duck.execute(sql).to_arrow_table(),
                },
                _ROUNDS,
            )
            for name, taken in found.items():
                lines[name].append((months, taken * 1000))
    title = "The state as of a moment, by the length of history"
    return Curve("as-of-by-history", title, "months of history", "milliseconds", lines)


def _events(lake: Any, name: str, months: int) -> Any:
    import duckdb

    ddl = "key INTEGER, ts TIMESTAMP, price DOUBLE"
    table = lake.create_table(name, ddl, key="key", event_time="ts")
    for month in range(months):
        start = _month(month)
        step = int((_month(month + 1) - start).total_seconds() * 1_000_000) // _EVENTS
        rows = duckdb.sql(
            f"SELECT CAST(hash(i, {month}) % {_KEYS} AS INTEGER) AS key, TIMESTAMP '{start}'"
            f" + to_microseconds(i * {step}) AS ts, hash(i) % 10000 / 100 AS price"
            f" FROM range({_EVENTS}) AS r(i)"
        )
        table.append(rows.to_arrow_table())
    return table


def _month(number: int) -> datetime:
    return datetime(_START.year + number // 12, number % 12 + 1, 1)


def _entities(place: Path) -> Curve:
    import duckdb

    import tidelake

    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in (_RATIO, _GAPS, _ROWS)}
    with tidelake.connect(f"sqlite:///{place}/entities.db") as lake, duckdb.connect() as duck:
        for count in _ENTITIES:
            ddl = "entity VARCHAR, ts TIMESTAMP"
            table = lake.create_table(f"of_{count}", ddl, key="entity", event_time="ts")
            table.set_coverage("15m", entity="entity")
            rows = duckdb.sql(
                f"SELECT 'e' || i // {_BUCKETS} AS entity, TIMESTAMP '{_START}'"
                f" + to_minutes(15 * (i % {_BUCKETS})) AS ts"
                f" FROM range({count * _BUCKETS}) AS r(i) WHERE i % 10 <> 3"
            )
            table.append(rows.to_arrow_table())
            by_rows = (
                "SELECT count(DISTINCT (entity, time_bucket(INTERVAL 15 MINUTE, ts)))"
                f" FROM read_parquet({[file.path for file in table.files()]})"
            )
            found = medians(
                {
                    _RATIO: lambda t=table: t.coverage().ratio,
                    _GAPS: lambda t=table: t.coverage(entity="e7").gaps,
                    _ROWS: lambda sql=by_rows: duck.execute(sql).fetchall(),
                },
                _ROUNDS,
            )
            for name, taken in found.items():
                lines[name].append((count, taken * 1000))
    title = "Coverage, by the number of entities"
    return Curve("coverage-by-entities", title, "entities", "milliseconds", lines)
