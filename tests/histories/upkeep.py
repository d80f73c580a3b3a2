"""A trial with housekeeping in it, ours and DuckDB's: whatever is done, every snapshot that has
not been expired stays what it was, the feed between any two leads from one to the other, and
`verify` finds nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa

import tidelake
from tidelake.testing import canonical
from tidelake.testing.histories import trial
from tidelake.testing.histories.action import qualified_name
from tidelake.testing.histories.check import Found, unequal
from tidelake.testing.histories.model import Model, Name, Table

STEPS = (
    *["tide"] * 8,
    *["tide transaction"] * 2,
    "tide beside duck",
    *["duck"] * 4,
    *["flush", "merge", "rewrite"],
    *["compact"] * 5,
    *["tag", "expire", "expire", "cleanup", "duck expire", "duck cleanup"],
    "option",
)
OURS = (*trial.OURS, "compact", "tag", "expire", "cleanup")


@dataclass(frozen=True)
class Moment:
    """A table at a snapshot, under the name that it had there."""

    at: int
    name: Name
    table: Table

    def latest(self, other: "Moment") -> "Moment":
        return max(self, other, key=lambda moment: moment.at)

    def handle(self, lake: tidelake.Lake) -> tidelake.Table:
        return lake.known_at(self.at).table(qualified_name(self.name))

    def schema(self, lake: tidelake.Lake) -> Any:
        return self.handle(lake).schema

    def rows(self, lake: tidelake.Lake) -> dict[int, Any]:
        handle = self.handle(lake)
        names = handle.schema.names
        found = handle.scan(columns=[*names, "rowid"]).to_arrow()
        return dict(zip(found["rowid"].to_pylist(), in_order(found.select(names)), strict=True))


def in_order(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(canonical.values(column) for column in table.columns), strict=True))


class UpkeepTrial(trial.Trial):
    def __init__(self, place: Any, *, kept: bool = True, thorough: bool = True) -> None:
        super().__init__(place, kept=kept, thorough=thorough)
        self._tagged: dict[str, int] = {}

    def step(self, kind: str, seed: int) -> None:
        super().step(kind, seed)
        with self._explained():
            self._check_tags()
            self._check_feed(Random(seed))
            self._check_diff(Random(seed))
            self._check_sound()

    def _compact(self, chance: Random) -> None:
        tables = sorted(self.model.now.tables)
        if chance.random() < 0.5 and tables:
            name = chance.choice(tables)
            self.log.append(f"tide: compact {name}")
            self.lake.table(qualified_name(name)).compact()
        else:
            self.log.append("tide: compact all")
            self.lake.compact()
        self._feed_is_right = False  # DuckDB dates deletes in files with several snapshots wrongly

    def _tag(self, chance: Random) -> None:
        name, at = f"tag-{len(self._tagged)}", chance.choice(sorted(self.model.snapshots))
        self.log.append(f"tide: tag {at} as {name}")
        self.lake.tag(name, known_at=at)
        self._tagged[name] = at

    def _expire(self, chance: Random) -> None:
        keep = chance.randint(1, 6)
        self.log.append(f"tide: expire all but {keep}")
        kept = set(sorted(self.model.snapshots)[-keep:]) | set(self._tagged.values())
        would = self.lake.expire(keep_last=keep, dry_run=True)
        done = self.lake.expire(keep_last=keep)
        self._expect(unequal("dry run", would.snapshots, done.snapshots))
        self._forget(set(self.model.snapshots) - kept)

    def _forget(self, gone: set[int]) -> None:
        for at in gone:
            del self.model.snapshots[at]

    def _cleanup(self, _: Random) -> None:
        self.log.append("tide: cleanup")
        self.lake.cleanup(older_than=timedelta(0))

    def _duck_expire(self, chance: Random) -> None:
        """Not the tagged ones, of which DuckDB knows nothing."""
        loose = sorted(set(self.model.snapshots) - set(self._tagged.values()) - {self.model.head})
        gone = sorted(chance.sample(loose, min(len(loose), chance.randint(1, 5))))
        if gone:
            self.log.append(f"duck: expire {gone}")
            self.duck.execute(f"CALL ducklake_expire_snapshots('lake', versions => {gone})")
            self._forget(set(gone))

    def _duck_cleanup(self, _: Random) -> None:
        self.log.append("duck: cleanup")
        self.duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        self.duck.execute("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")

    def _check_tags(self) -> None:
        found = {tag.name: tag.snapshot_id for tag in self.lake.tags()}
        self._expect(unequal("tags", self._tagged, found))
        for name, at in self._tagged.items():
            self._expect(unequal(name, at, self.lake.known_at(name).snapshots()[-1].snapshot_id))

    def _check_sound(self) -> None:
        report = self.lake.verify()
        self._expect([str(problem) for problem in report.problems])

    def _check_feed(self, chance: Random) -> None:
        for older, newer in self._pairs(chance):
            found = fold(self.lake, older, newer)
            here = f"changes of {newer.name} since {older and older.at} until {newer.at}"
            self._expect([f"{here}: {each}" for each in found])

    def _check_diff(self, chance: Random) -> None:
        for older, newer in self._pairs(chance):
            if older is not None:
                for one, other in ((older, newer), (newer, older)):
                    self._expect(differences(self.lake, one, other))

    def _pairs(self, chance: Random) -> Iterator[tuple[Moment | None, Moment]]:
        """For each table that there is, two of its moments, or nothing and one."""
        for table in self.model.now.tables.values():
            moments = [
                Moment(at, name, each)
                for at, state in sorted(self.model.snapshots.items())
                for name, each in state.tables.items()
                if each.uid == table.uid
            ]
            newer = chance.randrange(len(moments))
            older = chance.randrange(-1, newer + 1)
            if older != newer:
                yield moments[older] if older >= 0 else None, moments[newer]


def differences(lake: tidelake.Lake, one: Moment, other: Moment) -> Found:
    """Net changes by Tidelake and by the model; what was updated, if the columns are the same."""
    found = lake.known_at(max(one.at, other.at)).table(qualified_name(one.latest(other).name))
    got = found.diff(one.at, other.at).counts
    old = {row.uid: row.values for row in one.table.rows}
    new = {row.uid: row.values for row in other.table.rows}
    here = f"diff of {other.name} from {one.at} to {other.at}"
    wrong = unequal(f"{here} inserted", len(new.keys() - old.keys()), got.inserted)
    wrong += unequal(f"{here} deleted", len(old.keys() - new.keys()), got.deleted)
    if one.schema(lake) == other.schema(lake):
        both = old.keys() & new.keys()
        updated = sum(repr(old[uid]) != repr(new[uid]) for uid in both)
        wrong += unequal(f"{here} updated", updated, got.updated)
    return wrong


def fold(lake: tidelake.Lake, older: Moment | None, newer: Moment) -> Found:
    """The rows of one moment, and all that changed since, are the rows of another."""
    table = lake.known_at(newer.at).table(qualified_name(newer.name))
    rows = {} if older is None else older.rows(lake)
    changes = table.changes(older and older.at, newer.at).to_arrow()
    told = in_order(changes.select(table.schema.names))
    kinds, ids = changes["change_type"].to_pylist(), changes["rowid"].to_pylist()
    wrong: Found = []
    touched = set()
    for kind, row_id, row in zip(kinds, ids, told, strict=True):
        touched.add(row_id)
        if kind in ("delete", "update_preimage"):
            if row_id not in rows:
                wrong.append(f"{kind} of row {row_id}, which is not there")
            rows.pop(row_id, None)
        elif row_id in rows:
            wrong.append(f"{kind} of row {row_id}, which is there")
        else:
            rows[row_id] = row
    now = newer.rows(lake)
    wrong += unequal("row ids", sorted(now), sorted(rows))
    same = older is None or older.schema(lake) == newer.schema(lake)
    for row_id in now.keys() & rows.keys() & (now.keys() if same else touched):
        wrong += unequal(f"row {row_id}", now[row_id], rows[row_id])
    return wrong


def run(plan: trial.Plan, place: Any, *, kept: bool = True) -> Model:
    """A history with housekeeping, all of it compared on every step."""
    on_trial = UpkeepTrial(place, kept=kept)
    try:
        for kind, seed in plan:
            if place.ducklake is not None or kind in OURS:
                on_trial.step(kind, seed)
    finally:
        on_trial.close()
    return on_trial.model


def plan_of(seed: int, length: int) -> trial.Plan:
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]
