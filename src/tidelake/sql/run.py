"""One statement of SQL: a query, or a write, which becomes a call of the write API."""

from __future__ import annotations

from tidelake.errors import Invalid, Unsupported
from tidelake.model.change import WriteResult
from tidelake.model.terms import NO_TERMS, Terms
from tidelake.session.replay import NO_PURPOSE, write
from tidelake.session.session import Session
from tidelake.sql.definitions import defines, definition
from tidelake.sql.merge import merge_of
from tidelake.sql.parameters import NOTHING, Bindings
from tidelake.sql.procedure import is_call
from tidelake.sql.purpose import purpose_of
from tidelake.sql.query import Query, query_of
from tidelake.sql.text import read
from tidelake.sql.words import Words
from tidelake.sql.writes import piecewise
from tidelake.syntax.tree import NotSelect


def run(
    session: Session, text: str, beside: Bindings = NOTHING, terms: Terms = NO_TERMS
) -> Query | WriteResult:
    """A query, which runs when its rows are asked for; anything else is done at once."""
    if not isinstance(text, str):
        raise Invalid(f"{text!r} is no SQL", hint='lake.sql("SELECT …")')
    explains = Words(text).next == "EXPLAIN"
    operation = None if explains else definition(Words(text), beside)
    if operation is None and not explains:
        operation = piecewise(text, beside) or merge_of(text, beside)
    if operation is None:
        if terms != NO_TERMS:
            raise Invalid("a query is not committed", hint="terms such as once= are for writes")
        if explains:
            inner = _explained(text)
            return Query(session, text, *query_of(inner, beside), beside, explained=True)
        return Query(session, text, *query_of(text, beside), beside)
    purpose = NO_PURPOSE if terms.once is None else purpose_of(text)
    return write(session, operation, terms=terms, purpose=purpose)


def _explained(text: str) -> str:
    """The query that an EXPLAIN is of."""
    words = Words(text)
    words.expect("EXPLAIN")
    if words.next == "ANALYZE":
        raise Unsupported(
            "EXPLAIN ANALYZE is not supported: EXPLAIN tells what would be read, and runs nothing",
            hint="EXPLAIN SELECT …",
        )
    verb = words.next
    if not is_query(inner := words.rest()):
        raise Unsupported(
            f"EXPLAIN of {verb} is not supported: it tells what a query would read",
            hint="EXPLAIN SELECT …; CALL compact('t', dry_run => true) tells what it would do",
        )
    return inner


def is_query(text: str) -> bool:
    """Whether a statement in DuckDB's SQL only reads."""
    if Words(text).next == "EXPLAIN":
        return True
    if is_call(text) or defines(Words(text)):
        return False
    try:
        read(text)
    except NotSelect:
        return False
    return True
