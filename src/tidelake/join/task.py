"""A join where DuckDB has all sides at hand, as a task of an engine's has: passes, one after the
other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tidelake.join import sql as sql_of
from tidelake.join.plan import JoinPass, JoinPlan
from tidelake.model.schema import Column

if TYPE_CHECKING:
    from tidelake.engine.local.workbench import Workbench


def sides_of(steps: Sequence[JoinPass]) -> tuple[str, tuple[str, ...]]:
    """The relations of the left side and of the right ones."""
    return steps[0].source, tuple(plan.right for step in steps for plan in step.plans)


def columns_of(steps: Sequence[JoinPass]) -> tuple[Column, ...]:
    """Those of the result, in their order."""
    every = [*steps[0].left, *(c for each in steps for plan in each.plans for c in plan.result)]
    named = {column.name: column for column in every}
    return tuple(named[name] for name in steps[-1].output or named)


def joined_sql(work: Workbench, steps: Sequence[JoinPass]) -> str:
    """The result, as a query of the relations of all sides, which are there."""
    sql = ""
    for place, each in enumerate(steps):
        if place:
            _define(work, each.source, sql)
        _define(work, each.rows, sql_of.left_rows_sql(each))
        for plan in each.plans:
            _define(work, plan.rows, sql_of.right_rows_sql(plan))
        plans = (replace(plan, untied=_is_untied(work, plan)) for plan in each.plans)
        asked = replace(each, plans=tuple(plans))
        sql = sql_of.joined_sql(asked, by_window=False, inlined=False)
    return sql


def _is_untied(work: Workbench, plan: JoinPlan) -> bool:
    if plan.untied:
        return True
    row = work.connection.execute(sql_of.ties_sql(plan)).fetchone()
    return row is not None and not row[0]


def _define(work: Workbench, name: str, sql: str) -> None:
    work.connection.execute(f"CREATE TEMP VIEW {name} AS {sql}")
