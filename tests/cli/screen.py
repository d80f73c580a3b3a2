"""A terminal as a person has it: what is typed goes to a program, and the screen shows what that
makes of it."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

_LOOKS = 600
"""So often, a tenth of a second each, is looked whether what a test waits for has come."""


class Screen:
    """One program in a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], side: int, size: tuple[int, int]) -> None:
        self.process = process
        self._side = side
        self._screen = pyte.HistoryScreen(*size, history=1000)
        self._screen.write_process_input = lambda said: self.type(said, end="")
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """All lines since the beginning, those that have left the screen too."""
        gone = [
            "".join(row[place].data for place in range(self._screen.columns))
            for row in self._screen.history.top
        ]
        return "\n".join(line.rstrip() for line in [*gone, *self._screen.display]).rstrip()

    @property
    def display(self) -> list[str]:
        """The lines that are on the screen now."""
        return list(self._screen.display)

    @property
    def last(self) -> str:
        """The last line that has anything on it."""
        return self.text.splitlines()[-1] if self.text else ""

    @property
    def asks(self) -> bool:
        """Whether the program is asking for a line: keys go to it as they are pressed."""
        return not termios.tcgetattr(self._side)[3] & termios.ICANON

    def type(self, text: str, *, end: str = "\r") -> None:
        os.write(self._side, f"{text}{end}".encode())

    def wait(self, text: str) -> str:
        """Until the screen shows that; all that it shows."""
        return self.until(lambda: text in self.text, text)

    def until(self, is_there: Callable[[], bool], what: str) -> str:
        for _ in range(_LOOKS):
            if is_there():
                return self.text
            if not self._read(0.1) and self.process.poll() is not None:
                break
            while self._read(0):
                pass
        assert is_there(), f"no {what!r} on:\n{self.text}"
        return self.text

    def end(self) -> int:
        """Until the program ends by itself: its exit code."""
        for _ in range(_LOOKS):
            if self.process.poll() is not None:
                break
            self._read(0.1)
        assert self.process.poll() is not None, f"it does not end:\n{self.text}"
        while self._read(0.1):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        if not select.select([self._side], [], [], seconds)[0]:
            return False
        try:
            found = os.read(self._side, 65536)
        except OSError:  # the program has closed its side, and is about to end
            time.sleep(seconds)
            return False
        self._stream.feed(found)
        return bool(found)


@contextmanager
def screen(
    *words: str, env: Mapping[str, str], folder: Path, size: tuple[int, int] = (100, 30)
) -> Iterator[Screen]:
    """`tidelake` with these words, on a screen of its own; it is ended with the test."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, size[::-1])
    known = {"TERM": "xterm", "COLUMNS": "", "LINES": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "tidelake", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, **known, **env},
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(theirs)
    try:
        yield Screen(process, ours, size)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _own_terminal() -> None:
    """Ctrl-C reaches what runs in this terminal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
