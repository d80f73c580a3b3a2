"""The whole catalog as values, for checking it: what cannot be taken in is a problem itself.

Statistics and partition values of single files are left out, since there may be millions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from tidelake.catalog.cells import NEEDED
from tidelake.catalog.database.database import Reader
from tidelake.catalog.layout import TABLES
from tidelake.catalog.read.snapshots import as_instant
from tidelake.catalog.read.tables import join_path
from tidelake.errors import Corrupt
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.verify.values import Problem

BIG = {
    "ducklake_file_column_stats",
    "ducklake_file_variant_stats",
    "ducklake_file_partition_value",
}
VERSIONED = tuple(name for name, layout in TABLES.items() if "begin_snapshot int, end" in layout)
INLINED = "ducklake_inlined_data_"
INLINED_DELETES = "ducklake_inlined_delete_"

_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int),
    "bool": lambda value: isinstance(value, int),
    "text": lambda value: isinstance(value, str),
    "uuid": lambda _: True,
    "time": lambda value: _is_moment(value),
}
_KIND_WORDS = {"int": "number", "bool": "truth value", "text": "text", "time": "timestamp"}


@dataclass(frozen=True)
class Inventory:
    """Rows by table, as tuples with the columns' names. `physical` are all tables of the database
    with their columns. `only`: the tables that somebody asked about; None means all. `strays` are
    tables for small writes that hold rows and are not listed."""

    rows: dict[str, list[Any]]
    physical: dict[str, list[str]]
    data_path: str
    only: frozenset[int] | None = None
    problems: list[Problem] = field(default_factory=list)
    strays: tuple[str, ...] = ()

    def of(self, kind: str) -> list[Any]:
        """The rows of `ducklake_<kind>`."""
        return self.rows[f"ducklake_{kind}"]

    def of_tables(self, kind: str) -> list[Any]:
        """The same, of the tables that matter."""
        rows = self.of(kind)
        return rows if self.only is None else [row for row in rows if row.table_id in self.only]

    def of_table(self, kind: str, table_id: int) -> list[Any]:
        """The same, of one table."""
        if kind not in self._by_table:
            self._by_table[kind] = defaultdict(list)
            for row in self.of(kind):
                self._by_table[kind][row.table_id].append(row)
        return self._by_table[kind].get(table_id, [])

    @cached_property
    def _by_table(self) -> dict[str, dict[int, list[Any]]]:
        return {}

    @cached_property
    def snapshot_ids(self) -> list[int]:
        return sorted(row.snapshot_id for row in self.of("snapshot"))

    @property
    def head(self) -> int:
        return self.snapshot_ids[-1]

    def seen_at(self, begin: int, end: int | None) -> int | None:
        """The first snapshot there is that sees a row with this span; None if none does."""
        place = bisect_left(self.snapshot_ids, begin)
        found = self.snapshot_ids[place] if place < len(self.snapshot_ids) else None
        return found if found is not None and (end is None or found < end) else None

    def clashes(
        self, rows: Iterable[Any], key: Callable[[Any], Hashable]
    ) -> Iterator[tuple[Any, Any, int]]:
        """Pairs of rows with the same key that one snapshot sees both, and that snapshot."""
        groups: dict[Hashable, list[Any]] = defaultdict(list)
        for row in rows:
            groups[key(row)].append(row)
        for group in groups.values():
            last, *others = sorted(group, key=lambda row: row.begin_snapshot)
            for row in others:
                end = _earlier(last.end_snapshot, row.end_snapshot)
                at = self.seen_at(row.begin_snapshot, end)
                if at is not None:
                    yield last, row, at
                if end == last.end_snapshot:
                    last = row

    @cached_property
    def schemas(self) -> dict[int, Any]:
        return {row.schema_id: row for row in self.of("schema")}

    @cached_property
    def tables(self) -> dict[int, Any]:
        """The newest row of every table."""
        rows = sorted(self.of("table"), key=lambda row: row.begin_snapshot)
        return {row.table_id: row for row in rows}

    @cached_property
    def _edges(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def _versions(self) -> dict[tuple[int, int], tuple[Column, ...]]:
        return {}

    def column_edges(self, table_id: int) -> list[int]:
        """The snapshots at which columns of the table began or ended."""
        if table_id not in self._edges:
            rows = self.of_table("column", table_id)
            edges = {row.begin_snapshot for row in rows} | {row.end_snapshot for row in rows}
            self._edges[table_id] = sorted(edge for edge in edges if edge is not None)
        return self._edges[table_id]

    def columns_at(self, table_id: int, at: int) -> tuple[Column, ...]:
        """The table's columns at a snapshot, whether that has been expired or not."""
        edges = self.column_edges(table_id)
        since = edges[max(bisect_right(edges, at) - 1, 0)] if edges else at
        key = (table_id, since)
        if key not in self._versions:
            seen = [row for row in self.of_table("column", table_id) if _sees(row, since)]
            ordered = sorted(seen, key=lambda row: (row.column_order, row.column_id))
            self._versions[key] = _trees(ordered)
        return self._versions[key]

    @property
    def wanted_tables(self) -> list[int]:
        return [id_ for id_ in self.tables if self.only is None or id_ in self.only]

    def name(self, table_id: int | None) -> str | None:
        """A table by its last name, or by its number if it has none."""
        row = self.tables.get(table_id) if table_id is not None else None
        if row is None:
            return None if table_id is None else f"table {table_id}"
        schema = self.schemas.get(row.schema_id)
        return str(TableName(schema.schema_name if schema else "?", row.table_name))

    def table_path(self, table_id: int) -> str | None:
        """None for a table that is not known, or whose schema is not."""
        row = self.tables.get(table_id)
        schema = self.schemas.get(row.schema_id) if row else None
        if row is None or schema is None:
            return None
        parent = join_path(self.data_path, schema.path, schema.path_is_relative)
        return join_path(parent, row.path, row.path_is_relative)

    def path(self, row: Any) -> str | None:
        """Where a data or delete file is; None if that cannot be told."""
        if not row.path_is_relative:
            return str(row.path)
        parent = self.table_path(row.table_id)
        return None if parent is None else f"{parent}{row.path}"


def _sees(row: Any, at: int) -> bool:
    return bool(row.begin_snapshot <= at and (row.end_snapshot is None or row.end_snapshot > at))


def _trees(rows: Iterable[Any]) -> tuple[Column, ...]:
    below: dict[int | None, list[Any]] = defaultdict(list)
    for row in rows:
        below[row.parent_column].append(row)

    def build(row: Any) -> Column:
        return Column(
            id=row.column_id,
            name=row.column_name,
            type=row.column_type.lower(),
            children=tuple(build(child) for child in below.pop(row.column_id, ())),
            initial_default=row.initial_default,
        )

    return tuple(build(row) for row in below.pop(None, ()))


def take(reader: Reader, data_path: str) -> Inventory:
    """Read the catalog. Tables that are missing or of another shape are problems, and empty."""
    physical: dict[str, list[str]] = defaultdict(list)
    for table, column in reader.rows(reader.dialect.every_column):
        physical[table].append(column)
    problems = list(_shape_problems(physical))
    rows: dict[str, list[Any]] = {name: [] for name in TABLES}
    if not problems:
        wanted = [name for name in TABLES if name not in BIG]
        answers = reader.rows_of([(_select(reader, name), {}) for name in wanted])
        for name, found in zip(wanted, answers, strict=True):
            rows[name] = list(_sound(name, found, problems))
    strays = tuple(_strays(reader, rows["ducklake_inlined_data_tables"], physical))
    return Inventory(rows, dict(physical), data_path, problems=problems, strays=strays)


def _strays(reader: Reader, listed: list[Any], physical: Iterable[str]) -> Iterator[str]:
    """Compaction takes tables off the list that it has emptied, and drops them later."""
    known = {row.table_name for row in listed} | TABLES.keys()
    unlisted = (name for name in physical if name.startswith(INLINED) and name not in known)
    for name in unlisted:
        if reader.row(f'SELECT 1 FROM "{name}" LIMIT 1') is not None:
            yield name


def named_files(reader: Reader) -> set[tuple[bool, int]]:
    """The files that the catalog names now: whether it is a delete file, and its id."""
    data = reader.rows("SELECT data_file_id FROM ducklake_data_file")
    deletes = reader.rows("SELECT delete_file_id FROM ducklake_delete_file")
    return {(False, row[0]) for row in data} | {(True, row[0]) for row in deletes}


def file_ids(reader: Reader, table_id: int) -> list[int]:
    """All data files that a table has now, of whatever snapshots."""
    sql = "SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id"
    return [row[0] for row in reader.rows(sql, id=table_id)]


def snapshot_ids(reader: Reader) -> set[int]:
    return {row[0] for row in reader.rows("SELECT snapshot_id FROM ducklake_snapshot")}


def _shape_problems(physical: dict[str, list[str]]) -> Iterator[Problem]:
    for name, layout in TABLES.items():
        columns = [definition.split(" ")[0] for definition in layout.split(", ")]
        if name not in physical:
            yield Problem("tables", f"the catalog has no table {name}", "restore it from a backup")
        elif physical[name] != columns:
            odd = [c for c in physical[name] if c not in columns]
            gone = [c for c in columns if c not in physical[name]]
            yield Problem(
                "tables",
                f"{name} is not as DuckLake 1.0 has it (missing: {', '.join(gone) or 'none'};"
                f" too many: {', '.join(odd) or 'none'})",
                "give it exactly its columns, in order: DuckDB inserts by position",
            )
    dynamic = (INLINED, INLINED_DELETES)
    for name in sorted(physical):
        known = name in TABLES or name.startswith(dynamic)
        if name.startswith("ducklake_") and not known:
            yield Problem(
                "tables",
                f"DuckLake 1.0 has no table {name}",
                "rename it; was the catalog migrated to another version?",
            )


def _select(reader: Reader, name: str) -> str:
    """Under names of their own cells come out whatever they hold."""
    columns = [
        reader.dialect.instant.format(f'"{column}"') if kind == "time" else f'"{column}"'
        for column, kind in _columns(name)
    ]
    listed = ", ".join(f"{column} AS cell{place}" for place, column in enumerate(columns))
    return f'SELECT {listed} FROM "{name}"'


@cache
def _columns(name: str) -> list[tuple[str, str]]:
    pairs = (definition.split(" ") for definition in TABLES[name].split(", "))
    return [(column, kind.rstrip("!")) for column, kind in pairs]


@cache
def _kind_of_row(name: str) -> Any:
    return namedtuple(name, [column for column, _ in _columns(name)])


def _sound(name: str, found: Iterable[Any], problems: list[Problem]) -> Iterator[Any]:
    """The rows whose values are of the right kind; the others become problems. A time that is none
    is left open, and its row kept."""
    needed = set(NEEDED[name].split())
    columns = [(at, *pair, pair[0] in needed) for at, pair in enumerate(_columns(name))]
    make = _kind_of_row(name)._make
    for values in found:
        row = make(values)
        wrong = [
            (column, kind)
            for at, column, kind, is_needed in columns
            if (is_needed if values[at] is None else not _KINDS[kind](values[at]))
        ]
        problems += [_unsound(name, row, column, kind) for column, kind in wrong]
        if all(kind == "time" for _, kind in wrong):
            yield row._replace(**{column: None for column, _ in wrong}) if wrong else row


def _unsound(name: str, row: Any, column: str, kind: str) -> Problem:
    value = getattr(row, column)
    said = "nothing" if value is None else repr(value)[:60]
    return Problem(
        "values",
        f"{name}.{column} is {said} where a {_KIND_WORDS[kind]} must be, in the row with"
        f" {row._fields[0]} {row[0]!r}",
        "correct the value: other checks could not look at it",
    )


def _is_moment(value: object) -> bool:
    try:
        as_instant(value)
    except Corrupt:
        return False
    return True


def _earlier(one: int | None, other: int | None) -> int | None:
    ends = [end for end in (one, other) if end is not None]
    return min(ends, default=None)
