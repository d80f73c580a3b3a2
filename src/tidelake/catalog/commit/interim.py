"""What has happened to tables since a snapshot: which were changed, and where in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.database import Reader
from tidelake.catalog.read import files, inlined_data
from tidelake.errors import Conflict
from tidelake.model.changes_made import UPKEEP, split_changes
from tidelake.model.file import DataFile, InlinedRows


@dataclass(frozen=True, slots=True)
class Interim:
    """The snapshots after `base` and up to `head`, and the tables that they changed: their rows,
    or what is declared of them. `next_file_id` is the first id that a file could get."""

    base: int
    head: int
    next_file_id: int
    tables: frozenset[int]

    @staticmethod
    def since(reader: Reader, base: int, head: int) -> Interim:
        """Conflict if it cannot be told, because a snapshot in between has been expired."""
        rows = reader.rows(
            "SELECT changes_made FROM ducklake_snapshot_changes WHERE snapshot_id > :base",
            base=base,
        )
        first = reader.row(
            "SELECT next_file_id FROM ducklake_snapshot WHERE snapshot_id = :base", base=base
        )
        if first is None or len(rows) < head - base:
            raise Conflict(
                f"nobody can tell what has happened since snapshot {base}, which this transaction"
                " began from: snapshots have been expired",
                hint="run it again",
            )
        changed = (id_ for (text,) in rows for id_ in _changed(text or ""))
        return Interim(base, head, first[0], frozenset(changed))

    def files(self, reader: Reader, table_id: int, path: str) -> list[DataFile]:
        """Files to which rows have come, or from which some have gone. Rather too many than too
        few: of what upkeep has rewritten besides it is not told whether its rows are others."""
        return files.whole_life(reader, table_id, path, set(self._file_ids(reader, table_id)))

    def _file_ids(self, reader: Reader, table_id: int) -> Iterator[int]:
        of_files = (
            "SELECT data_file_id FROM ducklake_data_file WHERE +table_id = :id"
            " AND data_file_id >= :next AND (begin_snapshot > :base OR partial_max > :base)"
            " UNION ALL SELECT data_file_id FROM ducklake_data_file WHERE table_id = :id"
            " AND end_snapshot > :base"
        )
        of_deletes = (
            "SELECT data_file_id FROM ducklake_delete_file WHERE table_id = :id"
            " AND (delete_file_id >= :next OR begin_snapshot > :base OR end_snapshot > :base)"
        )
        at = {"id": table_id, "base": self.base, "next": self.next_file_id}
        yield from (row[0] for row in reader.rows(of_files, **at))
        yield from (row[0] for row in reader.rows(of_deletes, **at))
        kept = inline_tables.deletes_name(table_id)
        if reader.has_table(kept):
            sql = f'SELECT DISTINCT file_id FROM "{kept}" WHERE begin_snapshot > :base'
            yield from (row[0] for row in reader.rows(sql, base=self.base))

    def rows(self, reader: Reader, table_id: int, columns: set[int]) -> list[InlinedRows]:
        """Rows of the catalog's own that have come or gone."""
        span = (self.base, self.head, table_id, columns)
        return inlined_data.begun_between(reader, *span) + inlined_data.ended_between(reader, *span)


def _changed(text: str) -> Iterable[int]:
    """The tables that a snapshot changed, by what it says; upkeep alone changes nothing."""
    said: dict[int, set[str]] = {}
    for part in split_changes(text):
        word, _, subject = part.partition(":")
        if subject.isdecimal():
            said.setdefault(int(subject), set()).add(word.lower())
    return (id_ for id_, words in said.items() if words - set(UPKEEP))
