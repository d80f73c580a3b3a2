"""Tab in a shell: commands, tables, columns, tags; and nothing, silently, where no lake is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tidelake
from tidelake.cli import main


@pytest.fixture
def offered(tmp_path: Path):
    """What a shell is told after these words, of which the last has only begun."""
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("prices", "symbol VARCHAR, size INTEGER, day DATE")
        lake.create_table("places", "i INTEGER")
        lake.create_schema("raw")
        lake.create_table("raw.prints", "i INTEGER")
        lake.create_view("premium", "SELECT * FROM prices")
        lake.tag("eod-1")
        lake.tag("late")
    (tmp_path / "tidelake.toml").write_text('catalog = "sqlite:///lake.db"\n')

    def asked(*words: str, folder: Path = tmp_path) -> list[str]:
        line = {"COMP_WORDS": " ".join(["tidelake", *words]), "COMP_CWORD": str(len(words))}
        known = {k: v for k, v in os.environ.items() if k != "TIDELAKE_CATALOG"}
        done = subprocess.run(
            [sys.executable, "-c", "from tidelake.cli import main; main(prog_name='tidelake')"],
            env={**known, **line, "_TIDELAKE_COMPLETE": "bash_complete"},
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert done.stderr == ""
        return [row.partition(",")[2] for row in done.stdout.splitlines() if row]

    return asked


def test_commands_tables_columns_and_tags(offered):
    assert offered("co") == ["compact", "completion", "consumers", "copy", "count", "coverage"]
    assert offered("scan", "pr") == ["prices", "premium"]
    assert offered("show", "raw.") == ["raw.prints"]
    assert offered("compact", "prices", "PL") == ["places"]
    assert offered("drop", "prem") == ["premium"]
    assert offered("scan", "prices", "--columns", "s") == ["symbol", "size"]
    assert offered("scan", "prices", "--columns", "day,si") == ["day,size"]
    assert offered("count", "prices", "--where", "d") == ["day"]
    assert offered("scan", "prices", "--known-at", "eo") == ["eod-1"]
    assert offered("tag", "") == ["eod-1", "late"]


def test_where_no_lake_is(offered, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "tidelake.toml").write_text('catalog = "sqlite:///none.db"\n')
    assert offered("scan", "p", folder=empty) == []
    (empty / "tidelake.toml").write_text("nonsense")
    assert offered("scan", "p", folder=empty) == []
    assert [path.name for path in empty.iterdir()] == ["tidelake.toml"]
    assert offered("hel", folder=empty) == []
    assert offered("heal", folder=empty) == ["health"]


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_of_a_shell(shell):
    from click.testing import CliRunner

    told = CliRunner().invoke(main, ["completion", shell])
    assert told.exit_code == 0
    assert f"_TIDELAKE_COMPLETE={shell}_complete" in told.stdout
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 1
