"""What goes wrong is told in one line, with a hint, and never with a traceback."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidelake.cli import main
from tidelake.cli.reflexes import COMMANDS, OPTIONS

FULL = Path("/dev/full")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scan", "nope"], "there is no table main.nope"),
        (["show", "cheap"], "main.cheap is a view"),
        (["scan", "prices", "--columns", "nope"], "no column 'nope'"),
        (["scan", "prices", "--where", "price >"], ""),
        (["scan", "prices", "--known-at", "999"], "there is no snapshot 999"),
        (["scan", "prices", "--known-at", "soon"], "neither a snapshot id nor a time"),
        (["sql", "TRUNCATE prices"], "TRUNCATE"),
        (["sql", "DROP TABLE prices", "--known-at", "1"], ""),
        (["scan", "a.b.c"], "is not a table name"),
        (["scan"], "Missing argument 'TABLE'"),
        (["scan", "prices", "--limit", "many"], "'many' is not a valid integer."),
        (["serve", "--port", "99999"], "99999 is not in the range 0<=x<=65535"),
        (["serve", "--flight-port", "-1"], "-1 is not in the range 0<=x<=65535"),
        (["sql", "FROM read_csv('nosuch.csv')"], "there is no file nosuch.csv"),
        (["nonsense"], "No such command"),
    ],
)
def test_an_error_is_one_line_with_exit_code_1(lake_url, words, said):
    result = CliRunner().invoke(main, ["--catalog", lake_url, *words])
    assert result.exit_code == 1
    assert result.stdout == ""
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert said in first
    assert all(line.startswith("hint: ") for line in rest)
    assert len(rest) <= 1


def test_with_json_an_error_is_an_object_on_stderr(tidelake):
    result = tidelake("scan", "nope", "--json", ok=False)
    error = json.loads(result.stderr)["error"]
    assert error["kind"] == "NotFound"
    assert error["exit_code"] == result.exit_code == 1
    assert "main.nope" in error["message"]
    assert "main.prices" in error["hint"]
    assert result.stdout == ""


def test_a_wrong_option_is_an_object_too(tidelake):
    error = json.loads(tidelake("--json", "scan", "t", "--nope", ok=False).stderr)["error"]
    assert (error["kind"], error["hint"]) == ("Usage", "tidelake scan --help")


def test_no_catalog_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDELAKE_CATALOG", raising=False)
    result = CliRunner().invoke(main, ["tables"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: no catalog was named")


def test_a_read_does_not_create_a_lake(empty, tmp_path):
    assert "there is no catalog" in empty("tables", ok=False).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_never_printed():
    url = "postgresql://ann:secret@127.0.0.1:1/db"
    result = CliRunner().invoke(main, ["tables", "--catalog", url])
    assert result.exit_code == 1
    assert "secret" not in result.output


def test_the_kind_of_an_error_is_a_class_that_others_know():
    url = "mysql://ann:secret@127.0.0.1:1/db"
    done = CliRunner().invoke(main, ["tables", "--catalog", url, "--json"])
    assert json.loads(done.stderr)["error"]["kind"] == "Unavailable"
    assert "secret" not in done.output


@pytest.mark.parametrize("words", [["schema"], ["mirror"]])
def test_a_group_without_a_command_prints_its_help(words):
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: tidelake {words[0]} ")


def test_help_says_what_can_be_typed():
    for name, command in main.commands.items():
        text = CliRunner().invoke(main, [name, "--help"]).stdout
        assert "\\b" not in text
        if command.help and "Example:" in command.help:
            assert f"    tidelake {name}" in text
        assert not re.search(r'"[^"\n]*\$', text), "the shell would put something in its place"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ls"], "tidelake tables"),
        (["select", "1"], 'tidelake sql "SELECT …"'),
        (["vacuum"], "tidelake expire, then tidelake cleanup"),
        (["upsert", "t"], "tidelake merge TABLE FILES --on KEY"),
        (["nonsense"], "tidelake --help"),
    ],
)
def test_a_command_of_another_program_is_told_what_it_is_here(words, hint):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert result.stderr == f"error: No such command {words[0]!r}.\nhint: {hint}\n"


def test_what_stands_for_another_name_is_there():
    for name, told in COMMANDS.items():
        assert name not in main.commands
        for said in re.findall(r"tidelake (\w+)", told):
            assert said in main.commands, told


def test_where_there_is_nothing_the_hint_says_how_to_make_it(tmp_path):
    url = f"sqlite:///{tmp_path}/new.db"
    told = CliRunner().invoke(main, ["tables", "--catalog", url]).stderr
    assert "`tidelake init` creates a lake" in told


def test_a_delete_without_a_condition_is_told_the_command(tidelake):
    told = tidelake("delete", "prices", "--where", "", ok=False).stderr
    assert 'hint: tidelake delete TABLE --where "true" for all' in told


def test_of_many_functions_that_do_not_fit_a_few_are_named(tidelake):
    told = tidelake("sql", "SELECT symbol + price FROM prices", ok=False).stderr
    assert "No function matches" in told
    assert re.search(r"… and \d\d more\n", told)
    assert len(told.splitlines()) < 12


def test_an_export_to_a_full_disk(tidelake, tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    told = tidelake("export", "prices", "--to", str(tmp_path / "x.csv"), ok=False).stderr
    assert "No space left on device" in told
    assert "hint: free some space" in told
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["scan", "t", "--format", "csv"], "--json, or tidelake export TABLE --to FILE"),
        (["scan", "t", "-n", "3"], "--limit 10"),
        (["scan", "t", "--filter", "x"], '--where "x > 5"'),
        (["drop", "t", "--yes"], "commands ask nothing; --dry-run tells what they would do"),
        (["--install-completion"], "tidelake completion bash >> ~/.bashrc"),
        (["scan", "t", "--nonsense"], "tidelake scan --help"),
    ],
)
def test_so_is_an_option(words, hint):
    told = CliRunner().invoke(main, words).stderr
    assert "No such option" in told
    assert told.endswith(f"hint: {hint}\n")


def test_what_stands_for_another_option_is_there():
    there = {name for each in main.commands.values() for one in each.params for name in one.opts}
    for told in OPTIONS.values():
        for option in re.findall(r"--[a-z-]+", told):
            assert option in there, told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scan", "prices", "--known-at", "soon"], "--known-at 'soon' is neither"),
        (["scan", "prices", "--known-at=soon"], "--known-at 'soon' is neither"),
        (["rollback", "prices", "--to", "soon"], "'soon' is neither"),
        (["expire", "--older-than", "7"], "--older-than '7' is neither a span"),
        (["option", "target_file_size", "1MB"], "target_file_size='1MB' is not a whole number"),
        (["option", "target_file_size", "9" * 19], f"target_file_size='{'9' * 19}' is too large"),
        (["option", "nosuch"], "there is no option 'nosuch'"),
        (["scan", "prices", "--where", "known_at="], "cannot read 'known_at='"),
    ],
)
def test_arguments_of_python_are_the_options_that_were_typed(tidelake, words, said):
    assert tidelake(*words, ok=False).stderr.startswith(f"error: {said}")


@pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("words", [["tables"], ["scan", "prices", "--json"], ["--help"]])
def test_an_answer_that_cannot_be_written(lake_url, words):
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from tidelake.cli import main; main()", *words],
            env=os.environ | {"TIDELAKE_CATALOG": lake_url},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "cannot write the answer: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_who_still_names_the_old_place_is_told_where(tmp_path, monkeypatch):
    """A file, the environment and an argument may name the data path: each is told for itself."""
    monkeypatch.chdir(tmp_path)
    for name in ("TIDELAKE_CATALOG", "TIDELAKE_DATA_PATH"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "tidelake.toml"
    config.write_text('catalog = "sqlite:///lake.db"\ndata_path = "old"\n')
    run = CliRunner()
    assert run.invoke(main, ["init"]).exit_code == 0
    (tmp_path / "old").rename(tmp_path / "new")
    moved = run.invoke(main, ["move", "--data-path", "new"])
    assert moved.stderr == f'hint: write data_path = "{tmp_path}/new/" into {config} too\n'
    assert f"hint: correct data_path in {config}; if" in run.invoke(main, ["tables"]).stderr
    config.write_text(f'catalog = "sqlite:///lake.db"\ndata_path = "{tmp_path}/new/"\n')
    assert run.invoke(main, ["tables"]).exit_code == 0
    assert run.invoke(main, ["move", "--data-path", "new"]).stderr == ""
    told = run.invoke(main, ["tables", "--data-path", "old"]).stderr
    assert "hint: leave data_path out; if" in told
    monkeypatch.setenv("TIDELAKE_DATA_PATH", str(tmp_path / "old"))
    assert "hint: unset TIDELAKE_DATA_PATH; if" in run.invoke(main, ["tables"]).stderr
