"""Commands of the shell: a backslash, a name, and what is said after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelake.cli import render
from tidelake.cli.render import describe
from tidelake.cli.shell.settings import Settings
from tidelake.errors import Invalid
from tidelake.model.names import fold

_LAST = 5


@dataclass(frozen=True, slots=True)
class Command:
    """`takes` is what may follow, as `\\help` shows it."""

    takes: str
    does: str
    run: Callable[[Settings, str], None]


def run(settings: Settings, line: str) -> None:
    """Do what one line says, which begins with a backslash; a `;` at its end counts for nothing."""
    name, _, rest = line.strip().rstrip(";").partition(" ")
    found = COMMANDS.get(_SHORT.get(name, name))
    if found is None:
        raise Invalid(f"there is no command {name}", hint="\\help lists them")
    said = rest.strip()
    found.run(settings, _unquoted(said))


def _unquoted(said: str) -> str:
    """`'2024-03-15'` is a time as well, for those who are used to SQL."""
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] == "'" else said


def _as_of(settings: Settings, moment: str) -> None:
    settings.clocks.set_as_of(moment or None)


def _known_at(settings: Settings, moment: str) -> None:
    settings.clocks.set_known_at(settings.lake, moment or None)


def _timing(settings: Settings, said: str) -> None:
    words = {"on": True, "off": False, "": not settings.timing}
    if said.lower() not in words:
        raise Invalid(f"\\timing {said} is neither on nor off", hint="\\timing on")
    settings.timing = words[said.lower()]
    render.line(f"timing is {'on' if settings.timing else 'off'}")


def _limit(settings: Settings, said: str) -> None:
    if said and not said.isdecimal():
        raise Invalid(f"\\limit {said} is no number of rows", hint="\\limit 0 shows all rows")
    if said:
        settings.limit = int(said)
    render.line(f"{settings.limit:,} rows are shown" if settings.limit else "all rows are shown")


def _tables(settings: Settings, part: str) -> None:
    lake = settings.pinned()
    rows = [(name, "table") for name in lake.tables()] + [(name, "view") for name in lake.views()]
    chosen = [row for row in rows if fold(part) in fold(row[0])]
    if chosen:
        render.grid(["name", "kind"], chosen)
    else:
        render.line("there are no tables" + (f" with {part!r} in their name" if part else ""))


def _describe(settings: Settings, name: str) -> None:
    if not name:
        raise Invalid("\\describe needs a table", hint="\\describe prices; \\tables lists them")
    newest = settings.pinned()
    lake = newest.known_at(newest.snapshots()[-1].snapshot_id)
    describe.print_table(describe.table(lake, name, last=_LAST))


def _tags(settings: Settings, _: str) -> None:
    rows = [[tag.name, tag.snapshot_id, tag.message or ""] for tag in settings.lake.tags()]
    render.grid(["tag", "snapshot", "message"], rows)


def _help(_settings: Settings, _: str) -> None:
    render.line("A statement ends with ; and may go over several lines. Tab completes, Ctrl-C")
    render.line("cancels, Ctrl-D leaves. Every statement that writes is one snapshot of its own.")
    render.line("")
    for name, command in COMMANDS.items():
        render.line(f"  {f'{name} {command.takes}':<24}{command.does}")


def _quit(_settings: Settings, _: str) -> None:
    raise EOFError


COMMANDS: Mapping[str, Command] = {
    "\\as_of": Command("[TIME]", "read the state as of a moment of event time; alone: now", _as_of),
    "\\known_at": Command("[N|TIME|TAG]", "read what was known then; alone: now", _known_at),
    "\\tables": Command("[PART]", "list tables and views", _tables),
    "\\describe": Command("TABLE", "show columns, layout and size of a table", _describe),
    "\\tags": Command("", "list the names of snapshots", _tags),
    "\\timing": Command("[on|off]", "say how long each statement takes", _timing),
    "\\limit": Command("[N]", "show so many rows of an answer; 0 is all", _limit),
    "\\help": Command("", "show this", _help),
    "\\quit": Command("", "leave", _quit),
}
_SHORT = {
    "\\d": "\\describe",
    "\\dt": "\\tables",
    "\\q": "\\quit",
    "\\?": "\\help",
    "\\h": "\\help",
    "help": "\\help",
    "quit": "\\quit",
    "exit": "\\quit",
}
"""What hands type that know other shells."""

BARE = frozenset({"help", "quit", "exit"})
"""What is a command without a backslash, too."""
