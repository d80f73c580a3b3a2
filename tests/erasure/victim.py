"""A process that erases and is killed at some step of that.

`python -m tests.erasure.victim URL DATA STEP` kills itself at that step; should there be none, it
comes to its end. Steps are each commit to the catalog, before it and after, and each file that it
makes, names or takes away, and the moment before the catalog is shrunk.
"""

import os
import signal
import sys
from functools import partial

from tests.delta.victim import Count, _files
from tests.erasure.search import MARK
from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.testing.faults import watch_database

WHERE = f"name = '{MARK}'"


def _commits(count: Count, what: str, _: str) -> None:
    if what in ("commit", "done", "shrink"):
        count(what)


def main() -> None:
    url, data, step = sys.argv[1:]
    said: list[str] = []

    def count(name: str) -> None:
        said.append(name)
        if len(said) == int(step) + 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_lake(resolve(url, data, None), Wishes()) as lake:
        sys.addaudithook(partial(_files, count, data))
        with watch_database(lake, partial(_commits, count)):
            lake.erase("t", WHERE, reason="request 4711")
    print("\n".join(said))


if __name__ == "__main__":
    main()
