"""Calendars: which buckets are expected to be covered."""

from __future__ import annotations

from tidelake.model.buckets import Buckets
from tidelake.model.series import Series


class Calendar:
    """A rule for which buckets are expected."""

    def expected(self, series: Series, first: int, end: int) -> Buckets:
        """Those from one id on and before another."""
        raise NotImplementedError
