"""A lake on trial whose catalog is lost in the end: what comes back from the logs of its mirrors is
what it held, at every snapshot that they tell of."""

from dataclasses import replace
from datetime import datetime
from functools import cache
from random import Random
from typing import Any

import tidelake
from tests.delta.trial import OURS, MirrorTrial
from tidelake.delta.mirror.sync import sync
from tidelake.delta.values.reports import RecoverResult
from tidelake.errors import NotFound
from tidelake.model.settings import MIRROR_TAG
from tidelake.model.table import TableInfo
from tidelake.testing import canonical
from tidelake.testing.agreement import differences
from tidelake.testing.histories import trial
from tidelake.testing.histories.action import qualified_name
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

Held = dict[str, tuple[Any, ...]]
"""By its uuid: what a table was, and its rows with their ids."""


@cache
def oracle() -> Oracle:
    return Oracle()


def held(lake: tidelake.Lake) -> Held:
    return {lake.table(name).info.uuid: _held(lake.table(name)) for name in lake.tables()}


def _held(table: tidelake.Table) -> tuple[Any, ...]:
    info: TableInfo = table.info
    tags = {name: value for name, value in info.tags.items() if name != MIRROR_TAG}
    keys = info.partitioning.keys if info.partitioning else ()
    names = [column.name for column in info.schema]
    rows = canonical.rows(table.scan(["rowid", *names]).to_arrow())
    return str(info.name), info.schema.columns, tags, keys, info.sorting, rows


class Witness:
    """What a lake held at each snapshot, noted while it was there. `blocked` are tables that their
    logs cannot show since a snapshot."""

    def __init__(self) -> None:
        self.held: dict[int, Held] = {}
        self.times: dict[int, datetime] = {}
        self.blocked: dict[str, int] = {}

    def look(self, lake: tidelake.Lake) -> None:
        for snapshot in lake.snapshots():
            at = snapshot.snapshot_id
            if at not in self.held:
                self.held[at], self.times[at] = held(lake.known_at(at)), snapshot.time

    def check(self, lake: tidelake.Lake, found: RecoverResult) -> int:
        """How often a table was compared."""
        assert found.snapshot_id is not None
        uuids = {lake.table(each.table).info.uuid: each.since for each in found.tables}
        last = max(uuids.values(), default=0), found.snapshot_id
        compared = 0
        for snapshot in lake.snapshots()[1:]:
            at = snapshot.snapshot_id
            if at > max(last) or at not in self.held:
                continue
            assert snapshot.time == self.times[at], at
            by_time = lake.known_at(snapshot.time)
            there = held(lake.known_at(at))
            assert there.keys() == {u for u, since in uuids.items() if since <= at}
            for uuid, shown in there.items():
                if at > self.blocked.get(uuid, at):
                    continue
                assert uuid in self.held[at], f"snapshot {at} had no {shown[:2]}"
                _same(shown, self.held[at][uuid], f"snapshot {at}")
                compared += 1
            later = [s for s, time in self.times.items() if s > at and time == snapshot.time]
            if not later:
                assert held(by_time) == there
        return compared


def _same(found: tuple[Any, ...], wanted: tuple[Any, ...], where: str) -> None:
    for what, one, other in zip(
        ("name", "columns", "tags", "keys", "sorting", "rows"), found, wanted, strict=True
    ):
        assert one == other, f"{where}, {what} of {wanted[0]}: {one} and not {other}"


class RecoveryTrial(MirrorTrial):
    """`since_ever`: mirrors are begun with the past of their tables."""

    def __init__(self, place: Place, *, lazy: bool, since_ever: bool) -> None:
        super().__init__(place, None, lazy=lazy)  # type: ignore[arg-type]
        self._since_ever = since_ever
        self.witness = Witness()

    def step(self, kind: str, seed: int) -> None:
        super().step(kind, seed)
        self.witness.look(self.lake)

    def _begin(self, chance: Random) -> None:
        for name, table in list(self.model.now.tables.items()):
            if table.uid not in self._tables and chance.random() < 0.4:
                self.log.append(f"tide: mirror {name}")
                self.lake.mirror(qualified_name(name), history=self._since_ever)
                self._tables[table.uid] = self.lake.table(qualified_name(name)).info.id
                self._committed()

    def follow(self, kind: str, chance: Random, *, everything: bool = False) -> None:
        for table_id in self._tables.values():
            mirror = sync(self.lake.session, table_id)
            with self.lake.session.reading() as reader:
                sql = "SELECT table_uuid FROM ducklake_table WHERE table_id = :id"
                known = reader.rows(sql, id=table_id)
            if not known:  # dropped, and all that had it has been expired
                continue
            uuid = str(known[0][0])
            self.witness.blocked.pop(uuid, None)
            if mirror is not None and mirror.status == "blocked":
                self.witness.blocked[uuid] = mirror.snapshot_id
        self._committed()
        self._remember()
        self.witness.look(self.lake)


def run(
    plan: trial.Plan,
    place: Place,
    *,
    other: Place | None = None,
    lazy: bool = False,
    since_ever: bool = False,
) -> tuple[RecoverResult, int]:
    """A history, its catalog lost, and what is back in a new one, at `other` if that is on a
    server; how often a table was compared."""
    on_trial = RecoveryTrial(place, lazy=lazy, since_ever=since_ever)
    try:
        for kind, seed in plan:
            if place.ducklake is not None or kind in OURS:
                on_trial.step(kind, seed)
        on_trial.follow("end", Random(0))
        story = on_trial.story
    finally:
        on_trial.close()
    try:
        return recovered(on_trial.witness, lose(place, other))
    except Exception as error:
        raise AssertionError(story(f"recovered: {error}")) from error


def lose(place: Place, other: Place | None = None) -> Place:
    """The same files, and no catalog."""
    if other is not None:
        return replace(place, url=other.url)
    place.catalog_file.unlink()
    return place


def recovered(witness: Witness, place: Place) -> tuple[RecoverResult, int]:
    with place.open(share_data_path=True) as lake:
        try:
            found = lake.recover()
        except NotFound:  # nothing was mirrored
            return RecoverResult(None, (), ()), 0
        compared = witness.check(lake, found) if found.tables else 0
        checked = lake.verify(deep=True)
        assert checked.problems == (), checked.problems
        for each in found.tables:
            assert lake.mirrored(each.table).diff().exit_code == 0
        if not place.exclusive and place.ducklake is not None:
            found_by_duckdb = differences(lake, oracle().read(place), Random(1))
            assert [each for each in found_by_duckdb if not each.startswith("lineage")] == []
    return found, compared
