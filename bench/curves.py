"""What a lake costs to look at and to keep as it grows: in snapshots and files, and in tables."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.catalogs import FILES_PER_COMMIT, sqlite_catalog
from bench.report import Part, Verdict, milliseconds
from bench.timing import seconds

_FILES = (10_000, 100_000, 1_000_000)
_TABLES = (100, 1_000, 10_000)
_ROUNDS = 3
_MOST_GROWTH = 15
_FLAT = ("connect", "log(10)")
_MOST_OF_FLAT = 2
_ONCE = ("verify", "expire")
_NOTES = (
    "milliseconds on SQLite, the least of three, each with its own handle; verify, expire once",
    f"a commit has {FILES_PER_COMMIT} files: a tenth as many snapshots as files; verify finds that"
    " none of them exists",
    "connect and log(10) show the same of every lake, so they should take the same time",
    "growth is that of the last step, in which everything becomes ten times as many",
)


def run(folder: Path, files: tuple[int, ...] = _FILES, tables: tuple[int, ...] = _TABLES) -> Part:
    part = Part("Curves", ["work", "of", "smallest", "middle", "largest", "growth"])
    for title, urls in _lakes(folder, files, tables):
        for name, work in _WORK.items():
            if name == "verify" and title != "files":
                continue
            times = [_least(url, work, 1 if name in _ONCE else _ROUNDS) for url in urls]
            growth = times[-1] / times[-2]
            most = _MOST_OF_FLAT if name in _FLAT else _MOST_GROWTH
            part.rows.append([name, title, *map(milliseconds, times), f"{growth:.1f}"])
            part.numbers[f"{name}, {title}"] = times
            part.verdicts.append(Verdict(f"{name}: ten times the {title}", growth, most))
    part.notes = list(_NOTES)
    return part


def _lakes(
    folder: Path, files: tuple[int, ...], tables: tuple[int, ...]
) -> Iterator[tuple[str, list[str]]]:
    yield "files", [_copy(sqlite_catalog(folder, number), folder) for number in files]
    empty = sqlite_catalog(folder, FILES_PER_COMMIT)
    yield "tables", [_with_tables(_copy(empty, folder, f"tables-{n}"), n) for n in tables]


def _copy(url: str, folder: Path, name: str | None = None) -> str:
    source = Path(url.removeprefix("sqlite:///"))
    target = folder / f"curve-{name or source.stem}.db"
    shutil.copyfile(source, target)
    return f"sqlite:///{target}"


def _with_tables(url: str, number: int) -> str:
    """The lake with so many more tables, of one column each."""
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        first = 1000
        ids = range(first, first + number)
        connection.executemany(
            "INSERT INTO ducklake_table VALUES (?, ?, 1, NULL, 0, ?, ?, 1)",
            [(n, f"018f0000-0000-7000-8000-{n:012}", f"t{n}", f"t{n}/") for n in ids],
        )
        connection.executemany(
            "INSERT INTO ducklake_column VALUES"
            " (1, 1, NULL, ?, 1, 'x', 'int64', NULL, 'NULL', 1, NULL, 'literal', 'duckdb')",
            [(n,) for n in ids],
        )
        connection.execute("UPDATE ducklake_snapshot SET next_catalog_id = ?", [first + number])
    connection.close()
    return url


def _connect(url: str) -> None:
    import tidelake

    tidelake.connect(url).close()


def _tables(url: str) -> None:
    import tidelake

    with tidelake.connect(url, read_only=True) as lake:
        lake.tables()


def _log(url: str) -> None:
    import tidelake

    with tidelake.connect(url, read_only=True) as lake:
        lake.log()


def _log_of_ten(url: str) -> None:
    import tidelake

    with tidelake.connect(url, read_only=True) as lake:
        lake.log(10)


def _verify(url: str) -> None:
    import tidelake

    with tidelake.connect(url, read_only=True) as lake:
        lake.verify()


def _expire(url: str) -> None:
    import tidelake

    with tidelake.connect(url) as lake:
        lake.expire(keep_last=1)


_WORK: dict[str, Callable[[str], None]] = {
    "connect": _connect,
    "tables": _tables,
    "log(10)": _log_of_ten,
    "log": _log,
    "verify": _verify,
    "expire": _expire,
}


def _least(url: str, work: Callable[[str], None], rounds: int) -> float:
    return min(seconds(lambda: work(url)) for _ in range(rounds))
