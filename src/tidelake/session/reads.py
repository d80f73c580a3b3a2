"""What a serializable transaction has read, and whether somebody else has changed it since.

A read is kept as what was asked, not as what was answered: a table and a condition, a name, a
list of names, or the whole lake. At the commit, inside the lake's lock, it is held against what
has landed since the transaction began. A commit is refused rather than let through: what cannot
be told counts as changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tidelake.catalog import erasures
from tidelake.catalog.commit import conflict
from tidelake.catalog.commit.entries import Numbers
from tidelake.catalog.commit.interim import Interim
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import tables as read
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Conflict, Invalid, NotFound
from tidelake.model.names import TableName
from tidelake.model.predicate import And, Not, Opaque, Or, Predicate
from tidelake.model.table import TableInfo, ViewInfo
from tidelake.session.planning import TableMeta, plan_all, without_others

SNAPSHOT, SERIALIZABLE = "snapshot", "serializable"
_MANY = 200
"""With more conditions on one table than this, all of it counts as read."""
_AGAIN = "run the whole block again: it then reads what is there now"


def reads_of(isolation: object) -> Reads:
    """What keeps the reads of a transaction with such isolation."""
    if isolation == SERIALIZABLE:
        return KeptReads()
    if isolation == SNAPSHOT:
        return Reads()
    raise Invalid(
        f"isolation={isolation!r} is no level of isolation",
        hint=f'"{SNAPSHOT}", which is the default, or "{SERIALIZABLE}"',
    )


class Reads:
    """The reads of those who need not remember them."""

    are_kept = False

    def rows(self, facts: TableMeta, where: Predicate | None) -> None:
        """Rows of a table that is committed, all or those that meet a condition."""

    def name(self, kind: str, name: TableName, found: int | None) -> None:
        """What a name stands for."""

    def table(self, table: TableInfo, *, only_rows: bool = True) -> None:
        """What is declared of a table; all of it, or what matters to its rows."""

    def view(self, view: ViewInfo) -> None: ...

    def names(self, kind: str) -> None:
        """All names of a kind."""

    def everything(self) -> None:
        """All of the lake, such as which snapshots there are."""

    def check(
        self,
        local: LocalEngine,
        data_path: str,
        reader: Reader,
        base: tuple[int, int],
        head: Numbers,
    ) -> None:
        """Raise Conflict if something that was read is not so any more."""


@dataclass
class _Rows:
    """Conditions on one table, as its columns were when it was read."""

    facts: TableMeta
    conditions: dict[str, Predicate] = field(default_factory=dict)
    is_whole: bool = False

    def add(self, where: Predicate | None) -> None:
        if where is not None:
            self.conditions[where.sql()] = where
        self.is_whole |= where is None or len(self.conditions) > _MANY

    @property
    def condition(self) -> Predicate | None:
        return None if self.is_whole else Or(tuple(self.conditions.values()))


class KeptReads(Reads):
    """The reads of a serializable transaction."""

    are_kept = True

    def __init__(self) -> None:
        self._rows: list[_Rows] = []
        self._names: dict[tuple[str, TableName], int | None] = {}
        self._tables: dict[int, tuple[TableInfo, bool]] = {}
        self._views: dict[int, ViewInfo] = {}
        self._listed: set[str] = set()
        self._is_all = False

    def rows(self, facts: TableMeta, where: Predicate | None) -> None:
        info = facts.info
        for known in self._rows:
            if known.facts.info.id == info.id and known.facts.info.schema == info.schema:
                known.add(where)
                return
        self._rows.append(_Rows(facts))
        self._rows[-1].add(where)

    def name(self, kind: str, name: TableName, found: int | None) -> None:
        self._names[kind, name] = found

    def table(self, table: TableInfo, *, only_rows: bool = True) -> None:
        known = self._tables.get(table.id)
        self._tables[table.id] = (table, only_rows and (known is None or known[1]))

    def view(self, view: ViewInfo) -> None:
        self._views[view.id] = view

    def names(self, kind: str) -> None:
        self._listed.add(kind)

    def everything(self) -> None:
        self._is_all = True

    def check(
        self,
        local: LocalEngine,
        data_path: str,
        reader: Reader,
        base: tuple[int, int],
        head: Numbers,
    ) -> None:
        began, schema_version = base
        if head.snapshot_id == began:
            return
        if self._is_all:
            raise Conflict(
                f"this transaction has read of all snapshots, and {head.snapshot_id} is new",
                hint=_AGAIN,
            )
        if head.schema_version != schema_version:
            self._check_declared(data_path, reader, began, head.snapshot_id)
        interim = Interim.since(reader, began, head.snapshot_id) if self._rows else None
        for rows in self._rows:
            if interim is not None and rows.facts.info.id in interim.tables:
                _check_rows(local, reader, rows, interim)

    def _check_declared(self, data_path: str, reader: Reader, base: int, head: int) -> None:
        for kind in self._listed:
            if _listing(data_path, reader, base, kind) != _listing(data_path, reader, head, kind):
                raise Conflict(f"the list of {kind}s has changed since it was read", hint=_AGAIN)
        for table, only_rows in self._tables.values():
            conflict.check_declared(reader, table, head, data_path, only_rows)
        for (kind, name), found in self._names.items():
            if read.find(reader, head, kind, name) != found:
                what = "created" if found is None else "dropped or renamed"
                raise Conflict(f"somebody else {what} {kind} {name}", hint=_AGAIN)
        for view in self._views.values():
            if _view(reader, head, view.id) != view:
                raise Conflict(f"somebody else changed view {view.name}", hint=_AGAIN)


def _listing(data_path: str, reader: Reader, at: int, kind: str) -> Sequence[object]:
    if kind == "schema":
        return [schema.name for schema in read.schemas(reader, at, data_path)]
    if kind == "macro":
        return list(read.macros(reader, at))
    return sorted(str(name) for _, name in read.names(reader, at, kind))


def _view(reader: Reader, at: int, view_id: int) -> ViewInfo | None:
    try:
        return read.view(reader, at, view_id)
    except NotFound:
        return None


def _check_rows(local: LocalEngine, reader: Reader, rows: _Rows, interim: Interim) -> None:
    """No row that may meet the conditions may have come to the table, or left it."""
    info, condition = rows.facts.info, rows.condition
    found = interim.files(reader, info.id, info.path)
    if condition is not None and found:
        found = without_others(reader, rows.facts, found, condition)
    erased = erasures.last_of(reader, info.id) > interim.base
    if erased or found or _any_meets(local, reader, rows, interim):
        raise Conflict(
            f"somebody else changed rows of {info.name} that this transaction has read",
            hint=_AGAIN,
        )


def _any_meets(local: LocalEngine, reader: Reader, rows: _Rows, interim: Interim) -> bool:
    """Whether one of the rows meets the conditions that have come to the catalog's own, or gone."""
    info, condition = rows.facts.info, rows.condition
    names = frozenset() if condition is None else condition.columns()
    columns = tuple(column for column in info.schema if column.name in names)
    kept = interim.rows(reader, info.id, {column.id for column in columns})
    told = condition is not None and 0 < len(names) == len(columns) and _is_understood(condition)
    if condition is None or not told or not kept:
        return any(each.rows for each in kept)
    plan = plan_all(interim.head, rows.facts, columns, tuple(column.name for column in columns))
    plan = replace(plan, inlined=tuple(kept), where=condition.sql(), predicate=condition)
    return int(local.read(plan).count()) > 0


def _is_understood(condition: Predicate) -> bool:
    """Whether it means the same whenever it is asked."""
    if isinstance(condition, And | Or):
        return all(map(_is_understood, condition.parts))
    if isinstance(condition, Not):
        return _is_understood(condition.part)
    return not isinstance(condition, Opaque)
