"""`CALL compact('prices', dry_run => true)`: which procedure is meant, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidelake.errors import Invalid, NotFound
from tidelake.session.session import Session
from tidelake.sql.calls import calls
from tidelake.sql.parameters import Bindings
from tidelake.sql.query import query_of
from tidelake.sql.words import Words
from tidelake.syntax.tokens import tokens

_HINT = "CALL name(value, …, name => value)"


@dataclass(frozen=True, slots=True)
class Procedure:
    """A call as Python makes it: values by place, and by name."""

    name: str
    places: tuple[Any, ...]
    names: dict[str, Any]


def is_call(text: object) -> bool:
    """Whether a statement is a CALL."""
    found = tokens(text) if isinstance(text, str) else []
    return bool(found) and found[0].word == "CALL"


def procedure_of(session: Session, text: str, beside: Bindings, known: frozenset[str]) -> Procedure:
    """What a CALL means. Requires: it is one."""
    beside.refuse_moments("CALL")
    words = Words(text)
    words.expect("CALL")
    name = words.next.lower()
    if words.after != "(":
        raise Invalid("CALL is followed by no call", hint=_HINT)
    if name not in known:
        raise NotFound(
            f"there is no procedure {name}", hint=f"there are: {', '.join(sorted(known))}"
        )
    words.take(name.upper())
    query, values = query_of(f'FROM "{name}"{words.rest()}', Bindings(beside.parameters))
    found = list(calls(query.node, query.sql, query.found, known))
    if len(found) != 1 or found[0].last.end + 1 != len(query.sql):
        raise Invalid("a CALL is one call, and nothing else", hint=_HINT)
    places, names = found[0].values(session.local, values)
    return Procedure(name, tuple(places), names)
