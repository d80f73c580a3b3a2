"""A table of facts on trial: whatever is done to it, every (as of, known at) that can still be
asked has the answer of the oracle."""

from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import tidelake
from tests.event_time import changes
from tests.event_time.changes import NAME, START, TABLE
from tests.event_time.facts import Facts, instant, moments
from tests.histories import upkeep
from tidelake.testing import canonical
from tidelake.testing.histories import trial
from tidelake.testing.histories.action import Action
from tidelake.testing.histories.check import Found, expected_arrow, same_table, unequal
from tidelake.testing.histories.model import Model, Row, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = (
    *["tide"] * 10,
    *["tide transaction"] * 3,
    *["tide beside duck"] * 2,
    *["duck"] * 6,
    *["flush", "merge", "rewrite", "option"],
    *["compact"] * 4,
    *["rollup"] * 5,
    "drop rollups",
    *["tag", "expire", "cleanup", "duck expire"],
)
OURS = (*upkeep.OURS, "rollup", "drop rollups")
MICROSECOND = timedelta(microseconds=1)


class EventTrial(upkeep.UpkeepTrial):
    """A trial of one table, `plain` if Spark is to read it too."""

    def __init__(self, place: Any, seed: int, *, plain: bool = False, kept: bool = False) -> None:
        super().__init__(place, kept=kept)
        self.tide(changes.create(self.model, Random(seed), plain=plain))

    def step(self, kind: str, seed: int) -> None:
        trial.Trial.step(self, kind, seed)

    def _some_action(self, chance: Random) -> Action:
        return changes.any_change(self.model, chance)

    def _several(self, tx: tidelake.Lake, chance: Random) -> None:
        for _ in range(chance.randint(2, 4)):
            self._act(self._some_action(chance), tx)
            self._expect(self._probe(tx.table(TABLE), self._now, chance, "inside"))

    def _flush(self, chance: Random) -> None:
        """Not where DuckDB sorts: it looks for deleted rows by the order of their text, and then
        deletes others."""
        if not self._now.sorted:
            super()._flush(chance)

    def _merge(self, chance: Random) -> None:
        """Not where DuckDB would number rows anew, and with that forget which came last; nor
        where it asks for folders by partition, which files of ours are not in."""
        if not (self._duck_updated or self._now.sorted or self._now.partitioned):
            super()._merge(chance)

    def _rewrite(self, chance: Random) -> None:
        if not self._now.partitioned:
            super()._rewrite(chance)

    def _rollup(self, chance: Random) -> None:
        moment = chance.choice(self._moments())
        self.log.append(f"tide: roll up as of {moment}")
        self.lake.table(TABLE).rollup(as_of=moment)

    def _drop_rollups(self, _: Random) -> None:
        self.log.append("tide: drop rollups")
        self.lake.table(TABLE).drop_rollups()

    @property
    def _now(self) -> Facts:
        found = self.model.now.tables[NAME]
        assert isinstance(found, Facts)
        return found

    def _tables(self) -> dict[int, Facts]:
        found = {at: state.tables.get(NAME) for at, state in self.model.snapshots.items()}
        return {at: table for at, table in found.items() if isinstance(table, Facts)}

    def _moments(self) -> list[datetime]:
        """Before, at, next to and after everything that ever happened."""
        known = moments(self._tables().values()) | {instant(START)}
        beside = {m + step for m in sorted(known)[::3] for step in (-MICROSECOND, MICROSECOND)}
        far = {min(known) - timedelta(days=400), max(known) + timedelta(days=400)}
        return sorted(known | beside | far)

    def compare(self, chance: Random, *, everything: bool = False, ours: bool = False) -> None:
        """Some moments, now and at some snapshot."""
        with self._explained():
            table = self.lake.table(TABLE)
            self._expect(self._probe(table, self._now, chance, "now"))
            at, then = chance.choice(sorted(self._tables().items(), key=lambda pair: pair[0]))
            self._expect(self._probe(table.known_at(at), then, chance, f"at {at}"))
            moment = chance.choice(self._moments())
            self._expect(asked_in_sql(self.lake, at, then, moment, chance))

    def _probe(self, table: tidelake.Table, then: Facts, chance: Random, label: str) -> Found:
        moment = chance.choice(self._moments())
        found = differences(table, then, moment)
        found += filtered(table, then, chance.choice(self._moments()), chance)
        return [f"{label} {one}" for one in found]

    def compare_all(self) -> None:
        """The whole grid."""
        with self._explained():
            for at, then in self._tables().items():
                table = self.lake.known_at(at).table(TABLE)
                for moment in self._moments():
                    self._expect([f"at {at} {one}" for one in differences(table, then, moment)])

    def compare_spark(self, spark: "SparkSession") -> None:
        """A corner of the grid, in one job for each snapshot."""
        tables = self._tables()
        every = self._moments()
        for at in {*sorted(tables)[:: max(1, len(tables) // 3)], max(tables)}:
            for moment in {every[len(every) // 2], every[-1]}:
                table = self.lake.known_at(at).table(TABLE).as_of(moment)
                got = table.to_spark(spark).toArrow()
                wanted = canonical.rows(expected_arrow(held(tables[at], moment)))
                self._expect(unequal(f"spark at {at} as of {moment}", wanted, canonical.rows(got)))


def held(then: Facts, moment: datetime) -> Table:
    return Table(then.columns, list(then.as_of(moment)))


def differences(table: tidelake.Table, then: Facts, moment: datetime) -> Found:
    found = same_table(expected_arrow(held(then, moment)), table.as_of(moment).to_arrow())
    return [f"as of {moment}: {one}" for one in found]


def filtered(table: tidelake.Table, then: Facts, moment: datetime, chance: Random) -> Found:
    """Some columns of those that meet conditions, and how many they are."""
    wheres = [changes.condition(then, chance) for _ in range(chance.randint(1, 2))]
    where = " AND ".join(f"({each.sql})" for each in wheres)
    rows: list[Row] = [
        row for row in then.as_of(moment) if all(each.holds(row.values) for each in wheres)
    ]
    shown = chance.sample(then.columns, chance.randint(1, len(then.columns)))
    scan = table.scan([c.name for c in shown], where, as_of=moment)
    wrong = same_table(expected_arrow(Table(shown, rows)), scan.to_arrow())
    wrong += unequal("count", len(rows), scan.count())
    return [f"as of {moment} where {where}: {one}" for one in wrong]


def asked_in_sql(
    lake: tidelake.Lake, at: int, then: Facts, moment: datetime, chance: Random
) -> Found:
    """Conditions of a statement around the table, which may be used to skip files."""
    where = changes.condition(then, chance)
    rows = [row for row in then.as_of(moment) if where.holds(row.values)]
    clause = f"FOR VALID_TIME AS OF TIMESTAMPTZ '{moment}'"
    asked = f"SELECT * FROM {TABLE} {clause} AS f WHERE {where.sql}"
    found = lake.sql(asked, known_at=at).to_arrow()
    wrong = same_table(expected_arrow(Table(then.columns, rows)), found)
    return [f"at {at} {asked}: {one}" for one in wrong]


def run(
    plan: trial.Plan,
    place: Any,
    seed: int,
    *,
    spark: "SparkSession | None" = None,
) -> Model:
    """A history of facts; at its end the whole grid."""
    on_trial = EventTrial(place, seed, plain=spark is not None)
    try:
        for kind, number in plan:
            if place.ducklake is not None or kind in OURS:
                on_trial.step(kind, number)
        on_trial.compare_all()
        if spark is not None:
            on_trial.compare_spark(spark)
    finally:
        on_trial.close()
    return on_trial.model


def plan_of(seed: int, length: int) -> trial.Plan:
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]
