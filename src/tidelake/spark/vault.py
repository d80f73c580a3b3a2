"""Addresses of lakes that stay on the driver, each under a random word.

What Spark sends to executors must not say how to get into a catalog. So where a write, or a table
of Spark's own catalog, must find its lake again, it has a word; what the word stands for is in a
file of the driver's user that nobody else can read. A copy of a lake is what is in there.
"""

from __future__ import annotations

import os
import pickle
import re
import secrets
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tidelake.errors import Denied, NotFound
from tidelake.lake.lake import Lake
from tidelake.scratch import VARIABLE

_WORD = re.compile(r"[0-9a-f]{32}")
_LONGEST_S = 14 * 24 * 3600
"""What nobody has looked at for so long was left by somebody who was killed."""


def keep(lake: Lake) -> str:
    """The word under which `recall` finds the lake, in whatever process of this machine's user."""
    folder = _folder()
    _sweep(folder)
    word = secrets.token_hex(16)
    handle = os.open(folder / word, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        pickle.dump(lake, file)
    return word


def recall(word: str) -> Lake:
    """The lake, opened again. NotFound if it has been forgotten."""
    path = _path(word)
    try:
        content = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        raise NotFound(
            f"no lake is attached as {word!r} here",
            hint="attach it again with tidelake.spark.attach(…), on the driver's machine",
        ) from None
    found: Lake = pickle.loads(content)
    return found


def note(word: str) -> None:
    """Let `forget` find the word once, which stands for no lake."""
    _path(word).touch(mode=0o600)


def forget(word: str) -> bool:
    """Whether it was there until now."""
    try:
        _path(word).unlink()
    except FileNotFoundError:
        return False
    return True


def _path(word: str) -> Path:
    if not _WORD.fullmatch(word):
        raise NotFound(f"{word!r} stands for no lake", hint="attach one with tidelake.spark.attach")
    return _folder() / word


def _folder() -> Path:
    """A folder of the user's own, into which nobody else may look."""
    place = Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    folder = place / f"tidelake-lakes-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_own or found.st_mode & 0o077:
        raise Denied(
            f"{folder} is open to others, and addresses of lakes must not be kept there",
            hint=f"remove it, or name another place with {VARIABLE}",
        )
    return folder


def _sweep(folder: Path) -> None:
    oldest = time.time() - _LONGEST_S
    for entry in list(os.scandir(folder)):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry.path).unlink()
