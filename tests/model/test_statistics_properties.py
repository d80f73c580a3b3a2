"""Whatever DuckDB finds in a file, its statistics must allow."""

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, note

from tests.conditions import Case, cases, fill, matches
from tidelake.model.statistics import may_match


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


@given(case=cases())
def test_a_file_with_a_matching_row_is_kept(connection: duckdb.DuckDBPyConnection, case: Case):
    stats = fill(connection, case)
    for predicate in case.predicates:
        if matches(connection, predicate.sql()):
            note(f"{predicate.sql()} on {stats}")
            assert may_match(predicate, case.schema, {case.column.id: stats})
