"""The `tidelake` program: its global options, and how errors end it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from tidelake import __version__
from tidelake.cli import lake_names
from tidelake.cli.render import result
from tidelake.cli.render.encoding import spell_out
from tidelake.cli.sections import SECTIONS
from tidelake.errors import NotFound, TidelakeError, TidelakeWarning
from tidelake.model.terms import CommitTerms

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake
    from tidelake.lake.table import Table
    from tidelake.model.change import WriteResult

_INTERRUPTED = 130
_AROUND = 4
"""Columns of a line in `--help` that are neither a command's name nor what it does."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Options:
    """What the global options said, before or after the command's name."""

    catalog: str | None = None
    data_path: str | None = None
    override_data_path: bool = False
    as_json: bool = False

    @contextmanager
    def lake(self, known_at: str | None = None) -> Iterator[Lake]:
        """The lake, opened for reading only, and pinned if a moment is given."""
        from tidelake.lake.connect import connect

        with connect(
            self.catalog,
            self.data_path,
            read_only=True,
            override_data_path=self.override_data_path,
        ) as lake:
            yield lake if known_at is None else lake.known_at(known_at)

    @contextmanager
    def table(self, name: str, known_at: str | None = None) -> Iterator[Table]:
        """A table, to be read at a moment if one is given. If a column of it tells when rows became
        known, that may be before the lake was there."""
        with self.lake() as lake:
            yield table_at(lake, name, known_at)

    @contextmanager
    def writable(self) -> Iterator[Lake]:
        """The lake, opened for writing. One that is not there is not created: `init` does that."""
        from tidelake.lake.connect import connect

        with connect(
            self.catalog,
            self.data_path,
            create=False,
            override_data_path=self.override_data_path,
        ) as lake:
            yield lake

    def write(self, operation: Callable[[Lake], WriteResult]) -> None:
        """Run one write on the lake, and say what it did."""
        with self.writable() as lake:
            done = operation(lake)
        result.show(done, self.as_json)


pass_options = click.make_pass_decorator(Options, ensure=True)


def table_at(lake: Lake, name: str, known_at: str | None) -> Table:
    """A table of a lake, at a moment if one is given. One that is there under another name by now,
    or is gone, is known by the name that it had then."""
    if known_at is None:
        return lake.table(name)
    try:
        return lake.table(name).known_at(known_at)
    except NotFound:
        return lake.known_at(known_at).table(name)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None and value is not False:
        setattr(context.ensure_object(Options), str(parameter.name), value)


def global_options(function: Function) -> Function:
    """The options that every command takes, and the program itself."""
    for option in (
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Print one JSON document instead of text.",
        ),
        click.option(
            "--data-path",
            metavar="PATH",
            expose_value=False,
            callback=_remember,
            help="Where the lake keeps its files: a folder or s3://bucket/prefix.",
        ),
        click.option(
            "--override-data-path",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="The files are at --data-path this time, whatever the catalog says.",
        ),
        click.option(
            "--catalog",
            metavar="URL",
            expose_value=False,
            callback=_remember,
            help="The lake's catalog [default: TIDELAKE_CATALOG, then tidelake.toml].",
        ),
    ):
        function = option(function)
    return function


known_at_option = click.option(
    "--known-at",
    metavar="N|TIME|TAG",
    shell_complete=lake_names.tags,
    help="Take the lake as it was known at a snapshot, a time (UTC if it has no zone), or a tag.",
)

as_of_option = click.option(
    "--as-of",
    metavar="TIME",
    help="Take the table's state as of a moment of event time (UTC if it has no zone).",
)


author_option = click.option(
    "--author", metavar="NAME", help="Who does it, for `log` and `audit` to show."
)


def signature_options(function: Function) -> Function:
    """Who did it, and why."""
    message = click.option("--message", metavar="TEXT", help="Why, for `log` to show.")
    return author_option(message(function))


def commit_options(function: Function) -> Function:
    """The options of every command that writes. It takes them as one argument, `terms`."""

    @wraps(function)
    def with_terms(*args: Any, **given: Any) -> Any:
        terms = {name: given.pop(name) for name in CommitTerms.__annotations__}
        return function(*args, terms=terms, **given)

    once = click.option(
        "--once",
        metavar="TOKEN",
        help="Do the write once: a token that was used does nothing again.",
    )
    expected = click.option(
        "--expected",
        metavar="N|TIME|TAG",
        help="Refuse if the table has changed since this snapshot.",
    )
    return cast(Function, signature_options(once(expected(with_terms))))


class Commands(MutableMapping[str, click.Command]):
    """Commands by name. Each is loaded when somebody asks for it."""

    def __init__(self, loaders: Mapping[str, Callable[[], click.Command]]) -> None:
        self._loaders = dict(loaders)

    def __getitem__(self, name: str) -> click.Command:
        return self._loaders[name]()

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaders[name] = lambda: command

    def __delitem__(self, name: str) -> None:
        del self._loaders[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaders

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)


class OtherNameError(click.UsageError):
    """A command of another program; `told` is the one that there is."""

    def __init__(self, name: str, told: str) -> None:
        super().__init__(f"No such command {name!r}.")
        self.told = told


class Program(click.Group):
    """Ends with `error: …` and a hint where something went wrong, never with a traceback."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """By what they are for; under one heading each."""
        width = max(map(len, self.commands))
        room = formatter.width - width - _AROUND
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                told = [
                    (name.ljust(width), self.commands[name].get_short_help_str(room))
                    for name in names
                ]
                formatter.write_dl(told)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """What other programs call a command is told what it is here."""
        from tidelake.cli.reflexes import COMMANDS

        if args and args[0] in COMMANDS and args[0] not in self.commands:
            raise OtherNameError(args[0], COMMANDS[args[0]])
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        extra["standalone_mode"] = False
        given = extra.get("args") or (args[0] if args else None)
        typed = list(sys.argv[1:] if given is None else given)
        as_json = "--json" in typed
        spell_out()
        try:
            with _warnings_in_words():
                code = super().main(*args, **extra)
        except TidelakeError as error:
            from tidelake.drawing.hints import as_option, in_commands

            hint = in_commands(error.hint)
            message = as_option(error.message, typed)
            _report(message, hint, _kind(error), error.exit_code, as_json)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help() if error.ctx else "")
            sys.exit(0)
        except OtherNameError as error:
            _report(error.format_message(), error.told, "Usage", 1, as_json)
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "tidelake"
            said = error.format_message().replace("a valid integer range", "a valid integer")
            hint = _other_option(error) or f"{path} --help"
            _report(said, hint, "Usage", 1, as_json)
        except click.ClickException as error:
            _report(error.format_message(), None, "Usage", 1, as_json)
        except (click.Abort, KeyboardInterrupt):
            _report("interrupted", None, "Interrupted", _INTERRUPTED, as_json)
        except OSError as error:
            _leave_unsaid()
            what = error.filename or "cannot write the answer"
            _report(f"{what}: {error.strerror}", None, "Unavailable", 1, as_json)
        sys.exit(code if isinstance(code, int) else 0)


def _kind(error: TidelakeError) -> str:
    """The name of its class, or of the first above it that others can know."""
    classes = type(error).__mro__
    return next(each.__name__ for each in classes if each.__module__ == TidelakeError.__module__)


def _other_option(error: click.UsageError) -> str | None:
    """An option of another program is told what it is called here."""
    from tidelake.cli.reflexes import OPTIONS

    return OPTIONS.get(error.option_name) if isinstance(error, click.NoSuchOption) else None


def _leave_unsaid() -> None:
    """What is left to print has no place either: Python would try again when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Each once, without the place in our code that it comes from."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            from tidelake.drawing.hints import in_commands

            said.add(str(message))
            click.echo(f"warning: {in_commands(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", TidelakeWarning)
        warnings.showwarning = show
        yield


def _report(message: str, hint: str | None, kind: str, code: int, as_json: bool) -> NoReturn:
    if as_json:
        import json

        said = {"kind": kind, "message": message, "hint": hint, "exit_code": code}
        click.echo(json.dumps({"error": said}, ensure_ascii=False), err=True)
    else:
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"hint: {hint}", err=True)
    sys.exit(code)


@click.group(
    "tidelake",
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="tidelake")
@global_options
@click.pass_context
def cli(context: click.Context) -> None:
    """A lake from the shell: its tables, its rows, its history, and writing to it.

    The lake is named by --catalog, by TIDELAKE_CATALOG, or by a file
    tidelake.toml in the working folder or above it.

    \b
    Example:
        tidelake --catalog sqlite:///lake.db init
        tidelake --catalog sqlite:///lake.db append prices prices.parquet --create
        tidelake --catalog sqlite:///lake.db tables
        tidelake --catalog sqlite:///lake.db scan prices --known-at 3
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
