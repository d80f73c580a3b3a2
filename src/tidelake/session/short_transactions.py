"""Long work on the catalog, in transactions so short that nobody has to wait for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from tidelake.catalog.commit.commit import wait
from tidelake.catalog.database.database import Writer
from tidelake.errors import Unavailable
from tidelake.session.caches import HasDatabase

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


def run_locked(
    session: HasDatabase,
    work: Callable[Concatenate[Writer, Arguments], Value],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Value:
    """One transaction under the lake's lock, again if somebody else came first. Requires: the
    work may be done twice."""
    started, attempts = time.monotonic(), 0
    while True:
        attempts += 1
        try:
            with session.database.writing() as writer:
                return work(writer, *arguments, **named)
        except Unavailable as error:
            late = time.monotonic() - started > session.database.tuning.patience_s
            if late or not error.passing:
                raise
            wait(attempts)
