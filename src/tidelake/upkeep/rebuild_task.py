"""Pieces of upkeep, complete and picklable: what to read, and where to write it."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.model.file import DataFile
from tidelake.plan.scan import ScanPlan
from tidelake.plan.target import Target


@dataclass(frozen=True, slots=True)
class Carry:
    """Rows that move into another file with their history.

    `plan` reads all of them, deleted or not, under the names of the target's columns. `files` are
    those of them that have deletes; `ends` are catalog rows that have ended, as (row id, the
    snapshot they are from, the one that ended them). `snapshots` are all there are, in order: rows
    that none of them sees are left out.
    """

    plan: ScanPlan
    target: Target
    files: tuple[DataFile, ...] = ()
    ends: tuple[tuple[int, int, int], ...] = ()
    snapshots: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Rows that a file still has, to go on in another."""

    plan: ScanPlan
    target: Target


@dataclass(frozen=True, slots=True)
class Gather:
    """All deletes from a file, to be in one delete file."""

    file: DataFile
    target: Target


Rebuild = Carry | Rewrite | Gather
