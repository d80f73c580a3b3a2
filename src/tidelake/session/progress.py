"""How far long work has come: shown on a terminal, silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tell(Protocol):
    """Say that so much more has been done, and what is being done from now on."""

    def __call__(self, files: int = 0, bytes: int = 0, *, phase: str | None = None) -> None: ...  # noqa: A002


@contextmanager
def progress(doing: str, *, files: int = 0, bytes: int = 0) -> Iterator[Tell]:  # noqa: A002
    """Show work on so many files and bytes while it is done, and how long it may still take."""
    if not sys.stderr.isatty():
        yield _say_nothing
        return
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = [
        TextColumn("{task.description} {task.fields[phase]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[size]}"),
        Remaining(elapsed_when_finished=True),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(doing, total=files or None, phase="", size=decimal(bytes))
        total, done, said = decimal(bytes), 0, ""

        def tell(files: int = 0, bytes: int = 0, *, phase: str | None = None) -> None:  # noqa: A002
            nonlocal done, said
            done += bytes
            said = said if phase is None else phase
            shown.update(task, advance=files, size=f"{decimal(done)} of {total}", phase=said)

        yield tell


def _say_nothing(files: int = 0, bytes: int = 0, *, phase: str | None = None) -> None:  # noqa: A002
    """Nobody is watching."""
