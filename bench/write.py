"""Writing in process: large appends, merges, and as many small commits as there is time for."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from bench.report import Curve, Part, Verdict, milliseconds
from bench.timing import ROOT, in_new_process, medians

_ROWS = 200_000
_MERGED = 2_000
_ROUNDS = 9
_COMMITS = 300
_BUFFERED = 20_000
_SERVED_COMMITS = 1_600
_WRITERS = (1, 4, 16, 64)
_SHARE = 0.6
_DDL = "id BIGINT, symbol VARCHAR, price DOUBLE, ts TIMESTAMP"


def run(folder: Path) -> Part:
    part = Part("Writing", ["write", "Tidelake", "deltalake", "DuckDB's ducklake", "unit"])
    _large(part, folder / "write")
    _small_on_sqlite(part, folder / "commits")
    _small_on_postgres(part, folder / "served")
    part.notes = [
        f"append: {_ROWS:,} rows of four columns from an Arrow table to an existing table",
        f"merge: {_MERGED:,} rows by key into {_ROWS:,}, half of them new the first time",
        f"medians of {_ROUNDS} runs that took turns; SQLite catalogs on a disk that syncs",
        "one-row commits: dicts to Tidelake, INSERT to DuckDB, which keeps them in the catalog too;"
        " a one-row Arrow table to deltalake",
        "PostgreSQL runs on this machine with fsync off; every writer is a process",
        "the bare statements: BEGIN, the lock, the two reads, the four writes and COMMIT of such a"
        " commit, prepared, through psycopg alone",
    ]
    return part


def _rows(first: int, count: int) -> Any:
    import pyarrow as pa

    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "symbol": pa.array([f"SYM{i * 7919 % 5000:04}" for i in ids]),
            "price": pa.array([i * 37 % 1000 / 8 for i in ids]),
            "ts": pa.array([1_700_000_000_000_000 + i for i in ids], pa.timestamp("us")),
        }
    )


def _large(part: Part, folder: Path) -> None:
    import deltalake

    import tidelake
    from tidelake.testing.duck import duck_connection

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows, merged = _rows(0, _ROWS), _rows(_ROWS - _MERGED // 2, _MERGED)
    delta = str(folder / "delta")
    deltalake.write_deltalake(delta, rows)
    with (
        tidelake.connect(f"sqlite:///{folder}/lake.db") as lake,
        duck_connection(extensions=("ducklake", "sqlite_scanner")) as connection,
    ):
        table = lake.create_table("t", _DDL)
        target = lake.create_table("target", _DDL)
        target.append(rows)
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/duck.db' AS duck (DATA_PATH '{folder}/duck')"
        )
        connection.register("given", rows)
        connection.register("changed", merged)
        connection.execute(f"CREATE TABLE duck.t ({_DDL})")
        connection.execute("CREATE TABLE duck.target AS FROM given")
        appends: dict[str, Callable[[], Any]] = {
            "tidelake": lambda: table.append(rows),
            "deltalake": lambda: deltalake.write_deltalake(f"{delta}_t", rows, mode="append"),
            "duckdb": lambda: connection.execute("INSERT INTO duck.t FROM given"),
        }
        merges: dict[str, Callable[[], Any]] = {
            "tidelake": lambda: target.merge(merged, on="id"),
            "deltalake": lambda: _delta_merge(delta, merged),
            "duckdb": lambda: connection.execute(
                "MERGE INTO duck.target AS t USING changed AS s ON t.id = s.id"
                " WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT"
            ),
        }
        for what, calls, limit in (("append", appends, 0.7), ("merge", merges, 0.6)):
            for call in calls.values():
                call()
            found = medians(calls, _ROUNDS)
            ratio = found["tidelake"] / min(found["deltalake"], found["duckdb"])
            part.rows.append([what, *map(milliseconds, found.values()), "ms"])
            part.numbers[what] = found
            part.verdicts.append(Verdict(f"{what}, against the fastest", ratio, limit))


def _delta_merge(path: str, rows: Any) -> None:
    import deltalake

    (
        deltalake.DeltaTable(path)
        .merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )


def _small_on_sqlite(part: Part, folder: Path) -> None:
    import deltalake

    from tidelake.testing.duck import duck_connection

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    one = _rows(0, 1)
    with duck_connection(extensions=("ducklake", "sqlite_scanner")) as connection:
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{folder}/duck.db' AS duck (DATA_PATH '{folder}/duck')"
        )
        connection.execute(f"CREATE TABLE duck.t ({_DDL})")
        alone = in_new_process("sqlite", str(folder), module="bench.write")
        found = {
            "tidelake": alone["commits"],
            "deltalake": _per_second(
                lambda: deltalake.write_deltalake(str(folder / "delta"), one, mode="append"), 60
            ),
            "duckdb": _per_second(
                lambda: connection.execute(
                    "INSERT INTO duck.t VALUES (1, 'SYM0001', 1.5, TIMESTAMP '2024-01-01')"
                ),
                _COMMITS // 2,
            ),
        }
    part.rows.append(["one-row commits, SQLite", *(f"{n:,.0f}" for n in found.values()), "/s"])
    part.numbers["one-row commits, SQLite"] = found | alone
    said = {
        "bare": "the bare statements, SQLite",
        "commits, WAL": "one-row commits, SQLite in WAL",
        "bare, WAL": "the bare statements, SQLite in WAL",
        "writer": "rows one by one through a writer, SQLite",
    }
    part.rows += [[what, f"{alone[kind]:,.0f}", "-", "-", "/s"] for kind, what in said.items()]
    ratio = found["tidelake"] / found["duckdb"]
    part.verdicts += [
        Verdict(said["writer"], alone["writer"], 5_000, at_most=False, unit="/s"),
        Verdict("one-row commits, SQLite", alone["commits"], 1_500, at_most=False, unit="/s"),
        Verdict(said["commits, WAL"], alone["commits, WAL"], 1_500, at_most=False, unit="/s"),
        Verdict("one-row commits, SQLite, against DuckDB", ratio, 2, at_most=False),
    ]


def _sqlite(folder: Path) -> dict[str, float]:
    """In a process without another SQLite: commits and rows a second, with the journal that a file
    has by default and with a write-ahead log; both wait for the disk."""
    import tidelake

    row = _rows(0, 1).to_pylist()[0]
    found = {}
    for mode, kind in (("delete", ""), ("wal", ", WAL")):
        path = folder / f"{mode}.db"
        with tidelake.connect(f"sqlite:///{path}") as lake:
            table = lake.create_table("t", _DDL)
            with closing(sqlite3.connect(path)) as connection:
                connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
            found[f"commits{kind}"] = _per_second(partial(table.append, row), _COMMITS)
            found[f"bare{kind}"] = _per_second(_bare_on_sqlite(path), _COMMITS)
            if not kind:
                found["writer"] = _through_a_writer(table, row)
    return found


def _bare_on_sqlite(path: Path) -> Callable[[], None]:
    """The same rows with the driver alone, in a copy of the catalog."""
    with closing(sqlite3.connect(path)) as source:
        source.execute("VACUUM INTO ?", (str(path.with_suffix(".bare")),))
        (mode,) = source.execute("PRAGMA journal_mode").fetchone()
    connection = sqlite3.connect(path.with_suffix(".bare"), isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        newest = "SELECT * FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
        (head, time, version, catalog, file) = connection.execute(newest).fetchone()
        known = "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = 1"
        (count,) = connection.execute(known).fetchone()
        connection.execute(
            "INSERT INTO ducklake_snapshot VALUES (?, ?, ?, ?, ?)",
            (head + 1, time, version, catalog, file + 1),
        )
        connection.execute(
            "UPDATE ducklake_table_stats SET record_count = ?, next_row_id = ? WHERE table_id = 1",
            (count + 1, count + 1),
        )
        connection.execute(
            "INSERT INTO ducklake_inlined_data_1_1 VALUES (?, ?, NULL, 0, 'SYM0000', 0.0,"
            " '2023-11-14 22:13:20')",
            (count, head + 1),
        )
        connection.execute(
            "INSERT INTO ducklake_snapshot_changes VALUES (?, 'inlined_insert:1', NULL, NULL, ?)",
            (head + 1, f'{{"token": "{uuid4().hex}", "operation": "append"}}'),
        )
        connection.execute("COMMIT")

    return commit


def _through_a_writer(table: Any, row: dict[str, Any]) -> float:
    """Rows a second, until the last is committed."""
    start = perf_counter()
    with table.writer() as writer:
        for number in range(_BUFFERED):
            writer.append({**row, "id": number})
    return _BUFFERED / (perf_counter() - start)


def _per_second(call: Callable[[], Any], times: int) -> float:
    call()
    start = perf_counter()
    for _ in range(times):
        call()
    return times / (perf_counter() - start)


def _small_on_postgres(part: Part, folder: Path) -> None:
    from tests.servers.postgres import PostgresServer

    server = PostgresServer()
    lines: dict[str, list[tuple[float, float]]] = {kind: [] for kind in _KINDS}
    try:
        for writers in _WRITERS:
            found = {kind: _served(server, folder, writers, kind) for kind in _KINDS}
            ours = found["tidelake"]
            what = f"one-row commits, PostgreSQL, {writers} writer{'s' * (writers > 1)}"
            part.rows.append([what, f"{ours:,.0f}", "-", "-", "/s"])
            for kind in ("one by one", "in two trips"):
                alone = f"the bare statements, {kind}, {writers}"
                part.rows.append([alone, f"{found[kind]:,.0f}", "-", "-", "/s"])
            part.numbers[what] = found
            for kind, line in lines.items():
                line.append((writers, found[kind]))
            said = f"{what}, share of the bare statements"
            part.verdicts.append(Verdict(said, ours / found["one by one"], _SHARE, at_most=False))
    finally:
        server.stop()
    title = "One-row commits a second on PostgreSQL, by the number of writers"
    named = {_NAMED[kind]: line for kind, line in lines.items()}
    part.curves.append(Curve("commits-by-writers", title, "writers", "commits a second", named))


def _served(server: Any, folder: Path, writers: int, kind: str) -> float:
    """Commits a second into a new lake, which has all of them in the end."""
    import tidelake

    url = server.new_database()
    with tidelake.connect(url, data_path=str(folder), share_data_path=True) as lake:
        table = lake.create_table("t", _DDL)
        table.append(_rows(0, 1).to_pylist()[0])
        speed = _together(url, writers, kind)
        assert table.count() == _SERVED_COMMITS // writers * writers + writers + 1
    return speed


def _together(url: str, writers: int, kind: str) -> float:
    """Commits a second of several processes that begin at the same time, up to the last commit."""
    each = _SERVED_COMMITS // writers
    command = [sys.executable, "-m", "bench.write", url, str(each), kind]
    children = [
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(writers)
    ]
    _all_say(children, "ready")
    start = perf_counter()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    _all_say(children, "done")
    taken = perf_counter() - start
    assert all(child.wait() == 0 for child in children)
    return each * writers / taken


def _all_say(children: list[subprocess.Popen[str]], word: str) -> None:
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == f"{word}\n"


def _through_tidelake(url: str) -> Iterator[None]:
    import tidelake

    row = _rows(0, 1).to_pylist()[0]
    with tidelake.connect(url) as lake:
        table = lake.table("t")
        while True:
            table.append(row)
            yield


_BEFORE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "SELECT pg_advisory_xact_lock(1952738411, hashtext(current_schema()))",
    "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot"
    " ORDER BY snapshot_id DESC LIMIT 1",
    "SELECT record_count, next_row_id FROM ducklake_table_stats WHERE table_id = 1",
)
_INSERTS = (
    "INSERT INTO ducklake_snapshot VALUES"
    " (%(head)s + 1, clock_timestamp(), %(version)s, %(catalog)s, %(file)s + 1)",
    "UPDATE ducklake_table_stats SET record_count = %(count)s + 1, next_row_id = %(row)s + 1"
    " WHERE table_id = 1",
    "INSERT INTO ducklake_inlined_data_1_1 VALUES (%(row)s, %(head)s + 1, NULL, 0, 'SYM0000', 0.0,"
    " '2023-11-14 22:13:20')",
    "INSERT INTO ducklake_snapshot_changes VALUES"
    " (%(head)s + 1, 'inlined_insert:1', NULL, NULL, %(said)s)",
    "COMMIT",
)


def _one_by_one(url: str) -> Iterator[None]:
    return _bare(url, nullcontext)


def _in_two_trips(url: str) -> Iterator[None]:
    return _bare(url, lambda connection: connection.pipeline())


def _bare(url: str, together: Callable[[Any], AbstractContextManager[Any]]) -> Iterator[None]:
    """The same rows under the same lock, with the driver alone."""
    import psycopg

    with psycopg.connect(url, autocommit=True, prepare_threshold=1) as connection:
        while True:
            with together(connection):
                *_, newest, known = [connection.execute(sql) for sql in _BEFORE]
                head, count = newest.fetchone(), known.fetchone()
                assert head is not None
                assert count is not None
                names = ("head", "version", "catalog", "file", "count", "row")
                given = dict(zip(names, (*head, *count), strict=True))
                given["said"] = f'{{"token": "{uuid4().hex}", "operation": "append"}}'
                for sql in _INSERTS:
                    connection.execute(sql, given if "%" in sql else None)
            yield


_NAMED = {
    "tidelake": "Tidelake",
    "one by one": "statements, one by one",
    "in two trips": "statements, in two trips",
}
_KINDS: dict[str, Callable[[str], Iterator[None]]] = {
    "one by one": _one_by_one,
    "in two trips": _in_two_trips,
    "tidelake": _through_tidelake,
}


def _writer(url: str, times: int, kind: str) -> None:
    """The first commit is not counted."""
    commits = _KINDS[kind](url)
    next(commits)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(times):
        next(commits)
    print("done", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "sqlite":
        print(json.dumps(_sqlite(Path(sys.argv[2]))))
    else:
        _writer(sys.argv[1], int(sys.argv[2]), sys.argv[3])
