"""The shell of `tidelake sql`, on a terminal."""

import signal
import stat
from pathlib import Path

import pytest

import tidelake
from tests.cli.conftest import Tidelake
from tests.cli.screen import Screen, screen
from tidelake.cli.shell import loop, terminal
from tidelake.cli.shell.statements import command_within, is_complete, script, split

LONG = "SELECT sum(a.range * b.range) FROM range(2000000) a, range(2000000) b"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Prices since snapshot 2, one more at 3, whose name is `late`; facts in `trades`."""
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        prices = lake.create_table("prices", "symbol VARCHAR, price INTEGER")
        prices.append([{"symbol": "ACME", "price": 10}])
        prices.append([{"symbol": "BOLT", "price": 7}])
        lake.tag("late")
        trades = lake.create_table(
            "trades", "symbol VARCHAR, day DATE, n INTEGER", key="symbol", event_time="day"
        )
        trades.append([{"symbol": "ACME", "day": f"2024-03-0{n}", "n": n} for n in (1, 2, 3)])
    return url


@pytest.fixture
def shell(url, tmp_path):
    """Opens the shell; `env` and more words go to the program."""

    def opened(*words, **env):
        known = {"XDG_DATA_HOME": str(tmp_path / "home"), "PAGER": "", **env}
        return screen("sql", *words, "--catalog", url, env=known, folder=tmp_path)

    return opened


def answer(here: Screen, typed: str, wanted: str) -> None:
    """Type something, and wait until the screen shows what is wanted, once more than before."""
    before = here.text.count(wanted) + typed.count(wanted)
    here.type(typed)
    here.until(lambda: here.text.count(wanted) > before, wanted)
    ready(here)


def ready(here: Screen) -> None:
    """Until it asks for the next: only then it sees keys as they are pressed."""
    here.until(
        lambda: here.asks and here.last.startswith("tidelake") and here.last.endswith(">"), "prompt"
    )


def test_statements_are_answered_and_written(shell, url):
    with shell("--author", "ann") as here:
        ready(here)
        answer(here, "SELECT 40 + 2 AS answer;", "(1 row)")
        answer(here, "INSERT INTO prices VALUES ('CRUX', 3);", "1 row inserted")
        here.type("SELECT symbol")
        here.type("FROM prices -- ; is no end here")
        answer(here, "WHERE price < 5 OR symbol = ';';", "CRUX")
        answer(here, "SELECT 1 AS a; SELECT 77 AS b;", "77")
        here.type("\\q")
        assert here.end() == 0
    with tidelake.connect(url) as lake:
        assert lake.table("prices").count() == 3
        assert lake.log(1)[0].author == "ann"


def test_a_command_within_a_statement_leaves_what_was_typed(shell):
    with shell() as here:
        ready(here)
        here.type("SELECT symbol || '!' AS s")
        here.type("\\known_at 2")
        here.wait("tidelake [known at 2]>")
        here.wait("SELECT symbol || '!' AS s")
        answer(here, "FROM prices;", "ACME!")
        here.type("SELECT 1")
        here.type("\\q")
        assert here.end() == 0


def test_both_clocks_stand_in_the_prompt_and_hold_until_they_are_reset(shell):
    with shell() as here:
        ready(here)
        answer(here, "\\known_at 2", "tidelake [known at 2]>")
        answer(here, "SELECT max(symbol) || '!' AS s FROM prices;", "ACME!")
        answer(here, "DELETE FROM prices;", "hint: \\known_at, without a moment")
        answer(here, "\\known_at late;", "tidelake [known at late]>")
        answer(here, "SELECT max(symbol) || '?' AS s FROM prices;", "BOLT?")
        here.type("\\known_at")
        answer(here, "\\as_of '2024-03-02'", "tidelake [as of 2024-03-02]>")
        answer(here, "SELECT n * 100 AS x FROM trades;", "200")
        answer(here, "SELECT * FROM prices;", "hint: \\as_of, without a moment")
        answer(here, "\\as_of soon", "error: 'soon' is not a time")
        answer(here, "\\known_at never", "is neither a snapshot id")
        here.type("\\as_of")
        here.until(lambda: here.last == "tidelake>", "the plain prompt")
        answer(here, "SELECT n * 1000 AS x FROM trades;", "(3 rows)")


def test_clocks_may_be_set_from_outside(shell):
    with shell("--as-of", "2024-03-01", "--known-at", "late") as here:
        here.wait("tidelake [as of 2024-03-01, known at late]>")


def test_ctrl_c_cancels_the_statement_and_not_the_shell(shell):
    with shell() as here:
        ready(here)
        here.type(f"{LONG};")
        here.until(lambda: not here.asks, "the statement")
        here.type("\x03", end="")
        here.wait("error: cancelled")
        ready(here)
        here.type("SELECT 'half", end="")
        here.wait("half")
        here.type("\x03", end="")
        answer(here, "SELECT 6 * 7 AS n;", "42")
        here.type("\x04", end="")
        assert here.end() == 0


class _Hasty:
    """Types one statement, and Ctrl-C right after Enter."""

    def __init__(self, *_: object) -> None:
        self._lines = iter([f"{LONG};"])

    def prompt(self, _text: str, default: str = "") -> str:
        assert default == ""
        line = next(self._lines, None)
        if line is None:
            raise EOFError
        signal.raise_signal(signal.SIGINT)
        return line


def test_ctrl_c_right_after_enter_cancels_what_was_typed(url, monkeypatch, capsys):
    monkeypatch.setattr(terminal, "new_prompt", _Hasty)
    before = signal.getsignal(signal.SIGINT)
    with tidelake.connect(url) as lake:
        loop.run(loop.Shell(lake))
    assert capsys.readouterr().err == "error: cancelled\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_is_one_line_and_a_hint_in_sql(shell):
    with shell() as here:
        ready(here)
        answer(here, "SELECT nope FROM prices;", "error: ")
        lines = here.text.splitlines()
        at = next(place for place, line in enumerate(lines) if line.startswith("error: "))
        assert 'Referenced column "nope" not found' in lines[at]
        assert "^" not in here.text
        answer(here, "SHOW COLUMNS FROM prices EXTENDED;", "hint: ")
        assert "lake." not in here.text.partition("tidelake>")[2]
        answer(here, "\\nothing", "hint: \\help lists them")
        answer(here, "SELECT 1 AS a; SELECT oops; SELECT 99 AS c;", 'column "oops"')
        assert "99" not in here.text.rpartition("oops;")[2].partition("AS c;")[2]


def test_commands(shell):
    with shell() as here:
        ready(here)
        answer(here, "\\tables", "main.trades")
        answer(here, "\\describe prices", "known at snapshot 5")
        answer(here, "\\tags", "snapshot")
        answer(here, "\\timing", "timing is on")
        answer(here, "SELECT 1 AS one;", " s)")
        answer(here, "\\timing off", "timing is off")
        answer(here, "\\limit 2", "2 rows are shown")
        answer(here, "FROM trades;", "(2 rows; there are more: \\limit 0 shows all)")
        answer(here, "\\tables zzz", "there are no tables")
        answer(here, "help", "\\known_at [N|TIME|TAG]")
        here.type("exit")
        assert here.end() == 0


def test_tab_completes(shell):
    with shell() as here:
        ready(here)
        here.type("SELECT sym\t", end="")
        here.wait("SELECT symbol")
        here.type(" FROM pri\t", end="")
        here.wait("FROM prices")
        here.type(" AT (VERSION => 2);")
        here.wait("(1 row)")
        ready(here)
        here.type("\\known_at la\t", end="")
        here.wait("\\known_at late")
        here.type("")
        here.wait("[known at late]")
        ready(here)
        here.type("\\desc\t", end="")
        here.wait("\\describe")
        here.type(" tra\t", end="")
        here.wait("\\describe trades")


def test_history_is_kept_for_its_owner_alone(shell, tmp_path):
    with shell() as here:
        ready(here)
        answer(here, "SELECT 'in history' AS words;", "(1 row)")
        here.type("\\q")
        here.end()
    path = tmp_path / "home" / "tidelake" / "sql_history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with shell() as here:
        ready(here)
        here.type("\x1b[A\x1b[A", end="")  # up: before \q
        here.wait("SELECT 'in history' AS words;")


def test_without_a_place_for_its_history_the_shell_works_all_the_same(shell, tmp_path):
    (tmp_path / "file").write_text("")
    with shell(XDG_DATA_HOME=str(tmp_path / "file")) as here:
        ready(here)
        answer(here, "SELECT 6 * 7 AS n;", "42")


def test_long_answers_go_to_a_pager(shell, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/page: /' | head -n 5\n")
    pager.chmod(0o755)
    with shell(PAGER=str(pager)) as here:
        ready(here)
        answer(here, "SELECT range AS n FROM range(5);", "(5 rows)")
        assert "page:" not in here.text
        here.type("\\limit 0")
        answer(here, "SELECT range AS n FROM range(500000);", "page: ")
        answer(here, "SELECT 'and on' AS words;", "(1 row)")


def test_a_pipe_is_a_script(url):
    run = Tidelake(url)
    told = run("sql", input="SELECT 1 AS a;\nINSERT INTO prices VALUES ('X', 1);\nFROM prices")
    assert "1 row inserted" in told.stdout
    assert "(3 rows)" in told.stdout
    broken = run("sql", "-", input="SELECT 5 AS n; SELECT nope; SELECT 6 AS n", ok=False)
    assert "5" in broken.stdout
    assert "6" not in broken.stdout
    assert "nope" in broken.stderr
    both = run("sql", "SELECT $a AS a; SELECT $b AS b", "--param", "a=x", "--param", "b=y")
    assert "x" in both.stdout
    assert "y" in both.stdout
    twice = ("sql", "DELETE FROM prices; DELETE FROM trades", "--once", "t")
    assert "several statements" in run(*twice, ok=False).stderr
    assert run.json("count", "prices")["rows"] == 3


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("", [], ""),
        (";;", [], ""),
        ("a", [], "a"),
        ("a; b", ["a"], "b"),
        ("a 'x;y'; b --;\n;", ["a 'x;y'", "b --;"], ""),
        ("a 'x;", [], "a 'x;"),
        ('a "x;', [], 'a "x;'),
        ("a /* ; */ b;", ["a /* ; */ b"], ""),
        ("a /* ; b", [], "a /* ; b"),
        ("a $$;$$;", ["a $$;$$"], ""),
        ("a $x$;", [], "a $x$;"),
        ("-- only a remark", [], ""),
    ],
)
def test_where_a_statement_ends(text, found, rest):
    assert split(text) == (found, rest)
    assert script(text) == found + ([rest] if rest else [])
    assert is_complete(text) is (rest == "")


def test_a_command_is_complete_in_itself():
    assert is_complete("\\as_of 2024-01-01")
    assert not is_complete("select '\\as_of")
    assert is_complete("select 1\n\\timing")
    assert command_within("select 1\n  from t\n\\timing on") == (
        "select 1\n  from t",
        "\\timing on",
    )
    assert command_within("select 'a\n\\timing") is None
    assert command_within("select 1;\n\\timing") is None
    assert command_within("\\timing") is None
