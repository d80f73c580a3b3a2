"""How publishing to mirrors has gone, table by table, since each began."""

from __future__ import annotations

from collections.abc import Mapping

from tidelake.catalog.database.database import Reader, Writer
from tidelake.delta.mirror.tables import COUNTS, DELTA, ensure, source
from tidelake.delta.values.reports import PublishCounts

_COLUMNS = ("table_id", "format", "publishes", "publish_ms", "failures")


def of_table(reader: Reader, table_id: int) -> PublishCounts:
    if not reader.has_table(COUNTS):
        return PublishCounts()
    row = reader.row(
        f"SELECT publishes, publish_ms, failures FROM {source(reader, COUNTS)}"
        " WHERE table_id = :id AND format = :format",
        id=table_id,
        format=DELTA,
    )
    return PublishCounts() if row is None else PublishCounts(row[0], row[1] / 1000, row[2])


def add(writer: Writer, more: Mapping[int, PublishCounts]) -> None:
    ensure(writer)
    for table_id, counts in more.items():
        total = of_table(writer, table_id) + counts
        writer.execute(
            f"DELETE FROM {COUNTS} WHERE table_id = :id AND format = :format",
            id=table_id,
            format=DELTA,
        )
        row = (table_id, DELTA, total.publishes, round(total.seconds * 1000), total.failures)
        writer.insert_values(COUNTS, _COLUMNS, [row])
