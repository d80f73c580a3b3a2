"""Moments that are told from now on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy
import pandas
import pytest

import tidelake
from tidelake.errors import Invalid, NotFound
from tidelake.model.age import moment_before
from tidelake.model.event_time import as_moment
from tidelake.model.moment import from_now
from tidelake.model.tag import checked_name, parse_moment

NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("now", NOW),
        (" NOW ", NOW),
        ("now - 1h", NOW - timedelta(hours=1)),
        ("now-1h", NOW - timedelta(hours=1)),
        ("now + 1 day 12h", NOW + timedelta(days=1, hours=12)),
        ("now - 1 month", datetime(2024, 2, 29, 12, tzinfo=UTC)),
        ("now - 13mo", datetime(2023, 2, 28, 12, tzinfo=UTC)),
        ("now + 9 months", datetime(2024, 12, 31, 12, tzinfo=UTC)),
        ("now - P1DT1H", NOW - timedelta(days=1, hours=1)),
    ],
)
def test_spans_from_now(text: str, found: datetime) -> None:
    assert from_now(text, NOW) == found


@pytest.mark.parametrize("other", ["nowhere", "eod", "2024-03-01", "- 1h", 7, None, "know - 1h"])
def test_all_else_stays(other: object) -> None:
    assert from_now(other, NOW) is other


@pytest.mark.parametrize("text", ["now - yesterday", "now - 1", "now + 9000 years", "now - -1h"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        from_now(text, NOW)


def test_both_clocks_and_ages_know_now() -> None:
    before = datetime.now(UTC)
    moment = parse_moment("now - 1h")
    assert isinstance(moment, datetime)
    assert timedelta() <= moment - (before - timedelta(hours=1)) < timedelta(minutes=10)
    assert as_moment("now + 1d") > as_moment("now") > as_moment("now - 1s")
    assert moment_before(NOW, "now - 7d") == moment_before(NOW, "7d") == NOW - timedelta(days=7)
    assert moment_before(NOW, numpy.timedelta64(7, "D")) == NOW - timedelta(days=7)
    assert moment_before(NOW, date(2024, 3, 1)) == datetime(2024, 3, 1, tzinfo=UTC)
    assert moment_before(NOW, numpy.datetime64("2024-03-01")) == datetime(2024, 3, 1, tzinfo=UTC)
    with pytest.raises(Invalid):
        moment_before(NOW, pandas.NaT)
    with pytest.raises(Invalid, match="could be read as"):
        checked_name("now")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("t", "id INT, ts TIMESTAMP", key="id", event_time="ts")
        lake["t"].append(
            [{"id": 1, "ts": datetime(2024, 1, 1)}, {"id": 2, "ts": datetime(2999, 1, 1)}]
        )
        yield lake


@pytest.mark.parametrize(
    "now", ["now", datetime.max.replace(year=2026, tzinfo=UTC), pandas.Timestamp("2500-01-01")]
)
def test_wherever_a_moment_is_taken(lake: tidelake.Lake, now: object) -> None:
    t = lake["t"]
    one = [{"id": 1, "ts": datetime(2024, 1, 1)}]
    assert t.as_of(now).to_dicts() == one
    assert t.scan(as_of=now).to_dicts() == one
    assert lake.sql("SELECT * FROM t", as_of=now).to_dicts() == one
    assert lake.sql("SELECT * FROM t", known_at=now).count() == 2
    assert len(t.known_at(now)) == 2
    assert len(lake.known_at(now)["t"]) == 2
    assert len(t.between("2000-01-01", now)) == 1
    assert lake.audit(until=now)
    assert t.changes(until=now).count() == 2


def test_in_sql(lake: tidelake.Lake) -> None:
    one = [{"id": 1, "ts": datetime(2024, 1, 1)}]
    for moment in ("now", "now - 1h", "now + 1 year"):
        assert lake.sql(f"SELECT * FROM t FOR VALID_TIME AS OF '{moment}'").to_dicts() == one
    assert lake.sql("SELECT * FROM t FOR SYSTEM_TIME AS OF 'now'").count() == 2
    assert lake.sql("SELECT * FROM t TIMESTAMP AS OF 'now'").count() == 2
    assert lake.sql("SELECT * FROM t FOR SYSTEM_TIME AS OF ?", ["now"]).count() == 2


def test_before_the_lake_is_not_found(lake: tidelake.Lake) -> None:
    for ask in (lake["t"].known_at, lake.known_at, lake.diff):
        with pytest.raises(NotFound, match="no snapshot at or before"):
            ask("now - 1h")


def test_what_is_lazy_keeps_its_now(lake: tidelake.Lake) -> None:
    changes = lake["t"].changes(until="now")
    versions = lake["t"].versions(None, "now")
    query = lake.sql("SELECT * FROM t", known_at="now")
    lake["t"].append([{"id": 3, "ts": datetime(2024, 1, 1)}])
    assert changes.count() == 2
    assert versions.count() == 2
    assert query.count() == 2
