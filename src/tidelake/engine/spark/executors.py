"""What Spark's executors need to run our part of a job: the Python and the packages of this
process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pyarrow as pa

from tidelake.engine.spark.errors import SHIP
from tidelake.engine.spark.settings import is_connect
from tidelake.errors import Unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = ("tidelake", "duckdb", "pyarrow")
_TASKS = 4
UNKNOWN = "of some version"
"""Of a package that was sent along without saying which version it is."""
_checked: WeakSet[Any] = WeakSet()


def check_executors(spark: SparkSession) -> None:
    """Raise Unsupported if executors lack what this process has, or have another version of it.
    Asked once for each session, and not where executors are threads of this machine."""
    if spark in _checked:
        return
    if not _is_local(spark):
        here = versions()
        wrong = [said for there in _told(spark) for said in differences(here, there)]
        if wrong:
            raise Unsupported(f"Spark's executors differ from the driver: {wrong[0]}", hint=SHIP)
    _checked.add(spark)


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> Iterator[str]:
    """What an executor has in another version than the driver, or not at all."""
    for name, wanted in here.items():
        found = there.get(name, "")
        if UNKNOWN in (found, wanted):
            continue
        if _release(name, found) != _release(name, wanted):
            yield f"{name} {found or 'is not there'}, and {wanted} on the driver"


def _release(name: str, text: str) -> str:
    """As much of a version as has to be equal: of pyarrow its first number, which is all that a
    change of what we use would change."""
    return text.split(".")[0] if name == "pyarrow" else text


def _is_local(spark: SparkSession) -> bool:
    """Classic sessions with the master `local[…]`: executors run the Python of the driver."""
    if is_connect(spark):
        return False
    return (spark.conf.get("spark.master", "") or "").startswith("local")


def _told(spark: SparkSession) -> list[dict[str, str]]:
    ask = _question(_PACKAGES)
    rows = spark.range(0, _TASKS, 1, _TASKS).mapInArrow(ask, "name STRING, version STRING")
    found: list[dict[str, str]] = []
    for name, told in rows.collect():
        if name == "Python":
            found.append({})
        found[-1][name] = told
    return found


def _question(names: tuple[str, ...]) -> Callable[[Iterator[Any]], Iterator[pa.RecordBatch]]:
    """A function that executors can run without having us: all that it needs is inside."""

    def ask(batches: Iterator[Any]) -> Iterator[Any]:
        import sys
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec

        import pyarrow

        for _ in batches:
            found = {"Python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
            for name in names:
                try:
                    found[name] = version(name)
                except PackageNotFoundError:
                    found[name] = "of some version" if find_spec(name) else ""
            told = {"name": list(found), "version": list(found.values())}
            yield pyarrow.RecordBatch.from_pydict(told)

    return ask


def versions() -> dict[str, str]:
    """What this process has."""
    (told,) = _question(_PACKAGES)(iter([None]))
    return dict(zip(*told.to_pydict().values(), strict=True))
