"""docs/cli.md has every option of every command in the command's own section, and every exit
code with the commands that end with it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import tidelake.cli
from tidelake import errors
from tidelake.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
INTRODUCTION, *_PARTS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
SECTIONS = {part.partition("\n")[0]: part for part in _PARTS}
CODES = SECTIONS["Errors and exit codes"]
FOLDER = Path(tidelake.cli.__file__).parent

_AS_OTHERS = re.compile(r"(?:those of|as for|as of|as|that of|is that of) `(?:tidelake )?(\w+)`")


def options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (each for each in parameter.opts if each.startswith("--"))
    if isinstance(command, click.Group):
        for inside in command.commands.values():
            yield from options(inside)


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_option_is_told_where_its_command_is(name):
    own = SECTIONS[f"tidelake {name}"]
    others = (SECTIONS.get(f"tidelake {each}", "") for each in _AS_OTHERS.findall(own))
    text = INTRODUCTION + own + "".join(others)
    missing = [each for each in options(main.commands[name]) if f"{each}" not in text]
    assert missing == []


def codes(path: Path) -> set[int]:
    """What a module of a command ends with on purpose."""
    tree = ast.parse(path.read_text())
    named = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="exit"), args=[ast.Name(id=name)]):
                found.add(named.get(name))
    return found - {None}


def test_every_exit_code_is_told():
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", CODES, re.MULTILINE))
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    told = {int(code) for code in rows}
    assert {getattr(each, "exit_code", 1) for each in classes} <= told
    assert {0, 130} <= told
    for path in sorted(FOLDER.glob("*.py")):
        for code in codes(path):
            if path.stem != "program":
                assert f"`{path.stem}" in rows[str(code)], path.stem


def test_codes_are_found():
    assert codes(FOLDER / "coverage.py") == {2}
    assert codes(FOLDER / "doctor.py") == {1}
