"""Private folders for what does not fit into memory: one for each DuckDB, gone when it is.

DuckDB spills into files with fixed names, readable by all: two that share a folder destroy each
other's. So each has a folder of its own, which nobody else may look into. Its owner keeps a lock
on a file in it for as long as it lives; of folders whose owner was killed that lock is free, and
whoever makes the next folder beside them clears them away.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tidelake.errors import Unavailable

VARIABLE = "TIDELAKE_TEMP_DIRECTORY"
_PREFIX = "tidelake-scratch-"
_LOCK = ".owner"

_swept: set[tuple[int, str]] = set()
_kept: list[Scratch] = []


class Scratch:
    """A folder of its own below `base`, else below TIDELAKE_TEMP_DIRECTORY, else where temporary
    files go. It goes when nobody holds this any more, at the latest when the program ends.

    `path` is empty if nobody named a place and there is none to be found: nothing spills then.
    """

    def __init__(self, base: str | None = None) -> None:
        named = base or os.environ.get(VARIABLE) or None
        self.path = ""
        try:
            place = _place(named)
            _sweep_once(place)
            self.path, lock = _made(place)
        except OSError as error:
            if named:
                raise _unusable(named, error) from error
            return
        weakref.finalize(self, _end, self.path, lock, os.getpid())

    def keep(self) -> Scratch:
        """Until the program ends: somebody uses it of whose end we hear nothing."""
        _kept.append(self)
        return self


def _place(named: str | None) -> str:
    if named is None:
        return os.path.realpath(tempfile.gettempdir())
    place = os.path.realpath(Path(named).expanduser())
    Path(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _unusable(place: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"no temporary files can be made in {place}: {error.strerror or error}",
        hint=f"name another folder with temp_directory=… or {VARIABLE}",
    )


def _made(place: str) -> tuple[str, int]:
    """A new folder, and its lock. One that is swept away before it is locked was not ours yet."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        with suppress(FileNotFoundError):
            lock = os.open(f"{path}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if _is_mine(lock) is not False:
                return path, lock
            os.close(lock)


def _is_mine(lock: int) -> bool | None:
    """Whether the lock could be taken, on a file that is still there; None where there are no
    locks, so that nobody can tell."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return os.fstat(lock).st_nlink > 0


def _end(path: str, lock: int, pid: int) -> None:
    """A fork has its parent's folders in its memory, but they are not its own."""
    if os.getpid() == pid:
        _remove(path)
        os.close(lock)


def _remove(path: str) -> None:
    """The lock goes last, so that a removal that is broken off can be taken up again."""
    folder = Path(path)
    with suppress(OSError):
        for entry in list(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != _LOCK:
                entry.unlink(missing_ok=True)  # DuckDB may still be removing its own
        (folder / _LOCK).unlink()
        folder.rmdir()


def _sweep_once(place: str) -> None:
    this = (os.getpid(), place)
    if this not in _swept:
        _swept.add(this)
        sweep(place)


def sweep(place: str) -> None:
    """Remove the folders below a place whose owner is gone; of ours alone."""
    for path in _ours(place):
        with suppress(OSError), _opened(f"{path}/{_LOCK}") as lock:
            if _is_mine(lock):
                _remove(path)


def _ours(place: str) -> Iterator[str]:
    for entry in list(os.scandir(place)):
        with suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if is_own and entry.name.startswith(_PREFIX):
                yield entry.path


@contextmanager
def _opened(path: str) -> Iterator[int]:
    lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        yield lock
    finally:
        os.close(lock)
