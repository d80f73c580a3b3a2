"""A lake on trial in which rows are erased now and then: the plain model loses them at every
snapshot, and everything that holds of other histories holds of these."""

from random import Random
from typing import Any

from tests.histories import upkeep
from tidelake.testing.histories import trial
from tidelake.testing.histories.action import KEY, qualified_name, quote
from tidelake.testing.histories.model import Model

STEPS = (*upkeep.STEPS, *["erase"] * 6)
OURS = (*upkeep.OURS, "erase")


class ErasureTrial(upkeep.UpkeepTrial):
    def _erase(self, chance: Random) -> None:
        """Rows by their keys, as each version of them has it."""
        tables = sorted(self.model.now.tables)
        if not tables:
            return
        name = chance.choice(tables)
        uid, part = self.model.now.tables[name].uid, chance.randint(2, 5)
        self.log.append(f"tide: erase {KEY} % {part} = 0 from {name}")
        where = f"{quote(KEY)} % {part} = 0"
        would = self.lake.erase(qualified_name(name), where, dry_run=True)
        done = self.lake.erase(qualified_name(name), where, reason="a trial")
        self._expect([] if would.rows == done.rows else [f"{would.rows} rows, then {done.rows}"])
        self._expect([] if done.is_finished else [str(done)])
        for state in (self.model.now, *self.model.snapshots.values()):
            for table in state.tables.values():
                if table.uid == uid:
                    table.rows = [row for row in table.rows if row.values[KEY] % part]
        self._feed_is_right = False


def plan_of(seed: int, length: int) -> trial.Plan:
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]


def run(plan: trial.Plan, place: Any, *, kept: bool = True) -> Model:
    on_trial = ErasureTrial(place, kept=kept)
    try:
        for kind, seed in plan:
            if place.ducklake is not None or kind in OURS:
                on_trial.step(kind, seed)
        on_trial.step("erase", 7)
    finally:
        on_trial.close()
    return on_trial.model
