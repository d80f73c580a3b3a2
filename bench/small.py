"""Reads of tables that were written in small steps: many small files, or rows in the catalog."""

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import best_of, in_new_process, seconds

_FILES = 10_000
_ROWS = 1_000
_INLINED = 1_000_000
_AT_ONCE = 10_000
_FILES_AT_ONCE = 500
_ROUNDS = 3
_PEER = "DuckDB's ducklake"
_WAYS = {"Tidelake": "ours", _PEER: "theirs"}


def run(folder: Path, files: int = _FILES, inlined: int = _INLINED) -> Part:
    place = folder / "small"
    part = Part("Small writes", ["read of", "by", "s", "ratio"])
    lakes = {
        f"{files:,} files of {_ROWS:,} rows": _kept(place / f"files-{files}", _files, files),
        f"{inlined:,} rows of the catalog": _kept(place / f"rows-{inlined}", _rows, inlined),
    }
    for what, url in lakes.items():
        best = best_of(
            lambda name, url=url: in_new_process(_WAYS[name], url, module="bench.small"),
            list(_WAYS),
            _ROUNDS,
        )
        found = {name: each["s"] for name, each in best.items()}
        for name, taken in found.items():
            part.rows.append([what, name, f"{taken:.2f}", f"{taken / found[_PEER]:.2f}"])
        part.numbers[what] = found
        ratio = found["Tidelake"] / found[_PEER]
        part.verdicts.append(Verdict(f"{what}, against {_PEER}", ratio, 1))
    part.notes = [
        "all columns as an Arrow table, by a new process each, imports apart; the least of three",
        f"rows of the catalog: as {_AT_ONCE:,} at a time were written by DuckDB",
    ]
    return part


def _kept(folder: Path, make: Callable[[Any, int], None], number: int) -> str:
    """The lake, made by DuckDB on first use."""
    from tidelake.testing.duck import duck_connection

    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with duck_connection(extensions=("ducklake", "sqlite_scanner")) as duck:
            duck.execute(
                f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake (DATA_PATH '{folder}/data')"
            )
            duck.execute(
                "CREATE TABLE lake.t (id BIGINT, ts TIMESTAMP, symbol VARCHAR, x DOUBLE, part INT)"
            )
            make(duck, number)
        (folder / "done").touch()
    return f"sqlite:///{folder}/lake.db"


def _select(first: str, count: int) -> str:
    return (
        f"SELECT {first} + i AS id, TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * i,"
        f" 'S' || i % 97, i * 0.5 AS x FROM range({count}) AS r(i)"
    )


def _files(duck: Any, number: int) -> None:
    """A partition is a file."""
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
    duck.execute("ALTER TABLE lake.t SET PARTITIONED BY (part)")
    for first in range(0, number, _FILES_AT_ONCE):
        rows = min(_FILES_AT_ONCE, number - first) * _ROWS
        selected = _select(str(first * _ROWS), rows)
        duck.execute(f"INSERT INTO lake.t SELECT *, id // {_ROWS} FROM ({selected})")


def _rows(duck: Any, number: int) -> None:
    duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {_AT_ONCE + 1})")
    for first in range(0, number, _AT_ONCE):
        duck.execute(f"INSERT INTO lake.t SELECT *, 0 FROM ({_select(str(first), _AT_ONCE)})")


def ours(url: str) -> float:
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401

    import tidelake

    with ExitStack() as opened:

        def read() -> None:
            lake = opened.enter_context(tidelake.connect(url))
            lake.table("t").to_arrow()

        return seconds(read)


def theirs(url: str) -> float:
    from tidelake.testing.duck import duck_connection

    with duck_connection(extensions=("ducklake", "sqlite_scanner")) as duck:

        def read() -> None:
            duck.execute(f"ATTACH 'ducklake:sqlite:{url.removeprefix('sqlite:///')}' AS lake")
            duck.sql("FROM lake.t").to_arrow_table()

        return seconds(read)


if __name__ == "__main__":
    print(json.dumps({"s": {"ours": ours, "theirs": theirs}[sys.argv[1]](sys.argv[2])}))
