"""Starting real servers for tests: on loopback, unprivileged, and gone when the tests are."""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pytest

LOOPBACK = "127.0.0.1"
_PR_SET_PDEATHSIG = 1


class StartFailed(RuntimeError):
    """A server ended, or did not answer in time; the message ends with its log."""


class ServerProcess:
    """A child in a process group of its own that cannot outlive the test run."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.log = log
        self._stop_signal = stop_signal
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=log.parent,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                **as_user(user),
            )
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_until(self, ready: Callable[[], object], *, seconds: float = 300) -> None:
        """On failure the process is stopped."""
        try:
            self._wait_until(ready, seconds)
        except BaseException:
            self.stop()
            raise

    def _wait_until(self, ready: Callable[[], object], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._child.poll() is not None:
                raise StartFailed(f"{self._described()} ended with {self._child.returncode}")
            with suppress(OSError):
                if ready():
                    return
            time.sleep(0.05)
        raise StartFailed(f"{self._described()} did not answer within {seconds} s")

    def wait(self, *, seconds: float = 10) -> None:
        """Until it has ended by itself."""
        self._child.wait(seconds)

    def stop(self, *, seconds: float = 10) -> None:
        """Ask, wait, then kill whatever is left of the family. Safe to call twice."""
        atexit.unregister(self.stop)
        if self._child.poll() is not None:
            return
        family = psutil.Process(self.pid).children(recursive=True)
        self._child.send_signal(self._stop_signal)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._child.wait(seconds)

    def _described(self) -> str:
        tail = self.log.read_text(errors="replace")[-3000:]
        return f"{self._child.args!r}\n{tail}\n"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start_with_retries(start: Callable[[], None], *, attempts: int = 3) -> None:
    """A port that was free a moment ago may be taken now, so a failed start is tried again."""
    for _ in range(attempts - 1):
        with suppress(StartFailed):
            return start()
    return start()


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]


def accepts_connections(port: int) -> bool:
    with socket.create_connection((LOOPBACK, port), timeout=1):
        return True


def listening_addresses(pid: int) -> set[str]:
    """The addresses on which a process and its descendants listen."""
    root = psutil.Process(pid)
    found = set()
    for process in [root, *root.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # a server's workers come and go
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    found.add(connection.laddr.ip.removeprefix("::ffff:"))
    return found


def unprivileged_user() -> str | None:
    """The user to run as when root may not: None means the current one will do."""
    return "nobody" if os.geteuid() == 0 else None


def as_user(user: str | None) -> dict[str, Any]:
    """The arguments of `subprocess` that start a child as another user."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def anyone_can_enter(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in [path, *path.parents])


def server_folder(name: str, *, owner: str | None = None) -> Path:
    """A new private folder that `owner` can reach, removed when the process ends."""
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    parent = next((place for place in places if place.is_dir() and anyone_can_enter(place)), None)
    folder = Path(tempfile.mkdtemp(prefix=f"tidelake-{name}-", dir=parent))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if owner is not None:
        account = pwd.getpwnam(owner)
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


def unavailable(what: str, remedy: str) -> NoReturn:
    """Skip on a developer's machine, fail where the result counts."""
    message = f"{what} is not available: {remedy}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
