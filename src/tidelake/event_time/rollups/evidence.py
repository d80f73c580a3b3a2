"""Whether rows that a rollup rests on have gone since.

Whatever is added later is found by its own snapshot, so nothing but a delete, or an update, of a
row that the rollup saw can make it wrong. Those leave traces as long as every snapshot from the
one up to which the rollup is known to hold is still there; where one has been expired, the traces
may have gone with it, and the rollup is not used.

What becomes of rollups when snapshots go, and with them the traces of what was deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tidelake.catalog.commit import inline_tables
from tidelake.catalog.database.backend import Query
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.read import snapshots
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.values.rollup import Rollup
from tidelake.model.changes_made import split_changes


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


def extend_proof(reader: Reader, proof: Proof, until: int) -> Proof | None:
    """The proof up to a later snapshot; None if a row has gone, or nobody can tell any more."""
    if until <= proof.through:
        return proof
    seen = _seen(reader, proof.table_id, proof.through, until)
    if seen is None:
        return None
    known = replace(proof, moved=proof.moved or seen.moved)
    if seen.deletes and _disturbed(reader, known, until, seen):
        return None
    return replace(known, through=until)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What happened to a table after one snapshot and up to another. `next_file` was the first
    free file id at the former, `deletes` are snapshots that deleted rows, `moved`: rows were put
    into files that began later."""

    next_file: int
    deletes: frozenset[int]
    moved: bool


def _seen(reader: Reader, table_id: int, after: int, until: int) -> _Seen | None:
    """None if not all of the snapshots are there, from the former on."""
    window = {"after": after, "until": until}
    token = f":{table_id}"
    counted: Query = (
        "SELECT count(c.changes_made), min(s.next_file_id) FROM ducklake_snapshot s"
        " JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id"
        " WHERE s.snapshot_id >= :after AND s.snapshot_id <= :until",
        window,
    )
    told: Query = (
        "SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes"
        " WHERE snapshot_id > :after AND snapshot_id <= :until"
        " AND lower(changes_made) LIKE :deletes",
        {**window, "deletes": f"%delete%{token}%"},
    )
    ((there, next_file),), rows = reader.rows_of([counted, told])
    if there != until - after + 1:
        return None
    changes = {row[0]: {each.lower() for each in split_changes(row[1])} for row in rows}
    return _Seen(
        int(next_file),
        frozenset(at for at, each in changes.items() if any(_deletes(c, token) for c in each)),
        any(f"rewrite_delete{token}" in each for each in changes.values()),
    )


def _deletes(change: str, token: str) -> bool:
    kind = change.removesuffix(token)
    return kind != change and "delete" in kind and kind != "rewrite_delete"


def _disturbed(reader: Reader, proof: Proof, until: int, seen: _Seen) -> bool:
    """Whether one of the deletes may have been of a row that was there at first. A delete file
    that had its id by then holds none of the window, whatever else it says."""
    ended, *others = _questions(reader, proof, until, seen.next_file)
    if any(row[0] in seen.deletes for row in reader.rows(ended[0], **ended[1])):
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


def may_be_renumbered(reader: Reader, rollup: Rollup) -> bool:
    """Whether rows that the rollup rests on may have other ids by now, in the past as well, so
    that of two facts with one time the other would win. Where DuckDB merges files into one with
    consecutive ids, it forgets those of rows that it had updated, and of sorted tables all."""
    ((first, last),) = reader.rows(
        "SELECT min(begin_snapshot), max(coalesce(partial_max, begin_snapshot))"
        " FROM ducklake_data_file WHERE data_file_id >= :next AND +table_id = :id"
        " AND begin_snapshot <= :since AND row_id_start IS NOT NULL",
        next=rollup.next_file_id,
        id=rollup.table_id,
        since=rollup.snapshot_id,
    )
    if first is None:
        return False
    ordered = "SELECT 1 FROM ducklake_sort_info WHERE table_id = :id LIMIT 1"
    if reader.row(ordered, id=rollup.table_id):
        return True
    before = _seen(reader, rollup.table_id, first - 1, min(last, rollup.snapshot_id))
    return before is None or bool(before.deletes)


def carry_over(writer: Writer, going: Collection[int]) -> None:
    """Before snapshots go: move rollups on to the first snapshot from which on none is missing, if
    they hold there; drop the others. In one transaction with what removes the snapshots, so that
    the traces are never gone first."""
    found = rollups.every(writer)
    if not found:
        return
    first = _whole_from([each for each in snapshots.ids(writer) if each not in going])
    behind: dict[Proof, list[Rollup]] = defaultdict(list)
    for rollup in found:
        if rollup.valid_through < first:
            behind[Proof.of(rollup)].append(rollup)
    for proof, some in behind.items():
        ids = [rollup.id for rollup in some]
        if extend_proof(writer, proof, first):
            rollups.move(writer, ids, first)
        else:
            rollups.remove(writer, ids)


def _whole_from(ids: list[int]) -> int:
    """The first of the snapshots after which there is no gap."""
    first = ids[-1]
    for each in reversed(ids):
        if each < first - 1:
            break
        first = each
    return first
