"""The line that is typed: with a history, and with Tab."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from tidelake.cli.shell.commands import BARE
from tidelake.cli.shell.statements import is_complete

_FILE = "sql_history"
_OWN = 0o600
"""Statements have values in them: the file is for nobody else to read."""


def new_prompt(completer: Completer) -> PromptSession[str]:
    """Asks for text until it is complete; Enter is a new line before that."""
    session: PromptSession[str] = PromptSession(
        history=_history(data_folder() / _FILE),
        completer=completer,
        complete_while_typing=False,
        complete_in_thread=True,
        enable_history_search=True,
        key_bindings=_keys(),
        multiline=Condition(lambda: not _is_ended(session.default_buffer.text)),
        prompt_continuation=_continuation,
    )
    return session


def _continuation(width: int, _line: int, wraps: int) -> str:
    """What stands before a further line, but not where one was only too long for the screen."""
    return " " * width if wraps else ". ".rjust(width)


def _is_ended(text: str) -> bool:
    return text.strip().lower() in BARE or is_complete(text)


def _keys() -> KeyBindings:
    """Escape and Enter, or Alt-Enter, run what has no `;` yet."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _run(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def data_folder() -> Path:
    """Where programs of this user keep what is no setting."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "tidelake"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tidelake"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "tidelake"


def _history(path: Path) -> History:
    """Kept in the file; where that cannot be written, as long as the shell lives."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _OWN))
    except OSError:
        return InMemoryHistory()
    return _FileHistory(str(path))


class _FileHistory(FileHistory):
    def store_string(self, string: str) -> None:
        with suppress(OSError):  # the disk is full: the statement runs all the same
            super().store_string(string)
