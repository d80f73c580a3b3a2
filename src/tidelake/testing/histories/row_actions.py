"""Random changes to the rows of a table."""

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

import pyarrow as pa

from tidelake.testing.histories.action import (
    KEY,
    Action,
    Condition,
    qualified_name,
    quote,
    some_table,
)
from tidelake.testing.histories.kinds import any_value, arrow, is_odd, literal, order
from tidelake.testing.histories.model import Column, Model, Table


def new_rows(model: Model, table: Table, chance: Random, count: int) -> list[dict[str, Any]]:
    """Rows with fresh keys; now and then a column is left out of all of them."""
    loose = [c for c in table.columns if c.name != KEY and not c.required]
    left_out = {c.name for c in loose if chance.random() < 0.1}
    rows = []
    for _ in range(count):
        model.last_key += 1
        row = {KEY: model.last_key}
        for column in table.columns:
            if column.name != KEY and column.name not in left_out:
                nulls = 0 if column.required else 0.2
                row[column.name] = any_value(chance, column.kind, nulls)
        rows.append(row)
    return rows


def as_arrow(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    columns = [c for c in table.columns if c.name in rows[0]]
    return pa.table(
        {c.name: pa.array([row[c.name] for row in rows], arrow(c.kind)) for c in columns}
    )


def as_values(table: Table, rows: list[dict[str, Any]]) -> str:
    """`(columns) VALUES …` for DuckDB."""
    columns = [c for c in table.columns if c.name in rows[0]]
    lines = ", ".join(
        f"({', '.join(literal(c.kind, row[c.name]) for c in columns)})" for row in rows
    )
    return f"({', '.join(quote(c.name) for c in columns)}) VALUES {lines}"


def _is_odd(table: Table, rows: list[dict[str, Any]]) -> bool:
    return any(is_odd(c.kind, row.get(c.name)) for row in rows for c in table.columns)


def how_many(chance: Random) -> int:
    return chance.choice((1, 1, 2, 4, 9, 14, 30))


def append(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    rows = new_rows(model, table, chance, how_many(chance))
    data: Any = as_arrow(table, rows) if chance.random() < 0.5 else rows
    return Action(
        f"append {len(rows)} to {name}: {rows[:2]}",
        lambda m: m.add(name, rows),
        lambda lake: lake.table(qualified_name(name)).append(data),
        None
        if _is_odd(table, rows)
        else f"INSERT INTO lake.{qualified_name(name)} {as_values(table, rows)}",
        table=name,
    )


def condition(table: Table, chance: Random) -> Condition:
    kind = chance.randrange(8)
    keys = [row.values[KEY] for row in table.rows] or [1]
    if kind == 0:
        return Condition("true", lambda _: True)
    if kind == 1:
        key = chance.choice(keys)
        return Condition(f"{KEY} = {key}", lambda v: v[KEY] == key)
    if kind in (2, 3):
        by, rest = chance.randint(2, 5), chance.randrange(2)
        return Condition(f"{KEY} % {by} = {rest}", lambda v: v[KEY] % by == rest)
    if kind == 4:
        low, high = sorted((chance.choice(keys), chance.choice(keys)))
        return Condition(f"{KEY} BETWEEN {low} AND {high}", lambda v: low <= v[KEY] <= high)
    return _by_column(chance.choice(table.columns), chance)


def _by_column(column: Column, chance: Random) -> Condition:
    name, sql = column.name, quote(column.name)
    kind = chance.randrange(5) if isinstance(column.kind, str) else chance.randrange(2)
    if kind == 0:
        return Condition(f"{sql} IS NULL", lambda v: v[name] is None)
    if kind == 1:
        return Condition(f"{sql} IS NOT NULL", lambda v: v[name] is not None)
    value = any_value(chance, column.kind, 0)
    compare: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
        ("=", lambda a, b: a == b),
        ("<>", lambda a, b: a != b),
        ("<", lambda a, b: a < b),
        (">=", lambda a, b: a >= b),
    )
    sign, test = chance.choice(compare)
    return Condition(
        f"{sql} {sign} {literal(column.kind, value)}",
        lambda v: v[name] is not None and test(order(v[name]), order(value)),
        misread=column.was_narrower or column.kind == "BLOB",
    )


def delete(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
    if name is None:
        return None
    where = condition(model.now.tables[name], chance)

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.rows = [row for row in table.rows if not where.holds(row.values)]

    return Action(
        f"delete from {name} where {where.sql}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).delete(where.sql),
        None if where.misread else f"DELETE FROM lake.{qualified_name(name)} WHERE {where.sql}",
        table=name,
    )


def update(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
    if name is None or len(model.now.tables[name].columns) < 2:
        return None
    table = model.now.tables[name]
    where = condition(table, chance)
    loose = [c for c in table.columns if c.name != KEY]
    chosen = chance.sample(loose, chance.randint(1, min(2, len(loose))))
    values = {c.name: any_value(chance, c.kind, 0 if c.required else 0.2) for c in chosen}
    said = {c.name: literal(c.kind, values[c.name]) for c in chosen}
    moved = chance.random() < 0.1
    if moved:  # the row keeps its id even when its key moves
        said[KEY] = f"{KEY} + 100000"

    def on_model(m: Model) -> None:
        for row in m.now.tables[name].rows:
            if where.holds(row.values):
                row.values |= values
                row.values[KEY] += 100000 * moved
                row.at = m.next_commit

    odd = where.misread or _is_odd(table, [values, *(row.values for row in table.rows)])
    assigned = ", ".join(f"{quote(column)} = {value}" for column, value in said.items())
    return Action(
        f"update {name} set {assigned} where {where.sql}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).update(said, where=where.sql),
        None if odd else f"UPDATE lake.{qualified_name(name)} SET {assigned} WHERE {where.sql}",
        table=name,
    )


def overwrite(model: Model, chance: Random) -> Action | None:
    """Whole, or the rows from some key upwards by new ones, whose keys are above it."""
    name = some_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    rows = new_rows(model, table, chance, how_many(chance))
    keys = [row.values[KEY] for row in table.rows if row.values[KEY] < rows[0][KEY]]
    where = None
    if keys and chance.random() < 0.5:
        low = chance.choice(keys)
        where = Condition(f"{KEY} >= {low}", lambda v: v[KEY] >= low)

    def on_model(m: Model) -> None:
        kept = m.now.tables[name]
        kept.rows = [r for r in kept.rows if where is not None and not where.holds(r.values)]
        m.add(name, rows)

    return Action(
        f"overwrite {name} where {where and where.sql} with {len(rows)}: {rows[:2]}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).overwrite(
            as_arrow(table, rows), where=where.sql if where else None
        ),
    )


def merge(model: Model, chance: Random) -> Action | None:
    """Some keys that are there, some that are not."""
    name = some_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    rows = new_rows(model, table, chance, how_many(chance))
    known = [row.values[KEY] for row in table.rows]
    for row, key in zip(rows, chance.sample(known, min(len(known), len(rows) // 2)), strict=False):
        row[KEY] = key

    def on_model(m: Model) -> None:
        there = {row.values[KEY]: row for row in m.now.tables[name].rows}
        m.add(name, [row for row in rows if row[KEY] not in there])
        for row in rows:
            if row[KEY] in there:
                there[row[KEY]].values |= row
                there[row[KEY]].at = m.next_commit

    return Action(
        f"merge {len(rows)} into {name}: {rows[:3]}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).merge(as_arrow(table, rows), on=KEY),
    )


def rollback(model: Model, chance: Random) -> Action | None:
    """A table as it was, under the name it now has."""
    name = some_table(model, chance)
    if name is None:
        return None
    uid = model.now.tables[name].uid
    past = [
        (at, table)
        for at, state in model.snapshots.items()
        for table in state.tables.values()
        if table.uid == uid
    ]
    if not past:
        return None
    at, then = chance.choice(past)

    def on_model(m: Model) -> None:
        m.now.tables[name] = deepcopy(then)
        m.rolled_back = m.next_commit

    return Action(
        f"roll {name} back to {at}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).rollback(to=at),
        table=name,
    )
