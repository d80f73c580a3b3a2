"""The lake: its tables and how they grow, and what is worth a look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.responses import Response

from tidelake.catalog.read import options, sizes, snapshots
from tidelake.coverage.values.series import Series
from tidelake.history.values import LogEntry
from tidelake.model.event_time import EventTime
from tidelake.model.names import TableName
from tidelake.upkeep.values_health import Health
from tidelake.web.site import Ask

PAGE = 50
_FEW_FILES = 50_000
"""Of a lake with more, tables are counted when the page is there already."""
_COMMITS, _RECENT = 48, 8
_BARS = 24


@dataclass(frozen=True, slots=True)
class Growth:
    """Rows that came and went with the last commits, in bars of a picture: where each begins, how
    high it is, both of 100."""

    rows: int = 0
    bars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of the list. What is not `exact` is what DuckLake keeps of the table."""

    name: str
    kinds: tuple[str, ...]
    rows: int | None
    bytes: int | None
    files: int | None = None
    exact: bool = True
    growth: Growth = Growth()


@dataclass(frozen=True, slots=True)
class TableList:
    """A page of tables."""

    rows: tuple[TableRow, ...]
    total: int
    page: int
    size: int = PAGE

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def exact(self) -> bool:
        return all(row.exact for row in self.rows)


@dataclass(frozen=True, slots=True)
class Head:
    """The newest snapshot, or that to which the lake is pinned."""

    snapshot_id: int
    time: datetime
    snapshots: int
    tables: int
    views: int


def show(ask: Ask) -> Response:
    listing = _listing(ask, exact=_is_small(ask))
    recent = _log(ask)[-_RECENT:][::-1]
    return ask.page("lake.html", listing=listing, head=_head(ask), recent=recent)


def tables(ask: Ask) -> Response:
    """The list with every number, for lakes where that takes a while."""
    return ask.fragment("lake_tables.html", listing=_listing(ask, exact=True))


def health(ask: Ask) -> Response:
    found: Health = ask.keep("health", ask.lake.health)
    return ask.fragment("lake_health.html", health=found)


def _log(ask: Ask) -> list[LogEntry]:
    found: list[LogEntry] = ask.keep("log", lambda: ask.lake.log(_COMMITS))
    return found


def _is_small(ask: Ask) -> bool:
    with ask.lake.session.reading() as reader:
        return sizes.file_ids_given(reader) <= _FEW_FILES


def _head(ask: Ask) -> Head:
    session = ask.lake.session
    with session.reading() as reader:
        at = session.at(reader)
        newest = snapshots.by_id(reader, at)
        count = reader.rows("SELECT count(*) FROM ducklake_snapshot")[0][0]
        counts = [len(session.view.names(reader, at, kind)) for kind in ("table", "view")]
    return Head(at, newest.time, int(count), *counts)


def _listing(ask: Ask, *, exact: bool) -> TableList:
    wanted = ask.state.find.casefold()
    session = ask.lake.session
    with session.reading() as reader:
        found = [
            (table_id, session.namespace.inner_table(name))
            for table_id, name in session.view.names(reader, session.at(reader), "table")
        ]
    chosen = [each for each in found if wanted in str(each[1]).casefold()]
    chosen.sort(key=lambda each: str(each[1]))
    page = max(0, int(ask.state.page) if ask.state.page.isdigit() else 0)
    size = ask.state.most(PAGE)
    shown = chosen[page * size : (page + 1) * size]
    make = _exact_rows if exact else _rough_rows
    rows = ask.keep(("tables", exact, shown), lambda: make(ask, shown))
    growth = ask.keep(("growth",), lambda: growths(_log(ask)))
    grown = tuple(replace(row, growth=growth.get(row.name, Growth())) for row in rows)
    return TableList(grown, len(chosen), page, size)


def _exact_rows(ask: Ask, shown: Sequence[tuple[int, TableName]]) -> tuple[TableRow, ...]:
    session = ask.lake.session
    with session.reading() as reader:
        at = session.at(reader)
        half = options.of_table(reader).file_bytes // 2
        known = sizes.table_sizes(reader, at, [each[0] for each in shown], half)
        counts = {each[0]: session.view.row_count(reader, at, each[1]) for each in shown}
    rows = []
    for table_id, name in shown:
        size, count = known.get(table_id, sizes.TableSize()), counts[table_id]
        about = size.rows - size.deleted if count is None else count
        kinds = _kinds(ask, name)
        rows.append(
            TableRow(str(name), kinds, about, size.bytes, size.files, exact=count is not None)
        )
    return tuple(rows)


def _rough_rows(ask: Ask, shown: Sequence[tuple[int, TableName]]) -> tuple[TableRow, ...]:
    with ask.lake.session.reading() as reader:
        known = sizes.rough_sizes(reader, [each[0] for each in shown])
    return tuple(
        TableRow(str(name), _kinds(ask, name), *known.get(table_id, (0, 0)), exact=False)
        for table_id, name in shown
    )


def _kinds(ask: Ask, name: TableName) -> tuple[str, ...]:
    """What a table has beside rows. Those of a page are few enough to be asked one by one."""
    info = ask.lake.table(str(name)).info
    told = {
        "two clocks": EventTime.maybe(info) is not None,
        "coverage": Series.maybe(info) is not None,
        "partitions": info.partitioning is not None,
    }
    return tuple(word for word, holds in told.items() if holds)


def growths(log: Sequence[LogEntry]) -> dict[str, Growth]:
    """By table, from commits that changed one table alone."""
    came: dict[str, list[float]] = {}
    rows: dict[str, int] = {}
    for place, entry in enumerate(log):
        if len(entry.tables) == 1:
            (name,) = entry.tables
            change = (entry.inserted or 0) - (entry.deleted or 0)
            bars = came.setdefault(name, [0.0] * _BARS)
            bars[place * _BARS // len(log)] += entry.inserted or 0
            rows[name] = rows.get(name, 0) + change
    return {name: Growth(rows[name], _drawn(bars)) for name, bars in came.items()}


def _drawn(bars: Sequence[float]) -> tuple[tuple[float, float], ...]:
    most = max(bars) or 1.0
    wide = 100 / len(bars)
    return tuple(
        (round(place * wide, 2), max(4.0, round(100 * bar / most, 1)) if bar else 0.0)
        for place, bar in enumerate(bars)
    )
