"""An erasure while others write: nobody loses a row that was not erased, none comes back, and
whoever rested on what has gone is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import duckdb
import pytest

import tidelake
from tests.erasure.census import by_tidelake, without_mark
from tests.erasure.search import MARK, traces
from tests.erasure.test_erase import WHERE, rows, written
from tidelake.errors import Conflict, TidelakeWarning
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place


@contextmanager
def just_before_the_commit(
    lake: tidelake.Lake, doing: object, times: int = 1
) -> Iterator[list[int]]:
    """Something is done whenever an erasure comes for the lake's lock, so many times."""
    done: list[int] = []

    def tell(what: str, _: str) -> None:
        if what == "write" and len(done) < times and not lake.erasures():
            done.append(len(done))
            doing(len(done))  # type: ignore[operator]

    with watch_database(lake, tell):
        yield done


@pytest.mark.parametrize("times", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_rows_that_come_meanwhile_go_too(place: Place, times: int) -> None:
    """As often as they come: in the end others have to wait."""
    with place.open() as lake, place.open() as other:
        written(lake)
        lake.set_option("data_inlining_row_limit", 0)

        def append(n: int) -> None:
            assert not other.erasures(), "it is called before the commit"
            other.table("t").append(rows("new", MARK, start=1000 + 10 * n))
            if n % 3 == 1:
                other.table("t").delete("id = 31")
            if n % 3 == 2:
                other.table("t").compact()

        with just_before_the_commit(lake, append, times) as done:
            result = lake.erase("t", WHERE, reason="r")
        assert done
        assert result.is_finished
        now = lake.table("t").to_arrow().to_pylist()
        assert sorted(row["id"] for row in now if row["name"] == "new") == [
            1000 + 10 * n for n in range(1, len(done) + 1)
        ]
        found = by_tidelake(lake, "t")
        assert found == without_mark(found)
        assert traces(place, lake) == []
        assert lake.verify(deep=True).ok


def test_who_began_before_is_told(place: Place) -> None:
    """A delete rests on positions that are others now; an append rests on nothing."""
    with place.open() as lake, place.open() as other:
        written(lake)
        lake.set_option("data_inlining_row_limit", 0)
        deleting = other.transaction()
        deleting.table("t").delete("id = 50")
        appending = other.transaction()
        appending.table("t").append(rows("late", start=900))
        reading = other.transaction(isolation="serializable")
        reading.table("t").count()
        reading.create_table("u", "n INTEGER")
        lake.erase("t", WHERE, reason="r")
        before = by_tidelake(lake, "t")
        with pytest.raises(Conflict):
            deleting.commit()
        with pytest.raises(Conflict):
            reading.commit()
        appending.commit()
        other.table("t").delete("id = 50")
        found = by_tidelake(lake, "t")
        assert {at: found[at] for at in before} == before
        assert lake.verify(deep=True).ok


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lake.t WHERE id = 50",
        "UPDATE lake.t SET id = 51 WHERE id = 50",
        "DELETE FROM lake.t WHERE id = 10",
        "CALL ducklake_merge_adjacent_files('lake')",
    ],
)
def test_so_is_duckdb(place: Place, statement: str) -> None:
    with place.open() as lake:
        written(lake)
        for n in range(3):
            many = [MARK, *map(str, range(20))]
            lake.table("t").append(rows(*many, start=1000 * n))
        with place.duck() as duck:
            duck.execute("BEGIN")
            assert duck.execute(statement).fetchall()
            with pytest.warns(TidelakeWarning, match="shrink the catalog"):
                result = lake.erase("t", WHERE, reason="r")
            assert not result.is_finished
            assert bool(result.left) == statement.startswith("CALL"), "DuckDB leaves its files"
            before = by_tidelake(lake, "t")
            with pytest.raises(duckdb.TransactionException, match=r"(?i)conflict|attempting to"):
                duck.execute("COMMIT")
        assert lake.finish_erasures()
        lake.cleanup("0 seconds")
        found = by_tidelake(lake, "t")
        assert {at: found[at] for at in before} == before
        assert traces(place, lake) == []
        assert lake.verify(deep=True).ok


@pytest.mark.slow
def test_a_rollup_that_was_being_made_is_not_kept(place: Place) -> None:
    with place.open() as lake, place.open() as other:
        t = lake.create_table(
            "t", "id INTEGER, name VARCHAR, ts TIMESTAMP", key=["id"], event_time="ts"
        )
        lake.set_option("data_inlining_row_limit", 0)
        t.append(
            [{"id": n, "name": name, "ts": "2024-01-01"} for n, name in enumerate(("a", MARK))]
        )
        erase = partial(lake.erase, "t", WHERE, reason="r")
        with just_before_the_commit(other, lambda _: erase()), pytest.raises(Conflict):
            other.table("t").rollup("2024-01-02")
        assert traces(place, lake) == []


@pytest.mark.slow
def test_a_lake_that_was_open_publishes_on(place: Place) -> None:
    """Another session knew the log from before."""
    with place.open() as lake, place.open() as other:
        t = lake.create_table("t", "id INTEGER, name VARCHAR")
        lake.mirror("t")
        for n in range(6):
            other.table("t").append(rows("a", MARK, start=10 * n))
        other.table("t").compact()
        lake.erase("t", WHERE, reason="r")
        other.table("t").append(rows("b", start=500))
        assert lake.mirrored("t").diff().status == "ok"
        assert t.count() == 7
        other.table("t").append(rows("c", start=600))
        assert other.mirrored("t").diff().status == "ok"
