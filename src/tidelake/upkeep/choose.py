"""What is worth compacting in a table: a function of what the catalog knows of its files.

First the rows and deletes that the catalog keeps become files; then files that are mostly deleted
are rewritten without those rows; then small files are merged. What an earlier step will make is
taken into account by the later ones as far as it can be told before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from tidelake.model.comparable import Point, domain, lower_bound
from tidelake.model.names import fold
from tidelake.model.schema import Schema
from tidelake.model.table import SortKey
from tidelake.upkeep.values import CompactAction, Kind

MOST_FILES = 2000
"""How many files one merge takes at most."""

Partition = tuple[int | None, tuple[str | None, ...]]
"""The id of a partitioning, and the values that all rows of a file share."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What matters of a data file. `version` is that of the table's columns when it began;
    `position_count` are deletes that the catalog keeps, and count in `deleted` too. `key` is the
    least value of what the table is sorted by. A file that is `fixed` stays as it is; one that is
    not `portable` has a history of deletes that no other file can carry."""

    id: int
    version: int
    partition: Partition
    rows: int
    deleted: int
    bytes: int
    begin: int
    first_row: int | None = None
    key: Point | None = None
    position_count: int = 0
    fixed: bool = False
    portable: bool = True

    @property
    def live(self) -> int:
        return max(self.rows - self.deleted, 0)


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows that the catalog keeps in a table of its own, and that will share a file."""

    table_name: str
    version: int
    partition: Partition
    rows: int
    ended: int


@dataclass(frozen=True, slots=True)
class Situation:
    """A table as compaction finds it. `version` is that of its columns now."""

    table: str
    version: int
    files: tuple[FileFacts, ...]
    kept: tuple[KeptRows, ...] = ()
    target_bytes: int = 512 * 1024 * 1024
    threshold: float = 0.3


ORDER: tuple[Kind, ...] = ("flush", "flush_deletes", "rewrite", "merge")


def actions(now: Situation, kinds: Collection[Kind] = ORDER) -> list[CompactAction]:
    """All that is worth doing of some kinds of work, in order. What a kind that is left out would
    have made is not counted upon."""
    found: list[CompactAction] = []
    files = list(now.files)
    if "flush" in kinds:
        made, files = _flushes(now)
        found += made
    if "flush_deletes" in kinds:
        found += _flushes_of_deletes(now)
    if "rewrite" in kinds:
        made, files = _rewrites(now, files)
        found += made
    return found + (_merges(now, files) if "merge" in kinds else [])


def _flushes(now: Situation) -> tuple[list[CompactAction], list[FileFacts]]:
    found = []
    if now.kept:
        rows = sum(kept.rows for kept in now.kept)
        found.append(CompactAction("flush", now.table, rows, files_after=len(now.kept)))
    coming = [
        FileFacts(-place, kept.version, kept.partition, kept.rows, kept.ended, 0, 1 << 62)
        for place, kept in enumerate(now.kept, 1)
    ]
    return found, [*now.files, *coming]


def _flushes_of_deletes(now: Situation) -> Iterator[CompactAction]:
    listed = [file for file in now.files if file.position_count and not file.fixed]
    for place in range(0, len(listed), MOST_FILES):
        part = listed[place : place + MOST_FILES]
        yield CompactAction(
            "flush_deletes",
            now.table,
            sum(file.position_count for file in part),
            files=len(part),
            files_after=len(part),
            file_ids=tuple(file.id for file in part),
        )


def _rewrites(
    now: Situation, files: Iterable[FileFacts]
) -> tuple[list[CompactAction], list[FileFacts]]:
    found: list[CompactAction] = []
    left: list[FileFacts] = []
    doomed: dict[Partition, list[FileFacts]] = defaultdict(list)
    for file in files:
        heavy = file.deleted and file.deleted >= now.threshold * file.rows
        if heavy and not file.fixed:
            doomed[file.partition].append(file)
        else:
            left.append(file)
    for partition, group in doomed.items():
        for part in _packed(group, now.target_bytes, _live_bytes):
            made = _rewritten(now, part)
            left += [made] if made.rows else []
            after = 1 if made.rows else 0
            found.append(_action("rewrite", now, part, partition, made.bytes, after))
    return found, left


def _live_bytes(file: FileFacts) -> int:
    return file.bytes * file.live // max(file.rows, 1)


def _rewritten(now: Situation, files: Sequence[FileFacts]) -> FileFacts:
    first = files[0]
    rows = sum(file.live for file in files)
    size = sum(_live_bytes(file) for file in files)
    keys = [file.key for file in files]
    return replace(first, version=now.version, rows=rows, deleted=0, bytes=size, key=keys[0])


def _merges(now: Situation, files: Iterable[FileFacts]) -> list[CompactAction]:
    """Small files with the same columns and the same partition, next to each other in the order
    that the table is sorted by. Nothing is gained from files that have half the size."""
    groups: dict[tuple[int, Partition], list[FileFacts]] = defaultdict(list)
    for file in files:
        if file.bytes < now.target_bytes / 2 and file.portable and not file.fixed:
            groups[file.version, file.partition].append(file)
    return [
        _action("merge", now, part, partition, sum(file.bytes for file in part), 1)
        for (_, partition), group in groups.items()
        for part in _packed(group, now.target_bytes, lambda file: file.bytes)
        if len(part) > 1
    ]


def _packed(
    files: list[FileFacts], most: int, size: Callable[[FileFacts], int]
) -> Iterator[list[FileFacts]]:
    """Neighbours in the table's order, together up to a size."""
    part: list[FileFacts] = []
    total = 0
    for file in sorted(files, key=_order):
        more = size(file)
        if part and (total + more > most or len(part) == MOST_FILES):
            yield part
            part, total = [], 0
        part.append(file)
        total += more
    if part:
        yield part


def _order(file: FileFacts) -> tuple[object, ...]:
    known = file.key is not None
    return (not known, file.key if known else 0, file.begin, file.first_row or 0, file.id)


def _action(
    kind: Kind,
    now: Situation,
    files: Sequence[FileFacts],
    partition: Partition,
    size: int,
    after: int,
) -> CompactAction:
    return CompactAction(
        kind,
        now.table,
        sum(file.rows for file in files),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        files_after=after,
        bytes_after=size,
        partition=partition[1],
        file_ids=tuple(file.id for file in files),
    )


def sort_column(sorting: Sequence[SortKey], schema: Schema) -> int | None:
    """The id of the column that a table is sorted by first, if it is one."""
    if not sorting or sorting[0].dialect != "duckdb":
        return None
    text = sorting[0].expression
    plain = text[1:-1].replace('""', '"') if text.startswith('"') and text.endswith('"') else text
    return next((c.id for c in schema if fold(c.name) == fold(plain)), None)


def sort_point(column_type: str, text: str | None) -> Point | None:
    """A value's place in the order, from its text in statistics."""
    kind = domain(column_type)
    found = None if text is None or kind is None else lower_bound(column_type, kind, text)
    return None if isinstance(found, Decimal) and found.is_nan() else found
