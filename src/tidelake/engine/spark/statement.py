"""What the parts of a query know of the whole: the relations it reads, and how to ask for more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count

import duckdb

from tidelake.engine.spark.duck_tree import sql_of
from tidelake.engine.spark.plan_frames import PlanFrames
from tidelake.engine.spark.relation import Executors, Relation, unsupported_on_spark
from tidelake.engine.spark.settings import allow_times
from tidelake.engine.spark.shapes import Shapes
from tidelake.model.names import TableName, fold
from tidelake.model.schema import Column
from tidelake.syntax.tree import Node

DOING = "cannot run the query"


class Statement(ABC):
    """One query and the relations it reads, by name. Close it, or use it in a `with`."""

    def __init__(self, frames: PlanFrames) -> None:
        self.frames = frames
        self.shapes = Shapes(frames.local)
        self.relations: dict[str, Relation] = {}
        self.executors = Executors(frames.local, DOING, TableName("main", "rows"))
        self._names = (f"_tidelake_relation_{n}" for n in count())

    @abstractmethod
    def evaluated(self, node: Node) -> Relation:
        """The rows of a query's node."""

    def add(self, relation: Relation, name: str | None = None) -> str:
        """The name under which the rest of the statement finds the rows."""
        called = name or next(self._names)
        lower = [fold(column.name) for column in relation.columns]
        if len(set(lower)) < len(lower):
            raise unsupported_on_spark("a subquery with two columns of one name")
        self.shapes.declare(called, relation.columns)
        self.relations[called] = relation
        return called

    def close(self) -> None:
        self.relations.clear()
        self.shapes.close()

    def columns_of(self, node: Node) -> tuple[Column, ...]:
        """The columns of a query, as DuckDB names and types them."""
        found = self.shapes.columns_of(sql_of(self.shapes.connection, node))
        allow_times(self.frames.spark, found, "the query")
        return found

    def stands_alone(self, node: Node) -> bool:
        """Whether a subquery names nothing of what stands around it."""
        try:
            self.columns_of(node)
        except duckdb.Error:
            return False
        return True
