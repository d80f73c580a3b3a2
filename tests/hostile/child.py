"""One hostile thing in a process of its own, whose memory the system limits: what comes of it is
told in a line."""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import tidelake
from tidelake.errors import TidelakeError

_ROOM = 16 * 1024**3
"""Addresses; how much of it was in use at most is told at the end."""


def _attempts(lake: tidelake.Lake, given: str) -> dict[str, Callable[[], object]]:
    table = lake.table("t")
    return {
        "append": lambda: table.append(given),
        "add_files": lambda: table.add_files(given),
        "ingest": lambda: tidelake.ingest(lake, "t", given),
        "create": lambda: tidelake.ingest(lake, "fresh", given, create=True),
        "import": lambda: tidelake.import_delta(lake, given, "imported"),
    }


def main(folder: str, verbs: str, *files: str) -> None:
    with tidelake.connect(f"sqlite:///{folder}/lake.db", data_path=f"{folder}/data/") as lake:
        if not lake.tables():
            lake.create_table("t", "x BIGINT").append([{"x": 1}])
        lake.table("t").to_arrow()
        resource.setrlimit(resource.RLIMIT_DATA, (_ROOM, _ROOM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for file in files:
            for verb in verbs.split(","):
                print(verb, Path(file).name, _told(_attempts(lake, file)[verb]), flush=True)
        print("read", "t", _told(lake.table("t").to_arrow), flush=True)
    print("peak", _peak() // 1024, flush=True)


def _peak() -> int:
    """In kilobytes. What `getrusage` tells is also that of the process which started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(found)


def _told(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except TidelakeError as error:
        return "refused" if error.message and len(error.message) < 5_000 else "at length"
    return "taken"


if __name__ == "__main__":
    main(*sys.argv[1:])
