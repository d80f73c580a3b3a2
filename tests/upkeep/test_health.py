"""What is worth a look, and that what is said to help does."""

from datetime import datetime, timedelta

import pytest

from tidelake.upkeep.values_health import HealthLimits


@pytest.fixture
def numbers(lake):
    lake.set_option("data_inlining_row_limit", 0)
    return lake.create_table("numbers", "x INTEGER")


def kinds(lake, **limits):
    return [each.kind for each in lake.health(HealthLimits(**limits)).signals]


@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_small_files_and_deletes_until_they_are_compacted(lake, numbers):
    assert lake.health().ok
    for number in range(4):
        numbers.append([{"x": number * 10 + n} for n in range(10)])
    numbers.delete("x % 10 < 6")
    assert kinds(lake, small_files=5) == ["deletes"]
    assert kinds(lake, small_files=4) == ["small files", "deletes"]
    (signal, _) = lake.health(HealthLimits(small_files=4)).signals
    assert signal.remedy is not None
    assert signal.remedy.command == "tidelake compact 'main.numbers'"
    numbers.compact()
    assert kinds(lake, small_files=2) == []


def test_snapshots_that_can_expire_and_files_that_wait(lake, numbers):
    numbers.append([{"x": 1}])
    numbers.overwrite([{"x": 2}])
    assert kinds(lake, older_than="1 hour") == []
    assert kinds(lake, older_than="0 seconds") == ["snapshots"]
    lake.expire(keep_last=1)
    assert kinds(lake) == ["leftovers"]
    lake.cleanup("0 seconds")
    assert kinds(lake) == []


def test_consumers_that_fall_behind(lake, numbers):
    with lake.consumer("reports"):
        pass
    for number in range(3):
        numbers.append([{"x": number}])
    assert kinds(lake, consumer_lag=3) == ["consumers"]
    assert kinds(lake, consumer_lag=30) == []


def test_mirrors_that_are_blocked_or_late(lake, numbers, place):
    lake.mirror("numbers")
    assert kinds(lake, mirror_seconds=0) == []
    with place.duck() as duck:
        duck.execute("INSERT INTO lake.numbers VALUES (1)")
    signals = lake.health(HealthLimits(mirror_seconds=0)).signals
    assert [each.kind for each in signals] == ["mirrors"]
    assert signals[0].severe
    assert signals[0].remedy is not None
    assert signals[0].remedy.operation == "sync_mirrors"
    lake.sync_mirrors()
    assert kinds(lake, mirror_seconds=0) == []


def test_coverage_under_its_threshold(lake):
    table = lake.create_table(
        "bars", "s VARCHAR, ts TIMESTAMP", entity="s", event_time="ts", bucket="1h"
    )
    start = datetime(2024, 3, 1)
    table.append([{"s": "A", "ts": start + timedelta(hours=n)} for n in (0, 1, 2, 9)])
    assert kinds(lake) == ["coverage"]
    assert kinds(lake, coverage=0.3) == []


def test_rollups_that_no_read_begins_with(lake):
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", "k INTEGER, ts TIMESTAMP", key="k", event_time="ts")
    table.append([{"k": n, "ts": datetime(2024, 3, 1 + n)} for n in range(5)])
    table.rollup(as_of="2024-03-10")
    assert kinds(lake) == []
    table.delete("k = 2")
    signals = lake.health(HealthLimits(delete_ratio=1.0)).signals
    assert [each.kind for each in signals] == ["rollups"]
    table.drop_rollups()
    assert kinds(lake, delete_ratio=1.0) == []


def test_what_is_severe_comes_first(lake, numbers):
    with lake.consumer("reports"):
        pass
    for number in range(3):
        numbers.append([{"x": number}])
    found = lake.health(HealthLimits(small_files=2, consumer_lag=2)).signals
    assert [each.severe for each in found] == [True, False]
    assert "tidelake compact" in str(lake.health(HealthLimits(small_files=2)))
