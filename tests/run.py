"""How a run of the tests goes: whose home it sees, who shares a process, when it stops.

A plugin of pytest, loaded by `conftest.py`.
"""

import atexit
import gc
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

_HOME = "TIDELAKE_TESTS_HOME"
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
_OTHERS = {"duckdb", "postgresql", "mariadb", "mysql"}
_OF_CATALOGS = {"catalog", "histories", "read", "servers"}
_SEVERAL, _MANY, _WHOLE = 2, 10, {"cli"}
_ENDS = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidelake")
    group.addoption(
        "--share-minutes",
        type=float,
        metavar="N",
        help="run the tests in an order that the commit decides, and begin none after N minutes",
    )
    group.addoption("--share-seed", default=None, help="the order of --share-minutes, to repeat it")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing of the user's home is seen or changed: extensions, passwords, settings. A busy
    machine may take long to think of examples."""
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")
    if _HOME not in os.environ:
        _work_in_memory(config)
        config.add_cleanup(_remove_home)
        os.environ[_HOME] = os.environ["HOME"] = tempfile.mkdtemp(prefix="tidelake-home-")
    minutes = config.getoption("share_minutes")
    if minutes is not None:
        config.stash[_ENDS] = time.monotonic() + 60 * minutes


def _work_in_memory(config: pytest.Config) -> None:
    """Catalogs wait for the disk with every commit. Where there is room in memory they need not:
    lakes of tests are kept there, and gone at the end, unless somebody names a place for them."""
    named = "TMPDIR" in os.environ or config.getoption("basetemp") is not None
    if named or not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _ROOM:
        return
    folder = tempfile.mkdtemp("", "tidelake-tests-", _MEMORY)
    Path(folder).chmod(0o1777)  # as /tmp is: servers that do not run as root have theirs in it
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    atexit.register(_leave_memory)  # not before the processes of this one have left theirs


def _leave_memory() -> None:
    tempfile.tempdir = None
    shutil.rmtree(os.environ.pop("TMPDIR"), ignore_errors=True)


def _remove_home() -> None:
    shutil.rmtree(os.environ.pop(_HOME), ignore_errors=True)


class _ByFile(LoadGroupScheduling):
    """The tests of a group share a process, and so do those of a file that are in no group."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return scope.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling:
    return _ByFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All tests of Spark are a group, for one session, which begins first; then the other groups,
    which take long too, so that no process is left with one when the others have ended."""
    for item in items:
        if "spark" in item.keywords:
            item.add_marker(pytest.mark.xdist_group("spark"))
        if not _is_usual(item):
            item.add_marker(pytest.mark.slow)
    _thin_out(items)
    if _ENDS in config.stash:
        Random(_seed(config)).shuffle(items)
    else:
        items.sort(key=_turn)


def _is_usual(item: pytest.Item) -> bool:
    """Of the cases of a feature on other catalogs than SQLite, some are always run, always the
    same, and the others are slow: what is special about a catalog has tests of its own."""
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    if folder in _OF_CATALOGS or not _OTHERS & {each for each in given if isinstance(each, str)}:
        return True
    return crc32(item.nodeid.encode()) % (4 if folder == "concurrency" else 6) == 0


def _thin_out(items: list[pytest.Item]) -> None:
    """Of a test with several cases every third is always run, of one with many every fifth, and the
    others are slow. Pages of the documentation and commands are all run."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, found in cases.items():
        folder = name.removeprefix("tests/").partition("/")
        if len(found) > _SEVERAL and folder[1] and folder[0] not in _WHOLE:
            for place, item in enumerate(found):
                if place % (5 if len(found) > _MANY else 3):
                    item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """The tests themselves stay to the end: nobody need look, again and again, whether they are
    garbage."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> int:
    in_a_group = item.get_closest_marker("xdist_group") is not None
    return 0 if "spark" in item.keywords else 1 if in_a_group else 2


def pytest_report_header(config: pytest.Config) -> str | None:
    if _ENDS not in config.stash:
        return None
    return f"a share of the tests: --share-seed {_seed(config)}"


def _seed(config: pytest.Config) -> str:
    """Each commit has an order of its own, so that a share which failed can be repeated."""
    if config.option.share_seed is None:
        head = ("git", "-C", str(config.rootpath), "rev-parse", "HEAD")
        found = subprocess.run(head, capture_output=True, text=True, check=False)
        config.option.share_seed = found.stdout.strip() or str(time.time_ns())
    return str(config.option.share_seed)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() > item.config.stash.get(_ENDS, float("inf")):
        pytest.skip("the time of this share is over")
