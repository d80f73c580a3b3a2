"""What a process must not take over from the one that it was forked from.

Connections, locks that another thread held, and DuckDB with its threads gone: whoever has such
things is told in the child, before anything else runs there, and begins anew. What was the
parent's is never closed there, because that would tell the other side that the parent is gone; nor
is it collected as garbage, which for a DuckDB without its threads is the end of the process.
"""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Protocol
from weakref import WeakSet


class ForkSurvivor(Protocol):
    def after_fork(self) -> None:
        """Have things of one's own. Everybody else's threads are gone."""
        ...


_SURVIVORS: WeakSet[ForkSurvivor] = WeakSet()


def tell_after_fork(thing: ForkSurvivor) -> None:
    """Let a thing know, for as long as it lives, when it is in a new process."""
    _SURVIVORS.add(thing)


def keep_forever(thing: object) -> None:
    """Never let a thing end, not even with the interpreter: to end it would do harm."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _tell() -> None:
    gc.freeze()  # what was garbage in the parent stays what it is
    for thing in list(_SURVIVORS):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell)
