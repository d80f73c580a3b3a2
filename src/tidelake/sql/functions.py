"""What the lake's own functions give, as rows that stand in a query: the answers that Python gets,
by the same names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from tidelake.catalog.read import tags
from tidelake.coverage.answer import Coverage
from tidelake.coverage.frame import Intervals, as_table, in_seconds, moment_type
from tidelake.coverage.question import Question, coverage, last_complete_window, watermarks
from tidelake.coverage.values.calendar_text import calendar_of
from tidelake.coverage.values.series import Series
from tidelake.engine.arrow_rows import ArrowRows
from tidelake.engine.row_source import RowSource
from tidelake.errors import Invalid
from tidelake.event_time.belief_changes import belief_changes_of
from tidelake.event_time.history import history_of
from tidelake.event_time.state import plan_read
from tidelake.history.changes import changes_of
from tidelake.history.diff import diff_of
from tidelake.model.event_time import as_moment
from tidelake.model.names import TableName
from tidelake.session.source import Source, known_then
from tidelake.sql.calls import Call
from tidelake.sql.moments import MomentReader
from tidelake.sql.scope import Scope
from tidelake.tenants.across import AcrossRequest, AcrossTenants
from tidelake.tenants.own_log import lake_log, table_log

Moment = int | str | date


def rows_of(call: Call, seen: Scope, clock: MomentReader) -> RowSource:
    """The rows that a call stands for."""
    places, names = call.values(clock.local, clock.values)
    answer = _ANSWERS[call.name]
    known_at, as_of = names.pop("known_at", None), names.pop("as_of", None)
    with seen.session.reading() as reader:
        moved = seen.moved(reader, moment_of(known_at))
    if as_of is not None:
        moved = replace(moved, as_of=as_moment(as_of))
    try:
        bound = inspect.signature(answer).bind(moved, *places, **names)
    except TypeError as error:
        raise Invalid(f"{call.name}(): {error}", hint=_spelled(call.name, answer)) from None
    return answer(*bound.args, **bound.kwargs)


def _spelled(name: str, answer: Callable[..., RowSource]) -> str:
    listed = list(inspect.signature(answer).parameters.values())[1:]
    words = [p.name if p.default is p.empty else f"{p.name} => …" for p in listed]
    return f"{name}({', '.join([*words, 'known_at => …'])})"


def moment_of(given: object) -> Any:
    """A snapshot, a time or a tag; a date is its midnight."""
    if isinstance(given, date) and not isinstance(given, datetime):
        return datetime(given.year, given.month, given.day)
    return given


def source_of(seen: Scope, table: object) -> Source:
    """The table that a text names, at the moments of the query."""
    if not isinstance(table, str):
        raise Invalid(f"{table!r} is no name of a table", hint="write it in quotes: 'prices'")
    name: TableName = seen.session.namespace.parse(table)
    if seen.early(name) is not None:
        return seen.source(name)
    seen.check_there()
    with seen.session.reading() as reader:
        if seen.session.view.find(reader, seen.at, "table", name) is None:
            raise seen.session.view.unknown(reader, seen.at, name)
    return seen.source(name)


def _plain(seen: Scope, table: object) -> Source:
    """For what is told of rows, whatever moment of event time the query is about."""
    return replace(source_of(seen, table), as_of=None)


def _history(seen: Scope, table: str, key: Any) -> RowSource:
    return history_of(source_of(seen, table), key)


def _changes(
    seen: Scope, table: str, since: Moment | None = None, until: Moment | None = None
) -> RowSource:
    return changes_of(_plain(seen, table), moment_of(since), moment_of(until))


def _changes_of_belief(seen: Scope, table: str, since: Moment) -> RowSource:
    return belief_changes_of(source_of(seen, table), moment_of(since))


def _diff(seen: Scope, table: str, a: Moment, b: Moment | None = None) -> RowSource:
    return diff_of(_plain(seen, table), moment_of(a), moment_of(b)).rows


def _coverage(
    seen: Scope,
    table: str,
    entity: Any = None,
    start: Any = None,
    end: Any = None,
    calendar: str | None = None,
) -> RowSource:
    found = _covered(source_of(seen, table), (entity, start, end), calendar)
    return ArrowRows(in_seconds(found.to_arrow()))


def _gaps(
    seen: Scope,
    table: str,
    entity: Any = None,
    start: Any = None,
    end: Any = None,
    calendar: str | None = None,
    min_length: int | str | None = None,
) -> RowSource:
    covered = _covered(source_of(seen, table), (entity, start, end), calendar)
    found = covered.gaps if min_length is None else covered.gaps_of(min_length)
    return ArrowRows(in_seconds(found.to_arrow()))


def _missing(
    seen: Scope,
    table: str,
    entity: Any = None,
    start: Any = None,
    end: Any = None,
    calendar: str | None = None,
    max_length: int | str | None = None,
) -> RowSource:
    source = source_of(seen, table)
    covered = _covered(source, (entity, start, end), calendar)
    work = covered.missing(max_length=max_length)
    found = (interval for batch in work for _, interval in batch)
    return ArrowRows(in_seconds(Intervals(_series(source), found).to_arrow()))


def _last_complete_window(
    seen: Scope,
    table: str,
    n: int,
    entity: Any = None,
    end: Any = None,
    calendar: str | None = None,
) -> RowSource:
    source = source_of(seen, table)
    question = _question(source, (entity, None, end), calendar)
    found = last_complete_window(source.session, source.name, source.snapshot_id, question, n)
    window = Intervals(_series(source), [found] if found else [])
    return ArrowRows(in_seconds(window.to_arrow()))


def _complete_through(
    seen: Scope, table: str, entity: Any = None, start: Any = None, calendar: str | None = None
) -> RowSource:
    source = source_of(seen, table)
    question = _question(source, (entity, start, None), calendar)
    series, found = watermarks(source.session, source.name, source.snapshot_id, question)
    number_of = series.clock.number_of
    columns = [(column.name, column.type) for column in series.entity]
    columns.append(("complete_through", moment_type(series.time)))
    rows = [
        (*each, None if reached is None else series.moment(number_of(reached)))
        for each, reached in found.items()
    ]
    return ArrowRows(as_table(columns, rows))


def _question(source: Source, asked: tuple[Any, Any, Any], calendar: str | None) -> Question:
    source.check_recorded("coverage")
    return Question(*asked, calendar_of(calendar), source.as_of, source.now)


def _covered(source: Source, asked: tuple[Any, Any, Any], calendar: str | None) -> Coverage:
    question = _question(source, asked, calendar)
    return coverage(source.session, source.name, source.snapshot_id, question)


def _series(source: Source) -> Series:
    with source.session.reading() as reader:
        at = source.at(reader)
        return Series.of(source.info(reader, at), at)


_LOG = {
    "snapshot_id": "int64",
    "time": "timestamptz",
    "author": "varchar",
    "message": "varchar",
    "operation": "varchar",
    "tables": "varchar[]",
    **dict.fromkeys(("inserted", "updated", "deleted", "files", "bytes"), "int64"),
}


def _snapshots(seen: Scope, table: str | None = None) -> RowSource:
    if table is None:
        seen.check_there()
        found = lake_log(seen.session, None, at=seen.at)
    else:
        found = table_log(source_of(seen, table), None)
    return ArrowRows.of(_LOG, [[getattr(each, name) for name in _LOG] for each in found])


def _tables(seen: Scope) -> RowSource:
    session, found = seen.session, []
    with session.reading() as reader:
        kinds = () if seen.is_lost else ("table", "view")
        names = {
            (name, kind) for kind in kinds for _, name in session.view.names(reader, seen.at, kind)
        }
        if seen.time is not None:
            names |= {(name, "table") for name in known_then(session, reader, seen.time)}
    for name, kind in names:
        inner = session.namespace.inner_table(name)
        found.append((inner.schema, inner.name, kind))
    return ArrowRows.of(dict.fromkeys(("schema", "name", "kind"), "varchar"), sorted(found))


_TAGS = {
    "name": "varchar",
    "snapshot_id": "int64",
    "created_at": "timestamptz",
    **dict.fromkeys(("author", "message"), "varchar"),
}


def _tags(seen: Scope) -> RowSource:
    """Those that there are now: tags are not versioned."""
    seen.session.namespace.check_whole("tags")
    with seen.session.reading() as reader:
        found = tags.every(reader)
    return ArrowRows.of(_TAGS, [[getattr(each, name) for name in _TAGS] for each in found])


_FILES = {
    "data_file_id": "int64",
    "path": "varchar",
    "rows": "int64",
    "bytes": "int64",
    "begin_snapshot": "int64",
    "row_id_start": "int64",
    "has_deletes": "boolean",
}


def _table_files(seen: Scope, table: str) -> RowSource:
    source = _plain(seen, table)
    names = ["id", *list(_FILES)[1:]]
    files = plan_read(source).files
    return ArrowRows.of(_FILES, [[getattr(file, name) for name in names] for file in files])


def _across_tenants(
    seen: Scope, table: str, tenants: Sequence[str] | None = None, column: str = "tenant"
) -> RowSource:
    session = seen.session.committed
    session.namespace.check_whole("across_tenants")
    seen.check_there()
    chosen = None if tenants is None else tuple(tenants)
    request = AcrossRequest(TableName.parse(table), seen.at, seen.as_of, column, chosen)
    return AcrossTenants(session, request)


_ANSWERS: Mapping[str, Callable[..., RowSource]] = {
    "across_tenants": _across_tenants,
    "changes": _changes,
    "changes_of_belief": _changes_of_belief,
    "complete_through": _complete_through,
    "coverage": _coverage,
    "diff": _diff,
    "gaps": _gaps,
    "history": _history,
    "last_complete_window": _last_complete_window,
    "missing": _missing,
    "snapshots": _snapshots,
    "table_files": _table_files,
    "tables": _tables,
    "tags": _tags,
}
