"""A process that makes a backup, or restores one, and is killed at some step of that.

`python -m tests.backup.victim backup URL FOLDER STEP` or `restore FOLDER URL DATA [TO] STEP`. Steps
are every table of the catalog that is copied, and every file that is made or named. Should
there be no such step, it comes to its end.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

import tidelake
import tidelake.backup.make
import tidelake.lake.restore

_EVENTS = ("open", "os.rename", "os.link", "sqlite3.connect")
_STEPS = ("transfer", "_create", "_copy", "_copy_kept", "_copy_deletes", "_finish")
_said: list[str] = []


def _count(what: str) -> None:
    _said.append(what)
    if len(_said) == int(sys.argv[-1]) + 1:
        os.kill(os.getpid(), signal.SIGKILL)


def _called(frame: FrameType, event: str, _: Any) -> None:
    name = frame.f_code.co_name
    if event == "call" and name in _STEPS and frame.f_code.co_filename.endswith("transfer.py"):
        _count(name)


def _audited(event: str, arguments: tuple[Any, ...]) -> None:
    is_written = event != "open" or "x" in str(arguments[1]) or "w" in str(arguments[1])
    if event in _EVENTS and is_written:
        _count(event)


def main() -> None:
    what, first, second, *rest = sys.argv[1:-1]
    lake = tidelake.connect(first) if what == "backup" else None
    sys.addaudithook(_audited)
    sys.setprofile(_called)
    if lake is not None:
        lake.backup(second, files=True)
    else:
        tidelake.restore(first, second, rest[0], to=rest[1] if rest[1:] else None)
    sys.setprofile(None)
    print(len(_said))


if __name__ == "__main__":
    main()
