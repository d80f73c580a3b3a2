"""What an entity covers is put together once, and anew when the lake has moved on."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from tidelake.testing.faces import lake_of
from tidelake.testing.faults import watch_database

START = datetime(2024, 1, 1)


@pytest.fixture
def table(place):
    with place.tuned(many_pieces=3).open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        table = lake.create_table(
            "t", "name VARCHAR, ts TIMESTAMP", entity="name", event_time="ts", bucket="1m"
        )
        for hour in range(5):
            table.append(rows(hour))
        yield table


def rows(hour: int, minutes: int = 10) -> list[dict[str, object]]:
    return [
        {"name": name, "ts": START + timedelta(hours=hour, minutes=minute)}
        for name in ("a", "b")
        for minute in range(minutes)
    ]


@pytest.fixture
def asked(table) -> Iterator[list[str]]:
    """Questions to the catalog for bitmaps."""
    asked: list[str] = []

    def note(what: str, sql: str) -> None:
        if what == "ask" and "buckets FROM tidelake_coverage" in sql:
            asked.append(sql)

    with watch_database(lake_of(table), note):
        yield asked


def test_the_second_question_is_answered_from_memory(table, asked):
    first = table.coverage(entity="a")
    again = table.coverage(entity="a")
    assert len(asked) == 1
    assert (first.covered, first.gaps) == (again.covered, again.gaps) == (50, again.gaps)
    assert table.coverage(entity="a", start=START, end=START + timedelta(hours=1)).covered == 10
    assert table.coverage(entity="nobody").covered == 0
    assert table.coverage().covered == 100
    assert table.coverage(entity=["a", "b"]).covered == 100
    assert table.coverage(entity="a").covered == 50
    assert len(asked) == 4


def test_whatever_happens_is_seen(table):
    assert table.coverage(entity="a").covered == 50
    before = table.snapshots()[-1].snapshot_id
    table.append(rows(7))
    assert table.coverage(entity="a").covered == 60
    assert table.known_at(before).coverage(entity="a").covered == 50
    table.delete("name = 'a' AND ts < TIMESTAMP '2024-01-01 01:00:00'")
    assert table.coverage(entity="a").covered == 50
    table.compact()
    assert table.coverage(entity="a").covered == 50
    with lake_of(table).transaction() as tx:
        tx.table("t").append(rows(8))
        assert tx.table("t").coverage(entity="a").covered == 60
        assert table.coverage(entity="a").covered == 50


def test_what_is_put_right_is_seen(table):
    assert table.coverage(entity="a").covered == 50
    with lake_of(table).session.database.writing() as writer:
        writer.execute(
            "UPDATE tidelake_coverage SET buckets = (SELECT min(buckets) FROM tidelake_coverage)"
        )
    table.recompute_coverage()
    assert table.coverage(entity="a").covered == 50


def test_answers_are_not_shared(table):
    table.coverage(entity="a")
    found = table.coverage(entity="a")
    next(iter(found._extent.buckets.values())).clear()
    assert table.coverage(entity="a").covered == 50
