"""One statement of SQL: a query, or a write, which becomes a call of the write API."""

from __future__ import annotations

from datetime import date, datetime

from tidelake.errors import Invalid
from tidelake.model.change import WriteResult
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.sql.definitions import defines, definition
from tidelake.sql.merge import merge_of
from tidelake.sql.parameters import Bindings, Given
from tidelake.sql.query import Query, query_of
from tidelake.sql.text import read
from tidelake.sql.words import Words
from tidelake.sql.writes import piecewise
from tidelake.syntax.tree import NotSelect


def run(
    session: Session,
    text: str,
    parameters: Given = None,
    as_of: str | date | None = None,
    known_at: int | str | datetime | None = None,
) -> Query | WriteResult:
    """A query, which runs when its rows are asked for; anything else is done at once."""
    if not isinstance(text, str):
        raise Invalid(f"{text!r} is no SQL", hint='lake.sql("SELECT …")')
    beside = Bindings(parameters, as_of, known_at)
    operation = definition(Words(text), beside)
    if operation is None:
        operation = piecewise(text, beside) or merge_of(text, beside)
    if operation is None:
        return Query(session, text, *query_of(text, beside), beside)
    return write(session, operation)


def is_query(text: str) -> bool:
    """Whether a statement in DuckDB's SQL only reads."""
    if defines(Words(text)):
        return False
    try:
        read(text)
    except NotSelect:
        return False
    return True
