"""History: snapshots as a core sample, what differs between two, schemas over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from tidelake.errors import Invalid
from tidelake.history.values import LogEntry, kind_of
from tidelake.history.values_diff import Difference
from tidelake.web import code
from tidelake.web.code import Snippet
from tidelake.web.queries import Grid, grid_of
from tidelake.web.site import Ask
from tidelake.web.state import moment_of

PAGE = 40
_DIFFERING = 100


@dataclass(frozen=True, slots=True)
class Layer:
    """A snapshot: its entry of the log, what it is tagged, and how wide its layer is, of 100."""

    entry: LogEntry
    tags: tuple[str, ...]
    width: float
    kind: str


@dataclass(frozen=True, slots=True)
class TableChange:
    """What differs in a table, in numbers."""

    table: str
    schema: tuple[Difference, ...]
    rows: str
    files: str


def show(ask: Ask) -> Response:
    """The newest snapshots first, from `before` on backwards."""
    layers, older = _layers(ask)
    return ask.page(
        "history.html",
        layers=layers,
        older=older,
        tables=ask.tables_with(),
        code=code.log(ask.where, ask.state),
    )


def _layers(ask: Ask) -> tuple[list[Layer], int | None]:
    before = moment_of(ask.state.before)
    lake = ask.lake if before is None else ask.lake.known_at(before)
    source = lake.table(ask.state.table) if ask.state.table else lake
    most = ask.state.most(PAGE)
    found = source.log(most + 1)
    tags: dict[int, list[str]] = {}
    if ask.lake.session.namespace.is_whole:
        for tag in ask.lake.tags():
            tags.setdefault(tag.snapshot_id, []).append(tag.name)
    older = found[0].snapshot_id if len(found) > most else None
    shown = found[-most:][::-1]
    widest = max(map(_rows, shown), default=1)
    return [_layer(each, tags, widest) for each in shown], older


def _rows(entry: LogEntry) -> int:
    return sum(each or 0 for each in (entry.inserted, entry.updated, entry.deleted))


def _layer(entry: LogEntry, tags: Mapping[int, Sequence[str]], most: int) -> Layer:
    """The wider the more rows, up to the one with the most on the page."""
    share = math.log1p(_rows(entry)) / math.log1p(max(most, 1))
    kind = kind_of(entry.operation)
    return Layer(entry, tuple(tags.get(entry.snapshot_id, ())), round(8 + 92 * share, 1), kind)


def diff(ask: Ask) -> Response:
    """What differs from snapshot `a` to snapshot `b`, in a table or in all."""
    a, b = moment_of(ask.state.a), moment_of(ask.state.b)
    if a is None:
        raise Invalid("it is not said from which snapshot", hint="choose two snapshots")
    rows: Grid | None = None
    if ask.state.table:
        one = ask.lake.table(ask.state.table).diff(a, b)
        found = [TableChange(one.table, one.schema, str(one.counts), str(one.files))]
        rows = (
            grid_of(one.rows.to_batches(_DIFFERING + 1), _DIFFERING, whole=False)
            if one.counts
            else None
        )
        other: tuple[Difference, ...] = ()
    else:
        whole = ask.lake.diff(a, b)
        found = [
            TableChange(each.table, each.schema, str(each.counts), str(each.files))
            for each in whole.tables
        ]
        other = whole.schema
    return ask.fragment(
        "history_diff.html",
        changes=found,
        other=other,
        rows=rows,
        code=code.diff(ask.where, ask.state),
    )


def schema(ask: Ask) -> Response:
    """What was declared of a table, step by step, and its columns now."""
    table = ask.lake.table(ask.state.table)
    snippets = _schema_code(ask, table.name)
    return ask.page(
        "history_schema.html", table=table, steps=table.schema_log()[::-1], code=snippets
    )


def _schema_code(ask: Ask, name: str) -> list[Snippet]:
    url = ask.lake.url
    call = f"for step in lake.table({name!r}).schema_log():\n    print(step)"
    opened = f"import tidelake\n\nlake = tidelake.connect({url!r})"
    on_spark = f'import tidelake\n\nlake = tidelake.connect({url!r}, engine="spark", spark=spark)'
    return [
        Snippet("Python", f"{opened}\n{call}"),
        Snippet("SQL", f"DESCRIBE {name}"),
        Snippet("CLI", f"tidelake --catalog '{url}' schema show '{name}'"),
        Snippet("Spark", f"{on_spark}\n{call}"),
    ]


def rollback(ask: Ask, given: dict[str, Any]) -> Response:
    """Bring a table back to a snapshot, or say what would change."""
    name, to = str(given.get("table") or ""), moment_of(str(given.get("to") or ""))
    if not name or to is None:
        raise Invalid("it is not said which table, and to when", hint="choose a table first")
    table = ask.lake.table(name)
    if given.get("dry_run", True):
        would = table.diff(_newest(ask), to)
        return ask.json({"dry_run": True, "text": f"would change: {would}"})
    ask.check_writable()
    done = table.rollback(to, message=str(given.get("message") or "") or None)
    return ask.json({"dry_run": False, "text": f"made snapshot {done.snapshot_id}"})


def _newest(ask: Ask) -> int:
    with ask.lake.session.reading() as reader:
        return ask.lake.session.at(reader)
