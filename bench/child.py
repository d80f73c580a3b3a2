"""Measurements that need a process of their own: `python -m bench.child NAME ARGUMENT…`.

Each prints one JSON object. Times are in seconds, without imports, which are reported apart.
"""

import json
import sys
from typing import Any

from bench.catalogs import MATCHES, TABLE, first_match, minutes, path_of
from bench.timing import Stopwatch

COLD, OTHER = 0.5, 0.3


def tidelake_plan(url: str, files: str) -> dict[str, Any]:
    """Open the lake and list the files for ten minutes, then again, then for ten others."""
    number = int(files)
    with Stopwatch() as watch:
        import tidelake

        table = tidelake.connect(url).table(TABLE)
        found = table.scan(where=minutes(number, COLD)).files()
        times = {"cold": watch.lap()}
        table.scan(where=minutes(number, COLD)).files()
        times["same"] = watch.lap()
        others = table.scan(where=minutes(number, OTHER)).files()
        times["other"] = watch.lap()
    assert [len(found), len(others)] == [MATCHES, MATCHES], [len(found), len(others)]
    return {**times, "import": watch.imports}


def tidelake_plain_plan(url: str, files: str) -> dict[str, Any]:
    """The same for a lake that DuckDB filled and nobody has summarised."""
    from tidelake.catalog.read import zones

    zones.ZoneMap.candidates = lambda *_: (zones.EVERYTHING,)  # type: ignore[method-assign]
    return tidelake_plan(url, files)


def delta_plan(path: str, files: str) -> dict[str, Any]:
    """Open the table and list all its files, then again."""
    with Stopwatch() as watch:
        from deltalake import DeltaTable

        watch.restart()
        table = DeltaTable(path)
        found = table.file_uris()
        times = {"cold": watch.lap()}
        table.file_uris()
        times["same"] = watch.lap()
    assert len(found) == int(files), len(found)
    return {**times, "import": watch.imports}


def delta_filtered_plan(path: str, files: str) -> dict[str, Any]:
    """Open the table and list the files for ten minutes, then again, then for ten others."""
    number = int(files)
    with Stopwatch() as watch:
        from deltalake import DeltaTable

        watch.restart()
        table = DeltaTable(path)
        times = {}
        for name, place in {"cold": COLD, "same": COLD, "other": OTHER}.items():
            found = table.file_uris(file_pruning_predicate=_untyped(number, place))
            times[name] = watch.lap()
    assert len(found) == MATCHES, len(found)
    return {**times, "import": watch.imports}


def _untyped(files: int, place: float) -> str:
    """The condition without the word TIMESTAMP, which deltalake reads as nanoseconds."""
    return minutes(files, place).replace("TIMESTAMP ", "")


def duckdb_plan(attach: str, files: str) -> dict[str, Any]:
    """Attach the lake and run the query until it wants the first file, which does not exist."""
    number = int(files)
    with Stopwatch() as watch:
        from tidelake.testing.duck import duck_connection

        scanner = "sqlite_scanner" if attach.startswith("ducklake:sqlite") else "postgres_scanner"
        connection = duck_connection(extensions=("ducklake", scanner), signed=True)
        loading = watch.lap()
        connection.execute(f"ATTACH '{attach}' AS lake (READ_ONLY)")
        times = {}
        for name, place in {"cold": COLD, "same": COLD, "other": OTHER}.items():
            _until_first_file(connection, number, place)
            times[name] = watch.lap()
    return {**times, "import": watch.imports + loading}


def _until_first_file(connection: Any, files: int, place: float) -> None:
    import duckdb

    query = f"SELECT max(price) FROM lake.{TABLE} WHERE {minutes(files, place)}"
    try:
        connection.execute(query).fetchall()
    except duckdb.IOException as error:
        first = first_match(files, place)
        if any(path_of(first + n) in str(error) for n in range(MATCHES)):
            return
        raise
    raise AssertionError("the files of a synthetic catalog do not exist")


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
