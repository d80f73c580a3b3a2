"""A lake as a child would build it: lists of rows, copied whole at every commit."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tidelake.testing.histories.kinds import Kind

Name = tuple[str, str]


@dataclass
class Column:
    """`default` is for rows that leave the column out. `was_narrower`: it has been
    widened to decimals or to times."""

    name: str
    kind: Kind
    default: Any = None
    required: bool = False
    was_narrower: bool = False


@dataclass
class Row:
    """`uid` stays with the row for life; `at` is the commit that last wrote it."""

    uid: int
    at: int
    values: dict[str, Any]


@dataclass
class Table:
    columns: list[Column]
    rows: list[Row] = field(default_factory=list)
    partitioned: tuple[str, ...] = ()
    sorted: tuple[str, ...] = ()
    reordered: bool = False
    reshaped: bool = False
    uid: int = 0

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


@dataclass
class State:
    schemas: set[str] = field(default_factory=lambda: {"main"})
    tables: dict[Name, Table] = field(default_factory=dict)
    views: dict[Name, Name] = field(default_factory=dict)


class Model:
    """`now` is what the next commit will keep; `snapshots` what every commit kept, and
    `rolled_back` the last one that brought something back."""

    def __init__(self) -> None:
        self.now = State()
        self.snapshots: dict[int, State] = {0: deepcopy(self.now)}
        self.last_uid = 0
        self.last_key = 0
        self.head = 0
        self.rolled_back = 0

    @property
    def next_commit(self) -> int:
        return self.head + 1

    def commit(self, snapshot_id: int) -> None:
        for number in range(self.head + 1, snapshot_id + 1):
            self.snapshots[number] = deepcopy(self.now)
        self.head = snapshot_id

    def forget(self) -> None:
        """Back to the last commit."""
        self.now = deepcopy(self.snapshots[self.head])

    def new_uid(self) -> int:
        self.last_uid += 1
        return self.last_uid

    def add(self, name: Name, rows: list[dict[str, Any]]) -> None:
        table = self.now.tables[name]
        for row in rows:
            values = {c.name: row.get(c.name, c.default) for c in table.columns}
            table.rows.append(Row(self.new_uid(), self.next_commit, values))
