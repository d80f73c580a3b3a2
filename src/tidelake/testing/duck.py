"""DuckDB with its own ducklake extension: the reference that Tidelake is compared with.

The extensions come from PyPI wheels (`duckdb-extension-*`), so nothing is downloaded at run time.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import duckdb

from tidelake.duck import open_duckdb
from tidelake.errors import Unsupported
from tidelake.scratch import Scratch

EXTENSIONS = ("ducklake", "sqlite_scanner", "postgres_scanner", "mysql_scanner", "httpfs")


def duck_connection(
    database: str = ":memory:", *, extensions: Sequence[str] = EXTENSIONS, signed: bool = False
) -> duckdb.DuckDBPyConnection:
    """A new connection in UTC that can attach `ducklake:…` on SQLite, DuckDB and PostgreSQL.

    Unless they must be `signed`, the extensions are trusted as any code of an installed package is:
    DuckDB checks a signature by reading the whole file, for most of a second in all.

    With it DuckDB's own SQLite library comes into the process, for good: from then on Tidelake
    opens SQLite catalogs in processes of their own.
    """
    _require(extensions)
    scratch = Scratch().keep() if database == ":memory:" else None
    connection = open_duckdb(database, scratch=scratch, unsigned=not signed)
    for name in extensions:
        connection.load_extension(str(extension_file(name)))
    return connection


def _require(extensions: Sequence[str]) -> None:
    """Raise Unsupported with all packages that are missing."""
    missing = [_wheel(name) for name in extensions if _package(name) is None]
    if missing:
        raise Unsupported(
            f"DuckDB's extensions come from Python packages, and there is no {', '.join(missing)}",
            hint=f"pip install {' '.join(missing)}",
        )


def _wheel(name: str) -> str:
    return f"duckdb-extension-{name.replace('_', '-')}"


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def extension_file(name: str) -> Path:
    """Where the wheel of an extension keeps the binary for the running DuckDB version."""
    _require([name])
    version = f"v{duckdb.__version__}"
    folder = _package(name)
    assert folder is not None
    path = folder / "extensions" / version / f"{name}.duckdb_extension"
    if not path.is_file():
        raise Unsupported(
            f"{_wheel(name)} is not built for DuckDB {version}: there is no {path}",
            hint=f"install the versions that go together: {_wheel(name)} and duckdb",
        )
    return path
