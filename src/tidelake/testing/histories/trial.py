"""One lake on trial: changed step by step by Tidelake and DuckDB, held against the model."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import duckdb

import tidelake
from tidelake.errors import Conflict, Unsupported
from tidelake.lake.changeable import Changeable
from tidelake.testing.duck import duck_connection
from tidelake.testing.histories import check
from tidelake.testing.histories.action import Action
from tidelake.testing.histories.actions import any_action
from tidelake.testing.histories.model import Model
from tidelake.testing.place import Place, files_below

STEPS = (
    *["tide"] * 7,
    *["tide transaction"] * 3,
    "tide failure",
    *["tide beside duck"] * 2,
    *["duck"] * 4,
    "duck transaction",
    *["flush", "merge", "rewrite"],
    "option",
)
OURS = ("tide", "tide transaction", "tide failure", "option")
LIMITS = (0, 3, 10, 40)

_ALTERS = re.compile("(RENAME|ALTER) COLUMN")


class Trial:
    """A step is a kind and a seed, so that any of them can be left out of a history.

    `kept`: DuckDB stays attached throughout, and must see our commits. Otherwise it attaches for
    every step, as it does after it has changed a type: it remembers statistics of the old one.
    With a Spark session Tidelake's changes are made on Spark; what came of them is read here.
    """

    def __init__(
        self, place: Place, *, kept: bool = True, thorough: bool = False, spark: Any = None
    ) -> None:
        self.place = place
        self._spark = spark
        self._onlooker: tidelake.Lake | None = None
        self.model = Model()
        self.log: list[str] = []
        self._thorough = thorough
        self._kept = kept
        self._ids = check.RowIds()
        self._feed_is_right = True
        self._stale = False
        self._duck_updated = False
        self._duck_widened = False
        self._lake: tidelake.Lake | None = None
        self._duck_is_in = False
        self._connection = duck_connection()
        self._connection.execute("SET arrow_lossless_conversion = true")
        self._connection.execute("SET threads = 1")
        assert self.lake.snapshots()

    @property
    def lake(self) -> tidelake.Lake:
        if self.place.exclusive:
            self._detach()
        if self._lake is None:
            on_spark = {"engine": "spark", "spark": self._spark} if self._spark else {}
            self._lake = self.place.open(**on_spark)
        return self._lake

    @property
    def onlooker(self) -> tidelake.Lake:
        """The lake, for reading what came of it."""
        if self._spark is None:
            return self.lake
        if self._onlooker is None:
            self._onlooker = self.place.open(read_only=True)
        return self._onlooker

    @property
    def duck(self) -> duckdb.DuckDBPyConnection:
        if self.place.exclusive and self._lake is not None:
            self._lake.close()
            self._lake = None
        if not self._duck_is_in:
            self._connection.execute(f"ATTACH '{self.place.ducklake}' AS lake")
            self._connection.execute("USE lake")
            self._duck_is_in = True
        return self._connection

    def _detach(self) -> None:
        if self._duck_is_in:
            self._connection.execute("USE memory; DETACH lake")
            self._duck_is_in = False

    def close(self) -> None:
        self._connection.close()
        for each in (self._lake, self._onlooker):
            if each is not None:
                each.close()

    def step(self, kind: str, seed: int) -> None:
        """Do something, then compare everything."""
        chance = Random(seed)
        before = self.model.head
        if not self._kept:
            self._detach()
        with self._explained():
            self._stale = False
            getattr(self, f"_{kind.replace(' ', '_')}")(chance)
            self._committed()
            if self._stale:
                self._detach()
        ours = kind.startswith("tide") and self.model.head > before
        self.compare(chance, everything=kind in ("flush", "merge", "rewrite"), ours=ours)

    def tide(self, action: Action) -> None:
        """One change by Tidelake, without comparing anything."""
        with self._explained():
            self._act(action, self.lake)
            self._committed()

    def _committed(self) -> None:
        head = self.lake.snapshots()[-1].snapshot_id
        self.model.commit(head)
        self.log.append(f"  -> {head}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (tidelake.errors.TidelakeError, duckdb.Error) as error:
            raise AssertionError(self.story(f"{type(error).__name__}: {error}")) from error

    def story(self, end: str) -> str:
        return "\n".join([*self.log, end])

    def _some_action(self, chance: Random) -> Action:
        return any_action(self.model, chance)

    def _act(self, action: Action, on: Changeable) -> None:
        self.log.append(f"tide: {action.text}")
        try:
            action.tide(on)
        except Unsupported as error:
            if self._spark is None:
                raise
            self.log.append(f"tide: refused: {error}")  # as what rests on nanoseconds
        else:
            action.on_model(self.model)

    def _tide(self, chance: Random) -> None:
        self._act(self._some_action(chance), self.lake)

    def _tide_transaction(self, chance: Random) -> None:
        with self.lake.transaction(author="me") as tx:
            self.log.append("tide: begin")
            self._several(tx, chance)
            self.log.append("tide: commit")

    def _several(self, tx: Changeable, chance: Random) -> None:
        for _ in range(chance.randint(1, 4)):
            self._act(self._some_action(chance), tx)
            if chance.random() < 0.5 and self._spark is None:  # which has no unsigned types
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
        return {str(path) for path in files_below(self.place.data)}

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

    def _run(
        self, chance: Random, done: set[int] | None = None, *, with_views: bool = True
    ) -> None:
        """Something that DuckDB does, and does right: in a transaction no table twice, as rows
        that it has inserted and then updates get ids from nowhere; and no column altered whose
        table has another order, as it goes back to where it was (docs/writing.md)."""
        for _ in range(50):
            action = self._some_action(chance)
            table = action.table and self.model.now.tables.get(action.table)
            if action.duck is None or (table and table.uid in (done or ())):
                continue
            if action.table is None and not with_views:
                continue
            if table and table.reordered and _ALTERS.search(action.duck):
                continue
            self.log.append(f"duck: {action.text}")
            self.duck.execute(action.duck)
            action.on_model(self.model)
            self._stale |= "ALTER COLUMN" in action.duck
            self._duck_updated |= action.duck.startswith("UPDATE")
            self._duck_widened |= " TYPE " in action.duck
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

    def _tide_beside_duck(self, chance: Random) -> None:
        """DuckDB commits while a transaction of ours is open: it conflicts, or the lake is as if
        the one had come after the other."""
        if self.place.exclusive:
            return
        mine = self._some_action(chance)
        while mine.table is None:  # a view may be left without its table
            mine = self._some_action(chance)
        self.log.append("tide: begin")
        tx = self.lake.transaction()
        self._act(mine, tx)
        self.model.forget()
        with self._refusing():
            self._run(chance, with_views=False)
        self._committed()
        try:
            tx.commit()
        except Conflict as error:
            self.log.append(f"tide: {error}")
            return
        self.log.append("tide: commit")
        if self.lake.snapshots()[-1].snapshot_id > self.model.head:
            mine.on_model(self.model)

    def _upkeep(self, call: str) -> None:
        self.log.append(f"duck: {call}")
        self.duck.execute(f"CALL {call}")
        self._feed_is_right = False  # DuckDB dates deletes from the files this makes wrongly

    def _flush(self, _: Random) -> None:
        if self._can_flush():
            self._upkeep("ducklake_flush_inlined_data('lake')")

    def _can_flush(self) -> bool:
        """Not after DuckDB has changed a type: it then forgets the bounds of the column, and with
        the next insert takes those of the new rows for all. And not while a sorted table has other
        columns than at first: there it breaks off with an internal error."""
        tables = self.model.now.tables.values()
        return not self._duck_widened and not any(t.sorted and t.reshaped for t in tables)

    def _merge(self, _: Random) -> None:
        """DuckDB numbers rows anew that it has updated itself, or that it sorts."""
        self._upkeep("ducklake_merge_adjacent_files('lake')")
        if self._duck_updated or any(table.sorted for table in self.model.now.tables.values()):
            self._ids = check.RowIds()

    def _rewrite(self, chance: Random) -> None:
        """After a flush: one that follows instead loses the deletes of a file that had some in
        the catalog and some in a delete file. Nor can DuckDB do it while a catalog in SQLite keeps
        floats."""
        if not self._can_flush():
            return
        self._flush(chance)
        self._upkeep("ducklake_rewrite_data_files('lake', delete_threshold => 0.01)")

    def _option(self, chance: Random) -> None:
        limit = chance.choice(LIMITS)
        self.log.append(f"tide: inlining limit {limit}")
        self.lake.set_option("data_inlining_row_limit", limit)

    def compare(self, chance: Random, *, everything: bool = False, ours: bool = False) -> None:
        """The newest snapshot in full, and the older ones: some of them, or all."""
        everything = everything or self._thorough
        older = sorted(self.model.snapshots)
        if not everything:
            older = sorted({self.model.head, *chance.sample(older, min(2, len(older)))})
        seed, most = chance.randrange(1 << 30), None if everything else 2
        with self._explained():
            self._compare_tide(older, Random(seed), most)
            if self.place.ducklake is not None:
                self._compare_duck(older, Random(seed), most, ours=ours)

    def _compare_tide(self, older: list[int], chance: Random, most: int | None) -> None:
        now = self.model.now
        for at in older:
            state = self.model.snapshots[at]
            self._expect(check.tide_state(self.onlooker.known_at(at), state, f"at {at}"))
        self._expect(check.tide_state(self.onlooker, now, "now"))
        self._expect(check.tide_answers(self.onlooker, now, chance, most))
        self._expect(self._ids.check(now, check.tide_row_ids(self.onlooker, now)))

    def _compare_duck(
        self, older: list[int], chance: Random, most: int | None, *, ours: bool
    ) -> None:
        now, head = self.model.now, self.model.head
        for at in older:
            self._expect(self._duck_state(at))
        self._expect(check.duck_now(self.duck, now, "now"))
        self._expect(check.duck_answers(self.duck, now, chance, most))
        self._expect(self._ids.check(now, check.duck_row_ids(self.duck, now)))
        self._expect(check.orphans(self.place.data, self.duck))
        before = self.model.snapshots.get(head - 1)
        if ours and self._feed_is_right and before and self.model.rolled_back != head:
            self._expect(check.feed(self.duck, head, before, now))

    def _duck_state(self, at: int) -> list[str]:
        """A DuckDB that has been there for long may take the columns of one snapshot for those of
        another, or miss a table that was there, where it was at work itself when others changed
        them; one that comes anew reads what the catalog says. It cannot where another DuckDB began
        to keep rows in the catalog and did not list with which columns."""
        state, label = self.model.snapshots[at], f"at {at}"
        try:
            if not check.duck_state(self.duck, at, state, label):
                return []
        except (duckdb.CatalogException, duckdb.BinderException):
            pass
        self._detach()
        try:
            return check.duck_state(self.duck, at, state, label)
        except duckdb.BinderException:
            if check.duck_lists_all_columns(self.duck):
                raise
            return []

    def _expect(self, found: list[str]) -> None:
        if found:
            raise AssertionError(self.story("\n".join(found[:20])))


class Failure(Exception):
    """What a transaction's body raises on purpose."""


Plan = list[tuple[str, int]]


def plan_of(seed: int, length: int) -> Plan:
    """Steps by name and seed."""
    chance = Random(seed)
    return [(chance.choice(STEPS), chance.randrange(1 << 30)) for _ in range(length)]


def run(
    plan: Plan, place: Place, *, kept: bool = True, thorough: bool = False, spark: Any = None
) -> Model:
    """A history, and what the lake must hold in the end; where DuckDB cannot come, what it would
    do is left out. With a Spark session, Tidelake writes on Spark."""
    trial = Trial(place, kept=kept, thorough=thorough, spark=spark)
    try:
        for kind, seed in plan:
            if place.ducklake is not None or kind in OURS:
                trial.step(kind, seed)
        trial.compare(Random(0), everything=True)
    finally:
        trial.close()
    return trial.model
