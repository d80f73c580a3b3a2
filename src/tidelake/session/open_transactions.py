"""Transactions that nobody has ended: what they had written is lost, and that is said."""

from __future__ import annotations

import os
import warnings
from typing import TypeVar
from weakref import finalize

from tidelake.errors import TidelakeWarning
from tidelake.session.drafts import Drafts
from tidelake.session.leases import Work

_SHOWN = 5

Owner = TypeVar("Owner")


def watch(transaction: Owner, drafts: Drafts, work: Work) -> finalize[..., Owner]:
    """Says so when a transaction is collected, or the program ends, with changes in it. To be
    detached when it is ended."""
    return finalize(transaction, _lost, os.getpid(), drafts, work)


def _lost(pid: int, drafts: Drafts, work: Work) -> None:
    """Its files are left for cleanup, which nobody at work keeps from them any more. A forked
    process has its parent's transactions in its memory, but they are not its own."""
    if pid != os.getpid():
        return
    work.end()
    names = list(dict.fromkeys(drafts.names()))
    if names:
        listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        warnings.warn(
            f"a transaction that changed {listed} was never ended, and its writes are lost:"
            " use `with lake.transaction() as tx`, or call tx.commit() or tx.rollback()",
            TidelakeWarning,
            stacklevel=3,
        )
