"""What becomes of rollups when snapshots go, and with them the traces of what was deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from tidelake.catalog.database.database import Writer
from tidelake.catalog.read import snapshots
from tidelake.event_time.rollups import evidence as rollup_evidence
from tidelake.event_time.rollups import records as rollups
from tidelake.event_time.rollups.evidence import Proof
from tidelake.event_time.values.rollup import Rollup


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
        if rollup_evidence.extended(writer, proof, first):
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
