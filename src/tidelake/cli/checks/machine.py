"""This machine: versions, Java, Spark, and the extras."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import tidelake
from tidelake.cli.checks.finding import Check

_OLDEST_PYTHON = (3, 11)
_OLDEST_JAVA = 17
_OLDEST_SPARK = (4, 1)
_PATIENCE_S = 30
_NOT_FOR_USERS = ("dev", "testing")
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_JAVA = re.compile(r'version "(\d+)(?:\.(\d+))?')


def checks() -> Iterator[Check]:
    yield _python()
    yield Check("tidelake", "ok", f"Tidelake {tidelake.__version__} in {_home()}")
    yield _duckdb()
    has_spark = _version("pyspark") is not None
    yield _java(needed=has_spark)
    yield _spark()
    yield _extras()


def _home() -> Path:
    return Path(tidelake.__file__).parent


def _python() -> Check:
    found = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Check("python", "fail", found, "install Python 3.11 or later")
    return Check("python", "ok", found)


def _duckdb() -> Check:
    from tidelake.duck import duckdb_version, open_duckdb

    try:
        open_duckdb().close()
    except Exception as error:  # a library that does not load says so in any way it likes
        return Check("duckdb", "fail", f"DuckDB does not start: {error}", "pip install duckdb")
    return Check("duckdb", "ok", f"DuckDB {duckdb_version()}")


def _java(*, needed: bool) -> Check:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    why = "Spark needs it" if needed else "only Spark needs it, which is not installed"
    status: str = "warn" if needed else "ok"
    remedy = f"install Java {_OLDEST_JAVA}, or set JAVA_HOME" if needed else None
    if program is None or not Path(program).exists():
        place = f"there is no {program}" if program else "there is no Java"
        return Check("java", "warn" if needed else "ok", f"{place}; {why}", remedy)
    try:
        told = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_PATIENCE_S
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("java", "warn", f"{program} does not run: {error}", remedy)
    found = _JAVA.search(told)
    if found is None:
        return Check("java", "warn", f"{program} does not say its version", remedy)
    major = int(found[2] or 0) if found[1] == "1" else int(found[1])
    if major < _OLDEST_JAVA:
        return Check("java", "warn" if status == "warn" else "ok", f"Java {major}; {why}", remedy)
    return Check("java", "ok", f"Java {major}")


def _spark() -> Check:
    version = _version("pyspark")
    if version is None:
        return Check("spark", "ok", "PySpark is not installed: pip install 'tidelake[spark]'")
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST_SPARK:
        remedy = "pip install --upgrade 'tidelake[spark]'"
        return Check("spark", "warn", f"PySpark {version} is older than 4.1", remedy)
    return Check("spark", "ok", f"PySpark {version}")


def _extras() -> Check:
    there: list[str] = []
    missing: list[str] = []
    for extra, packages in sorted(_packages().items()):
        (there if all(map(_version, packages)) else missing).append(extra)
    told = [f"installed: {', '.join(there) or 'none'}"]
    if missing:
        told.append(f"not installed: {', '.join(missing)}")
    return Check("extras", "ok", "; ".join(told))


def has_extra(extra: str) -> bool:
    """Whether all is there that an extra brings."""
    return all(map(_version, _packages().get(extra, ())))


def _packages() -> dict[str, list[str]]:
    """The packages of each extra, as Tidelake was installed."""
    found: dict[str, list[str]] = {}
    for requirement in metadata.requires("tidelake") or ():
        extra, name = _EXTRA.search(requirement), _NAME.match(requirement)
        if extra and name and extra[1] not in _NOT_FOR_USERS:
            found.setdefault(extra[1], []).append(name[0])
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
