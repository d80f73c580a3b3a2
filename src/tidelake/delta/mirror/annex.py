"""Mirrors as the catalog's annex: what their logs show stays, and what was made for them goes."""

from __future__ import annotations

from typing import ClassVar

from tidelake.catalog.annex import Annex, HeldFiles
from tidelake.catalog.database.database import Reader
from tidelake.delta.mirror import counts, records
from tidelake.delta.mirror.held_files import held


class DeltaMirrorsAnnex(Annex):
    tables = (records.TABLE, counts.TABLE, records.COMMITS, records.FILES)
    paths: ClassVar = {records.TABLE: "root"}

    def held(self, reader: Reader, _data_path: str, /) -> HeldFiles:
        return held(reader)
