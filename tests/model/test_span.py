"""One grammar for lengths of time, whoever takes them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pandas
import pytest

from tidelake.coverage.values.clock import MONTHS, TIME, Clock
from tidelake.coverage.values.interval import at_least
from tidelake.errors import Invalid
from tidelake.event_time.values.rollup import RollupPolicy
from tidelake.join.question import checked_tolerance
from tidelake.model.age import as_span, check_span, moment_before
from tidelake.model.span import Span, text_of

SECOND = 1_000_000_000
FIXED = {
    SECOND // 1_000_000: ["1us", "1 µs", "1 usec", "1 microsecond", "1 Microseconds"],
    SECOND // 1000: ["1ms", "1 ms", "1 msec", "1 millisecond", "1 milliseconds"],
    SECOND: ["1s", "1 s", "1sec", "1 second", "1 SECONDS", "PT1S", "00:00:01"],
    60 * SECOND: ["1m", "1min", "1 m", "1 minute", "1 mins", "60s", "PT1M", timedelta(minutes=1)],
    3600 * SECOND: ["1h", "1 hr", "1 hour", "60min", "1 Hour", "PT1H", timedelta(hours=1)],
    5400 * SECOND: ["1h 30min", "1.5 hours", "1 hour, 30 minutes", "90m", "PT1H30M", "01:30:00"],
    86_400 * SECOND: ["1d", "1 day", "24h", "P1D", timedelta(days=1), pandas.Timedelta(days=1)],
    7 * 86_400 * SECOND: ["1w", "1 week", "1 wk", "7 days", "P1W", timedelta(weeks=1)],
}
MONTHLY = {
    1: ["1mo", "1 mon", "1 month", "1 months", "P1M"],
    3: ["3mo", "3 months", "P3M"],
    12: ["1y", "1 yr", "1 year", "12 months", "P1Y"],
    14: ["1 year 2 months", "1y2mo", "P1Y2M"],
}
NONE = [
    *("", " ", "7", "days", "-7 days", "7 lightyears", "1.5 months", "1M", "5 M", "soon", "1 1d"),
    *("P", "PT", "P1", "1d ago", "1ss", "1m5", "d1", "1e3s", "0x1s", "99999999999999999999d"),
    *(None, b"1d", True, 1.5, timedelta(days=-1), float("nan")),
]
NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)


def spelled(cases: dict[int, list[object]]) -> list[tuple[int, object]]:
    return [(width, text) for width, texts in cases.items() for text in texts]


def age(given: object) -> int:
    return (NOW - moment_before(NOW, given)) // timedelta(microseconds=1) * 1000


def gap(given: object) -> int:
    return at_least(Clock.of("1us", "timestamp"), given, "min_length") * 1000  # type: ignore[arg-type]


def policy(given: object) -> int:
    made = RollupPolicy.checked(given, None)
    again = RollupPolicy.of({"tidelake.rollup": made.text()})
    assert again == made
    return Span.of(made.every, "every").nanoseconds


TAKERS: dict[str, Callable[[object], int]] = {
    "bucket": lambda given: Clock.of(given, "timestamp").width,  # type: ignore[arg-type]
    "bucket, as kept": lambda given: (
        Clock.of(
            Clock.of(given, "timestamp").given,  # type: ignore[arg-type]
            "timestamp",
        ).width
    ),
    "every": policy,
    "older_than": age,
    "tolerance": lambda given: checked_tolerance(given) // timedelta(microseconds=1) * 1000,  # type: ignore[operator]
    "span": lambda given: as_span(given, name="x") // timedelta(microseconds=1) * 1000,
    "min_length": gap,
}


def is_doubtful(given: object) -> bool:
    found = Span.maybe(given)
    return found is not None and found.is_doubtful


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("width", "given"), spelled(FIXED))
def test_all_take_the_same_spellings(width: int, given: object, taker: str):
    if taker == "older_than" and is_doubtful(given):
        with pytest.raises(Invalid, match="minutes or months") as caught:
            TAKERS[taker](given)
        assert "min" in str(caught.value.hint)
        assert "mo" in str(caught.value.hint)
    else:
        assert TAKERS[taker](given) == width


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("given", NONE, ids=repr)
def test_all_refuse_the_same(given: object, taker: str):
    if (taker, given) in {("tolerance", None), ("tolerance", True), ("min_length", True)}:
        return
    with pytest.raises(Invalid) as caught:
        TAKERS[taker](given)
    assert caught.value.hint


@pytest.mark.parametrize(("months", "given"), spelled(MONTHLY))
def test_months_where_calendars_have_them(months: int, given: str):
    clock = Clock.of(given, "timestamp")
    assert (clock.kind, clock.width) == (MONTHS, months)
    assert Span.of(RollupPolicy.checked(given, None).every, "every").months == months
    before = moment_before(NOW, given)
    assert (NOW.year - before.year) * 12 + NOW.month - before.month == months
    for fixed in ("tolerance", "span"):
        with pytest.raises(Invalid, match="months, which differ") as caught:
            TAKERS[fixed](given)
        assert "days" in str(caught.value.hint)
    with pytest.raises(Invalid, match="cannot be told in buckets"):
        TAKERS["min_length"](given)
    assert at_least(Clock.of("1mo", "date"), given, "min_length") == months


def test_months_and_days_together_are_an_age_only():
    assert moment_before(NOW, "1 month 1 day") == datetime(2024, 2, 28, 12, tzinfo=UTC)
    for taker in ("bucket", "every"):
        with pytest.raises(Invalid, match="months"):
            TAKERS[taker]("1 month 1 day") if taker == "bucket" else RollupPolicy.checked(
                "1 month 1 day", None
            )


@pytest.mark.parametrize("given", ["1m", "30 m", "1h 5m"])
def test_what_cannot_be_undone_wants_to_be_sure(given: str):
    for check in (check_span, lambda text, name: moment_before(NOW, text, name=name)):
        with pytest.raises(Invalid, match="minutes or months") as caught:
            check(given, name="older_than")
        assert "min" in str(caught.value.hint)
    assert as_span(given, name="tolerance")


def test_the_hint_repeats_the_number():
    with pytest.raises(Invalid) as caught:
        moment_before(NOW, "30m")
    assert caught.value.hint == 'write "30min" or "30mo"'


def test_weeks_begin_on_monday_and_seven_days_on_no_day():
    assert Clock.of("1 week", "date").origin != 0
    assert Clock.of("2w", "date").origin != 0
    assert Clock.of("7 days", "date").origin == 0
    assert Clock.of("1w 1d", "date").origin == 0


def test_random_spans_mean_the_same_to_all():
    random = Random(1)
    words = [
        text.split()[-1] for texts in FIXED.values() for text in texts if isinstance(text, str)
    ]
    words = [word.strip("0123456789:.") for word in words]
    units = [word for word in words if word.isalpha() and not word.startswith("P") and word != "m"]
    for _ in range(300):
        parts = [f"{random.randint(1, 99)}{random.choice(['', ' '])}{random.choice(units)}"]
        parts += [
            f"{random.randint(0, 9)} {random.choice(units)}" for _ in range(random.randint(0, 2))
        ]
        text = random.choice([" ", ", "]).join(parts)
        found = {taker: take(text) for taker, take in TAKERS.items()}
        assert len(set(found.values())) == 1, (text, found)


def test_a_timedelta_as_text_means_the_same():
    random = Random(2)
    for _ in range(200):
        given = timedelta(microseconds=random.randint(1, 10 ** random.randint(1, 14)))
        assert Span.of(text_of(given), "x").length(given, "x") == given
    assert text_of(pandas.Timedelta(500, "ns")) == "500ns"
    assert Clock.of("500ns", "timestamp_ns").kind == TIME
    with pytest.raises(Invalid, match="divides microseconds"):
        Clock.of("500ns", "timestamp")


@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("date", "6h"),
        ("timestamp_s", "1ms"),
        ("timestamp_ms", "1us"),
        ("timestamp_us", "1ns"),
        ("timestamptz", "1ns"),
    ],
)
def test_buckets_are_no_finer_than_their_clock(kind: str, width: str):
    with pytest.raises(Invalid, match="divides") as caught:
        Clock.of(width, kind)
    assert caught.value.hint
