"""Checks of rollups: what their rows say, by itself and beside the rest of the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.values.rollup import Rollup
from tidelake.model.event_time import moment_text
from tidelake.verify.values import Problem

DROP = "drop it: t.drop_rollups(), and no answer changes"
_CHECK = "rollups"


def stray_files(_: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every file that is in use has a rollup."""
    for path in rollups.files_without(reader):
        yield Problem(
            _CHECK,
            "a file of a rollup that is not there",
            f"delete its row of {rollups.FILES}; lake.cleanup() then removes the file",
            file=path,
        )


def rollup_rows(inventory: Inventory, reader: Reader) -> Iterator[Problem]:
    """Every rollup is of a table and of snapshots that there have been, and its files add up."""
    found = rollups.with_files(reader, rollups.every(reader), inventory.data_path)
    tables = {row.table_id for row in inventory.of("table")}
    for rollup in found:
        if rollup.table_id not in tables:
            yield Problem(
                _CHECK,
                f"a rollup of table {rollup.table_id}, which is not there",
                "lake.expire(…) takes it out",
            )
        elif (said := _odd(rollup, inventory.head)) is not None:
            yield problem(inventory.name(rollup.table_id), rollup, said)


def problem(table: str | None, rollup: Rollup, said: str, file: str | None = None) -> Problem:
    what = f"the rollup as of {moment_text(rollup.as_of)} {said}"
    return Problem(_CHECK, what, DROP, table=table, file=file, snapshot_id=rollup.snapshot_id)


def _odd(rollup: Rollup, head: int) -> str | None:
    made, through = rollup.snapshot_id, rollup.valid_through
    if not made <= through <= head:
        return f"is of snapshot {made} and holds up to {through}, and the newest is {head}"
    rows, size = (sum(getattr(f, name) for f in rollup.files) for name in ("rows", "bytes"))
    if (rows, size) != (rollup.rows, rollup.bytes):
        return (
            f"has {rollup.rows:,} rows and {rollup.bytes:,} bytes, and its files have {rows:,} and"
            f" {size:,}"
        )
    return None


READING_CHECKS = (rollup_rows, stray_files)
