"""Mirrors as the catalog's annex: what their logs show stays, and what was made for them goes."""

from __future__ import annotations

from typing import ClassVar

from tidelake.catalog.annex import Annex, HeldFiles
from tidelake.catalog.database.database import Reader, Writer
from tidelake.delta.mirror import renewal
from tidelake.delta.mirror.held_files import mirror_files
from tidelake.delta.mirror.tables import COMMITS, COUNTS, DELTA, FILES, TABLE, bring_up
from tidelake.model.change import Change
from tidelake.model.settings import mirror_formats


class DeltaMirrorsAnnex(Annex):
    tables = (TABLE, COUNTS, COMMITS, FILES)
    paths: ClassVar = {TABLE: "root"}

    def prepare(self, writer: Writer, change: Change, /) -> None:
        """What mirrors show after the commit is decided upon with it."""
        if any(each.before and DELTA in mirror_formats(each.before.tags) for each in change.tables):
            bring_up(writer)

    def rows_erased(self, writer: Writer, table_id: int, _data_path: str, /) -> list[str]:
        return renewal.let_go(writer, table_id)

    def held(self, reader: Reader, _data_path: str, /) -> HeldFiles:
        return mirror_files(reader)
