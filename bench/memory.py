"""How much memory this process needs while something runs."""

import resource
import threading
from pathlib import Path
from time import sleep
from typing import Self


class Peak:
    """The most memory that this process had meanwhile, in MB, and how much it had before."""

    def __enter__(self) -> Self:
        self.before = self.megabytes = _resident()
        self._over = False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()

    @property
    def growth(self) -> float:
        return self.megabytes - self.before

    def _watch(self) -> None:
        while not self._over:
            self.megabytes = max(self.megabytes, _resident())
            sleep(0.05)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
