"""Relations that meet in one task, where DuckDB finds each under its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

from tidelake.engine.protocols import Answer
from tidelake.engine.spark.relation import Relation
from tidelake.model.names import quote
from tidelake.model.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidelake.engine.local.workbench import Workbench

_ALL, _WHICH = "_tidelake_met", "_tidelake_which"


@dataclass(frozen=True, slots=True)
class Union:
    """The columns of relations, by name. All of them travel as one, in which each row says which
    relation it is of, and has nulls for the columns of the others."""

    columns: Mapping[str, tuple[Column, ...]]

    @classmethod
    def of(cls, relations: Mapping[str, Relation]) -> tuple[Union, Relation]:
        """Requires: every relation is in one partition."""
        made = cls({name: relation.columns for name, relation in relations.items()})
        frames = []
        place = 0
        for which, relation in enumerate(relations.values()):
            names = [f"c{place + n}" for n in range(len(relation.columns))]
            frames.append(relation.frame.toDF(*names).selectExpr(f"{which} AS {_WHICH}", "*"))
            place += len(names)
        united = reduce(_beside, frames).coalesce(1)
        every = [column for columns in made.columns.values() for column in columns]
        named = (
            replace(column, name=f"c{place}", nullable=True) for place, column in enumerate(every)
        )
        return made, Relation(united, (Column(0, _WHICH, "int32"), *named))

    def run(self, work: Workbench, sql: str, do: Callable[[Workbench], Answer]) -> Answer | None:
        """What `do` finds out where the relations are; None if the task has not the memory for
        them. `sql` is all of them, to be read once."""
        return work.within_memory(partial(self._met, work, sql, do))

    def _met(self, work: Workbench, sql: str, do: Callable[[Workbench], Answer]) -> Answer:
        work.connection.execute(f"CREATE TEMP TABLE {_ALL} AS {sql}")
        place = 0
        for which, (name, columns) in enumerate(self.columns.items()):
            chosen = ", ".join(
                f"c{place + n} AS {quote(column.name)}" for n, column in enumerate(columns)
            )
            place += len(columns)
            work.connection.execute(
                f"CREATE TEMP VIEW {quote(name)} AS SELECT {chosen} FROM {_ALL}"
                f" WHERE {_WHICH} = {which}"
            )
        return do(work)


def _beside(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)
