"""Coverage as the catalog's annex: what files cover comes with them, and goes with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from tidelake.catalog.annex import Annex, Execute, Rows, Since, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.coverage import claims, layouts, records, series_in_use
from tidelake.errors import Conflict
from tidelake.model.change import Change, NewFile, TableChange


class CoverageAnnex(Annex):
    tables = layouts.TABLES
    spans = tuple(layouts.LAYOUTS.values())

    def prepare(self, writer: Writer, change: Change, /) -> None:
        if change.covers:
            records.ensure(writer)

    def check(self, reader: Reader, change: TableChange, since: Since, /) -> None:
        """No rows of others may have come to the buckets that the write takes as free."""
        claimed = change.write.claims
        if not claimed or not since.brought_rows:
            return
        if since.words is None or not claims.are_free(
            reader, change.table, claimed, since.base, since.head
        ):
            raise Conflict(
                f"somebody else added rows to {change.table.name} that may be in the same buckets",
                hint="read the table again and repeat the write",
            )

    def file_added(self, rows: Rows, table_id: int, file_id: int, file: NewFile, /) -> None:
        if file.covers is not None:
            records.add(rows, table_id, file_id, file.covers)

    def files_gone(
        self, reader: Reader, execute: Execute, table_id: int, file_ids: Collection[int], /
    ) -> None:
        records.strike(reader, execute, table_id, file_ids)

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        records.forget_tables(writer, table_ids)

    def strays(self, reader: Reader, data_path: str, /) -> Iterator[Work]:
        """Of files that DuckDB has removed, and by settings that no snapshot has any more."""
        for table_id, ids in records.strays(reader).items():
            for some in batches(ids):
                yield partial(records.forget_files, table_id=table_id, file_ids=some)
        for table_id in series_in_use.idle(reader, data_path):
            yield partial(series_in_use.forget_idle, table_id=table_id, data_path=data_path)
