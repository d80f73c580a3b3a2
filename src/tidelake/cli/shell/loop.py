"""Ask for a statement, answer it, and again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import click

from tidelake.cli import render
from tidelake.cli.render.result import show_any
from tidelake.cli.render.stream import print_rows
from tidelake.cli.shell import commands
from tidelake.cli.shell.clocks import Clocks
from tidelake.cli.shell.names import Names
from tidelake.cli.shell.pager import paging
from tidelake.cli.shell.settings import Settings
from tidelake.cli.shell.statements import command_within, script
from tidelake.drawing import hints
from tidelake.errors import Invalid, TidelakeError
from tidelake.lake.lake import Lake


class Shell:
    """An open lake, and how its answers are wanted."""

    def __init__(self, lake: Lake, *, as_json: bool = False, terms: Any = None) -> None:
        self.lake = lake
        self.settings = Settings(lake)
        self.names = Names(lake)
        self._as_json = as_json
        self._terms = terms or {}

    @property
    def prompt(self) -> str:
        told = str(self.settings.clocks)
        return f"tidelake [{told}]> " if told else "tidelake> "

    def run(self, text: str) -> str:
        """All that has been typed: a command, or statements. The first error ends it. What is
        given back is a statement that is not ended, within which a command was typed."""
        said = text.strip()
        within = command_within(text)
        if said.startswith("\\") or said.lower() in commands.BARE or within is not None:
            with _in_one_line(Clocks()), paging():
                commands.run(self.settings, said if within is None else within[1])
            return "" if within is None else f"{within[0]}\n"
        for statement in script(text):
            with _in_one_line(self.settings.clocks) as is_done:
                self._answer(statement)
            self.names.forget()
            if not is_done():
                break
        return ""

    def _answer(self, statement: str) -> None:
        from tidelake.sql.run import is_query

        began = monotonic()
        if is_query(statement):
            found = self.lake.sql(statement, **self.settings.clocks.wish)
            with paging():
                print_rows(found, self.settings.limit, self._as_json, more="\\limit 0 shows all")
                self._tell_time(began)
        else:
            done = self.lake.sql(statement, **self.settings.clocks.wish, **self._terms)
            show_any(done, self._as_json)
            self._tell_time(began)

    def _tell_time(self, began: float) -> None:
        if self.settings.timing:
            render.line(f"({monotonic() - began:.3f} s)")


@contextmanager
def _in_one_line(clocks: Clocks) -> Iterator[Callable[[], bool]]:
    """An error is told and over; Ctrl-C is one. What is given tells whether there was none."""
    failed: list[str] = []

    def tell(message: str, hint: str | None = None) -> None:
        failed.append(message)
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"hint: {hint}", err=True)

    try:
        yield lambda: not failed
    except TidelakeError as error:
        hint = hints.in_sql(error.hint)
        if clocks.wish and isinstance(error, Invalid) and "as_of=" in error.message:
            hint = "\\as_of, without a moment, reads as of now again"
        elif clocks.wish and "known_at=" in error.message:
            hint = "\\known_at, without a moment, goes back to now"
        tell(hints.as_option(hints.in_one_line(error.message), ()), hint)
    except KeyboardInterrupt:
        tell("cancelled")


def run(shell: Shell) -> None:
    """Until Ctrl-D, or `\\quit`."""
    from tidelake.cli.shell.completion import LakeCompleter
    from tidelake.cli.shell.terminal import new_prompt

    ask = new_prompt(LakeCompleter(shell.names, lambda: commands.COMMANDS))
    render.line(f"{shell.lake.url}. \\help tells what can be typed, \\quit leaves.")
    begun = ""
    while True:
        try:
            with _late_interrupts() as came:
                typed = ask.prompt(shell.prompt, default=begun)
            begun = ""
            with _in_one_line(Clocks()):
                if came:
                    raise KeyboardInterrupt
                begun = shell.run(typed)
        except KeyboardInterrupt:
            begun = ""
        except EOFError:
            return


@contextmanager
def _late_interrupts() -> Iterator[list[int]]:
    """Ctrl-C is a key while a line is typed. One that comes just after Enter, while the prompt
    still gives the terminal back, is gathered here: it is meant for what was typed."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
