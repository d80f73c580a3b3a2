"""Files that have been taken, as the catalog's annex: they are forgotten with their table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from tidelake.catalog.annex import Annex, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.ingestion import records
from tidelake.model.change import Change


class IngestionAnnex(Annex):
    tables = (records.TABLE,)

    def prepare(self, writer: Writer, change: Change, /) -> None:
        if change.done is not None and change.done.operation == records.OPERATION:
            records.ensure(writer)

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        records.forget_tables(writer, table_ids)

    def strays(self, reader: Reader, _data_path: str, /) -> Iterator[Work]:
        for some in batches(records.tables_gone(reader)):
            yield partial(records.forget_tables, table_ids=some)
