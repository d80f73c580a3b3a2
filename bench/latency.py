"""Reads from an object store that is far away: with and without copies on a local disk."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Part, Verdict
from bench.timing import medians

_FILES = 60
_ROWS = 20_000
_LATE_MS = 50
_ROUNDS = 3
_PEER = "DuckDB's httpfs"


def run(folder: Path) -> Part:
    from tests.servers.s3 import S3Server
    from tests.servers.slow_link import SlowLink

    place = folder / "latency"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    server = S3Server()
    link = SlowLink(server.port, _LATE_MS)
    try:
        return _measured(place, server, link)
    finally:
        link.close()
        server.stop()


def _measured(place: Path, server: Any, link: Any) -> Part:
    paths = _written(place, server)
    options = {**server.storage_options, "endpoint": link.endpoint}
    secret = server.duckdb_secret.replace(f":{server.port}", f":{link.port}")
    part = Part("Latency", ["read of", "by", "s", "ratio"])
    for what, columns in {"all columns": None, "one column": ["id"]}.items():
        found = medians(_ways(place, options, secret, paths, columns), _ROUNDS)
        for name, taken in found.items():
            part.rows.append([what, name, f"{taken:.2f}", f"{taken / found[_PEER]:.2f}"])
        part.numbers[what] = found
        far = found["Tidelake"] / found[_PEER]
        part.verdicts.append(Verdict(f"{what}, against {_PEER}", far, 1.2))
        again = found["Tidelake, again with a cache"] / found[_PEER]
        part.verdicts.append(Verdict(f"{what} again, from the cache", again, 0.1))
    part.notes = [
        f"{_FILES} files of {_ROWS:,} rows in SeaweedFS, its answers {_LATE_MS} ms late",
        f"each read by a new lake, or a new DuckDB; medians of {_ROUNDS} that took turns",
    ]
    return part


def _written(place: Path, server: Any) -> list[str]:
    import numpy as np
    import pyarrow as pa

    import tidelake

    bucket = f"s3://{server.new_bucket()}/lake"
    options = server.storage_options
    with tidelake.connect(f"sqlite:///{place}/lake.db", bucket, storage_options=options) as lake:
        table = lake.create_table("t", {"id": "BIGINT", "x": "DOUBLE", "s": "TEXT"})
        for number in range(_FILES):
            ids = np.arange(number * _ROWS, (number + 1) * _ROWS)
            names = pa.array([f"S{each % 97}" for each in range(_ROWS)])
            table.append(pa.table({"id": ids, "x": ids**0.5, "s": names}))
        return [file.path for file in table.files()]


def _ways(
    place: Path, options: dict[str, Any], secret: str, paths: list[str], columns: list[str] | None
) -> dict[str, Callable[[], object]]:
    cache = place / "cache"

    def ours(**wishes: Any) -> None:
        import tidelake

        url = f"sqlite:///{place}/lake.db"
        with tidelake.connect(url, storage_options=options, **wishes) as lake:
            rows = lake.table("t").scan(columns=columns).to_arrow().num_rows
        assert rows == _FILES * _ROWS, rows

    def theirs() -> None:
        from tidelake.testing.duck import duck_connection

        with duck_connection(extensions=("httpfs",)) as duck:
            duck.execute(secret)
            chosen = ", ".join(columns or ["*"])
            listed = ", ".join(f"'{path}'" for path in paths)
            rows = duck.sql(f"SELECT {chosen} FROM read_parquet([{listed}])").to_arrow_table()
        assert rows.num_rows == _FILES * _ROWS

    def first() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        ours(cache_dir=cache)

    return {
        _PEER: theirs,
        "Tidelake": ours,
        "Tidelake, first with a cache": first,
        "Tidelake, again with a cache": lambda: ours(cache_dir=cache),
    }
