"""Spark in its three shapes: a session in this process, a Connect server, a small cluster."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from tests.servers.process import (
    LOOPBACK,
    ServerProcess,
    accepts_connections,
    free_ports,
    server_folder,
    start_with_retries,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENVIRONMENT = {
    "SPARK_LOCAL_IP": LOOPBACK,
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
}

_SMALL = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""Java for many small queries: its second compiler would take more time than it gives.

With one compiler Java keeps 48 MB of code, unless told otherwise. Spark fills them, and then Java
17 fails now and then with "no such method: MethodHandle.linkToStatic".
"""


def settings(folder: Path, *, small: bool = True) -> dict[str, str]:
    """What every session has in common; a `small` one is for queries that run once."""
    java = f"-Dderby.system.home={folder}"
    return {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraJavaOptions": f"{java} {_SMALL}" if small else java,
    }


def local_session(*, small: bool = False) -> "SparkSession":
    """One session with two threads, as users have it unless it is for many small queries."""
    from pyspark.sql import SparkSession

    os.environ.update(ENVIRONMENT)
    builder = SparkSession.builder.master("local[2]").appName("tidelake-tests")
    for name, value in settings(server_folder("spark"), small=small).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def session_for_streams() -> "SparkSession":
    """A session of a process that is to be killed: it has little to lose."""
    import tidelake.spark

    folder = server_folder("stream")
    found = tidelake.spark.session(master="local[1]", config=settings(folder))
    found.sparkContext.setLogLevel("ERROR")
    return found


class ConnectServer:
    """A Spark Connect server, and one session on it."""

    def __init__(self) -> None:
        self._folder = server_folder("connect")
        start_with_retries(self._start)
        self.session = self._new_session()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return f"sc://{LOOPBACK}:{self.port}"

    def stop(self) -> None:
        self.session.stop()
        self._process.stop()

    def _start(self) -> None:
        (self.port,) = free_ports(1)
        conf = {
            **settings(self._folder),
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(self.port),
        }
        options = [part for item in conf.items() for part in ("--conf", "=".join(item))]
        service = "org.apache.spark.sql.connect.service.SparkConnectServer"
        self._process = ServerProcess(
            [
                _spark_home() / "bin" / "spark-submit",
                "--class",
                service,
                "--master",
                "local[2]",
                *options,
                "spark-internal",
            ],
            log=self._folder / "connect.log",
            env={**ENVIRONMENT, "SPARK_HOME": str(_spark_home())},
        )
        self._process.wait_until(lambda: accepts_connections(self.port))

    def _new_session(self) -> "SparkSession":
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(self.url).create()


class SparkCluster:
    """A standalone master with two workers. Jobs run as programs of their own."""

    def __init__(self) -> None:
        self._folder = server_folder("cluster")
        self._processes: list[ServerProcess] = []
        start_with_retries(self._start_master)
        self._start_workers(2)

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    @property
    def master_url(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    def run_python(self, code: str, *arguments: str, seconds: float = 180) -> str:
        """The output of a program whose `SparkSession.builder.getOrCreate()` is on the cluster."""
        with self.start_python(code, *arguments) as child:
            out, err = child.communicate(timeout=seconds)
        assert child.returncode == 0, err
        return out

    @contextmanager
    def start_python(
        self,
        code: str,
        *arguments: str,
        conf: Mapping[str, str] | None = None,
        python: Path | str = sys.executable,
    ) -> Iterator["subprocess.Popen[str]"]:
        """Such a program while it runs, with more settings and perhaps another Python for its
        executors; it is killed at the end."""
        whole = {
            **settings(self._folder),
            "spark.master": self.master_url,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            **(conf or {}),
        }
        options = [part for item in whole.items() for part in ("--conf", f"'{'='.join(item)}'")]
        environment = {"PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"])}
        child = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, **ENVIRONMENT, **environment, "PYSPARK_PYTHON": str(python)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            child.wait(60)

    def executors(self) -> list[psutil.Process]:
        """The processes that do the work of the programs that run now."""
        found = []
        for each in (c for pid in self.pids for c in psutil.Process(pid).children(recursive=True)):
            with suppress(psutil.Error):  # those of programs that have ended may be ending too
                if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline()):
                    found.append(each)
        return found

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()

    def _start_master(self) -> None:
        self.port, self._web_port = free_ports(2)
        command = ["--host", LOOPBACK, "--port", str(self.port)]
        master = self._launch("master.Master", [*command, "--webui-port", str(self._web_port)])
        master.wait_until(lambda: accepts_connections(self.port) and self._state())
        self._processes.append(master)

    def _start_workers(self, count: int) -> None:
        for number, port in enumerate(free_ports(count), start=1):
            size = ["--host", LOOPBACK, "--cores", "1", "--memory", "1g"]
            places = ["--work-dir", str(self._folder / f"w{number}"), "--webui-port", str(port)]
            worker = self._launch("worker.Worker", [*size, *places, self.master_url])
            self._processes.append(worker)
        self._processes[0].wait_until(lambda: self._state()["aliveworkers"] == count)

    def _launch(self, what: str, arguments: list[str]) -> ServerProcess:
        program = [_spark_home() / "bin" / "spark-class", f"org.apache.spark.deploy.{what}"]
        return ServerProcess(
            [*program, *arguments],
            log=self._folder / f"{what}-{len(self._processes)}.log",
            env={
                **ENVIRONMENT,
                "SPARK_HOME": str(_spark_home()),
                "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            },
        )

    def _state(self) -> dict[str, int]:
        url = f"http://{LOOPBACK}:{self._web_port}/json/"
        with urllib.request.urlopen(url, timeout=2) as answer:
            state: dict[str, int] = json.load(answer)
        return state


def _spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent
