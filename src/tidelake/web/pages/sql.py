"""SQL: queries on both clocks, in a sandbox; their rows as they come, their plan, and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Any

from starlette.responses import Response, StreamingResponse

from tidelake.drawing.hints import in_sql
from tidelake.errors import Invalid, TidelakeError
from tidelake.model import json_values
from tidelake.model.event_time import moment_text
from tidelake.plan.as_of import AsOfPlan
from tidelake.web import code as snippets
from tidelake.web.export import export_as
from tidelake.web.queries import AskedLake
from tidelake.web.site import Ask
from tidelake.web.state import State, moment_of

SHOWN = 10_000
"""Rows of the grid; files have all."""
_MOST_SHOWN = 100_000
_BATCH = 1000
_EXPORT_BATCH = 50_000
_MANY_TABLES = 200
_STARTS = re.compile(r"\s*(select|from|with|values|\()", re.IGNORECASE)


def show(ask: Ask) -> Response:
    sql = ask.state.sql or _first_query(ask)
    state = ask.state.moved(sql=sql)
    ask = Ask(ask.request, ask.site, ask.lake, state)
    ask.site.queries.warm(ask.lake)
    return ask.page("sql.html", sql=sql, code=snippets.query(ask.where, state))


def _first_query(ask: Ask) -> str:
    if ask.state.table:
        return f"SELECT *\nFROM {ask.lake.table(ask.state.table).name}\nLIMIT 100"
    names = ask.lake.tables()
    return f"SELECT *\nFROM {names[0]}\nLIMIT 100" if names else "SELECT 1 AS one"


def names(ask: Ask) -> Response:
    """What can be completed: tables and views, and the columns of tables; of many tables, the
    columns of one that is asked for."""
    tables = ask.lake.tables()
    if ask.state.table:
        wanted = [ask.lake.table(ask.state.table).name]
    else:
        wanted = tables if len(tables) <= _MANY_TABLES else []
    columns = ask.keep(
        ("columns", wanted),
        lambda: {
            name: [[c.name, c.duckdb_type] for c in ask.lake.table(name).schema] for name in wanted
        },
    )
    return ask.json({"tables": tables[:5000], "views": ask.lake.views(), "columns": columns})


def _asked(given: dict[str, Any]) -> State:
    known = {name: str(given.get(name) or "") for name in ("sql", "as_of", "known_at")}
    if not known["sql"].strip():
        raise Invalid("there is no query", hint="write one: SELECT …")
    return State.of(known)


def code(ask: Ask, given: dict[str, Any]) -> Response:
    """The same query in other words, for the buttons that copy it."""
    found = snippets.query(ask.where, _asked(given))
    return ask.json({"code": [[each.language, each.text] for each in found]})


def run(ask: Ask, given: dict[str, Any]) -> Response:
    """The rows of a query as lines of JSON, as they come: columns, rows, and how it ended."""
    state = _asked(given)
    name = str(given.get("name") or "")
    limit = min(int(given.get("limit") or SHOWN), _MOST_SHOWN)
    lines = _lines(ask, state, name, limit)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _lines(ask: Ask, state: State, name: str, limit: int) -> Iterator[str]:
    started = monotonic()
    shown = 0
    try:
        with ask.site.queries.one(ask.lake, name) as reading:
            batches = _batches(reading, state, with_limit(state.sql, limit + 1), _BATCH)
            yield _line(
                columns=[[each.name, str(each.type)] for each in batches.schema],
                seconds=monotonic() - started,
            )
            for batch in batches:
                rows = list(json_values.rows(batch))[: max(limit - shown, 0)]
                more = shown + batch.num_rows > limit
                shown += len(rows)
                yield _line(rows=rows, seconds=monotonic() - started, more=more)
        yield _line(done=shown, seconds=monotonic() - started)
    except TidelakeError as error:
        yield _line(error={"message": error.message, "hint": in_sql(error.hint)})


def _line(**told: object) -> str:
    return json.dumps(told, ensure_ascii=False, default=str) + "\n"


def _batches(reading: AskedLake, state: State, sql: str, rows: int) -> Any:
    return reading.batches(sql, rows, state.as_of, moment_of(state.known_at))


def with_limit(sql: str, limit: int) -> str:
    """The query with no more rows than that, where it can stand in another."""
    text = sql.strip().rstrip(";")
    if _STARTS.match(text) is None or ";" in text:
        return sql
    return f"SELECT * FROM (\n{text}\n) LIMIT {limit}"


def cancel(ask: Ask, given: dict[str, Any]) -> Response:
    return ask.json({"cancelled": ask.site.queries.cancel(str(given.get("name") or ""))})


def plan(ask: Ask, given: dict[str, Any]) -> Response:
    """What the query would read of each of its tables."""
    state = _asked(given)
    with ask.site.queries.one(ask.lake) as reading:
        asked = reading.asked(state.sql, state.as_of, moment_of(state.known_at))
        found = [
            {
                "table": str(each.table),
                "snapshot": each.snapshot_id,
                "as_of": moment_text(each.as_of) if isinstance(each, AsOfPlan) else None,
                "rollup": str(each.rollup or "") if isinstance(each, AsOfPlan) else "",
                "files": len(each.files),
                "total": each.total_files,
                "pruned": [[step.reason, step.files] for step in each.pruned],
                "rows": sum(file.rows for file in each.files),
                "bytes": sum(file.bytes for file in each.files),
                "inlined": sum(len(kept.rows) for kept in each.inlined),
            }
            for each in asked.tables.values()
        ]
    return ask.json({"tables": found})


def export(ask: Ask, given: dict[str, Any]) -> Response:
    """All rows of a query as a file. What is wrong with the query is told before it begins."""
    state = _asked(given)
    with ExitStack() as stack:
        reading = stack.enter_context(ask.site.queries.one(ask.lake))
        batches = _batches(reading, state, state.sql, _EXPORT_BATCH)
        kind, suffix, parts = export_as(str(given.get("format") or "csv"), batches)
        kept = stack.pop_all()
    headers = {"content-disposition": f'attachment; filename="tidelake-query.{suffix}"'}
    return StreamingResponse(_closing(parts, kept), media_type=kind, headers=headers)


def _closing(parts: Iterator[bytes], stack: ExitStack) -> Iterator[bytes]:
    with stack:
        yield from parts
