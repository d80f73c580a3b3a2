"""Data sets as the catalog's annex: what is known of them goes with their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from tidelake.catalog.annex import Annex, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.model.change import Change
from tidelake.model.settings import FROZEN_TAG
from tidelake.session import data_set_records as data_sets


class DataSetsAnnex(Annex):
    tables = (data_sets.TABLE,)

    def prepare(self, writer: Writer, change: Change, /) -> None:
        if any(FROZEN_TAG in each.table.tags for each in change.tables):
            data_sets.ensure(writer)

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        data_sets.forget(writer, table_ids)

    def rows_erased(self, writer: Writer, table_id: int, _data_path: str, /) -> Iterable[str]:
        data_sets.rebase(writer, table_id)
        return ()

    def strays(self, reader: Reader, _data_path: str, /) -> Iterator[Work]:
        for some in batches(data_sets.strays(reader)):
            yield partial(data_sets.forget, table_ids=some)
