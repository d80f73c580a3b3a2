"""Every operation on every catalog: Tidelake does it, DuckDB reads it and writes, Tidelake goes on.

On MariaDB, which DuckDB cannot use, the model alone says what is right.
"""

from collections.abc import Callable
from random import Random

import pytest

from tests.cases import every
from tidelake.testing.histories import actions
from tidelake.testing.histories.action import Action, Maker
from tidelake.testing.histories.kinds import STRUCT, ddl
from tidelake.testing.histories.model import Column, Model, Table
from tidelake.testing.histories.row_actions import as_arrow, new_rows
from tidelake.testing.histories.table_actions import (
    create_schema,
    create_table,
    create_view,
    drop_schema,
    drop_table,
    drop_view,
)
from tidelake.testing.histories.trial import Trial, plan_of, run
from tidelake.testing.place import Place

CATALOGS = ("sqlite", "duckdb", "postgresql", "mariadb")
MAKERS: tuple[Maker, ...] = tuple(dict.fromkeys((*actions.ON_ROWS, *actions.ON_SHAPES)))
NAME = ("main", "t")
COLUMNS = (
    Column("k", "BIGINT"),
    Column("a", "INTEGER"),
    Column("b", "VARCHAR"),
    Column("c", "DOUBLE"),
    Column("d", "TIMESTAMP"),
    Column("e", "DECIMAL(9,2)"),
    Column("f", STRUCT),
    Column("g", ("list", "INTEGER")),
)


def _table() -> Action:
    clauses = ", ".join(f"{c.name} {ddl(c.kind)}" for c in COLUMNS)

    def on_model(model: Model) -> None:
        model.now.tables[NAME] = Table([Column(c.name, c.kind) for c in COLUMNS], uid=1)
        model.last_uid = 1

    return Action(
        f"create table t ({clauses})", on_model, lambda lake: lake.create_table("t", clauses)
    )


def _rows(trial: Trial, chance: Random, count: int) -> Action:
    table = trial.model.now.tables[NAME]
    rows = new_rows(trial.model, table, chance, count)
    return Action(
        f"append {count}",
        lambda model: model.add(NAME, rows),
        lambda lake: lake.table("t").append(as_arrow(table, rows)),
    )


def _made(maker: Maker, trial: Trial, chance: Random) -> Action:
    """The operation, or what it needs first: a schema to drop, a view to drop, room for a table."""
    for _ in range(30):
        action = maker(trial.model, chance)
        if action is not None:
            return action
    needed: dict[Maker, Maker] = {
        drop_schema: create_schema,
        drop_view: create_view,
        create_table: drop_table,
    }
    return _made(needed.get(maker, create_table), trial, chance)


def _begun(place: Place, chance: Random) -> Trial:
    """A table with rows in the catalog and in a file."""
    trial = Trial(place)
    trial.tide(_table())
    for count in (2, 15):
        trial.tide(_rows(trial, chance, count))
    return trial


@pytest.mark.parametrize("catalog", every(4, CATALOGS))
def test_every_operation_between_two_writers(
    catalog: str, new_place: Callable[[str], Place]
) -> None:
    """Most of them on SQLite, on each of the others a few. DuckDB comes after every sixth, and
    with it all that is compared."""
    chance = Random(catalog)
    trial = _begun(new_place(catalog), chance)
    count = len(MAKERS) * 2 // 3 if catalog == "sqlite" else len(MAKERS) // 4
    try:
        for number, maker in enumerate(chance.sample(MAKERS, count)):
            trial.tide(_made(maker, trial, chance))
            if number % 6 != 5:
                continue
            if trial.place.ducklake is not None:
                trial.step("duck", chance.randrange(1000))
            else:
                trial.compare(chance)
        trial.compare(chance, everything=True)
    finally:
        trial.close()


@pytest.mark.slow
@pytest.mark.parametrize("catalog", CATALOGS)
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_an_operation_between_two_writers(
    maker: Maker, catalog: str, new_place: Callable[[str], Place]
) -> None:
    chance = Random(maker.__name__)
    trial = _begun(new_place(catalog), chance)
    try:
        for _ in range(2):
            trial.tide(_made(maker, trial, chance))
            trial.compare(chance, ours=True)
            if trial.place.ducklake is not None:
                for kind in ("duck", "duck", "flush"):
                    trial.step(kind, chance.randrange(1000))
        trial.compare(chance, everything=True)
    finally:
        trial.close()


@pytest.mark.slow
@pytest.mark.parametrize("catalog", CATALOGS[1:])
@pytest.mark.parametrize("seed", range(100, 150))
def test_histories_on_other_catalogs(
    seed: int, catalog: str, new_place: Callable[[str], Place]
) -> None:
    run(plan_of(seed, 15), new_place(catalog), kept=seed % 2 == 0)
