"""Where the lakes of these tests are: one of four kinds of catalog, files in a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Place:
    """`ducklake` is what DuckDB attaches, None where it cannot. `exclusive`: only one of
    Tidelake and DuckDB can have the catalog open."""

    url: str
    ducklake: str | None
    data: Path
    exclusive: bool = False


def place(kind: str, folder: Path, server: Any = None) -> Place:
    """`server` is that of tests/servers for the kinds that need one."""
    data = folder / "data"
    if kind == "sqlite":
        return Place(f"sqlite:///{folder}/lake.db", f"ducklake:sqlite:{folder}/lake.db", data)
    if kind == "duckdb":
        path = folder / "lake.duckdb"
        return Place(f"duckdb:///{path}", f"ducklake:{path}", data, exclusive=True)
    url = server.new_database()
    if kind == "mariadb":
        return Place(url, None, data)
    return Place(url, f"ducklake:postgres:{server.duckdb_dsn(url.rpartition('/')[2])}", data)
