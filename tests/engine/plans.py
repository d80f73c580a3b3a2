"""Lakes made by DuckDB, planned by Tidelake, and DuckDB's own answer to compare with."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

import tidelake
from tidelake.engine.spark.arrow_reader import arrow_schema, cast_batch, output_columns
from tidelake.plan.scan import ScanPlan
from tidelake.testing.duck import duck_connection


class DuckLake:
    """A lake on SQLite that DuckDB writes and both read."""

    def __init__(self, folder: Path, data: str = "data", options: str = "") -> None:
        self.data = folder / data
        self.data.mkdir()
        self.catalog = folder / "lake.db"
        self.duck = duck_connection()
        inlining = "" if "INLINING" in options else ", DATA_INLINING_ROW_LIMIT 0"
        path = str(self.data).replace("'", "''")
        self.duck.execute(
            f"ATTACH 'ducklake:sqlite:{self.catalog}' AS lake"
            f" (DATA_PATH '{path}/'{inlining}{options and ', ' + options})"
        )
        self.duck.execute("USE lake")

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.duck.execute(statement)

    def plan(
        self,
        table: str = "t",
        *,
        at: int | None = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
    ) -> ScanPlan:
        with tidelake.connect(f"sqlite:///{self.catalog}", read_only=True) as lake:
            found = lake.table(table) if at is None else lake.table(table).known_at(at)
            return found.scan(columns=columns, where=where).plan()

    def snapshots(self, table: str = "t") -> list[int]:
        """Those at which the table is there."""
        with sqlite3.connect(self.catalog) as catalog:
            rows = catalog.execute(
                "SELECT snapshot_id FROM ducklake_snapshot WHERE snapshot_id >="
                " (SELECT min(begin_snapshot) FROM ducklake_table WHERE table_name = ?)"
                " ORDER BY 1",
                [table],
            ).fetchall()
        return [row[0] for row in rows]

    def expected(self, plan: ScanPlan) -> pa.Table:
        """DuckDB's rows of the plan's output, in the types that Spark is to show."""
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in plan.output)
        query = f"SELECT {names} FROM {plan.table} AT (VERSION => {plan.snapshot_id})"
        query += f" WHERE {plan.where}" if plan.where else ""
        return sorted_rows(self.duck.sql(query).to_arrow_table(), plan)


def by_arrow(plan: ScanPlan) -> ScanPlan:
    """The same plan, of which Spark's own reader will read nothing."""
    unknown = frozenset({plan.columns[0].id})
    return replace(plan, promoted=plan.promoted | unknown, former_types={})


def sorted_rows(table: pa.Table, plan: ScanPlan) -> pa.Table:
    schema = arrow_schema(output_columns(plan))
    batches = table.combine_chunks().to_batches()
    typed = pa.Table.from_batches([cast_batch(batch, schema) for batch in batches], schema)
    order = "id" if "id" in plan.output else plan.output[0]
    return typed.sort_by(order)


def differences(found: pa.Table, expected: pa.Table) -> Iterator[str]:
    """Columns that differ; NaN is equal to itself."""
    if found.num_rows != expected.num_rows:
        yield f"{found.num_rows} rows instead of {expected.num_rows}"
    for name in expected.column_names:
        here, there = (str(t.column(name).combine_chunks()) for t in (found, expected))
        if here != there:
            yield f"{name}: {here} instead of {there}"
