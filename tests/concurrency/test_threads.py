"""Threads of one process write at the same time: for a DuckDB file the only way there is."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import tidelake
from tests.concurrency import audit
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.testing.place import Place

THREADS = 4
TIMES = 4


@pytest.mark.parametrize("shared", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "postgresql", "mariadb"])
def test_four_threads(new_place: Callable[[str], Place], kind: str, shared: bool) -> None:
    """Each with a lake of its own, or all with the same one."""
    place = new_place(kind)
    with place.open() as lake, ThreadPoolExecutor(THREADS) as pool:
        lake.create_table("t", "n BIGINT, who BIGINT")
        lake.create_table("counters", "id BIGINT, n BIGINT").append([{"id": 0, "n": 0}])
        lakes = [lake if shared else place.open() for _ in range(THREADS)]
        list(pool.map(write, lakes, range(THREADS)))
        found = lake.table("t").to_arrow()
        assert sorted(found["n"].to_pylist()) == list(range(THREADS * TIMES * 20))
        assert lake.table("counters").to_arrow()["n"].to_pylist() == [THREADS * TIMES]
        for each in lakes:
            each.close()
    audit.check(place, "t", "counters")


def write(lake: tidelake.Lake, who: int) -> None:
    table = lake.table("t")
    for time in range(TIMES):
        first = (who * TIMES + time) * 20
        table.append([{"n": first, "who": who}])
        table.append([{"n": first + number, "who": who} for number in range(1, 20)])
        lake.table("counters").update({"n": "n + 1"}, where="id = 0")


@pytest.mark.slow
def test_a_file_is_opened_while_others_close_it(new_place: Callable[[str], Place]) -> None:
    """DuckDB refuses a file whose last connection is being closed."""
    url = parse_url(new_place("duckdb").url)
    assert url.path is not None
    url.path.parent.mkdir(parents=True, exist_ok=True)

    def open_and_close(_: int) -> int:
        database = Database(url)
        with database.reading() as reader:
            (found,) = reader.rows("SELECT 1")
        database.close()
        return int(found[0])

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(open_and_close, range(3000))) == {1}
