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


class TellRows(Protocol):
    """Say that so many more rows have come."""

    def __call__(self, rows: int, bytes: int = 0, *, phase: str | None = None) -> None: ...  # noqa: A002


@contextmanager
def row_progress(doing: str, rows: int | None = None) -> Iterator[TellRows]:
    """Show rows as they come, of so many if that is known: then also how long it may still take."""
    if not sys.stderr.isatty():
        yield _say_no_rows
        return
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = [
        TextColumn("{task.description} {task.fields[phase]}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows, {task.fields[size]}"),
        Remaining(elapsed_when_finished=True),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(doing, total=rows or None, phase="", size=decimal(0))
        done, said = 0, ""

        def tell(rows: int, bytes: int = 0, *, phase: str | None = None) -> None:  # noqa: A002
            nonlocal done, said
            done += bytes
            said = said if phase is None else phase
            shown.update(task, advance=rows, size=decimal(done), phase=said)

        yield tell


def _say_no_rows(rows: int, bytes: int = 0, *, phase: str | None = None) -> None:  # noqa: A002
    """Nobody is watching."""


def _say_nothing(files: int = 0, bytes: int = 0, *, phase: str | None = None) -> None:  # noqa: A002
    """Nobody is watching."""
