"""One lake on trial: changed step by step by Tidelake and DuckDB, held against the model."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import duckdb

import tidelake
from tests.writing import check
from tests.writing.actions import Action, any_action
from tests.writing.model import Model
from tidelake.testing.duck import duck_connection

STEPS = (
    *["tide"] * 7,
    *["tide transaction"] * 3,
    "tide failure",
    *["duck"] * 4,
    "duck transaction",
    *["flush", "merge", "rewrite"],
    "option",
)
LIMITS = (0, 3, 10, 40)


class Trial:
    """`kept`: DuckDB stays attached throughout, and must see our commits; else it attaches
    for every step, and after it has changed a type itself, as it remembers statistics of the old
    one. Every step takes a seed, so that any of them can be left out."""

    def __init__(self, folder: Path, *, kept: bool = True, thorough: bool = False) -> None:
        self.folder = folder
        self.model = Model()
        self.log: list[str] = []
        self._thorough = thorough
        self._kept = kept
        self._ids = check.RowIds()
        self._feed_is_right = True
        self._stale = False
        self.lake = tidelake.connect(f"sqlite:///{folder}/lake.db", str(folder / "data"))
        self.duck = duck_connection()
        self.duck.execute("SET arrow_lossless_conversion = true")
        self.duck.execute("SET threads = 1")
        self._attach()

    def close(self) -> None:
        self.duck.close()
        self.lake.close()

    def _attach(self) -> None:
        self.duck.execute(f"ATTACH 'ducklake:sqlite:{self.folder}/lake.db' AS lake")
        self.duck.execute("USE lake")

    def _attach_again(self) -> None:
        self.duck.execute("USE memory; DETACH lake")
        self._attach()

    def step(self, kind: str, seed: int) -> None:
        """Do something, then compare everything."""
        chance = Random(seed)
        before = self.model.head
        if not self._kept:
            self._attach_again()
        with self._explained():
            self._stale = False
            getattr(self, f"_{kind.replace(' ', '_')}")(chance)
            head = self.lake.snapshots()[-1].snapshot_id
            self.model.commit(head)
            if self._stale:
                self._attach_again()
            self.log.append(f"  -> {head}")
        ours = kind.startswith("tide") and head > before
        self.compare(chance, everything=kind in ("flush", "merge", "rewrite"), ours=ours)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (tidelake.errors.TidelakeError, duckdb.Error) as error:
            raise AssertionError(self.story(f"{type(error).__name__}: {error}")) from error

    def story(self, end: str) -> str:
        return "\n".join([*self.log, end])

    def _act(self, action: Action, on: tidelake.Lake) -> None:
        self.log.append(f"tide: {action.text}")
        action.tide(on)
        action.on_model(self.model)

    def _tide(self, chance: Random) -> None:
        self._act(any_action(self.model, chance), self.lake)

    def _tide_transaction(self, chance: Random) -> None:
        with self.lake.transaction(author="me") as tx:
            self.log.append("tide: begin")
            self._several(tx, chance)
            self.log.append("tide: commit")

    def _several(self, tx: tidelake.Lake, chance: Random) -> None:
        for _ in range(chance.randint(1, 4)):
            self._act(any_action(self.model, chance), tx)
            if chance.random() < 0.5:
                self.log.append("tide: read inside")
                self._expect(check.tide_state(tx, self.model.now, "inside"))

    def _tide_failure(self, chance: Random) -> None:
        files = self._files()
        with suppress(Failure), self.lake.transaction() as tx:
            self.log.append("tide: begin")
            self._several(tx, chance)
            raise Failure
        self.log.append("tide: raise")
        self.model.forget()
        self._expect(check.unequal("files after a failure", files, self._files()))
        head = self.lake.snapshots()[-1].snapshot_id
        self._expect(check.unequal("snapshot after a failure", self.model.head, head))

    def _files(self) -> set[str]:
        return {str(p) for p in (self.folder / "data").rglob("*") if p.is_file()}

    def _duck(self, chance: Random) -> None:
        with self._refusing():
            self._run(chance)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What DuckDB does not support has not happened."""
        try:
            yield
        except duckdb.NotImplementedException as error:
            self.log.append(f"duck: refused: {error}")
            with suppress(duckdb.TransactionException):
                self.duck.execute("ROLLBACK")
            self.model.forget()

    def _run(self, chance: Random, done: set[int] | None = None) -> None:
        """Something that DuckDB does, and does right: in a transaction no table twice, as rows
        that it has inserted and then updates get ids from nowhere."""
        for _ in range(50):
            action = any_action(self.model, chance)
            table = action.table and self.model.now.tables.get(action.table)
            if action.duck is None or (table and table.uid in (done or ())):
                continue
            self.log.append(f"duck: {action.text}")
            self.duck.execute(action.duck)
            action.on_model(self.model)
            self._stale |= "ALTER COLUMN" in action.duck
            if done is not None and action.table in self.model.now.tables:
                done.add(self.model.now.tables[action.table].uid)
            return

    def _duck_transaction(self, chance: Random) -> None:
        done: set[int] = set()
        with self._refusing():
            self.log.append("duck: begin")
            self.duck.execute("BEGIN")
            for _ in range(chance.randint(1, 3)):
                self._run(chance, done)
            self.log.append("duck: commit")
            self.duck.execute("COMMIT")

    def _upkeep(self, call: str) -> None:
        self.log.append(f"duck: {call}")
        self.duck.execute(f"CALL {call}")
        self._feed_is_right = False  # DuckDB dates deletes from the files this makes wrongly

    def _flush(self, chance: Random) -> None:
        self._upkeep("ducklake_flush_inlined_data('lake')")

    def _merge(self, chance: Random) -> None:
        self._upkeep("ducklake_merge_adjacent_files('lake')")

    def _rewrite(self, chance: Random) -> None:
        self._upkeep("ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")

    def _option(self, chance: Random) -> None:
        limit = chance.choice(LIMITS)
        self.log.append(f"tide: inlining limit {limit}")
        self.lake.set_option("data_inlining_row_limit", limit)

    def compare(self, chance: Random, *, everything: bool = False, ours: bool = False) -> None:
        """The newest snapshot in full, and the older ones: some of them, or all."""
        found: list[str] = []
        model = self.model
        older = list(model.snapshots)
        if not (everything or self._thorough):
            older = sorted({model.head, *chance.sample(older, min(2, len(older)))})
        with self._explained():
            for at in older:
                state = model.snapshots[at]
                found += check.tide_state(self.lake.known_at(at), state, f"at {at}")
                found += check.duck_state(self.duck, at, state, f"at {at}")
            found += check.duck_now(self.duck, model.now, "now")
            found += check.tide_state(self.lake, model.now, "now")
            self._expect(found)
            most = None if everything or self._thorough else 2
            found += check.statistics(self.lake, self.duck, model.now, chance, most)
            found += self._ids.check(self.lake, self.duck, model.now)
            found += check.orphans(self.folder / "data", self.duck)
            if ours and self._feed_is_right:
                head = model.head
                found += check.feed(self.duck, head, model.snapshots[head - 1], model.now)
        self._expect(found)

    def _expect(self, found: list[str]) -> None:
        if found:
            raise AssertionError(self.story("\n".join(found[:20])))


class Failure(Exception):
    """What a transaction's body raises on purpose."""


def plan_of(seed: int, length: int) -> list[tuple[str, int]]:
    """Steps by name and seed."""
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]


def run(
    plan: list[tuple[str, int]], folder: Path, *, kept: bool = True, thorough: bool = False
) -> Trial:
    trial = Trial(folder, kept=kept, thorough=thorough)
    try:
        for kind, seed in plan:
            trial.step(kind, seed)
        trial.compare(Random(0), everything=True)
    finally:
        trial.close()
    return trial
