"""Who of a group has which tables: as many as everybody else, give or take one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tidelake.history.group_records import Share


@dataclass(frozen=True, slots=True)
class Allotment:
    """What one member is to take, and to give back, so that all have their part."""

    take: tuple[int, ...]
    give: tuple[int, ...]

    @classmethod
    def of(
        cls, me: str, members: Collection[str], shares: Sequence[Share], at_work: int | None
    ) -> Allotment:
        """`members` are those who live, `shares` those in which something can happen; what is being
        worked at is not given back. Everybody comes to the same parts: they add up to all."""
        free = [each.table_id for each in shares if each.owner not in members]
        mine = [each.table_id for each in shares if each.owner == me]
        even, more = divmod(len(shares), len(members))
        part = even + (sorted(members).index(me) < more)
        idle = [each for each in reversed(mine) if each != at_work]
        return cls(tuple(free[: max(part - len(mine), 0)]), tuple(idle[: max(len(mine) - part, 0)]))
