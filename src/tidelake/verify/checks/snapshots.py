"""Checks of the lake's history: its snapshots, its counters, and what hangs on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from tidelake.catalog.inventory import VERSIONED, Inventory
from tidelake.catalog.layout import VERSION
from tidelake.catalog.read.snapshots import as_instant
from tidelake.verify.values import Problem

_TRANSACTION = timedelta(hours=1)
"""DuckDB gives a snapshot the time at which its transaction began: so far it may be behind."""

_NAME = r'"(?:[^"]|"")*"'
_OF_IDS = (
    "dropped_(?:schema|table|view|scalar_macro|table_macro)|inserted_into_table|deleted_from_table"
    "|altered_table|altered_view|inlined_insert|inlined_delete|inline_flush|flushed_inlined"
    "|merge_adjacent|rewrite_delete|compacted_table"
)
_TOKEN = (
    rf"(?:created_schema:{_NAME}"
    rf"|created_(?:table|view|scalar_macro|table_macro):{_NAME}\.{_NAME}|(?:{_OF_IDS}):\d+)"
)
_CHANGES = re.compile(rf"{_TOKEN}(?:,{_TOKEN})*", re.IGNORECASE)

_BACKUP = "restore the catalog from a backup"


def version(inventory: Inventory) -> Iterator[Problem]:
    """The catalog describes itself as what it is."""
    lakewide = [row for row in inventory.of("metadata") if row.scope is None]
    for key, expected in (("version", VERSION), ("data_path", None)):
        values = [row.value for row in lakewide if row.key == key]
        if len(values) != 1 or (expected and values[0] != expected):
            yield Problem(
                "version",
                f"ducklake_metadata has {values or 'nothing'} for {key}",
                f"it must have one row{f' that says {expected}' if expected else ''}",
            )
    for row in inventory.of("metadata"):
        if row.scope not in (None, "schema", "table"):
            yield Problem(
                "version",
                f"option {row.key!r} is of the scope {row.scope!r}, at which DuckDB stops",
                "make it an option of a table, a schema, or of the lake (NULL)",
            )


def snapshot_changes(inventory: Inventory) -> Iterator[Problem]:
    """Every snapshot says what it changed, and nothing is said of others."""
    known = set(inventory.snapshot_ids)
    told = {row.snapshot_id for row in inventory.of("snapshot_changes")}
    for at in sorted(known - told):
        yield Problem(
            "snapshot-changes",
            f"snapshot {at} does not say what it changed",
            "insert a row for it into ducklake_snapshot_changes (changes_made may be NULL)",
            snapshot_id=at,
        )
    for at in sorted(told - known):
        yield Problem(
            "snapshot-changes",
            f"ducklake_snapshot_changes speaks of snapshot {at}, which is not there",
            "delete that row if the snapshot was expired; otherwise restore the snapshot",
            snapshot_id=at,
        )


def changes(inventory: Inventory) -> Iterator[Problem]:
    """What snapshots changed is said in words that DuckDB knows: at others it stops."""
    for row in inventory.of("snapshot_changes"):
        if row.changes_made and not _CHANGES.fullmatch(row.changes_made):
            yield Problem(
                "changes",
                f"changes_made is {row.changes_made[:80]!r}, which DuckDB cannot read",
                "write what the snapshot did in DuckLake's words, such as inserted_into_table:1",
                snapshot_id=row.snapshot_id,
            )


def snapshot_times(inventory: Inventory) -> Iterator[Problem]:
    """Time does not run backwards, beyond what a transaction of DuckDB may take."""
    extras = {row.snapshot_id: row.commit_extra_info for row in inventory.of("snapshot_changes")}
    timed = [row for row in inventory.of("snapshot") if row.snapshot_time is not None]
    rows = sorted(timed, key=lambda row: row.snapshot_id)
    for before, after in pairwise(rows):
        earlier, later = as_instant(before.snapshot_time), as_instant(after.snapshot_time)
        ours = "tidelake" in (extras.get(after.snapshot_id) or "")
        if later + (timedelta(0) if ours else _TRANSACTION) < earlier:
            yield Problem(
                "snapshot-times",
                f"snapshot {after.snapshot_id} is of {later}, before {before.snapshot_id}"
                f" of {earlier}",
                "set ducklake_snapshot.snapshot_time to a moment between its neighbours'",
                snapshot_id=after.snapshot_id,
            )


def head(inventory: Inventory) -> Iterator[Problem]:
    """Nothing comes after the newest snapshot: only older ones may be expired."""
    for table in (*VERSIONED, "ducklake_schema_versions"):
        for row in inventory.rows[table]:
            edges = [row.begin_snapshot, getattr(row, "end_snapshot", None)]
            edges.append(getattr(row, "partial_max", None))
            latest = max(edge for edge in edges if edge is not None)
            if latest > inventory.head:
                yield Problem(
                    "head",
                    f"{table} has a row of snapshot {latest} ({row._fields[0]} {row[0]}), but the"
                    f" newest snapshot is {inventory.head}",
                    f"{_BACKUP}: the newest snapshot was lost, or the row is of a commit that"
                    " never was",
                    table=inventory.name(getattr(row, "table_id", None)),
                    snapshot_id=latest,
                )


def counters(inventory: Inventory) -> Iterator[Problem]:
    """Counters never go back, and are above every id that was given."""
    rows = sorted(inventory.of("snapshot"), key=lambda row: row.snapshot_id)
    for counter in ("schema_version", "next_catalog_id", "next_file_id"):
        for before, after in pairwise(rows):
            if getattr(after, counter) < getattr(before, counter):
                yield Problem(
                    "counters",
                    f"{counter} goes back from {getattr(before, counter)} to"
                    f" {getattr(after, counter)}",
                    f"raise ducklake_snapshot.{counter}: ids must never be given twice",
                    snapshot_id=after.snapshot_id,
                )
    newest = rows[-1]
    for counter, used in (("next_catalog_id", _catalog_ids), ("next_file_id", _file_ids)):
        highest = max(used(inventory), default=(-1, ""))
        if highest[0] >= getattr(newest, counter):
            yield Problem(
                "counters",
                f"{counter} is {getattr(newest, counter)}, but {highest[1]} {highest[0]} is there",
                f"set ducklake_snapshot.{counter} to {highest[0] + 1} in the newest snapshot",
                snapshot_id=newest.snapshot_id,
            )
    for row in inventory.of("schema_versions"):
        if row.schema_version > newest.schema_version:
            yield Problem(
                "counters",
                f"ducklake_schema_versions knows version {row.schema_version}, beyond the newest"
                f" snapshot's {newest.schema_version}",
                "raise schema_version in the newest snapshot: DuckDB caches the catalog by it",
                table=inventory.name(row.table_id),
            )


def _catalog_ids(inventory: Inventory) -> Iterator[tuple[int, str]]:
    for kind in ("schema", "table", "view", "macro"):
        yield from ((getattr(row, f"{kind}_id"), kind) for row in inventory.of(kind))
    for kind in ("partition", "sort"):
        yield from ((getattr(row, f"{kind}_id"), kind) for row in inventory.of(f"{kind}_info"))


def _file_ids(inventory: Inventory) -> Iterator[tuple[int, str]]:
    yield from ((row.data_file_id, "data file") for row in inventory.of("data_file"))
    yield from ((row.delete_file_id, "delete file") for row in inventory.of("delete_file"))
    yield from ((row.mapping_id, "name mapping") for row in inventory.of("column_mapping"))


def ids(inventory: Inventory) -> Iterator[Problem]:
    """One counter numbers several kinds of things: no two of them have the same id."""
    for used in (_catalog_ids, _file_ids):
        owners: dict[int, str] = {}
        for number, kind in used(inventory):
            if owners.setdefault(number, kind) != kind:
                yield Problem(
                    "ids",
                    f"{number} is the id of a {kind} and of a {owners[number]}",
                    "give one of them a new id, everywhere it is named",
                )


def spans(inventory: Inventory) -> Iterator[Problem]:
    """What ends has begun before."""
    for table in VERSIONED:
        for row in inventory.rows[table]:
            if row.end_snapshot is not None and row.end_snapshot <= row.begin_snapshot:
                yield Problem(
                    "spans",
                    f"{table} has a row that begins at snapshot {row.begin_snapshot} and ends at"
                    f" {row.end_snapshot} ({row._fields[0]} {row[0]})",
                    "correct end_snapshot, or delete the row: no snapshot sees it",
                    table=inventory.name(getattr(row, "table_id", None)),
                    snapshot_id=row.begin_snapshot,
                )


def marks(inventory: Inventory, tags: list[Any], consumers: list[Any]) -> Iterator[Problem]:
    """Tags and consumers stand on snapshots that are there."""
    known = set(inventory.snapshot_ids)
    for tag in tags:
        if tag.snapshot_id not in known:
            yield Problem(
                "tags",
                f"the tag {tag.name!r} is on snapshot {tag.snapshot_id}, which is gone",
                f"lake.untag({tag.name!r}), and tag another snapshot",
                snapshot_id=tag.snapshot_id,
            )
    for consumer in consumers:
        at = consumer.snapshot_id
        if at is not None and at >= 0 and at not in known:
            yield Problem(
                "consumers",
                f"the consumer {consumer.name!r} has come to snapshot {at}, which is gone: changes"
                " after it may be missing",
                "let it read the table anew, and put it on a snapshot that is there",
                snapshot_id=at,
            )


CHECKS = (
    version,
    snapshot_changes,
    changes,
    snapshot_times,
    head,
    counters,
    ids,
    spans,
)
