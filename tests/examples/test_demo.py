"""`make demo`, at a small size."""

import os
import re
import subprocess
import sys

import pytest

from tests.examples.conftest import EXAMPLES


def run_demo(tmp_path, *words):
    command = [sys.executable, str(EXAMPLES / "demo.py"), "--symbols", "2", *words]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "120"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(told):
    taken = re.findall(r"^ delivery \d +\d+ +[\d,]+ +2 +2 +[\d,]+ +(\d+)", told, re.MULTILINE)
    assert taken == ["0", "60", "60", "60"]
    assert re.search(r"once more( +0){6}", told)
    before, after = re.findall(r"^ delivery \d +2024-\S+ 20:59:00 +(\S+)", told, re.MULTILINE)
    assert float(after) == pytest.approx(float(before) * 0.97, abs=0.01)
    assert re.findall(r"late: .* of (\w+), 390 buckets", told) == ["ACME", "BOLT"]
    assert re.findall(r"^ (\w+) .* (yes|no) *$", told, re.MULTILINE) == [
        ("ACME", "yes"),
        ("BOLT", "yes"),
    ]
    rows = re.findall(r"^ with(?:out| one of \S+) +\d+ +([\d,]+) *$", told, re.MULTILINE)
    without, begun = (int(found.replace(",", "")) for found in rows)
    assert begun < without
    assert "The state is the same." in told
    assert "each holds the rows that it held before" in told
    assert "All agree." in told
    assert re.search(r"answers at http://127.0.0.1:\d+/", told)
    assert len(re.findall(r"took [\d.]+ s", told)) == 9


def test_the_demo_in_this_process(tmp_path):
    told = run_demo(tmp_path, "--engine", "local", "--days", "16")
    assert "The same pipeline runs in this process" in told
    check(told)


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_on_spark(tmp_path):
    told = run_demo(tmp_path, "--engine", "spark", "--days", "16")
    assert re.search(r"Spark \S+ is up", told)
    check(told)


def test_without_java_it_says_what_is_missing(tmp_path):
    """A Java that is too old is none."""
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    command = [sys.executable, str(EXAMPLES / "demo.py"), "--engine", "spark"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "Spark needs Java 17 or later, and this is Java 11" in done.stderr
