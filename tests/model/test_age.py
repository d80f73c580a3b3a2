"""How old is too old."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tidelake.errors import Invalid
from tidelake.model.age import check_span, moment_before

NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("7 days", datetime(2024, 3, 24, 12)),
        ("7d", datetime(2024, 3, 24, 12)),
        ("1 day 12 hours", datetime(2024, 3, 30)),
        ("1 Day, 90 minutes", datetime(2024, 3, 30, 10, 30)),
        ("2 weeks", datetime(2024, 3, 17, 12)),
        ("1.5 hours", datetime(2024, 3, 31, 10, 30)),
        ("36:00:00", datetime(2024, 3, 30)),
        ("1 day 00:30:00", datetime(2024, 3, 30, 11, 30)),
        ("1 month", datetime(2024, 2, 29, 12)),
        ("1 year 1 month", datetime(2023, 2, 28, 12)),
        ("4 months", datetime(2023, 11, 30, 12)),
        ("0 s", datetime(2024, 3, 31, 12)),
        (timedelta(hours=1), datetime(2024, 3, 31, 11)),
        (datetime(2024, 1, 1), datetime(2024, 1, 1)),
        (datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2))), datetime(2023, 12, 31, 22)),
        ("2024-01-01", datetime(2024, 1, 1)),
        (" 2024-01-01T10:00:00+02:00 ", datetime(2024, 1, 1, 8)),
    ],
)
def test_spans_and_moments(given: object, expected: datetime) -> None:
    assert moment_before(NOW, given) == expected.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "given",
    [
        *("", " ", "7", "days", "7 lightyears", "7 days ago", "-7 days", "1.5 months", "soon"),
        *("9999 years", "99999999999999999999 days", timedelta(days=-1), 7, None, b"7 days"),
    ],
)
def test_neither(given: object) -> None:
    with pytest.raises(Invalid) as caught:
        moment_before(NOW, given, name="grace")
    assert "grace" in str(caught.value)
    assert caught.value.hint


def test_an_option_is_a_span() -> None:
    check_span("2 days", name="delete_older_than")
    with pytest.raises(Invalid, match="delete_older_than"):
        check_span("2024-01-01", name="delete_older_than")
