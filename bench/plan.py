"""Planning: from a new process to the ten files that matter, of a thousand to a million."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.catalogs import postgres_catalog, sqlite_catalog
from bench.delta_log import delta_table
from bench.report import Curve, Part, Verdict, milliseconds
from bench.timing import best_of, in_new_process

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_JUDGED = 100_000
_LARGEST = 1_000_000
_ROUNDS = 3
_KINDS = {
    "cold": "open + plan",
    "other": "another filter, same handle",
    "same": "the same again",
    "import": "imports, apart",
}
_NOTES = (
    "milliseconds; each number is the least of three new processes that took turns",
    "ten files match `ts >= … AND ts < …`, half-way through the table; only metadata exists",
    "imports are not in the other numbers; DuckDB's include loading its extensions",
    "the lake was given zones (lake.reindex()); without them every file's statistics are judged",
    "duckdb is its ducklake extension: ATTACH, then a SELECT up to where it opens the first file",
    "deltalake opens a checkpointed log and lists all files; filtered, it prunes by statistics",
)


def run(folder: Path, sizes: tuple[int, ...] = SIZES) -> Part:
    found: dict[str, dict[str, Any]] = {}
    with _postgres() as server:
        for size in sizes:
            for reader, times in _measure(folder, server, size).items():
                found.setdefault(reader, {})[str(size)] = times
    part = Part("Planning", ["reader", "what", *(f"{size:,} files" for size in sizes)])
    part.rows = [row for reader in found for row in _rows(reader, found[reader], sizes)]
    part.notes = list(_NOTES)
    part.numbers = found
    part.verdicts = _verdicts(found)
    part.curves = [_curve(found)]
    return part


def _curve(found: dict[str, dict[str, Any]]) -> Curve:
    lines = {
        reader.replace("tidelake", "Tidelake").replace("duckdb", "DuckDB"): [
            (int(size), taken["cold"] * 1000) for size, taken in times.items()
        ]
        for reader, times in found.items()
        if "no zones" not in reader
    }
    title = "From a new process to the ten files that matter"
    return Curve("planning-by-files", title, "files of the table", "milliseconds", lines)


@contextmanager
def _postgres() -> Iterator[Any]:
    from tests.servers.postgres import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


def _measure(folder: Path, server: Any, size: int) -> dict[str, dict[str, Any]]:
    sqlite = sqlite_catalog(folder, size)
    postgres = postgres_catalog(server.new_database(), size, folder / "data")
    database = urlsplit(postgres).path[1:]
    delta = str(delta_table(folder, size))
    arguments = {
        "tidelake on SQLite": ("tidelake_plan", sqlite),
        "tidelake on PostgreSQL": ("tidelake_plan", postgres),
        "tidelake on SQLite, no zones": ("tidelake_plain_plan", sqlite),
        "tidelake on PostgreSQL, no zones": ("tidelake_plain_plan", postgres),
        "duckdb on SQLite": ("duckdb_plan", f"ducklake:{sqlite.replace(':///', ':')}"),
        "duckdb on PostgreSQL": (
            "duckdb_plan",
            f"ducklake:postgres:{server.duckdb_dsn(database)}",
        ),
        "deltalake": ("delta_plan", delta),
        "deltalake, filtered": ("delta_filtered_plan", delta),
    }
    best: dict[str, dict[str, Any]] = best_of(
        lambda name: in_new_process(*arguments[name], str(size)), list(arguments), _ROUNDS
    )
    return best


def _rows(reader: str, found: dict[str, Any], sizes: tuple[int, ...]) -> Iterator[list[str]]:
    for kind, words in _KINDS.items():
        if any(kind in times for times in found.values()):
            yield [reader, words, *(milliseconds(found[str(size)].get(kind)) for size in sizes)]


def _verdicts(found: dict[str, dict[str, Any]]) -> list[Verdict]:
    def time(reader: str, kind: str, size: int = _JUDGED) -> float | None:
        value: float | None = found[reader].get(str(size), {}).get(kind)
        return value

    def faster(slow: float | None, fast: float | None) -> float | None:
        return slow / fast if slow and fast else None

    delta = time("deltalake", "cold")
    verdicts = []
    for database in ("SQLite", "PostgreSQL"):
        ours, at = f"tidelake on {database}", f"{database}, {_JUDGED:,} files"
        cold, warm = time(ours, "cold"), time(ours, "other")
        largest = time(ours, "cold", _LARGEST)
        duck = time(f"duckdb on {database}", "cold")
        verdicts += [
            Verdict(f"{at}: cold, faster than deltalake", faster(delta, cold), 3, False),
            Verdict(f"{at}: cold, faster than duckdb", faster(duck, cold), 1, False),
            Verdict(f"{at}: warm, faster than deltalake", faster(delta, warm), 20, False),
            Verdict(f"{database}, {_LARGEST:,} files: cold", largest, 1, unit="s"),
        ]
    return verdicts
