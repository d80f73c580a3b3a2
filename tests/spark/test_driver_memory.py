"""The driver's Python is as small with many rows as with few."""

from pathlib import Path

import pytest

from bench import spark_memory
from bench.timing import in_new_process

ROWS = 1_000_000
STEPS = {
    "append",
    "merge",
    "diff, counted",
    "changes, counted",
    "verify(deep=True)",
    "rollback",
    "append of facts",
    "as_of, counted",
    "history of a key",
}


@pytest.mark.slow
@pytest.mark.spark
def test_a_million_rows_leave_the_driver_as_it_was(tmp_path: Path) -> None:
    """The first step also loads what all of them need."""
    found = in_new_process(str(tmp_path / "lake"), str(ROWS), module="bench.spark_memory")
    assert found.keys() == STEPS
    assert {what: each["more MB"] for what, each in found.items() if each["more MB"] > 60} == {}
    verdicts = spark_memory.report(found, ROWS).verdicts
    assert [each for each in verdicts if each.unit == "MB" and not each.passed] == []
