"""How old is too old: a moment, a span of time before now, or either in words."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from tidelake.errors import Invalid
from tidelake.model.moment import from_now, shift
from tidelake.model.numpy_scalar import python_value
from tidelake.model.span import Span

_HINT = (
    'write a span such as "7 days" or "12 hours", a time such as "2024-03-15T00:00:00", or'
    ' "now - 7 days"'
)


def moment_before(now: datetime, older_than: object, *, name: str = "older_than") -> datetime:
    """The moment that `older_than` draws the line at; one without a zone is in UTC, and a date is
    its midnight."""
    older_than = from_now(python_value(older_than), now)
    if isinstance(older_than, datetime) and older_than == older_than:
        return older_than.replace(tzinfo=older_than.tzinfo or UTC).astimezone(UTC)
    if (span := Span.maybe(older_than)) is not None:
        span.check_certain(older_than, name)
        return _earlier(now, span, older_than, name)
    if isinstance(older_than, str):
        try:
            return moment_before(now, datetime.fromisoformat(older_than.strip()))
        except ValueError:
            pass
    if isinstance(older_than, date) and older_than == older_than:  # pandas' NaT is neither
        return datetime.combine(older_than, time(), UTC)
    raise Invalid(f"{name}={older_than!r} is neither a span of time nor a moment", hint=_HINT)


def check_span(text: str, *, name: str) -> None:
    """Raise Invalid unless the text is a span of time that can only be understood in one way."""
    Span.of(text, name).check_certain(text, name)


def as_span(value: object, *, name: str) -> timedelta:
    """A length of time, from words such as "5m" too. Months have none."""
    return Span.of(value, name).length(value, name)


def _earlier(now: datetime, span: Span, given: object, name: str) -> datetime:
    if span.nanoseconds < 0:
        raise Invalid(f"{name}={given!r} is in the future", hint=_HINT)
    Span(0, span.nanoseconds).length(given, name)
    try:
        return shift(now, span, -1, str(given))
    except Invalid:
        raise Invalid(f"{name}={given!r} is before the first year", hint=_HINT) from None
