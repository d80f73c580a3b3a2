"""A command is found by its name."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import tidelake.cli
from tidelake.cli import main
from tidelake.cli.sections import SECTIONS

FOLDER = Path(tidelake.cli.__file__).parent

OTHER_NAMES = {"import": "import_delta"}
"""`import` is a word of Python, and cannot be the name of a module."""

SHARED = {
    *("checks", "lake_names", "program", "render", "sections", "shell", "watch"),
    *("coverage_options", "file_options", "reflexes", "row_options"),
}
"""What is no command: what several of them share, and how they print."""


def commands(group: click.Group, module: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands with the modules they belong in; those of a group are in the group's."""
    for name, command in group.commands.items():
        home = module or f"tidelake.cli.{OTHER_NAMES.get(name, name)}"
        yield home, command
        if isinstance(command, click.Group):
            yield from commands(command, home)


@pytest.mark.parametrize(("module", "command"), list(commands(main)))
def test_a_command_is_in_the_module_of_its_name(module: str, command: click.Command) -> None:
    assert command.callback is not None
    assert command.callback.__module__ == module


def test_a_module_is_a_command_or_shared() -> None:
    found = {path.stem for path in FOLDER.iterdir() if not path.name.startswith("__")}
    names = {OTHER_NAMES.get(name, name) for name in main.commands}
    assert names.isdisjoint(SHARED)
    assert found == names | SHARED


def test_a_command_does_not_wait_for_the_others(tmp_path: Path) -> None:
    catalog = f"sqlite:///{tmp_path}/lake.db"
    tidelake.connect(catalog).close()
    program = (
        "import atexit, sys; from tidelake.cli import main;"
        " atexit.register(lambda: print(*sys.modules));"
        f" main(['tables', '--catalog', {catalog!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"tidelake.cli.tables", "tidelake.lake.lake"} <= loaded
    others = {f"tidelake.cli.{OTHER_NAMES.get(name, name)}" for name in main.commands}
    assert loaded & others == {"tidelake.cli.tables"}
    reports = {"tidelake.delta.values.reports", "tidelake.verify.values"}
    assert loaded.isdisjoint({*reports, "duckdb", "pyarrow", "pandas", "prompt_toolkit"})


def test_every_command_has_its_place_in_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(main.commands)


def test_no_line_of_the_help_is_cut() -> None:
    context = click.Context(main, info_name="tidelake", terminal_width=80, max_content_width=80)
    told = main.get_help(context)
    assert "..." not in told.split("Begin:")[1]
    assert max(map(len, told.splitlines())) <= 80
    for _, group in commands(main):
        if isinstance(group, click.Group):
            inside = group.get_help(click.Context(group, terminal_width=80, max_content_width=80))
            assert "..." not in inside.split("Commands:")[1]


def test_no_help_is_wider_than_a_terminal() -> None:
    for _, command in [("", main), *commands(main)]:
        context = click.Context(command, terminal_width=80, max_content_width=80)
        wide = [line for line in command.get_help(context).splitlines() if len(line) > 80]
        assert not wide, f"{command.name}: end a line of an example with a backslash"
