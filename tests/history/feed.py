"""What a change feed must be: the way from one state of a table to another."""

from itertools import pairwise
from typing import Any

import tidelake
from tidelake.model.schema import ROW_NUMBER
from tidelake.session.planning import BoundRequest, TableMeta, plan_scan

State = dict[int, str]
Event = tuple[int, int, str, str]


def snapshot_ids(lake: tidelake.Lake, name: str = "t") -> list[int]:
    """Snapshots that are left and have the table."""
    with lake.session.reading() as reader:
        table_id = lake.table(name).info.id
        begun = reader.rows(
            "SELECT min(begin_snapshot) FROM ducklake_table WHERE table_id = :id", id=table_id
        )[0][0]
    return [s.snapshot_id for s in lake.snapshots() if s.snapshot_id >= begun]


def state(lake: tidelake.Lake, at: int, until: int, name: str = "t") -> State:
    """The rows at a snapshot by their ids, in the columns that the table has at another."""
    then = lake.known_at(until).table(name)
    with lake.session.reading() as reader:
        facts = TableMeta.gather(reader, then.info)
        plan = plan_scan(reader, at, facts, BoundRequest((*then.schema.names, ROW_NUMBER)))
    rows = lake.session.local.read(plan).to_arrow().to_pylist()
    found = {row.pop(ROW_NUMBER): repr(tuple(row.values())) for row in rows}
    assert len(found) == len(rows)
    return found


def events(changes: Any) -> list[Event]:
    """Snapshot, row id, kind and values of every change, in order."""
    rows = changes.to_arrow().to_pylist()
    found = []
    for row in rows:
        at, _, row_id, kind, *values = row.values()
        found.append((at, row_id, kind, repr(tuple(values))))
    return found


def folded(before: State, found: list[Event]) -> State:
    """The state after these changes, each of which must fit the rows that are there."""
    after = dict(before)
    for at, row_id, kind, values in found:
        if kind in ("delete", "update_preimage"):
            assert after.pop(row_id) == values, (at, row_id, kind)
        else:
            assert row_id not in after, (at, row_id, kind)
            after[row_id] = values
    return after


def check_law(lake: tidelake.Lake, since: int | None, until: int, name: str = "t") -> list[Event]:
    """The changes lead from one state to the other; they are given back."""
    found = events(lake.table(name).changes(since, until))
    assert found == sorted(found, key=lambda e: (e[0], e[1], e[2] != "update_preimage"))
    before = {} if since is None else state(lake, since, until, name)
    assert folded(before, found) == state(lake, until, until, name), (since, until)
    if since is not None:
        assert all(since < event[0] <= until for event in found)
    return found


def check_all(lake: tidelake.Lake, name: str = "t") -> None:
    """The law holds between all snapshots that are left, and from nothing."""
    ids = snapshot_ids(lake, name)
    for until in ids:
        check_law(lake, None, until, name)
        for since in ids:
            if since <= until:
                check_law(lake, since, until, name)


def check_steps(lake: tidelake.Lake, name: str = "t") -> None:
    """The law holds from each snapshot to the next, from some to the last, and from nothing; and
    whatever only moved rows shows no change."""
    moved = _moving(lake)
    ids = snapshot_ids(lake, name)
    pairs = {*pairwise(ids), (ids[0], ids[-1]), (ids[len(ids) // 2], ids[-1])}
    for since, until in sorted(pairs):
        found = check_law(lake, since, until, name)
        assert not (until in moved and until == since + 1 and found)
    check_law(lake, None, ids[-1], name)


def _moving(lake: tidelake.Lake) -> set[int]:
    """Snapshots that changed no rows."""
    words = {"merge_adjacent", "rewrite_delete", "inline_flush"}
    return {
        snapshot.snapshot_id
        for snapshot in lake.snapshots()
        if words & {change.partition(":")[0] for change in snapshot.changes}
    }
