"""Synthetic catalogs: one table of any number of files that do not exist, only their metadata.

The lake is created by Tidelake, so it has Tidelake's indexes; the rows are what DuckDB writes
when a table gets ten new files per commit, one minute of time in each.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

TABLE = "prices"
START = datetime(2024, 1, 1)
ROWS_PER_FILE = 1000
BYTES_PER_FILE = 48_000
FILES_PER_COMMIT = 10
MATCHES = 10
_VERSION = "2"
_TABLE_ID = 1
_COLUMNS = (("id", "int64"), ("ts", "timestamp"), ("symbol", "varchar"), ("price", "float64"))

Rows = Iterable[tuple[object, ...]]


def minutes(files: int, position: float) -> str:
    """A condition that ten files match, at a place between 0 (the oldest) and 1 (the newest)."""
    first = START + timedelta(minutes=first_match(files, position))
    last = first + timedelta(minutes=MATCHES)
    return f"ts >= TIMESTAMP '{first}' AND ts < TIMESTAMP '{last}'"


def first_match(files: int, position: float) -> int:
    """The number of the first of those files."""
    return int(position * (files - MATCHES))


def bounds(number: int) -> dict[str, tuple[object, object]]:
    """The least and the greatest value of each column in a file."""
    start = START + timedelta(minutes=number)
    end = start + timedelta(seconds=59, microseconds=500_000)
    price = 100 + number * 7919 % 1000 / 10
    return {
        "id": (number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE - 1),
        "ts": (start, end),
        "symbol": (f"A{number % 97:03}", f"Z{number % 89:03}"),
        "price": (price, price + 5.25),
    }


def path_of(number: int) -> str:
    """A file name as long and as random as DuckDB's own."""
    digest = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
    return f"ducklake-018f0000-{digest[:4]}-7{digest[4:7]}-8{digest[7:10]}-{digest[10:22]}.parquet"


def sqlite_catalog(folder: Path, files: int) -> str:
    """The URL of a catalog with that many files, made on first use and kept in `folder`."""
    import tidelake

    empty = folder / "empty.db"
    empty.unlink(missing_ok=True)
    place = f"sqlite:///{empty}"
    tidelake.connect(place, data_path=str(folder / "data"), share_data_path=True).close()
    path = folder / f"{files}-{_fingerprint(empty)}.db"
    if not path.exists():
        with sqlite3.connect(empty) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            for table, rows in _tables(files, "sqlite").items():
                _insert(connection, table, rows)
        connection.close()
        _summarise(f"sqlite:///{empty}")
        empty.rename(path)
    empty.unlink(missing_ok=True)
    return f"sqlite:///{path}"


def _fingerprint(catalog: Path) -> str:
    with sqlite3.connect(catalog) as connection:
        shape = connection.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return hashlib.md5(f"{_VERSION}{shape}".encode(), usedforsecurity=False).hexdigest()[:8]


def _insert(connection: sqlite3.Connection, table: str, rows: Rows) -> None:
    iterator = iter(rows)
    first = next(iterator)
    sql = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"
    connection.execute(sql, first)
    connection.executemany(sql, iterator)


def postgres_catalog(url: str, files: int, data_path: Path) -> str:
    """Fill an empty database with a catalog of that many files."""
    import psycopg

    import tidelake

    tidelake.connect(url, data_path=str(data_path), share_data_path=True).close()
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for table, rows in _tables(files, "postgresql").items():
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
    _summarise(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return url


def _summarise(url: str) -> None:
    import tidelake

    with tidelake.connect(url) as lake:
        lake.reindex()


def _tables(files: int, kind: str) -> dict[str, Rows]:
    """All rows beyond those of an empty lake, by table, in the order of the columns."""
    true: object = True if kind == "postgresql" else 1
    false: object = False if kind == "postgresql" else 0
    total = files * ROWS_PER_FILE
    commits = -(-files // FILES_PER_COMMIT)
    uuid = "018f0000-0000-7000-8000-000000000001"
    return {
        "ducklake_snapshot": _snapshots(files, commits),
        "ducklake_snapshot_changes": _changes(commits),
        "ducklake_table": [(_TABLE_ID, uuid, 1, None, 0, TABLE, f"{TABLE}/", true)],
        "ducklake_column": [
            (n, 1, None, _TABLE_ID, n, name, kind, None, "NULL", true, None, "literal", "duckdb")
            for n, (name, kind) in enumerate(_COLUMNS, 1)
        ],
        "ducklake_schema_versions": [(1, 1, _TABLE_ID)],
        "ducklake_data_file": _files(files, true),
        "ducklake_file_column_stats": _file_stats(files),
        "ducklake_table_stats": [(_TABLE_ID, total, total, files * BYTES_PER_FILE)],
        "ducklake_table_column_stats": _table_stats(files, false),
    }


def _snapshots(files: int, commits: int) -> Iterator[tuple[object, ...]]:
    yield 1, f"{START}+00", 1, 2, 0
    for commit in range(commits):
        known = min((commit + 1) * FILES_PER_COMMIT, files)
        moment = START + timedelta(minutes=known)
        yield commit + 2, f"{moment}+00", 1, 2, known


def _changes(commits: int) -> Iterator[tuple[object, ...]]:
    yield 1, f'created_table:"main"."{TABLE}"', None, None, None
    for commit in range(commits):
        yield commit + 2, f"inserted_into_table:{_TABLE_ID}", None, None, None


def _files(files: int, true: object) -> Iterator[tuple[object, ...]]:
    size = (ROWS_PER_FILE, BYTES_PER_FILE, 700)
    for n in range(files):
        where = (n, _TABLE_ID, n // FILES_PER_COMMIT + 2, None, None, path_of(n), true, "parquet")
        yield (*where, *size, n * ROWS_PER_FILE, None, None, None, None)


def _file_stats(files: int) -> Iterator[tuple[object, ...]]:
    for n in range(files):
        for column, (low, high) in enumerate(bounds(n).values(), 1):
            nan = 0 if column == 4 else None
            limits = (str(low), str(high), None if nan is None else nan, None)
            yield (n, _TABLE_ID, column, BYTES_PER_FILE // 4, ROWS_PER_FILE, 0, *limits)


def _table_stats(files: int, false: object) -> Iterator[tuple[object, ...]]:
    """The bounds of price are left unknown: it is the one column that is not in order."""
    first, last = bounds(0), bounds(files - 1)
    ends = {"id": (first["id"][0], last["id"][1]), "ts": (first["ts"][0], last["ts"][1])}
    for column, (name, _) in enumerate(_COLUMNS, 1):
        low, high = ends.get(name, (None, None))
        nan = false if name == "price" else None
        texts = (None if low is None else str(low), None if high is None else str(high))
        yield (_TABLE_ID, column, false, nan, *texts, None)
