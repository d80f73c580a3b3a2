"""How publishing to mirrors has gone, table by table, since each began."""

from __future__ import annotations

from collections.abc import Mapping

from tidelake.catalog import own_tables
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.own_tables import OwnTable
from tidelake.delta.values.reports import PublishCounts

TABLE = "tidelake_mirror_count"
own_tables.know(
    {
        TABLE: OwnTable(
            "table_id int!, publishes int, publish_ms int, failures int",
            needed="table_id publishes publish_ms failures",
        )
    }
)
_COLUMNS = ("table_id", "publishes", "publish_ms", "failures")


def of_table(reader: Reader, table_id: int) -> PublishCounts:
    if not reader.has_table(TABLE):
        return PublishCounts()
    row = reader.row(
        f"SELECT publishes, publish_ms, failures FROM {TABLE} WHERE table_id = :id", id=table_id
    )
    return PublishCounts() if row is None else PublishCounts(row[0], row[1] / 1000, row[2])


def add(writer: Writer, more: Mapping[int, PublishCounts]) -> None:
    own_tables.ensure(writer, TABLE)
    for table_id, counts in more.items():
        total = of_table(writer, table_id) + counts
        writer.execute(f"DELETE FROM {TABLE} WHERE table_id = :id", id=table_id)
        row = (table_id, total.publishes, round(total.seconds * 1000), total.failures)
        writer.insert_values(TABLE, _COLUMNS, [row])
