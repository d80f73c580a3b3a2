"""The program as the shell runs it."""

import json
import os
import pty
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import tidelake


def run(*words, **extra):
    command = [sys.executable, "-m", "tidelake", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **extra)


def test_help_needs_neither_rich_nor_an_engine():
    code = "import sys, tidelake.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert not {"rich", "duckdb", "sqlalchemy", "pyarrow", "sqlglot"} & set(loaded.split())


def test_help_lists_the_commands():
    assert "Upkeep:" in run("--help").stdout


def test_without_a_command_it_prints_help():
    result = run()
    assert (result.returncode, result.stderr) == (0, "")
    assert "Example:" in result.stdout


def test_json_is_one_document(lake_url):
    result = run("scan", "prices", "--json", "--catalog", lake_url)
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["row_count"] == 59


def test_an_error_has_no_traceback(lake_url):
    result = run("scan", "nope", "--catalog", lake_url)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_piped_text_is_neither_cut_nor_coloured(lake_url):
    result = run(
        "scan", "prices", "--limit", "2", "--catalog", lake_url, env={**os.environ, "COLUMNS": "20"}
    )
    assert '{"bid": ' in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.slow
def test_a_closed_pipe_ends_it_quietly(lake_url):
    query = "SELECT * FROM range(1000000)"
    for words in (["--json"], ["--limit", "0"]):
        command = [sys.executable, "-m", "tidelake", "sql", query, "--catalog", lake_url, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.read(5)
            process.stdout.close()
            assert process.stderr.read() == b""


QUERY = "SELECT sum(a.range * b.range) FROM range(2000000) a, range(2000000) b"


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_interrupt_is_one_line_and_130(lake_url, words):
    command = [sys.executable, "-m", "tidelake", "sql", "-", "--catalog", lake_url, *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        # More than a pipe holds: when it has been written, the program is there to read it.
        process.stdin.write(f"{QUERY} -- {'x' * 200_000}")
        process.stdin.close()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(timeout=60) == 130, said
    if words:
        assert json.loads(said)["error"]["kind"] == "Interrupted"
    else:
        assert said.strip() == "error: interrupted"


def test_a_count_can_be_counted_with(tmp_path):
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "n INT").append(pa.table({"n": pa.array(range(12_345), pa.int32())}))
    assert run("count", "t", "--catalog", url).stdout == "12345\n"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tidelake", "count", "t", "--catalog", url]
    subprocess.run(command, stdout=theirs, check=True, timeout=300)
    os.close(theirs)
    assert os.read(ours, 100).decode().strip() == "12,345"
    os.close(ours)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_letters_that_the_output_has_not(tmp_path, encoding):
    """Text says which they were, and JSON stays JSON."""
    url = f"sqlite:///{tmp_path}/lake.db"
    text = "é 漢 🌊 œ"
    with tidelake.connect(url) as lake:
        lake.create_table("t", "s VARCHAR").append([{"s": text}])

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "tidelake", "scan", "t", "--catalog", url, *words]
        env = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, check=True, env=env, timeout=300)
        assert done.stderr == b""
        return done.stdout.decode(encoding)

    assert json.loads(said("--json"))["rows"] == [{"s": text}]
    shown = said()
    for letter in text.split():
        units = letter.encode("utf-16-be").hex()
        spelled = "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))
        assert letter in shown or spelled in shown
