"""A lake on trial whose tables are all mirrored: whatever is done to it, by Tidelake or DuckDB,
every version of every log shows what the lake held at that snapshot."""

from dataclasses import replace
from random import Random
from typing import Any

import tidelake
from tests.delta.readers import Readers, Shown, as_delta
from tests.histories import upkeep
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.sync import sync
from tidelake.delta.values.mirror import Mirror
from tidelake.errors import NotFound
from tidelake.testing.histories import trial
from tidelake.testing.histories.action import qualified_name
from tidelake.testing.histories.model import Model, Name, Table

STEPS = (
    *["tide"] * 9,
    *["tide transaction"] * 3,
    *["tide beside duck"] * 2,
    *["duck"] * 5,
    "duck transaction",
    *["flush", "merge", "rewrite"],
    *["compact"] * 4,
    *["tag", "expire", "cleanup", "duck expire", "duck cleanup"],
    "option",
)
OURS = upkeep.OURS
BLOCKING = {"TIME", "TIMESTAMP_NS"}
_CLEANING = {"cleanup", "duck cleanup"}


class MirrorTrial(upkeep.UpkeepTrial):
    def __init__(self, place: Any, readers: Readers, *, lazy: bool = False) -> None:
        super().__init__(place, kept=False)
        self._readers = readers
        self._lazy = lazy
        self._tables: dict[int, int] = {}
        self._shown: dict[tuple[int, int], Shown] = {}
        self._states: dict[int, dict[int, Table]] = {}
        self._seen: dict[int, int] = {}

    def step(self, kind: str, seed: int) -> None:
        """`lazy`: what DuckDB has done is mirrored later, if at all, by whoever comes next."""
        trial.Trial.step(self, kind, seed)
        with self._explained():
            self._remember()
            self._begin(Random(seed))
            self._remember()
            if not self._lazy or kind in _CLEANING or seed % 3 == 0:
                self.follow(kind, Random(seed))

    def compare(self, chance: Random, *, everything: bool = False, ours: bool = False) -> None:
        """Rows are compared by what the logs show."""

    def _several(self, tx: tidelake.Lake, chance: Random) -> None:
        for _ in range(chance.randint(1, 4)):
            self._act(self._some_action(chance), tx)

    def _merge(self, chance: Random) -> None:
        """Not where DuckDB asks for folders by partition, which files of ours are not in."""
        if not any(table.partitioned for table in self.model.now.tables.values()):
            super()._merge(chance)

    def _remember(self) -> None:
        for at, state in self.model.snapshots.items():
            found = {table.uid: table for table in state.tables.values()}
            self._states.setdefault(at, found)

    def _begin(self, chance: Random) -> None:
        for name, table in list(self.model.now.tables.items()):
            if table.uid not in self._tables and chance.random() < 0.8:
                self.log.append(f"tide: mirror {name}")
                self.lake.mirror(qualified_name(name))
                self._tables[table.uid] = self.lake.table(qualified_name(name)).info.id
                self._committed()

    def follow(self, kind: str, chance: Random, *, everything: bool = False) -> None:
        """Bring all mirrors up to date, then read them back."""
        for uid, table_id in self._tables.items():
            mirror = sync(self.lake.session, table_id)
            assert mirror is not None
            self._check_status(uid, mirror)
            new = self._new_versions(uid, mirror)
            if kind in _CLEANING:
                self._forget_old(mirror)
            known = [version for id_, version in self._shown if id_ == table_id]
            some = known if everything else chance.sample(known, min(len(known), 2))
            for version in {*some, *known[-1:], *new[-4:]} & {*known}:
                self._check_version(mirror, version)
        self._committed()
        self._remember()

    def _check_status(self, uid: int, mirror: Mirror) -> None:
        found = [table for table in self.model.now.tables.values() if table.uid == uid]
        expected = "stopped"
        if found:
            blocked = any(column.kind in BLOCKING for column in found[0].columns)
            blocked |= "has the log of another table" in (mirror.reason or "")
            expected = "blocked" if blocked else "active"
        if mirror.status != expected:
            self._expect([f"mirror {uid} is {mirror.status}, not {expected}: {mirror.reason}"])
        if mirror.published != mirror.version:
            self._expect([f"mirror {uid}: {mirror.published} of {mirror.version} are published"])

    def _new_versions(self, uid: int, mirror: Mirror) -> list[int]:
        with self.lake.session.reading() as reader:
            known = mirrors.known_versions(reader, mirror.table_id)
        last = self._seen.get(mirror.table_id, -1)
        new = sorted(version for version in known if version > last)
        self._seen[mirror.table_id] = max(known, default=-1)
        for version in new:
            at: Any = known[version][0]
            table = self._states[at].get(uid)
            columns = self._columns_before(mirror, version)
            shown = (columns, []) if table is None else as_delta(self._in_order(table, at))
            self._shown[mirror.table_id, version] = shown
        return new

    def _in_order(self, table: Table, at: int) -> Table:
        """With the columns in the order that the lake has them in: DuckDB changes it when it
        changes a type."""
        try:
            then = self.lake.known_at(at)
        except NotFound:
            return table
        (name,) = (n for n, each in self._named(at).items() if each.uid == table.uid)
        columns = [table.column(column) for column in then.table(qualified_name(name)).schema.names]
        return replace(table, columns=columns)

    def _named(self, at: int) -> dict[Name, Table]:
        return self.model.snapshots[at].tables

    def _columns_before(self, mirror: Mirror, version: int) -> list[str]:
        before = self._shown.get((mirror.table_id, version - 1))
        return before[0] if before else []

    def _forget_old(self, mirror: Mirror) -> None:
        for id_, version in list(self._shown):
            if id_ == mirror.table_id and version < mirror.version:
                del self._shown[id_, version]

    def _check_version(self, mirror: Mirror, version: int) -> None:
        columns, rows = self._shown[mirror.table_id, version]
        here = f"{mirror.root} version {version}"
        try:
            found = self._readers.read(mirror.root, version)
        except Exception as error:
            raise AssertionError(self.story(f"{here}: {error}")) from error
        for name, (got_columns, got) in found.items():
            if got_columns != columns:
                self._expect([f"{name} of {here}: columns {got_columns}, not {columns}"])
            if got != rows:
                missing = [row for row in rows if row not in got]
                extra = [row for row in got if row not in rows]
                self._expect(
                    [
                        f"{name} of {here}: {len(got)} rows, not {len(rows)};"
                        f" missing {missing[:3]}, not expected {extra[:3]}"
                    ]
                )


def run(plan: trial.Plan, place: Any, *, lazy: bool = False) -> Model:
    """A history of mirrored tables; at its end every version that can still be read."""
    with Readers() as readers:
        on_trial = MirrorTrial(place, readers, lazy=lazy)
        try:
            for kind, seed in plan:
                if place.ducklake is not None or kind in OURS:
                    on_trial.step(kind, seed)
            on_trial.follow("end", Random(0), everything=True)
            on_trial._check_sound()
        finally:
            on_trial.close()
    return on_trial.model


def plan_of(seed: int, length: int) -> trial.Plan:
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]
