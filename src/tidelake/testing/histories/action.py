"""A change to a lake, said three ways: to the model, to Tidelake, and to DuckDB."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tidelake.lake.changeable import Changeable
from tidelake.testing.histories.kinds import NESTED, SCALARS, Kind
from tidelake.testing.histories.model import Model, Name

KEY = "k"
"""The column that every table has."""


@dataclass
class Action:
    """`tide` is done to a lake or in a transaction. `duck` is None where DuckDB has no word for it;
    `table` is what it is done to, if it is."""

    text: str
    on_model: Callable[[Model], None]
    tide: Callable[[Changeable], object]
    duck: str | None = None
    table: Name | None = None


@dataclass
class Condition:
    """Which rows, in SQL and in Python. `misread`: DuckDB may find others, as it rounds what a
    widened column is compared with, and looks for blobs in bloom filters by their text."""

    sql: str
    holds: Callable[[dict[str, Any]], bool]
    misread: bool = False


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def qualified_name(name: Name) -> str:
    return f"{quote(name[0])}.{quote(name[1])}"


Maker = Callable[[Model, Random], Action | None]
"""Makes a change that is possible now, or none."""


def some_table(model: Model, chance: Random) -> Name | None:
    return chance.choice(sorted(model.now.tables)) if model.now.tables else None


def any_kind(chance: Random) -> Kind:
    return chance.choice(NESTED) if chance.random() < 0.25 else chance.choice(list(SCALARS))
