"""Random deliveries to series, compared with a plain list of rows after each of them."""

from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelake
from tests.coverage.deliveries import (
    POLICIES,
    WAYS,
    Row,
    as_dicts,
    delivered,
    make,
    minutes,
    ordered,
    rows_of,
)
from tidelake.errors import Overlap
from tidelake.testing.duck import duck_connection

ENTITIES = ("a", "b", None)


class Trial:
    """A lake and the rows that its table must have."""

    def __init__(self, folder: str, chance: Random, policy: str) -> None:
        self.folder = Path(folder)
        self.catalog = f"{folder}/lake.db"
        self.chance = chance
        self.policy = policy
        self.lake = tidelake.connect(f"sqlite:///{self.catalog}", f"{folder}/data/")
        self.table = make(self.lake, policy)
        self.rows: list[Row] = []
        self.count = 0

    def rows_to_come(self) -> list[Row]:
        self.count += 1
        found: list[Row] = []
        for _ in range(self.chance.randint(1, 3)):
            first = self.chance.randint(0, 40)
            length = self.chance.choice([1, 1, 2, 5, 15])
            step = self.chance.choice([1, 0.25, 2.5])
            span = [first + step * n for n in range(length)]
            found += minutes(self.chance.choice(ENTITIES), span, self.count)
        self.chance.shuffle(found)
        return found

    def deliver(self, table: Any, rows: list[Row]) -> list[Row]:
        """The rows that there are then."""
        rows = rows or self.rows_to_come()
        wanted = delivered(self.policy, self.rows, rows)
        way = self.chance.choice(list(WAYS))
        if wanted is None:
            with pytest.raises(Overlap):
                WAYS[way](table, rows, self.folder)
            return self.rows
        WAYS[way](table, rows, self.folder)
        return wanted

    def step(self) -> None:
        doing = self.chance.random()
        if doing < 0.45:
            self.rows = self.deliver(self.table, [])
        elif doing < 0.65:
            self.transact()
        elif doing < 0.75:
            which = self.chance.randint(0, self.count)
            self.table.delete(f"v = {which}")
            self.rows = [row for row in self.rows if row[2] != which]
        elif doing < 0.8:
            self.table.update({"ts": "ts + INTERVAL 30 SECOND"}, where="s = 'a'")
            self.rows = rows_of(self.table)
        elif doing < 0.9:
            self.table.compact()
        else:
            self.by_duckdb()

    def transact(self) -> None:
        """Several deliveries at once, which are taken back every third time."""
        before = self.rows
        with suppress(KeyError), self.lake.transaction() as tx:
            for _ in range(self.chance.randint(1, 3)):
                mine = tx.table(self.policy)
                self.rows = self.deliver(mine, [])
                assert rows_of(mine) == ordered(self.rows)
            if self.chance.random() < 0.34:
                self.rows = before
                raise KeyError

    def by_duckdb(self) -> None:
        """DuckDB knows no policies."""
        rows = self.rows_to_come()
        with duck_connection() as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{self.catalog}' AS lake")
            for row in as_dicts(rows):
                duck.execute(f"INSERT INTO lake.{self.policy} VALUES (?, ?, ?)", [*row.values()])
        self.rows = [*self.rows, *rows]

    def check(self) -> None:
        assert rows_of(self.table) == ordered(self.rows)
        with duck_connection() as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{self.catalog}' AS lake (READ_ONLY)")
            found = duck.execute(f"SELECT s, ts, v FROM lake.{self.policy}").fetchall()
        assert ordered(found) == ordered(self.rows)
        report = self.lake.verify(deep=True)
        assert report.ok, report
        self.lake.close()


def run(seed: int, policy: str, steps: int) -> None:
    with TemporaryDirectory() as folder:
        trial = Trial(folder, Random(seed), policy)
        for _ in range(steps):
            trial.step()
            assert rows_of(trial.table) == ordered(trial.rows)
        trial.check()


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_deliveries(policy: str, seed: int) -> None:
    run(seed, policy, 6)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_many_random_deliveries(policy: str, seed: int) -> None:
    run(seed, policy, 14)
