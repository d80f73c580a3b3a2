"""Which rows of the files of a table were there when.

A log tells which positions of a file a version does not show: rows that have been deleted, and, in
a file that compaction has made of several snapshots, rows that were not there yet. The latter name
their snapshot themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tidelake.delta.log.vectors import decode_vector
from tidelake.delta.recovery.lost_table import rows_of
from tidelake.delta.recovery.past import Span, TableStep
from tidelake.delta.values.actions import Add
from tidelake.engine.local.errors import translate_duckdb_errors
from tidelake.errors import Corrupt, TidelakeError
from tidelake.model.names import quote, text_literal
from tidelake.model.schema import ROW_SNAPSHOT_FIELD
from tidelake.session.session import Session

if TYPE_CHECKING:
    from tidelake.engine.local.engine import LocalEngine

Gone = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Life:
    """What steps, by their numbers, do not show of a file; and of a file whose rows name their
    snapshots, these."""

    gone: tuple[tuple[int, Gone], ...]
    dates: tuple[int, ...] = ()

    @property
    def back(self) -> int | None:
        """The last step with which rows are there that were not."""
        steps = [later for (_, a), (later, b) in pairwise(self.gone) if not a <= b]
        return max(steps, default=None)


def with_lives(session: Session, root: str, found: Span) -> Span:
    """The steps with what each deletes. What has rows come back that do not tell since when they
    are there begins anew. Raises Corrupt if the last step's vectors cannot be read."""
    while True:
        try:
            lives = _lives(session, root, found.steps)
        except _Unreadable as error:
            if error.index + 1 >= len(found.steps):
                raise Corrupt(str(error), hint="restore the log from a copy") from error
            found = found.after(error.index + 1, str(error))
            continue
        broken = [life.back for life in lives.values() if life.back is not None]
        if not broken:
            return replace(found, steps=tuple(_with_deletes(found.steps, lives)))
        version = found.steps[max(broken)].version
        why = f"with version {version} rows come back, and nothing tells since when they were there"
        found = found.after(max(broken), why)


class _Unreadable(Exception):
    """The vector of a step cannot be read, nor those of steps before it."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index


def _lives(session: Session, root: str, steps: Sequence[TableStep]) -> dict[str, _Life]:
    """Of files of which steps do not show all rows."""
    found: dict[str, list[tuple[int, Gone]]] = defaultdict(list)
    for index, step in enumerate(steps):
        for path, add in {**step.came, **step.changed}.items():
            found[path].append((index, _positions(session, root, add, index)))
    lives = {}
    for path, gone in found.items():
        life = _Life(tuple(gone))
        if life.back is not None:
            life = _dated(life, steps, row_snapshots(session.local, path)) or life
        if any(positions for _, positions in gone):
            lives[path] = life
    return lives


def _positions(session: Session, root: str, add: Add, index: int) -> Gone:
    if add.vector is None:
        return frozenset()
    try:
        found = decode_vector(add.vector, root, session.local.store.read_small)
    except TidelakeError as error:
        raise _Unreadable(index, error.message) from error
    if found and found[-1] >= rows_of(add):
        raise _Unreadable(index, f"a deletion vector of {add.path} names rows that it has not")
    return frozenset(found)


def _dated(life: _Life, steps: Sequence[TableStep], dates: tuple[int, ...] | None) -> _Life | None:
    """The life of a file whose rows name their snapshots, without what was not there yet; None if
    that does not explain it."""
    if dates is None:
        return None
    shown = {steps[index].snapshot_id for index, _ in life.gone}
    if {date for date in dates if date > min(shown)} - shown:
        return None
    rest = []
    for index, gone in life.gone:
        at = steps[index].snapshot_id
        hidden = {position for position, date in enumerate(dates) if date > at}
        if not hidden <= gone:
            return None
        rest.append((index, gone - hidden))
    found = _Life(tuple(rest), dates)
    return found if found.back is None else None


def row_snapshots(engine: LocalEngine, path: str) -> tuple[int, ...] | None:
    """The snapshots that the rows of a file name, in their order; None if they name none."""
    work = engine.workbench()
    with translate_duckdb_errors("cannot read the snapshots of rows"):
        work.reach_unknown([path])
        named = "SELECT name FROM parquet_schema($1) WHERE field_id = $2"
        name = _one(work.connection, named, [path, ROW_SNAPSHOT_FIELD])
        if name is None:
            return None
        rows = work.connection.execute(
            f"SELECT {quote(name)} FROM read_parquet({text_literal(path)}, file_row_number = true,"
            " hive_partitioning = false) ORDER BY file_row_number"
        ).fetchall()
    return None if any(row[0] is None for row in rows) else tuple(row[0] for row in rows)


def _one(connection: Any, sql: str, values: list[object]) -> Any:
    row = connection.execute(sql, values).fetchone()
    return None if row is None else row[0]


def _with_deletes(steps: Sequence[TableStep], lives: Mapping[str, _Life]) -> list[TableStep]:
    deleted: dict[int, dict[str, Sequence[int]]] = defaultdict(dict)
    dated: dict[int, dict[str, int]] = defaultdict(dict)
    appear: set[int] = set()
    for path, life in lives.items():
        before: Gone = frozenset()
        for index, gone in life.gone:
            deleted[index][path] = sorted(gone - before)
            before = gone
        if life.dates:
            dated[life.gone[0][0]][path] = max(life.dates)
            appear |= set(life.dates)
    return [
        replace(
            step,
            deleted={path: gone for path, gone in deleted[index].items() if gone},
            dated=dated[index],
            appeared=step.snapshot_id in appear,
        )
        for index, step in enumerate(steps)
    ]
