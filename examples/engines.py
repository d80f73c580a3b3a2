"""A small Spark for the demo, or the reason why there is none."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.network.timeout": "1h",  # a machine may sleep meanwhile
    "spark.executor.heartbeatInterval": "60s",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    ),
}


def missing() -> str | None:
    """What Spark would need that is not here."""
    if importlib.util.find_spec("pyspark") is None:
        return "PySpark is missing: pip install 'tidelake[spark]'"
    home = os.environ.get("JAVA_HOME")
    try:
        java = f"{home}/bin/java" if home else "java"
        said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    except OSError:
        said = ""
    version = re.search(r'version "(\d+)', said)
    if version is None:
        return "Java is missing: as root, apt-get install openjdk-17-jre-headless"
    if int(version[1]) < 17:
        return f"Spark needs Java 17 or later, and this is Java {version[1]}"
    return None


def session(folder: Path) -> SparkSession:
    """Spark on two cores of this machine; what Java has to say is in spark.log."""
    from tidelake.spark import session

    warnings.simplefilter("ignore", FutureWarning)  # what PySpark thinks of the newest pandas
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    places = {"spark.local.dir": folder / "spark", "spark.sql.warehouse.dir": folder / "warehouse"}
    with _stderr_in(folder / "spark.log"):
        return session("tidelake-demo", master="local[2]", config=SMALL | places)


@contextmanager
def _stderr_in(log: Path) -> Iterator[None]:
    """Java, which is started meanwhile, keeps it for good; this process has its own again."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
