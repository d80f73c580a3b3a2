"""numpy's scalars as the values of Python that they are equal to."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any


def python_value(value: Any) -> Any:
    """A scalar of numpy as Python's own value, without a loss; anything else as it is. A time
    with nanoseconds is text, and NaT None."""
    kind = type(value)
    if kind.__module__ != "numpy" or not hasattr(value, "dtype") or value.ndim:
        return value
    if kind.__name__ == "datetime64":
        return _moment(value)
    if kind.__name__ == "timedelta64":
        return _span(value)
    return value.item()


def is_not_a_time(value: Any) -> bool:
    """numpy's NaT, of either kind."""
    return type(value).__name__ in ("datetime64", "timedelta64") and bool(value != value)


def _moment(value: Any) -> Any:
    if is_not_a_time(value):
        return None
    for unit in (None, "us"):
        found = value if unit is None else value.astype(f"datetime64[{unit}]")
        if found == value and isinstance(found.item(), date):
            return found.item()
    return str(value)


def _span(value: Any) -> Any:
    """Months and years have no length: they stay what they are."""
    if is_not_a_time(value):
        return None
    if isinstance(value.item(), timedelta):
        return value.item()
    if str(value.dtype) != "timedelta64[ns]":
        return value
    whole = value.astype("timedelta64[us]")
    return whole.item() if whole == value else value
