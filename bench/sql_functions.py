"""Functions of the lake in SQL against the calls of Python that give the same; and ranges."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict, milliseconds
from bench.timing import medians

_KEYS = 2_000
_COMMITS = 30
_ROWS = 5_000
_ROUNDS = 11
_DDL = "key INTEGER, ts TIMESTAMP, price DOUBLE, gone BOOLEAN"


def run(folder: Path) -> Part:
    import tidelake

    place = folder / "sql_functions"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    part = Part("Functions in SQL", ["what", "Python ms", "SQL ms", "ratio"])
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        table = lake.create_table(
            "t", _DDL, key="key", event_time="ts", tombstone="gone", entity="key", bucket="1d"
        )
        for commit in range(_COMMITS):
            table.append(_events(commit))
        table.delete("key % 97 = 5")
        for call, python in _calls(table).items():
            _measure(part, lake, call, python)
    part.notes = [
        f"{_COMMITS * _ROWS:,} facts about {_KEYS:,} keys in {_COMMITS} files, some late; in turns,"
        f" medians of {_ROUNDS}; all rows become an Arrow table",
    ]
    return part


def _events(commit: int) -> Any:
    import duckdb

    return duckdb.sql(
        f"SELECT CAST(hash(i, {commit}) % {_KEYS} AS INTEGER) AS key, TIMESTAMP '2024-01-01'"
        f" + to_hours(CAST({commit} * 24 - hash(i, {commit}, 1) % 72 AS BIGINT)) AS ts,"
        f" hash(i) % 100000 / 100 AS price, hash(i, 2) % 1000 = 0 AS gone FROM range({_ROWS}) r(i)"
    ).to_arrow_table()


def _calls(t: Any) -> dict[str, Callable[[], Any]]:
    """Relations in SQL, and what gives the same in Python."""
    middle, end = _COMMITS // 2, "2024-02-01"
    now = t.as_of(end)
    return {
        "history('t', key => 7)": lambda: t.history(7),
        f"changes('t', since => {middle})": lambda: t.changes(middle),
        f"changes_of_belief('t', {middle}, as_of => '{end}')": lambda: now.changes_of_belief(
            middle
        ),
        f"diff('t', {middle})": lambda: t.diff(middle).rows,
        "coverage('t')": lambda: t.coverage(),
        f"gaps('t', end => '{end}')": lambda: t.gaps(end=end),
        "t FOR VALID_TIME FROM '2024-01-10' TO '2024-01-11'": (
            lambda: t.between("2024-01-10", "2024-01-11")
        ),
        f"t FOR SYSTEM_TIME FROM {middle} TO {middle + 2}": lambda: t.versions(middle, middle + 2),
        f"t FOR VALID_TIME AS OF '{end}' FOR SYSTEM_TIME ALL": lambda: now.versions(),
        "t FOR VALID_TIME ALL FOR SYSTEM_TIME ALL": lambda: t.between().versions(),
    }


def _measure(part: Part, lake: Any, call: str, python: Callable[[], Any]) -> None:
    sql = f"SELECT * FROM {call}"
    calls = {"Python": lambda: python().to_arrow(), "SQL": lambda: lake.sql(sql).to_arrow()}
    assert calls["Python"]().num_rows == calls["SQL"]().num_rows
    found = medians(calls, _ROUNDS)
    ratio = found["SQL"] / found["Python"]
    row = [call, *(milliseconds(found[name]) for name in calls), f"{ratio:.2f}"]
    part.rows.append(row)
    part.numbers[call] = found
    part.verdicts.append(Verdict(f"in SQL: {call}", ratio, 1.1))
