"""How a run of the tests goes: whose home it sees, who shares a process, when it stops.

A plugin of pytest, loaded by `conftest.py`.
"""

import atexit
import gc
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

_HOME = "TIDELAKE_TESTS_HOME"
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
_FEW, _EXAMPLES = 20, 100
_ONE_IN, _WHOLE = 10, {"cli", "examples", "test_docs.py", "test_architecture.py"}
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
    machine may take long to think of examples; where slow tests are left out, fewer will do.
    Ctrl-C is heard here and in all processes of the tests, even if whoever runs them, in the
    background say, ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    examples = _FEW if "not slow" in config.getoption("markexpr") else _EXAMPLES
    health = [HealthCheck.too_slow]
    settings.register_profile(
        "busy", deadline=None, suppress_health_check=health, max_examples=examples
    )
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
    _thin_out(items)
    if _ENDS in config.stash:
        Random(_seed(config)).shuffle(items)
    else:
        items.sort(key=_turn)


def _thin_out(items: list[pytest.Item]) -> None:
    """Of the cases of a test one is always run, always the same, of many every tenth, and the
    others are slow: each test has a say, on one catalog or another. Cases that need nothing but
    what they are given are quick, and all run; so do pages of the documentation and commands."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None and not _is_quick(item):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, found in cases.items():
        first = crc32(name.encode()) % min(len(found), _ONE_IN)
        for place, item in enumerate(found):
            if place % _ONE_IN != first:
                item.add_marker(pytest.mark.slow)


def _is_quick(item: pytest.Item) -> bool:
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    given = set(item.callspec.params) if hasattr(item, "callspec") else set()
    wanted = set(getattr(item, "fixturenames", ())) - given - {"request"}
    random = "seed" in given or is_hypothesis_test(getattr(item, "function", None))
    return folder in _WHOLE or not given or not (wanted or random)


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
