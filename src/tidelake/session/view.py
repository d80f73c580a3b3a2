"""What is in a lake at a snapshot, by name."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches

from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import counting, dropped_tables
from tidelake.catalog.read import tables as read
from tidelake.errors import Invalid, NotFound, TidelakeError
from tidelake.model.names import TableName, fold
from tidelake.model.namespace import SHARED, WHOLE, Namespace
from tidelake.model.table import SchemaInfo, TableInfo, ViewInfo
from tidelake.session import share_records as shares


class View:
    """As it is committed. Of a tenant's lake nothing but what is in its namespace."""

    def __init__(self, data_path: str, namespace: Namespace = WHOLE) -> None:
        self.data_path = data_path
        self.namespace = namespace

    def find(self, reader: Reader, at: int, kind: str, name: TableName) -> int | None:
        """The id of a table or a view."""
        name = self.namespace.table(name)
        if self.namespace.is_shared(name):
            return self._find_shared(reader, at, name) if kind == "table" else None
        return read.find(reader, at, kind, name)

    def shared(self, reader: Reader, at: int) -> list[tuple[int, TableName]]:
        """Tables of others that a tenant may read, under the names that it has for them."""
        if not self.namespace.shared:
            return []
        known = shares.with_tenant(reader, str(self.namespace.tenant))
        there = {table_id for table_id, _ in read.names(reader, at, "table")}
        home = self.namespace.schema(SHARED)
        return [
            (table_id, TableName(home, name))
            for name, table_id in known.items()
            if table_id in self.namespace.shared & there
        ]

    def _find_shared(self, reader: Reader, at: int, name: TableName) -> int | None:
        found = self.shared(reader, at)
        same = (key for key, other in found if fold(other.name) == fold(name.name))
        return next(same, None)

    def names(self, reader: Reader, at: int, kind: str) -> list[tuple[int, TableName]]:
        """All tables or views."""
        found = read.names(reader, at, kind)
        return [each for each in found if self.namespace.holds(each[1].schema)]

    def schemas(self, reader: Reader, at: int) -> list[SchemaInfo]:
        found = read.schemas(reader, at, self.data_path)
        return [each for each in found if self.namespace.holds(each.name)]

    def table_info(self, reader: Reader, at: int, name: TableName) -> TableInfo:
        table_id = self.find(reader, at, "table", name)
        if table_id is None:
            raise self.unknown(reader, at, name)
        found = read.table(reader, at, table_id, self.data_path)
        name = self.namespace.table(name)
        return replace(found, name=name) if self.namespace.is_shared(name) else found

    def view_info(self, reader: Reader, at: int, view_id: int) -> ViewInfo:
        return read.view(reader, at, view_id)

    def row_count(self, reader: Reader, at: int, name: TableName) -> int | None:
        """How many rows a table has, if the catalog alone can tell."""
        return counting.row_count(reader, at, self.table_info(reader, at, name).id)

    def unknown(self, reader: Reader, at: int, name: TableName) -> TidelakeError:
        """For a name that is no table's."""
        if self.find(reader, at, "view", name) is not None:
            return Invalid(f"{name} is a view", hint=f'lake.sql("SELECT * FROM {name}")')
        name = self.namespace.table(name)
        listing = [*self.names(reader, at, "table"), *self.shared(reader, at)]
        known = [str(self.namespace.inner_table(other)) for _, other in listing]
        near = get_close_matches(str(self.namespace.inner_table(name)), known, n=8)
        known = [*near, *(each for each in known if each not in near)]
        listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        gone = [
            each for each in dropped_tables.dropped_by_name(reader, "table", name) if each.at <= at
        ]
        if gone:
            return NotFound(
                f"there is no table {name} at snapshot {at}: snapshot {gone[0].at} dropped it",
                hint=f"lake.undrop({str(name)!r}); there are: {listed or 'none'}",
            )
        return NotFound(
            f"there is no table {name} at snapshot {at}", hint=f"there are: {listed or 'none'}"
        )
