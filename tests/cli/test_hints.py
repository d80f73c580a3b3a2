"""Hints speak the language of whoever gets them."""

import re

import pytest

import tidelake
from tests.cli.conftest import Tidelake
from tidelake.cli.render.hints import in_commands, in_one_line, in_sql

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
    ],
)
def test_no_hint_of_a_command_is_python(run, words):
    said = run(*words, ok=False, input='{"i": 1}').stderr
    assert said.startswith("error: ")
    assert not re.search(r"\b(?:lake|t|tx)\.\w+\(|=True|=\[|\w=\"", said.partition("hint: ")[2]), (
        said
    )
