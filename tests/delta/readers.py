"""Delta tables as others read them: delta-rs, and DuckDB's delta extension."""

from types import TracebackType
from typing import Any, Self
from uuid import UUID

import deltalake
import pyarrow as pa

from tidelake.testing import canonical
from tidelake.testing.duck import duck_connection
from tidelake.testing.histories.kinds import Kind
from tidelake.testing.histories.model import Table

Shown = tuple[list[str], list[tuple[Any, ...]]]
"""Names of columns, and rows in one form."""


class Readers:
    """Both, by the name of each."""

    def __init__(self) -> None:
        self._duck = duck_connection(extensions=("delta",))
        self._duck.execute("SET threads = 1")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _: type[BaseException] | None,
        __: BaseException | None,
        ___: TracebackType | None,
    ) -> None:
        self._duck.close()

    def read(self, root: str, version: int | None = None, where: str = "true") -> dict[str, Shown]:
        """What each shows of a table: at a version or the newest, all rows or some."""
        return {
            "delta-rs": shown(delta_rs(root, version, where)),
            "duckdb": shown(self.duckdb(root, version, where)),
        }

    def duckdb(self, root: str, version: int | None = None, where: str = "true") -> pa.Table:
        pinned = "" if version is None else f", version => {version}"
        path = root.replace("'", "''")
        sql = f"SELECT * FROM delta_scan('{path}'{pinned}) AS t WHERE {where}"
        return self._duck.sql(sql).to_arrow_table()


def delta_rs(root: str, version: int | None = None, where: str = "true") -> pa.Table:
    table = deltalake.DeltaTable(root, version=version)
    query = deltalake.QueryBuilder().register("t", table)
    found = query.execute(f"SELECT * FROM t WHERE {where}").read_all()
    return pa.table(found)


def shown(table: pa.Table) -> Shown:
    return table.column_names, canonical.rows(table)


def as_delta(table: Table) -> Shown:
    """What readers should find in place of a table of the model: UUIDs are bytes to Delta."""
    from tidelake.testing.histories.check import expected_arrow

    columns = list(map(canonical.values, expected_arrow(table).columns))
    found = [
        [_value(value, column.kind) for value in values]
        for column, values in zip(table.columns, columns, strict=True)
    ]
    return table.names, sorted(zip(*found, strict=True), key=repr)


def _value(value: Any, kind: Kind) -> Any:
    return UUID(value).bytes if kind == "UUID" and value is not None else value
