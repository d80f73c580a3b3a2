"""What the address of a page says: every state of it is a link that can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from tidelake.errors import Invalid

_LONGEST = 20_000
"""Letters of one part of an address."""
_LONGEST_PAGE = 500


@dataclass(frozen=True, slots=True)
class State:
    """`table`, the point in both times (`as_of`, `known_at`) and what it is compared with
    (`from_as_of`, `from_known_at`), a `where`, a `key` as JSON or as it is; then what single views
    look at. An empty text is nothing."""

    table: str = ""
    as_of: str = ""
    known_at: str = ""
    where: str = ""
    key: str = ""
    from_as_of: str = ""
    from_known_at: str = ""
    scale: str = ""
    a: str = ""
    b: str = ""
    before: str = ""
    start: str = ""
    end: str = ""
    entity: str = ""
    calendar: str = ""
    late_since: str = ""
    sql: str = ""
    find: str = ""
    page: str = ""
    limit: str = ""

    @staticmethod
    def of(given: Mapping[str, str]) -> State:
        """What is known of it; the rest of an address is not ours."""
        known = {each.name for each in fields(State)}
        found = {name: text for name, text in given.items() if name in known}
        for name, text in found.items():
            if len(text) > _LONGEST or "\0" in text:
                raise Invalid(f"{name} is not a text that the page takes", hint="shorten it")
        return State(**found)

    def moved(self, **changes: Any) -> State:
        """The same with other parts; None is nothing."""
        told = {name: "" if value is None else str(value) for name, value in changes.items()}
        return replace(self, **told)

    def query(self) -> str:
        """As the end of an address."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return urlencode({name: text for name, text in found.items() if text})

    def most(self, usual: int) -> int:
        """How many of a list are wanted at once."""
        given = int(self.limit) if self.limit.isascii() and self.limit.isdigit() else usual
        return min(max(given, 1), _LONGEST_PAGE)

    @property
    def known(self) -> int | str | None:
        """`known_at` as lakes take it."""
        return moment_of(self.known_at)


def moment_of(text: str) -> int | str | None:
    """A snapshot id, a time or a tag."""
    stripped = text.strip()
    if not stripped:
        return None
    return int(stripped) if stripped.isascii() and stripped.isdigit() else stripped
