"""Whether rows that a rollup rests on have gone since.

Rows only come to files that begin after the rollup's snapshot, so nothing but a delete, or an
update, of a row that it saw can make it wrong. Those leave traces as long as every snapshot from
the one up to which the rollup is known to hold is still there; where one has been expired, the
traces may have gone with it, and the rollup is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidelake.catalog import inline_tables
from tidelake.catalog.database import Query, Reader
from tidelake.model.changes import split_changes
from tidelake.model.rollup import Rollup


@dataclass(frozen=True, slots=True)
class Proof:
    """Up to snapshot `through` none of the rows has gone that the table had at `since`, when
    `next_row_id` was its first free row id. `moved`: compaction may have moved such rows into
    files that began later."""

    table_id: int
    since: int
    next_row_id: int
    through: int
    moved: bool

    @staticmethod
    def of(rollup: Rollup) -> Proof:
        """What the rollup's own row says. Where it has been moved on since it was made, nobody
        knows any more what compaction had done by then."""
        made, through = rollup.snapshot_id, rollup.valid_through
        return Proof(rollup.table_id, made, rollup.next_row_id, through, through > made)


def extended(reader: Reader, proof: Proof, until: int) -> Proof | None:
    """The proof up to a later snapshot; None if a row has gone, or nobody can tell any more."""
    if until <= proof.through:
        return proof
    window = {"after": proof.through, "until": until}
    token = f":{proof.table_id}"
    counted: Query = (
        "SELECT count(c.changes_made), min(s.next_file_id) FROM ducklake_snapshot s"
        " JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id"
        " WHERE s.snapshot_id >= :after AND s.snapshot_id <= :until",
        window,
    )
    suspect: Query = (
        "SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes"
        " WHERE snapshot_id > :after AND snapshot_id <= :until"
        " AND lower(changes_made) LIKE :pattern",
        {**window, "pattern": f"%delete%{token}%"},
    )
    ((there, next_file),), told = reader.rows_of([counted, suspect])
    if there != until - proof.through + 1:
        return None
    deletes, moves = _sorted(told, token)
    known = replace(proof, moved=proof.moved or bool(moves))
    if deletes and _disturbed(reader, known, until, int(next_file), deletes):
        return None
    return replace(known, through=until)


def _sorted(told: list[tuple[int, str]], token: str) -> tuple[set[int], set[int]]:
    """Snapshots that deleted rows of the table, and those that only moved what was left."""
    deletes, moves = set(), set()
    for snapshot_id, text in told:
        changes = [each.lower() for each in split_changes(text)]
        for change in changes:
            if change == f"rewrite_delete{token}":
                moves.add(snapshot_id)
            elif "delete" in change and change.endswith(token):
                deletes.add(snapshot_id)
    return deletes, moves


def _disturbed(reader: Reader, proof: Proof, until: int, next_file: int, deletes: set[int]) -> bool:
    """Whether one of these deletes may have been of a row that was there at first. A delete file
    that had its id by then holds none of the window, whatever else it says."""
    ended, *others = _questions(reader, proof, until, next_file)
    if any(row[0] in deletes for row in reader.rows(ended[0], **ended[1])):
        return True
    return any(reader.rows(sql, **values) for sql, values in others)


def _questions(reader: Reader, proof: Proof, until: int, next_file: int) -> Iterator[Query]:
    window = {"after": proof.through, "until": until}
    yield (
        "SELECT DISTINCT f.end_snapshot FROM ducklake_data_file f WHERE f.table_id = :id"
        f" AND f.end_snapshot > :after AND f.end_snapshot <= :until AND {_may_be_old(proof)}",
        {**window, "id": proof.table_id},
    )
    yield (
        "SELECT 1 FROM ducklake_delete_file d LEFT JOIN ducklake_data_file f"
        " ON f.data_file_id = d.data_file_id WHERE d.delete_file_id >= :next AND d.table_id = :id"
        f" AND d.begin_snapshot <= :until AND {_may_be_old(proof)} LIMIT 1",
        {"next": next_file, "id": proof.table_id, "until": until},
    )
    deletes = inline_tables.deletes_name(proof.table_id)
    if reader.has_table(deletes):
        yield (
            f'SELECT 1 FROM "{deletes}" d LEFT JOIN ducklake_data_file f'
            " ON f.data_file_id = d.file_id WHERE d.begin_snapshot > :after"
            f" AND d.begin_snapshot <= :until AND {_may_be_old(proof)} LIMIT 1",
            window,
        )
    for name in inline_tables.names(reader, proof.table_id):
        if reader.has_table(name):
            yield (
                f'SELECT 1 FROM "{name}" WHERE begin_snapshot <= :since'
                " AND end_snapshot > :after AND end_snapshot <= :until LIMIT 1",
                {**window, "since": proof.since},
            )


def _may_be_old(proof: Proof) -> str:
    """Of a file `f`: whether it may hold rows that were there at first. Compaction puts such rows
    into files that begin later, but these have no first row id, or an old one."""
    new = f"coalesce(f.begin_snapshot, 0) > {proof.since}"
    if proof.moved:
        new += f" AND coalesce(f.row_id_start, -1) >= {proof.next_row_id}"
    return f"NOT ({new})"
