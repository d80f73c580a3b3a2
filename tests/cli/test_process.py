"""The program as the shell runs it."""

import json
import os
import subprocess
import sys


def run(*words, **extra):
    command = [sys.executable, "-m", "tidelake", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **extra)


def test_help_needs_neither_rich_nor_an_engine():
    code = "import sys, tidelake.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert not {"rich", "duckdb", "sqlalchemy", "pyarrow", "sqlglot"} & set(loaded.split())


def test_help_lists_the_commands():
    assert "Commands:" in run("--help").stdout


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


def test_a_closed_pipe_ends_it_quietly(lake_url):
    query = "SELECT * FROM range(1000000)"
    for words in (["--json"], ["--limit", "0"]):
        command = [sys.executable, "-m", "tidelake", "sql", query, "--catalog", lake_url, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout.read(5)
            process.stdout.close()
            assert process.stderr.read() == b""
