"""Files: how a table lies on the store, and what a condition would leave of it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from tidelake.catalog.read import files as read
from tidelake.catalog.read import sizes
from tidelake.event_time.explanation import Explanation
from tidelake.model.event_time import EventTime
from tidelake.model.file import DataFile
from tidelake.model.schema import Column
from tidelake.model.table import TableInfo
from tidelake.plan.partitioning.transforms import transform_of
from tidelake.web import code
from tidelake.web.site import Ask

PAGE = 40
_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file, how much of it is deleted, and the bounds of some columns; how large it is beside
    the largest on the page, of 100."""

    file: DataFile
    deleted: int
    bounds: tuple[tuple[str, str, str], ...]
    width: float

    @property
    def name(self) -> str:
        return self.file.path.rpartition("/")[2]

    @property
    def live(self) -> float:
        """How much of the rows is left, of 100."""
        rows = self.file.rows
        return 100.0 * max(rows - self.deleted, 0) / rows if rows else 0.0


@dataclass(frozen=True, slots=True)
class Layout:
    """A page of files, and where the next begins."""

    rows: tuple[FileRow, ...]
    older: str
    partitioning: str


def show(ask: Ask) -> Response:
    names = ask.tables_with()
    name = ask.state.table or (names[0] if names else "")
    if not name:
        return ask.page("files.html", table=None, tables=names, layout=None, plan=None, code=[])
    state = ask.state.moved(table=ask.lake.table(name).name)
    ask = Ask(ask.request, ask.site, ask.lake, state)
    table = ask.lake.table(name)
    pinned = table if state.known is None else table.known_at(state.known)
    plan: Explanation | None = None
    if state.where:
        plan = pinned.scan(where=state.where).explain()
    return ask.page(
        "files.html",
        table=pinned,
        tables=names,
        layout=_layout(ask, pinned.info),
        plan=plan,
        code=code.files(ask.where, state),
    )


def _layout(ask: Ask, info: TableInfo) -> Layout:
    session, wanted = ask.lake.session, ask.state.most(PAGE)
    with session.reading() as reader:
        known = ask.state.known
        at = session.at(reader) if known is None else session.resolve(reader, known).snapshot_id
        found = sizes.newest_files(
            reader, at, info.id, info.path, _place(ask.state.before), wanted + 1
        )
        columns = _telling(info)
        ids = [file.id for file in found]
        stats = read.statistics(reader, info.id, [each.id for each in columns], ids)
    shown = found[:wanted]
    most = max((file.bytes for file in shown), default=1) or 1
    rows = []
    for file in shown:
        known_stats = stats.get(file.id, {})
        bounds = tuple(
            (each.name, str(known_stats[each.id].min), str(known_stats[each.id].max))
            for each in columns
            if each.id in known_stats and known_stats[each.id].min is not None
        )
        gone = sum(delete.rows for delete in file.deletes) + len(file.deleted_positions)
        rows.append(FileRow(file, gone, bounds, round(100 * file.bytes / most, 1)))
    last = shown[-1] if len(found) > wanted else None
    older = "" if last is None else f"{last.begin_snapshot}-{last.id}"
    return Layout(tuple(rows), older, _partitioning(info))


def _place(text: str) -> sizes.Place | None:
    first, _, second = text.partition("-")
    return (int(first), int(second)) if first.isdigit() and second.isdigit() else None


def _telling(info: TableInfo) -> list[Column]:
    """Columns whose bounds say most: the event time, then the first of the table."""
    event = EventTime.maybe(info)
    plain = [column for column in info.schema if not column.is_nested]
    first = [] if event is None else [event.time]
    return [*first, *(each for each in plain if each not in first)][:_COLUMNS]


def _partitioning(info: TableInfo) -> str:
    names = {column.id: column.name for column in info.schema}
    keys = info.partitioning.keys if info.partitioning else ()
    return ", ".join(transform_of(k.transform).shown(names.get(k.column_id, "?")) for k in keys)
