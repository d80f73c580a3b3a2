"""How a run of the tests goes: whose home it sees, who shares a process, when it stops.

A plugin of pytest, loaded by `conftest.py`.
"""

import os
import shutil
import tempfile
import time
from random import Random

import pytest

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spark's tests share one process and begin first; the tests of a file share one."""
    if _ENDS in config.stash:
        Random(_seed(config)).shuffle(items)
        return
    items.sort(key=lambda item: "spark" not in item.keywords)
    for item in items:
        group = "spark" if "spark" in item.keywords else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))


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
