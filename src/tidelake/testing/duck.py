"""DuckDB with its own ducklake extension: the reference that Tidelake is compared with.

The extensions come from PyPI wheels (`duckdb-extension-*`), so nothing is downloaded at run time.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import duckdb

from tidelake.duck import opened
from tidelake.scratch import Scratch

EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner", "mysql_scanner", "httpfs")


def duck_connection(
    database: str = ":memory:", *, extensions: Sequence[str] = EXTENSIONS
) -> duckdb.DuckDBPyConnection:
    """A new connection in UTC that can attach `ducklake:…` on SQLite, DuckDB and PostgreSQL."""
    scratch = Scratch().keep() if database == ":memory:" else None
    connection = opened(database, scratch=scratch)
    for name in extensions:
        connection.load_extension(str(extension_file(name)))
    return connection


def extension_file(name: str) -> Path:
    """Where the wheel of an extension keeps the binary for the running DuckDB version."""
    wheel = f"duckdb-extension-{name.replace('_', '-')}"
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"DuckDB extension {name} is missing: pip install {wheel}")
    version = f"v{duckdb.__version__}"
    folder = Path(spec.submodule_search_locations[0])
    path = folder / "extensions" / version / f"{name}.duckdb_extension"
    if not path.is_file():
        raise FileNotFoundError(f"{wheel} is not built for DuckDB {version}: no {path}")
    return path
