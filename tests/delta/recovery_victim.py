"""A process that recovers a lake and is killed at some step of that.

`python -m tests.delta.recovery_victim URL DATA STEP` kills itself at that step: something that it
is going to do to the new catalog or to the store. Should there be none, it comes to its end.
"""

import os
import signal
import sys

from tidelake.lake.address import resolve
from tidelake.lake.connect import Wishes, open_lake
from tidelake.testing.faults import watch_database, watch_store


def main() -> None:
    url, data, step = sys.argv[1:]
    said: list[str] = []

    def count(what: str, where: str) -> None:
        if what in ("ask", "read"):  # nobody sees that
            return
        said.append(f"{what} {where}")
        if len(said) == int(step) + 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        open_lake(resolve(url, data, None), Wishes(share_data_path=True)) as lake,
        watch_database(lake, count),
        watch_store(lake, count),
    ):
        lake.recover()
    print("\n".join(said))


if __name__ == "__main__":
    main()
