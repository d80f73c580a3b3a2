"""What the catalog says of every file of a table, as values to compare the files with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import files
from tidelake.model.file import MappedField
from tidelake.verify.checks.files import deleted_positions
from tidelake.verify.checks.statistics import FileStatistics
from tidelake.verify.values import CheckedFile


def expected_files(
    inventory: Inventory, reader: Reader, table_id: int, statistics: FileStatistics
) -> Iterator[CheckedFile]:
    """Data files and delete files of any snapshot. What points at nothing is left out."""
    rows = inventory.of_table("data_file", table_id)
    wanted = sorted({row.mapping_id for row in rows if row.mapping_id is not None})
    mappings = files.name_mappings(reader, wanted)
    next_id = max((r.next_row_id for r in inventory.of_table("table_stats", table_id)), default=0)
    for row in rows:
        mapping = None if row.mapping_id is None else mappings.get(row.mapping_id)
        yield _data_file(inventory, row, next_id, statistics, mapping)
    owners = {row.data_file_id: row for row in rows}
    inlined, _ = deleted_positions(inventory, reader, table_id)
    for row in inventory.of_table("delete_file", table_id):
        if row.data_file_id in owners:
            yield replace(
                _delete_file(inventory, row, owners[row.data_file_id].record_count),
                inlined_deletes=tuple(inlined.get(row.data_file_id, ())),
            )


def _data_file(
    inventory: Inventory,
    row: Any,
    next_row_id: int,
    statistics: FileStatistics,
    mapping: tuple[MappedField, ...] | None,
) -> CheckedFile:
    return CheckedFile(
        id=row.data_file_id,
        table_id=row.table_id,
        table=inventory.name(row.table_id) or "",
        path=inventory.path(row) or row.path,
        rows=row.record_count,
        bytes=row.file_size_bytes,
        footer_size=row.footer_size,
        begin_snapshot=row.begin_snapshot,
        last_snapshot=inventory.head,
        is_encrypted=row.encryption_key is not None,
        row_id_start=row.row_id_start,
        last_row_id=next_row_id - 1,
        partial_max=row.partial_max,
        columns=inventory.columns_at(row.table_id, row.begin_snapshot),
        mapping=mapping,
        statistics=statistics.get(row.data_file_id, {}),
    )


def _delete_file(inventory: Inventory, row: Any, owner_rows: int) -> CheckedFile:
    return CheckedFile(
        id=row.delete_file_id,
        table_id=row.table_id,
        table=inventory.name(row.table_id) or "",
        path=inventory.path(row) or row.path,
        rows=row.delete_count,
        bytes=row.file_size_bytes,
        footer_size=row.footer_size,
        begin_snapshot=row.begin_snapshot,
        last_snapshot=inventory.head,
        format=row.format.lower(),
        is_encrypted=row.encryption_key is not None,
        deletes_from=owner_rows,
        partial_max=row.partial_max,
    )
