"""What the columns of a table have been: every name and every type that they have had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidelake.catalog.database.database import Reader
from tidelake.model.names import fold
from tidelake.model.physical_names import parents_of, physical_names, with_new_columns
from tidelake.model.schema import Column, Schema


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """What old files may know a table's columns as.

    `reshaped`: top-level columns whose insides were renamed, dropped or given defaults;
    `types`: every type a column has had, at any depth; `renamed`: columns that have had
    several names, or share one with another column of the same parent; `names`: all names of
    those that share none; `physical`: what they are called in files of ours; `last_id`: the
    highest id a column ever had; `parents`: the column that each is inside of, if any;
    `original`: columns that were there from the beginning without a break, so in every file.
    """

    reshaped: frozenset[int]
    types: Mapping[int, frozenset[str]]
    renamed: frozenset[int]
    names: Mapping[int, frozenset[str]]
    physical: Mapping[int, str] = field(default_factory=dict)
    last_id: int = 0
    parents: Mapping[int, int | None] = field(default_factory=dict)
    original: frozenset[int] = frozenset()

    def named(self, columns: Sequence[Column]) -> dict[int, str]:
        """What all columns are called in files, those that no snapshot has yet among them."""
        return with_new_columns(self.physical, columns, self.parents)

    def evolved(self, schema: Schema) -> ColumnHistory:
        """The history with one more version of the columns. Nested ones are taken to be reshaped:
        that is always right, and only slower."""
        below = [(c, top) for top in schema for c in top.walk()]
        types = {c.id: self.types.get(c.id, frozenset()) | {c.type} for c, _ in below}
        names = {c.id: self.names[c.id] | {c.name} for c, _ in below if c.id in self.names}
        return ColumnHistory(
            self.reshaped | {top.id for top in schema if top.is_nested},
            {**self.types, **types},
            self.renamed | {c.id for c, _ in below if c.name != self.physical.get(c.id)},
            {**self.names, **names},
            self.named(schema.columns),
            max([self.last_id, *(c.id for c, _ in below)]),
            {**self.parents, **parents_of(schema.columns)},
            self.original,
        )


def column_history(reader: Reader, table_id: int) -> ColumnHistory:
    rows = reader.rows(
        "SELECT column_id, parent_column, column_name, column_type, begin_snapshot, end_snapshot,"
        " initial_default FROM ducklake_column WHERE table_id = :id"
        " ORDER BY begin_snapshot, column_id",
        id=table_id,
    )
    parents = {row[0]: row[1] for row in rows}
    types: dict[int, set[str]] = defaultdict(set)
    names: dict[int, set[str]] = defaultdict(set)
    bearers: dict[tuple[int | None, str], set[int]] = defaultdict(set)
    reshaped = set()
    for column_id, parent, name, kind, _, ended, default in rows:
        types[column_id].add(kind.lower())
        names[column_id].add(name)
        bearers[parent, fold(name)].add(column_id)
        if parent is not None and (ended is not None or default is not None):
            reshaped.add(_top(column_id, parents))
    shared = {column_id for ids in bearers.values() if len(ids) > 1 for column_id in ids}
    renamed = shared | {column_id for column_id, known in names.items() if len(known) > 1}
    return ColumnHistory(
        frozenset(reshaped),
        {column_id: frozenset(kinds) for column_id, kinds in types.items()},
        frozenset(renamed),
        {id_: frozenset(known) for id_, known in names.items() if id_ not in shared},
        physical_names((row[0], row[1], row[2]) for row in rows),
        max(parents, default=0),
        parents,
        _original((row[0], row[4], row[5]) for row in rows),
    )


def _original(spans: Iterable[tuple[int, int, int | None]]) -> frozenset[int]:
    """Columns of the first snapshot whose versions follow each other, from (id, begin, end) of
    every version, oldest first."""
    first: int | None = None
    until: dict[int, int | None] = {}
    broken = set()
    for column_id, begin, end in spans:
        first = begin if first is None else first
        if begin != until.get(column_id, first):
            broken.add(column_id)
        until[column_id] = end
    return frozenset(until.keys() - broken)


def types_until(reader: Reader, table_id: int, at: int) -> dict[int, frozenset[str]]:
    """Every type that columns, at any depth, have had up to a snapshot."""
    rows = reader.rows(
        "SELECT column_id, column_type FROM ducklake_column"
        " WHERE table_id = :id AND begin_snapshot <= :at",
        id=table_id,
        at=at,
    )
    types: dict[int, set[str]] = defaultdict(set)
    for column_id, kind in rows:
        types[column_id].add(kind.lower())
    return {column_id: frozenset(kinds) for column_id, kinds in types.items()}


def type_spans(reader: Reader, table_id: int) -> dict[int, tuple[tuple[int, int | None, str], ...]]:
    """Every type that columns, at any depth, have had: from which snapshot, until which, and
    what."""
    rows = reader.rows(
        "SELECT column_id, begin_snapshot, end_snapshot, column_type FROM ducklake_column"
        " WHERE table_id = :id ORDER BY begin_snapshot",
        id=table_id,
    )
    found: dict[int, tuple[tuple[int, int | None, str], ...]] = defaultdict(tuple)
    for column_id, begin, end, kind in rows:
        found[column_id] += ((begin, end, kind.lower()),)
    return dict(found)


def _top(column_id: int, parents: Mapping[int, int | None]) -> int:
    while (parent := parents[column_id]) is not None:
        column_id = parent
    return column_id


def last_change(reader: Reader, table_id: int, at: int) -> int:
    """The snapshot that gave a table the columns which it had at one."""
    rows = reader.rows(
        "SELECT begin_snapshot, end_snapshot FROM ducklake_column WHERE table_id = :id", id=table_id
    )
    edges = [int(edge) for row in rows for edge in row if edge is not None]
    return max((edge for edge in edges if edge <= at), default=0)
