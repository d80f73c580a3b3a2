"""Rollups as the catalog's annex: they outlive snapshots for as long as they are known to hold, and
have files of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar

from tidelake.catalog.annex import Annex, HeldFiles, Work
from tidelake.catalog.batches import batches
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import paths
from tidelake.event_time.rollups import evidence, records
from tidelake.event_time.values.rollup import SUFFIX


@dataclass(frozen=True, kw_only=True)
class _Held(HeldFiles):
    data_path: str
    strikes_off_missing = True

    def is_made(self, path: str, /) -> bool:
        return path.endswith(f".{SUFFIX}")

    def forget(self, deleted: Sequence[str], _before: datetime, /) -> Iterator[Work]:
        for some in batches(deleted):
            yield partial(records.forget_files, gone=some, data_path=self.data_path)


class RollupsAnnex(Annex):
    tables = (records.TABLE, records.FILES)
    paths: ClassVar = {records.FILES: "path"}

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        records.remove_of_tables(writer, table_ids)

    def rows_erased(self, writer: Writer, table_id: int, data_path: str, /) -> list[str]:
        return records.erase(writer, table_id, data_path)

    def snapshots_going(self, writer: Writer, snapshots: Collection[int], /) -> None:
        evidence.carry_over(writer, set(snapshots))

    def strays(self, reader: Reader, _data_path: str, /) -> Iterator[Work]:
        for some in batches(records.tables_gone(reader)):
            yield partial(records.remove_of_tables, ids=some)

    def files(self, reader: Reader, data_path: str, /) -> list[str]:
        known = records.known_files(reader, data_path)
        return [path for path, ended in known.items() if ended is None]

    def held(self, reader: Reader, data_path: str, /) -> HeldFiles:
        known = records.known_files(reader, data_path)
        return _Held(
            names=frozenset(map(paths.base, known)),
            ended={path: since for path, since in known.items() if since is not None},
            data_path=data_path,
        )
