"""What is longer than the screen goes to a program that turns pages."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import IO

from tidelake.cli import render

_LINES_BESIDE = 2
"""Lines of the screen that the prompt needs."""


class Quit(Exception):
    """Whoever turns the pages has seen enough."""


@contextmanager
def paging() -> Iterator[None]:
    """What is printed inside comes out at the end, or, if it is long, page by page as it comes."""
    pages = _Pages(sys.stdout, _program())
    try:
        with redirect_stdout(pages):
            yield
    except Quit:
        render.console.cache_clear()  # it holds what it could not print
    finally:
        pages.done()


def _program() -> list[str]:
    """PAGER if it is set, and `less` if it is there; without one all is simply printed."""
    said = os.environ.get("PAGER")
    if said is not None:
        words = shlex.split(said)
        return words if words and shutil.which(words[0]) else []
    return ["less", "-R"] if shutil.which("less") else []


class _Pages(io.TextIOBase):
    def __init__(self, screen: IO[str], program: list[str]) -> None:
        self._screen = screen
        self._program = program
        self._held: list[str] = []
        self._lines = 0
        self._room = shutil.get_terminal_size().lines - _LINES_BESIDE
        self._pager: subprocess.Popen[str] | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return str(getattr(self._screen, "encoding", None) or "utf-8")

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # whoever prints tries whether this takes bytes
            raise TypeError("text is printed here, not bytes")
        if self._pager is None:
            self._held.append(text)
            self._lines += text.count("\n")
            if self._lines <= self._room or not self._program:
                return len(text)
            self._pager = subprocess.Popen(
                self._program, stdin=subprocess.PIPE, text=True, encoding=self.encoding
            )
            text, self._held = "".join(self._held), []
        assert self._pager.stdin is not None
        try:
            self._pager.stdin.write(text)
        except BrokenPipeError:
            raise Quit from None
        return len(text)

    def done(self) -> None:
        """Wait until the last page has been read. Ctrl-C is the pager's then."""
        if self._pager is None:
            self._screen.write("".join(self._held))
            self._screen.flush()
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with suppress(BrokenPipeError):
                self._pager.communicate()
        finally:
            signal.signal(signal.SIGINT, before)
