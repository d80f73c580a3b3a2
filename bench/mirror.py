"""What the Delta mirror costs a commit, how far it lags behind, and how long checkpoints take."""

import shutil
import statistics
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any
from uuid import uuid4

from bench.expire import _postgres
from bench.report import Part, Verdict, milliseconds
from bench.timing import medians

_COLUMNS = "id BIGINT, ts TIMESTAMP, symbol VARCHAR, price DOUBLE, volume BIGINT, note VARCHAR"
_ROWS = 100_000
_ROUNDS = 60
_FILES = 100_000
_WRITERS, _COMMITS, _RATE = 4, 200, 10.0


def run(folder: Path) -> Part:
    part = Part("Delta mirror", ["what", "plain", "mirrored", "added", "unit"])
    with _postgres() as server:
        for name, url in {"SQLite": None, "PostgreSQL": server.new_database()}.items():
            _commits(part, _fresh(folder), name, url)
        for name, url in {"SQLite": None, "PostgreSQL": server.new_database()}.items():
            _lag(part, _fresh(folder), name, url)
    _checkpoint(part, _fresh(folder))
    part.notes = [
        f"commits: {_ROWS:,} rows of six columns each, in one file, in turns; medians",
        f"lag: {_WRITERS} writers, {_COMMITS} commits, {_RATE:g} in a second; from the time of a"
        " snapshot until its version is in the log; 95 of 100 were not slower",
        f"checkpoint: {_FILES:,} files with statistics, from the catalog into the log",
        "PostgreSQL runs on this machine with fsync off",
    ]
    return part


def _fresh(folder: Path) -> Path:
    place = folder / "mirror"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place


def _open(place: Path, url: str | None) -> Any:
    import tidelake

    lake = tidelake.connect(url or f"sqlite:///{place}/lake.db", str(place / "data"))
    lake.set_option("data_inlining_row_limit", 0)
    return lake


def _some_rows(count: int) -> Any:
    import duckdb

    return duckdb.sql(
        f"SELECT i AS id, TIMESTAMP '2024-01-01' + i * INTERVAL 1 SECOND AS ts, 's' || i % 50 AS"
        f" symbol, i / 7 AS price, i % 1000 AS volume, 'n' || i AS note FROM range({count}) t(i)"
    ).to_arrow_table()


def _commits(part: Part, place: Path, name: str, url: str | None) -> None:
    rows = _some_rows(_ROWS)
    with _open(place, url) as lake:
        plain, mirrored = (lake.create_table(each, _COLUMNS) for each in ("plain", "mirrored"))
        lake.mirror("mirrored")
        calls: dict[str, Callable[[], object]] = {
            "plain": lambda: plain.append(rows),
            "mirrored": lambda: mirrored.append(rows),
        }
        medians(calls, 5)
        found = medians(calls, _ROUNDS)
    added = found["mirrored"] - found["plain"]
    times = [milliseconds(found[each]) for each in calls]
    part.rows.append([f"commit on {name}", *times, milliseconds(added), "ms"])
    part.numbers[f"commit on {name}"] = found
    share = 100 * added / found["plain"]
    part.verdicts.append(Verdict(f"added to a commit on {name}", share, 20, unit="%"))
    part.verdicts.append(Verdict(f"added to a commit on {name}", added * 1000, 5, unit="ms"))


def _lag(part: Part, place: Path, name: str, url: str | None) -> None:
    rows = _some_rows(100)
    with _open(place, url) as lake:
        table = lake.create_table("lagging", _COLUMNS)
        lake.mirror("lagging")
        log = Path(table.info.path) / "_delta_log"
    start = monotonic()
    writers = [
        threading.Thread(target=_write, args=(place, url, rows, start, who))
        for who in range(_WRITERS)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lags = [_appeared(path) for path in sorted(log.glob("*.json"))[1:]]
    slow = statistics.quantiles(lags, n=20)[-1]
    part.rows.append([f"lag on {name}", "-", milliseconds(slow), "-", "ms"])
    part.numbers[f"lag on {name}"] = {"p95": slow, "longest": max(lags), "versions": len(lags)}
    part.verdicts.append(Verdict(f"lag on {name}", slow, 1, unit="s"))


def _write(place: Path, url: str | None, rows: Any, start: float, who: int) -> None:
    with _open(place, url) as lake:
        table = lake.table("lagging")
        for number in range(who, _COMMITS, _WRITERS):
            sleep(max(0.0, start + number / _RATE - monotonic()))
            table.append(rows)


def _appeared(path: Path) -> float:
    """A commit's file bears the time of its snapshot; when it got its name is another matter."""
    facts = path.stat()
    return (facts.st_ctime_ns - facts.st_mtime_ns) / 1e9


def _checkpoint(part: Part, place: Path) -> None:
    from tidelake.delta.mirror import publish as publishing
    from tidelake.delta.mirror import records as mirrors
    from tidelake.delta.values.mirror import MirroredFile

    stats = '{"numRecords":1000,"tightBounds":true,"minValues":{"id":1},"maxValues":{"id":9}}'
    with _open(place, None) as lake:
        lake.create_table("many", _COLUMNS)
        mirror = lake.mirror("many").state
        files = [
            MirroredFile(n, f"ducklake-{uuid4()}.parquet", 1000, 1, stats) for n in range(_FILES)
        ]
        with lake.session.database.writing() as writer:
            mirrors.decide(writer, mirrors.MirrorStep(mirror, mirror, come=(*files,)))
        times = []
        for _ in range(3):
            for path in Path(mirror.root, "_delta_log").glob("*.checkpoint.parquet"):
                path.unlink()
            began = perf_counter()
            publishing._checkpointed(lake.session, mirror)
            times.append(perf_counter() - began)
    best = min(times)
    part.rows.append([f"checkpoint of {_FILES:,} files", "-", milliseconds(best), "-", "ms"])
    part.numbers["checkpoint"] = best
    part.verdicts.append(Verdict(f"checkpoint of {_FILES:,} files", best, 0.5, unit="s"))
