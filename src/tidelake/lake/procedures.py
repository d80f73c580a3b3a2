"""What SQL can call: methods of a lake, and of the table that is named first."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tidelake.errors import Invalid
from tidelake.model.terms import CommitTerms
from tidelake.session.session import Session
from tidelake.sql.parameters import Bindings
from tidelake.sql.procedure import procedure_of

OF_TABLES = frozenset(
    {
        *("compact", "rollup", "drop_rollups", "recompute_coverage", "rollback", "end"),
        *("set_partitioning", "set_sorting", "set_coverage", "set_event_time", "set_comment"),
        *("set_calendar", "clone"),
    }
)
OF_LAKES = frozenset(
    {
        *("compact", "expire", "cleanup", "tag", "untag", "undrop", "verify", "sync_mirrors"),
        *("set_option", "reindex", "freeze", "drop_frozen"),
    }
)


class Face(Protocol):
    """A lake or a transaction."""

    session: Session

    def table(self, name: str) -> Any: ...


def call(face: Face, text: str, beside: Bindings, terms: dict[str, Any]) -> Any:
    """Do what a CALL asks for; what Python's method gives."""
    asked = procedure_of(face.session, text, beside, OF_TABLES | OF_LAKES)
    places: tuple[Any, ...] = asked.places
    target: Any = face
    if asked.name in OF_TABLES and (places or asked.name not in OF_LAKES):
        target, places = _table(face, asked.name, places), places[1:]
    method = getattr(target, asked.name)
    try:
        given = inspect.signature(method).bind(*places, **asked.names, **terms)
        _check_terms(method, asked.names)
    except TypeError as error:
        raise Invalid(f"{asked.name}(): {error}", hint=_spelled(asked.name, method)) from None
    _check_flags(method, given.arguments)
    return method(*places, **asked.names, **terms)


def _check_terms(method: Any, names: Iterable[str]) -> None:
    """What a write takes beside its own arguments are its terms."""
    parameters = inspect.signature(method).parameters
    if unknown := [
        each for each in names if each not in {*parameters, *CommitTerms.__annotations__}
    ]:
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}")


def _check_flags(method: Any, given: Mapping[str, Any]) -> None:
    """A text such as 'false' is true to Python."""
    parameters = inspect.signature(method).parameters
    for name, value in given.items():
        if parameters[name].annotation in ("bool", bool) and not isinstance(value, bool):
            raise Invalid(
                f"{method.__name__}() cannot take {name} => {value!r}",
                hint=f"{name} => true, or {name} => false",
            )


def _table(face: Face, name: str, places: tuple[Any, ...]) -> Any:
    if not places or not isinstance(places[0], str):
        raise Invalid(
            f"{name}() is not told of which table", hint=f"write it first: CALL {name}('prices', …)"
        )
    return face.table(places[0])


def _spelled(name: str, method: Any) -> str:
    listed = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    return f"it takes {', '.join(listed) or 'nothing'}, as Python's {name}() does"
