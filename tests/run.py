"""How a run of the tests goes: whose home it sees, who shares a process, when it stops.

A plugin of pytest, loaded by `conftest.py`.
"""

import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from random import Random

import pytest
from xdist.scheduler import LoadScopeScheduling

_HOME = "TIDELAKE_TESTS_HOME"
_ENDS = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidelake")
    group.addoption(
        "--share-minutes",
        type=float,
        metavar="N",
        help="run the tests in a random order, and begin none after N minutes",
    )
    group.addoption("--share-seed", default=None, help="the order of --share-minutes, to repeat it")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing of the user's home is seen or changed: extensions, passwords, settings."""
    if _HOME not in os.environ:
        config.add_cleanup(_remove_home)
        os.environ[_HOME] = os.environ["HOME"] = tempfile.mkdtemp(prefix="tidelake-home-")
    minutes = config.getoption("share_minutes")
    if minutes is not None:
        config.stash[_ENDS] = time.monotonic() + 60 * minutes


def _remove_home() -> None:
    shutil.rmtree(os.environ.pop(_HOME), ignore_errors=True)


class _ByFile(LoadScopeScheduling):
    """The tests of a file share a process, and all files with tests of Spark share one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if _needs_spark(file) else file


@cache
def _needs_spark(file: str) -> bool:
    return "mark.spark" in Path(file).read_text()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    return _ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spark's begin first: there is one process for all of them."""
    if _ENDS in config.stash:
        Random(_seed(config)).shuffle(items)
    else:
        items.sort(key=lambda item: "spark" not in item.keywords)


def pytest_report_header(config: pytest.Config) -> str | None:
    if _ENDS not in config.stash:
        return None
    return f"a share of the tests: --share-seed {_seed(config)}"


def _seed(config: pytest.Config) -> str:
    if config.option.share_seed is None:
        config.option.share_seed = str(time.time_ns())
    return str(config.option.share_seed)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() > item.config.stash.get(_ENDS, float("inf")):
        pytest.skip("the time of this share is over")
