"""What the state machines of these tests share: a trial, of which every rule is one step."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, run_state_machine_as_test

from tidelake.testing.histories.trial import Trial
from tidelake.testing.place import Place

SEEDS = st.integers(0, 1 << 20)
SETTINGS = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)


class OnTrial(RuleBasedStateMachine):
    trials: type[Trial] = Trial

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="on-trial-"))
        self.trial: Trial | None = None

    @initialize(kept=st.booleans())
    def open(self, kept: bool) -> None:
        self.trial = self.trials(Place.at("sqlite", self.folder), kept=kept)

    def step(self, kind: str, seed: int) -> None:
        assert self.trial is not None
        self.trial.step(kind, seed)

    def teardown(self) -> None:
        if self.trial is not None:
            self.trial.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def run_seeded(machine: type[OnTrial], number: int, steps: int) -> None:
    """A few histories, the same ones for a number whenever they are run."""
    seeded = seed(number)(type(machine.__name__, (machine,), {}))
    few = settings(SETTINGS, max_examples=6, stateful_step_count=steps, database=None)
    run_state_machine_as_test(seeded, settings=few)
