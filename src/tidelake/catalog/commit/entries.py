"""The rows of one commit, gathered before any is written.

Statements go out in the order: tables to create, rows to end, rows to add. Rows that carry the
new snapshot's id can only be made once that id is known, which is why all of this happens
inside the commit's own transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import add
from typing import Any

from tidelake.catalog.annex import Annexes, Rows, that_hear_of_files
from tidelake.catalog.database.database import Writer
from tidelake.model.change import ColumnFacts, NewFile

STATISTICS = (
    "data_file_id",
    "table_id",
    "column_id",
    "column_size_bytes",
    "value_count",
    "null_count",
    "min_value",
    "max_value",
    "contains_nan",
    "extra_stats",
)
"""After the ids of the file and the table, they are those of ColumnFacts."""
FileFacts = tuple[int, int, Sequence[ColumnFacts]]
"""The ids of a file and its table, and what is known of its columns."""
_FILES_AT_ONCE = 5_000
"""Of so many files the rows of statistics are made at once: those of all need much memory."""


@dataclass(slots=True)
class Numbers:
    """The counters of the lake, from which new things take their ids."""

    snapshot_id: int
    schema_version: int
    next_catalog_id: int
    next_file_id: int

    def catalog_id(self) -> int:
        self.next_catalog_id += 1
        return self.next_catalog_id - 1

    def file_id(self) -> int:
        self.next_file_id += 1
        return self.next_file_id - 1


@dataclass(slots=True)
class Entries:
    """What the commit will write, and what it will say of itself.

    `moment` is its time in the database's own form. The `annexes` add rows of theirs.
    `partition_ids` and `inline_tables` are of partitionings and tables for small writes that it
    makes itself, by table.
    """

    numbers: Numbers
    moment: object
    version_before: int
    annexes: Annexes
    partition_ids: dict[int, int] = field(default_factory=dict)
    inline_tables: dict[int, str] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    creates: list[str] = field(default_factory=list)
    statements: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    rows: Rows = field(default_factory=lambda: defaultdict(list))
    facts: list[FileFacts] = field(default_factory=list)
    _hear_of_files: Annexes = field(init=False)

    def __post_init__(self) -> None:
        self._hear_of_files = that_hear_of_files(self.annexes)

    def tell_annexes(self, table_id: int, file_id: int, file: NewFile) -> None:
        """That a data file comes."""
        for annex in self._hear_of_files:
            annex.file_added(self.rows, table_id, file_id, file)

    @property
    def snapshot_id(self) -> int:
        return self.numbers.snapshot_id

    def new_version(self) -> int:
        """The lake's schema version after the commit; DuckDB looks at the catalog again only
        when it moves, once for each commit."""
        self.numbers.schema_version = self.version_before + 1
        return self.numbers.schema_version

    def say(self, token: str) -> None:
        if token not in self.tokens:
            self.tokens.append(token)

    def create(self, sql: str) -> None:
        self.creates.append(sql)

    def change(self, sql: str, **parameters: object) -> None:
        self.statements.append((sql, parameters))

    def end(self, table: str, condition: str, **parameters: object) -> None:
        """End the rows of a versioned table that are still there and fulfil the condition."""
        self.change(
            f'UPDATE "{table}" SET end_snapshot = :now WHERE end_snapshot IS NULL AND {condition}',
            now=self.snapshot_id,
            **parameters,
        )

    def add(self, table: str, **values: object) -> None:
        self.rows[table, tuple(values)].append(tuple(values.values()))

    def begin(self, table: str, **values: object) -> None:
        """Add a row of a versioned table that is there from this snapshot on."""
        self.add(table, begin_snapshot=self.snapshot_id, **values)

    def begin_columns(self, table_id: int) -> None:
        """A version of the table's columns begins, once for each commit."""
        table = "ducklake_schema_versions"
        if table_id not in self.values(table, "table_id"):
            version = self.numbers.schema_version
            self.begin(table, schema_version=version, table_id=table_id)

    def values(self, table: str, column: str) -> list[Any]:
        """What one column of a table will be in the rows that come to it."""
        return [
            row[columns.index(column)]
            for (name, columns), rows in self.rows.items()
            if name == table
            for row in rows
        ]

    def write(self, writer: Writer) -> None:
        """All of them, now that the snapshot is there."""
        for sql, parameters in self.statements:
            writer.execute(sql, **parameters)
        for (table, columns), rows in self.rows.items():
            writer.insert_values(table, columns, rows)
        for start in range(0, len(self.facts), _FILES_AT_ONCE):
            found = list(_by_column(self.facts[start : start + _FILES_AT_ONCE]))
            writer.insert_values("ducklake_file_column_stats", STATISTICS, found)


def _by_column(facts: Iterable[FileFacts]) -> Iterator[tuple[object, ...]]:
    """Rows of statistics: those of a column, of many files alike, follow one another, as they do
    in our index."""
    for _, alike in groupby(facts, lambda each: len(each[2])):
        file_ids, table_ids, columns = zip(*alike, strict=True)
        ids = list(zip(file_ids, table_ids, strict=True))
        for column in zip(*columns, strict=True):
            yield from map(add, ids, column)
