"""Random histories written by DuckDB read the same through Tidelake at every snapshot.

Histories that DuckDB itself cannot read afterwards are passed over. One kind: switch inlining on
after a column was renamed and then the table; the inlined table is read by the old name.
"""

import tempfile
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import tidelake
from tests.read.histories import Step, make_history, sql_of, steps
from tidelake.testing.agreement import differences
from tidelake.testing.oracle import Oracle

_SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    print_blob=True,
)


def _check(plan: list[Step], limit: int) -> None:
    sql = sql_of(plan)
    note(f"inlining limit {limit}\n{sql}")
    oracle = Oracle()
    with closing(oracle), tempfile.TemporaryDirectory() as folder:
        truth = None
        made = make_history(oracle, sql, Path(folder), limit)
        with suppress(duckdb.Error):
            truth = oracle.read(made) if made else None
        assume(truth is not None)
        with tidelake.connect(made.url, read_only=True) as lake:
            found = differences(lake, truth, Random(0))
    assert not found, "\n".join(found)


@settings(_SETTINGS, max_examples=7, derandomize=True)
@given(plan=steps, limit=st.sampled_from([0, 10]))
def test_short_histories(plan: list[Step], limit: int) -> None:
    _check(plan, limit)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(_SETTINGS, max_examples=400)
@given(plan=steps, limit=st.sampled_from([0, 10]))
def test_many_histories(plan: list[Step], limit: int) -> None:
    _check(plan, limit)
