"""A table of facts with rollups."""

from tests.event_time.rolled_up import t

__all__ = ["t"]
