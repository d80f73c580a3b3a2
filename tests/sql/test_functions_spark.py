"""Functions of the lake in SQL on Spark: the answers of the local engine."""

from collections.abc import Iterator

import pytest

from tests.cases import every
from tests.sql.test_functions import CASES, filled, rows
from tests.sql.two_clocks import Facts

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Iterator[Facts]:
    yield from filled(tmp_path_factory.mktemp("functions_spark"), engine="spark", spark=spark)


@pytest.mark.parametrize("call", every(6, CASES))
def test_what_python_gives(place: Facts, call: str) -> None:
    expected = rows(CASES[call](place.lake.table("facts")))
    assert rows(place.lake.sql(f"FROM {call}")) == expected


@pytest.mark.slow
def test_where_a_table_can_stand(place: Facts) -> None:
    found = place.lake.sql(
        "SELECT h.id, count(*) AS n, max(s.snapshot_id) AS last"
        " FROM history('facts', key => 'a') h JOIN snapshots() s ON s.time = h.known_from"
        " GROUP BY h.id"
    )
    local = rows(place.lake.table("facts").history("a"))
    ((key, count, last),) = rows(found)
    assert (key, count) == ("a", len(local))
    assert last == 6
    assert place.lake.sql("FROM table_files('facts')").to_spark().count() == len(
        place.lake.table("facts").files()
    )
