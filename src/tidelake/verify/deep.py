"""Checks that read rows: what files hold, whose ids they bear, and whether the past has changed."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from tidelake.catalog import inventory
from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import counting, inlined_data
from tidelake.catalog.read import files as catalog_files
from tidelake.catalog.read import tables as read
from tidelake.catalog.read.column_history import column_history
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Denied
from tidelake.session.progress import Tell
from tidelake.session.session import Session
from tidelake.verify import fingerprints
from tidelake.verify import rows as row_checks
from tidelake.verify.checks.statistics import bounds_problem, outside
from tidelake.verify.findings import Findings
from tidelake.verify.fingerprint_sql import FOREVER, Epoch
from tidelake.verify.row_ids import shared_between
from tidelake.verify.slices import (
    EpochReport,
    LifeOfTable,
    Question,
    SliceReport,
    read_slice,
    rows_of_catalog,
    slices_of,
)
from tidelake.verify.values import CheckedFile, Content, Fingerprint, Problem

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench


_FEW = 1000


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over the rows. `kept` are fingerprints of earlier passes by table, in the order of
    snapshots; `coming` those that are to be kept now."""

    session: Session
    known: Inventory
    found: Findings
    deep: bool
    fingerprint: bool
    kept: dict[int, list[Fingerprint]] = field(default_factory=lambda: defaultdict(list))
    coming: list[Fingerprint] = field(default_factory=list)


def check_rows(this: Pass, expected: Sequence[CheckedFile], tell: Tell) -> None:
    """Read every table whose files can be read."""
    by_table: dict[int, list[CheckedFile]] = defaultdict(list)
    for file in expected:
        by_table[file.table_id].append(file)
    if this.fingerprint:
        with this.session.reading() as reader:
            for each in fingerprints.every(reader):
                this.kept[each.table_id].append(each)
    for table_id in this.known.wanted_tables:
        tell(phase=f"rows of {this.known.name(table_id)}")
        this.found.attempt(_check_table, this, table_id, by_table[table_id])
    if this.coming:
        with this.session.database.writing() as writer:
            fingerprints.add(writer, this.coming)
    if this.fingerprint:
        this.found.checked["new fingerprints"] = len(this.coming)


def check_writable(session: Session) -> None:
    """Fingerprints are kept in the catalog."""
    if session.database.read_only:
        raise Denied(
            f"{session.database.url} was opened read-only, and fingerprints are kept in it",
            hint="connect without read_only=True, or verify without fingerprints",
        )


def _check_table(this: Pass, table_id: int, expected: Sequence[CheckedFile]) -> Iterator[Problem]:
    known, found = this.known, this.found
    with this.session.reading() as reader:
        table = _gathered(known, reader, table_id, expected)
        counted = counting.row_count(reader, known.head, table_id)
    epochs = _epochs(known, table_id)
    asked = Question(tuple(epochs), this.deep, this.fingerprint, frozenset(found.doubtful))
    told = list(reports(this.session, table, asked))
    found.problems += (problem for report in told for problem in report.problems)
    if this.deep:
        yield from _check_inlined(this.session.local.workbench(), known, table)
    if found.doubtful & {file.path for file in table.expected}:
        return
    for place, epoch in enumerate(epochs):
        each = [report.epochs[place] for report in told]
        lived = states(table, epoch, each)
        if this.deep and lived:
            yield from _check_row_ids(known, table, each)
            yield from _check_count(known, table, lived[-1], counted)
        if this.fingerprint:
            yield from _compared(table, epoch, lived, this.kept[table_id], this.coming)
    found.checked["rows"] += sum(file.rows for file in table.files)
    found.checked["rows"] += sum(len(some.rows) for some in table.inlined)


def reports(session: Session, table: LifeOfTable, asked: Question) -> Iterator[SliceReport]:
    """Of files by tasks of the lake's engine, of rows in the catalog here."""
    with session.engine.job(f"cannot verify {table.name}") as job:
        yield from job.run(slices_of(table, asked), read_slice)
    if table.inlined:
        with session.local.job(f"cannot verify {table.name}") as job:
            yield from job.run([rows_of_catalog(table, asked)], read_slice)


def _gathered(
    known: Inventory, reader: Reader, table_id: int, expected: Sequence[CheckedFile]
) -> LifeOfTable:
    path = known.table_path(table_id) or ""
    ids, still_there = inventory.file_ids(reader, table_id), inventory.snapshot_ids(reader)
    files = catalog_files.whole_life(reader, table_id, path, ids)
    kept = inlined_data.kept_history(reader, known.head, table_id)
    columns = {row.column_id for row in known.of_table("column", table_id)}
    mappings = {file.mapping_id for file in files if file.mapping_id is not None}
    return LifeOfTable(
        id=table_id,
        name=known.name(table_id) or "",
        files=tuple(files),
        expected=tuple(expected),
        inlined=tuple(each.rows for each in kept),
        current=tuple(inlined_data.inlined_rows(reader, known.head, table_id, columns)),
        ends=tuple(end for each in kept for end in each.ends),
        mappings=catalog_files.name_mappings(reader, sorted(mappings)),
        history=column_history(reader, table_id),
        specs=read.partition_specs(reader, table_id),
        snapshots=tuple(at for at in known.snapshot_ids if at in still_there),
    )


def _check_inlined(work: Workbench, known: Inventory, table: LifeOfTable) -> Iterator[Problem]:
    """Rows in the catalog lie within the table's bounds too."""
    known_stats = known.of_table("table_column_stats", table.id) if table.current else []
    stats = {row.column_id: row for row in known_stats}
    columns = known.columns_at(table.id, known.head)
    renamed = [replace(column, name=f"v{column.id}") for column in columns]
    if not stats or not renamed:
        return
    labels = {leaf.id: leaf.name for column in columns for leaf in column.leaves()}
    with translate_duckdb_errors(f"cannot read the rows of {table.name} that are in the catalog"):
        scan = work.scan(replace(table.plan(renamed, ()), inlined=table.current))
        work.connection.execute(f"CREATE OR REPLACE TEMP VIEW current AS {scan}")
        for leaf, facts in row_checks.facts_of(work, "current", renamed):
            said = outside(leaf, stats[leaf.id], facts) if leaf.id in stats else None
            if said:
                yield bounds_problem(table.name, labels[leaf.id], said, None)


def _epochs(known: Inventory, table_id: int) -> list[Epoch]:
    """The times in which the table had the same columns and some snapshot still sees it."""
    rows = known.of_table("table", table_id)
    start = min(row.begin_snapshot for row in rows)
    end = max(FOREVER if row.end_snapshot is None else row.end_snapshot for row in rows)
    edges = [edge for edge in known.column_edges(table_id) if start <= edge < end]
    found: list[Epoch] = []
    for since, until in zip(edges, [*edges[1:], end], strict=True):
        columns = known.columns_at(table_id, since)
        if found and found[-1].columns == columns:
            found[-1] = replace(found[-1], until=until)
        elif columns:
            found.append(Epoch(columns, since, until))
    return [each for each in found if known.seen_at(each.since, each.until) is not None]


def states(
    table: LifeOfTable, epoch: Epoch, told: Sequence[EpochReport]
) -> list[tuple[int, Content]]:
    """The content of the table at every snapshot of an epoch, in order."""
    total: dict[int, Content] = defaultdict(Content)
    for report in told:
        for at, content in report.changes.items():
            total[at] = total[at].plus(content)
    changes = deque(sorted(total.items()))
    content, states = Content(), []
    for at in table.snapshots:
        if epoch.since <= at < epoch.until:
            while changes and changes[0][0] <= at:
                content = content.plus(changes.popleft()[1])
            states.append((at, content))
    return states


def _check_row_ids(
    known: Inventory, table: LifeOfTable, reports: Sequence[EpochReport]
) -> Iterator[Problem]:
    """No two rows that one snapshot sees have the same id."""
    inside = (each for report in reports for each in report.shared)
    between = islice(shared_between(report.ids for report in reports), _FEW)
    shared = {
        (at, row_id)
        for row_id, born, died in (*inside, *between)
        if (at := known.seen_at(born, died)) is not None
    }
    if shared:
        yield Problem(
            "row-ids",
            f"{len(shared):,} row ids are those of two rows at once, such as {min(shared)[1]}",
            "delete one of the rows and append it again: it then gets an id of its own",
            table=table.name,
            snapshot_id=min(shared)[0],
        )


def _check_count(
    known: Inventory, table: LifeOfTable, newest: tuple[int, Content], counted: int | None
) -> Iterator[Problem]:
    at, content = newest
    if at == known.head and counted is not None and counted != content.rows:
        yield Problem(
            "row-counts",
            f"{content.rows:,} rows can be read, and the catalog counts {counted:,}",
            "look for wrong record_count and delete_count among the table's files",
            table=table.name,
            snapshot_id=at,
        )


def _compared(
    table: LifeOfTable,
    epoch: Epoch,
    states: Sequence[tuple[int, Content]],
    kept: Sequence[Fingerprint],
    coming: list[Fingerprint],
) -> Iterator[Problem]:
    """A kept fingerprint holds for all snapshots from its own up to that of the next: a run keeps
    one wherever something changed, and of the newest."""
    marks = [each.snapshot_id for each in kept]
    wrong, before = set(), None
    for at, content in states:
        now = content.hash(epoch.columns)
        if not marks or at > marks[-1]:
            if now != before or at == states[-1][0]:
                coming.append(Fingerprint(table.id, at, content.rows, now))
            before = now
            continue
        place = bisect_right(marks, at) - 1
        if place >= 0 and place not in wrong and now != kept[place].content_hash:
            wrong.add(place)
            yield _changed(table, at, content, kept[place])
        before = now


def _changed(table: LifeOfTable, at: int, now: Content, then: Fingerprint) -> Problem:
    return Problem(
        "fingerprint",
        f"the past has changed: {now.rows:,} rows now, and {then.rows:,} others when the"
        f" fingerprint of snapshot {then.snapshot_id} was kept",
        "restore the table's files and its rows of the catalog from a backup; if the change is"
        " right, delete the table's rows of tidelake_fingerprint",
        table=table.name,
        snapshot_id=at,
    )
