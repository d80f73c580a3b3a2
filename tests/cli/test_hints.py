"""Hints speak the language of whoever gets them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tidelake
from tests.cli.conftest import Tidelake
from tidelake.cli import main
from tidelake.drawing.hints import in_commands, in_one_line, in_sql

PYTHON = re.compile(r"\b(?:lake|t|tx)\.\w+\(|=True|=\[|\w=\"")


@pytest.mark.parametrize(
    ("hint", "command", "statement"),
    [
        (
            "take another name, or lake.untag('v1') first",
            "take another name, or tidelake tag v1 --delete first",
            "take another name, or CALL untag('v1') first",
        ),
        (
            'declare them: t.set_event_time("ts", key=["id"])',
            "declare them: tidelake declare TABLE --event-time ts --key id",
            "declare them: CALL set_event_time('t', 'ts', key => 'id')",
        ),
        ("lake.mirror('main.t')", "tidelake mirror start main.t", "tidelake mirror start main.t"),
        (
            "lake.mirror('main.\"day(ts)\"')",
            "tidelake mirror start 'main.\"day(ts)\"'",
            "tidelake mirror start 'main.\"day(ts)\"'",
        ),
        (
            "lake.shares() tells what is",
            "tidelake share tells what is",
            "tidelake share tells what is",
        ),
        (
            "lake.undrop('main.t'); there are: none",
            "tidelake undrop main.t; there are: none",
            "CALL undrop('main.t'); there are: none",
        ),
        ('lake.sql("SELECT * FROM v")', "tidelake sql 'FROM v'", "FROM v"),
        (
            'declare it again: t.rollup(every="1mo")',
            "declare it again: tidelake rollup TABLE --every 1mo",
            "declare it again: CALL rollup('t', every => '1mo')",
        ),
        (
            "choose another name, or pass resume=True to go on with it",
            "choose another name, or pass --resume to go on with it",
            "choose another name, or pass resume=True to go on with it",
        ),
        (
            'new_columns="add" adds it, "ignore" passes over it',
            '--new-columns add adds it, "ignore" passes over it',
            'new_columns="add" adds it, "ignore" passes over it',
        ),
        (
            'expire(older_than="7 days"), expire(keep_last=100), or set the option',
            "tidelake expire --older-than '7 days', tidelake expire --keep-last 100,"
            " or set the option",
            "CALL expire('7 days'), CALL expire(keep_last => 100), or set the option",
        ),
        (
            "t.missing(…) lists what to fetch; t.wait_complete(…) waits for it",
            "tidelake gaps TABLE lists what to fetch; tidelake wait TABLE waits for it",
            "FROM missing('t') lists what to fetch; tidelake wait TABLE waits for it",
        ),
        (
            'say when rows are expected: t.set_calendar("weekdays"), or a Calendar',
            "say when rows are expected: tidelake calendar TABLE --weekdays, or another of its"
            " options",
            "say when rows are expected: CALL set_calendar('t', 'weekdays')",
        ),
        ("correct the data", "correct the data", "correct the data"),
        (None, None, None),
    ],
)
def test_a_hint(hint, command, statement):
    assert in_commands(hint) == command
    assert in_sql(hint) == statement


def test_an_error_of_duckdb_is_one_line():
    drawn = 'Parser Error: no "x"\n\nLINE 1: SELECT x\n               ^\nCandidates: "y"'
    assert in_one_line(drawn).split() == ["Parser", "Error:", "no", '"x"', "Candidates:", '"y"']


@pytest.fixture
def run(tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "i INTEGER").append([{"i": 1}])
        lake.create_view("v", "SELECT * FROM t")
        lake.create_table("gone", "i INTEGER")
        lake.drop("gone")
        lake.tag("v1")
    return Tidelake(url)


@pytest.mark.parametrize(
    "words",
    [
        ("tag", "v1", "--known-at", "1"),
        ("scan", "t", "--as-of", "2024-01-01"),
        ("scan", "v"),
        ("scan", "gone"),
        ("mirror", "stop", "t"),
        ("rollup", "t", "--as-of", "2024-01-01"),
        ("coverage", "t"),
        ("undrop", "never"),
        ("sql", "BEGIN"),
        ("sql", "COPY t TO 'x'"),
        ("sql", "SELECT 1", "--as-of", "2024-01-01"),
        ("expire",),
        ("merge", "t", "-"),
        ("append", "nosuch", "-"),
    ],
)
def test_no_hint_of_a_command_is_python(run, words):
    said = run(*words, ok=False, input='{"i": 1}').stderr
    assert said.startswith("error: ")
    assert not re.search(r"\b(?:lake|t|tx)\.\w+\(|=True|=\[|\w=\"", said.partition("hint: ")[2]), (
        said
    )


OF_OTHERS = {"--upgrade", "--packages"}
"""Options of pip and of spark-submit."""


def texts(node: ast.expr) -> Iterator[str]:
    """What a hint may say; what is filled in at run time is a name here."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            fixed = (part.value if isinstance(part, ast.Constant) else "x" for part in parts)
            yield "".join(map(str, fixed))
        case ast.BinOp(left=left, right=right):
            yield from (one + other for one in texts(left) for other in texts(right))
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*texts(body), *texts(orelse))


def every_hint() -> set[str]:
    found = set()
    for path in Path(tidelake.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                found.update(texts(node.value))
    return found


def named(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from named(command, f"{name} ")


def options(command: click.Command) -> set[str]:
    return {word for each in command.params for word in (*each.opts, *each.secondary_opts)}


def test_hints_name_commands_and_options_that_there_are():
    known = dict(named(main))
    every = set().union(*map(options, known.values()), OF_OTHERS)
    hints = {str(in_commands(hint)) for hint in every_hint()}
    assert len(hints) > 500
    for hint in hints:
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", hint)) <= every, hint
        for call in re.findall(r"\btidelake ([a-z][^,;:`]*)", hint):
            first, _, rest = call.partition(" ")
            two = f"{first} {rest.partition(' ')[0]}"
            assert first in known, hint
            own = options(known.get(two, known[first]))
            said = re.split(r"'[^']*'| (?:or|first|with) ", rest)[0]
            assert set(re.findall(r"--[a-z][a-z-]*", said)) <= own, hint


def test_a_table_that_is_not_there_can_be_created(run):
    told = run("append", "nosuch", "-", ok=False, input='{"i": 1}').stderr
    assert "--create makes it; there are: main.t" in told
    made = run("append", "nosuch", "-", "--create", input='{"i": 1}').stdout
    assert "1 row inserted" in made
    assert "create table main.nosuch" in run("log").stdout


def test_without_a_catalog_one_is_told_how_to_name_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    told = CliRunner().invoke(main, ["init"]).stderr
    assert "say --catalog sqlite:///lake.db" in told
    assert "connect(" not in told
