"""A MariaDB server from the operating system's packages."""

import itertools
import shutil
import subprocess

import pymysql

from tests.servers.process import (
    LOOPBACK,
    ServerProcess,
    as_user,
    free_ports,
    server_folder,
    start_with_retries,
    unavailable,
    unprivileged_user,
)

_PACKAGES = "apt-get install mariadb-server-core mariadb-client-core"


class MariadbServer:
    def __init__(self) -> None:
        self._user = unprivileged_user()
        self._installer = _program("mariadb-install-db")
        self._server = _program("mariadbd")
        self._folder = server_folder("mariadb", owner=self._user)
        self._numbers = itertools.count(1)
        self._create_data()
        start_with_retries(self._start)

    @property
    def pid(self) -> int:
        return self._process.pid

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"db{next(self._numbers)}"
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        return f"mysql://root@{LOOPBACK}:{self.port}/{name}"

    def stop(self) -> None:
        self._process.stop()

    def _create_data(self) -> None:
        subprocess.run(
            [
                self._installer,
                "--no-defaults",
                f"--datadir={self._folder / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self._folder,
            **as_user(self._user),
        )

    def _start(self) -> None:
        (self.port,) = free_ports(1)
        self._process = ServerProcess(
            [
                self._server,
                "--no-defaults",
                f"--datadir={self._folder / 'data'}",
                f"--socket={self._folder / 'my.sock'}",
                f"--pid-file={self._folder / 'my.pid'}",
                f"--port={self.port}",
                f"--bind-address={LOOPBACK}",
                "--skip-name-resolve",
                "--skip-log-bin",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-flush-method=nosync",
                "--innodb-buffer-pool-size=64M",
                "--max-connections=200",
            ],
            log=self._folder / "mariadb.log",
            user=self._user,
        )
        self._process.wait_until(self._answers)

    def _connect(self) -> pymysql.Connection:
        return pymysql.connect(host=LOOPBACK, port=self.port, user="root")

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except pymysql.OperationalError:
            return False
        return True


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin")
    return found or unavailable(name, _PACKAGES)
