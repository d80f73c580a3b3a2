"""What can be frozen: SQL, a query, a table, a scan, or whatever else gives rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from tidelake.datasets.recipe import OfQuery, OfRows, OfScan, OfSql, Recipe, refuse_two
from tidelake.errors import Invalid
from tidelake.lake.scan import Scan
from tidelake.lake.table import Table
from tidelake.model.event_time import as_moment, moment_text
from tidelake.session.lazy_rows import LazyRows
from tidelake.session.session import Session
from tidelake.session.source import Source
from tidelake.sql.parameters import Bindings
from tidelake.sql.query import Query

_WAYS = 'give SQL, lake.sql("SELECT …"), a table or a scan of this lake, or an asof_join'


def recipe_of(
    session: Session,
    rows: object,
    as_of: str | date | None,
    known_at: int | str | date | None,
) -> Recipe:
    """How rows are found, at the moments that they name themselves or else at these."""
    if isinstance(rows, str):
        return OfSql(rows, Bindings(None, as_of, known_at))
    if isinstance(rows, Query) and _is_own(session, rows.session):
        return _of_query(rows, as_of, known_at)
    if isinstance(rows, Table | Scan) and _is_own(session, rows.source.session):
        source = _at(rows.source, as_of, known_at)
        if isinstance(rows, Table):
            return OfScan(source)
        columns = None if rows.selected is None else tuple(rows.selected)
        return OfScan(source, columns, rows.condition)
    if not isinstance(rows, LazyRows):
        raise Invalid(f"{type(rows).__name__} is nothing that can be frozen", hint=_WAYS)
    if as_of is not None or known_at is not None:
        raise Invalid(
            f"{rows!r} has its own moments", hint="give them where it is made, and not here"
        )
    return OfRows(rows)


def _is_own(session: Session, other: Session) -> bool:
    """Whether rows are of the same lake, as the same tenant sees it, and committed."""
    if other.is_transaction:
        raise Invalid(
            "rows of an open transaction are not the lake's yet", hint="commit it, then freeze them"
        )
    same = other.database is session.database
    return same and other.namespace.tenant == session.namespace.tenant


def _of_query(query: Query, as_of: str | date | None, known_at: int | str | date | None) -> Recipe:
    own, session = query.moments, query.session
    pinned = session.pinned if session.time is None else moment_text(session.time.by)
    refuse_two(own.as_of, as_of, "as_of")
    refuse_two(own.known_at if pinned is None else pinned, known_at, "known_at")
    return OfQuery(query, Bindings(None, as_of, pinned if known_at is None else known_at))


def _at(source: Source, as_of: str | date | None, known_at: int | str | date | None) -> Source:
    refuse_two(source.as_of, as_of, "as_of")
    refuse_two(source.snapshot_id, known_at, "known_at")
    moved = source if known_at is None else source.known_at(known_at)
    return moved if as_of is None else replace(moved, as_of=as_moment(as_of))
