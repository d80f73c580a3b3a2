"""Fingerprints as the catalog's annex: they go with their snapshots and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from tidelake.catalog.annex import Annex, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.verify import fingerprints


class FingerprintsAnnex(Annex):
    tables = (fingerprints.TABLE,)

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        fingerprints.forget(writer, "table_id", table_ids)

    def snapshots_going(self, writer: Writer, snapshots: Collection[int], /) -> None:
        fingerprints.forget(writer, "snapshot_id", snapshots)

    def strays(self, reader: Reader, _data_path: str, /) -> Iterator[Work]:
        for some in batches(fingerprints.snapshots_gone(reader)):
            yield partial(fingerprints.forget, column="snapshot_id", ids=some)
