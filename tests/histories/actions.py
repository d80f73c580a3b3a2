"""Random changes to a lake, each said three ways: to the model, to Tidelake, and to DuckDB."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

import tidelake
from tests.histories.kinds import (
    NESTED,
    SCALARS,
    WIDER,
    Kind,
    any_value,
    arrow,
    ddl,
    is_odd,
    literal,
    order,
    widened,
)
from tests.histories.model import Column, Model, Name, Table

KEY = "k"


@dataclass
class Action:
    """`duck` is None where DuckDB has no word for it; `table` is what it is done to, if it is."""

    text: str
    on_model: Callable[[Model], None]
    tide: Callable[[tidelake.Lake], object]
    duck: str | None = None
    table: Name | None = None


@dataclass
class Condition:
    sql: str
    holds: Callable[[dict[str, Any]], bool]


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def spelled(name: Name) -> str:
    return f"{quote(name[0])}.{quote(name[1])}"


Maker = Callable[[Model, Random], Action | None]


def _a_table(model: Model, chance: Random) -> Name | None:
    return chance.choice(sorted(model.now.tables)) if model.now.tables else None


# Rows


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
    name = _a_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    rows = new_rows(model, table, chance, how_many(chance))
    data: Any = as_arrow(table, rows) if chance.random() < 0.5 else rows
    return Action(
        f"append {len(rows)} to {name}: {rows[:2]}",
        lambda m: m.add(name, rows),
        lambda lake: lake.table(spelled(name)).append(data),
        None
        if _is_odd(table, rows)
        else f"INSERT INTO lake.{spelled(name)} {as_values(table, rows)}",
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
    compare = (
        ("=", lambda a, b: a == b),
        ("<>", lambda a, b: a != b),
        ("<", lambda a, b: a < b),
        (">=", lambda a, b: a >= b),
    )
    sign, test = chance.choice(compare)
    return Condition(
        f"{sql} {sign} {literal(column.kind, value)}",
        lambda v: v[name] is not None and test(order(v[name]), order(value)),
    )


def delete(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None:
        return None
    where = condition(model.now.tables[name], chance)

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.rows = [row for row in table.rows if not where.holds(row.values)]

    return Action(
        f"delete from {name} where {where.sql}",
        on_model,
        lambda lake: lake.table(spelled(name)).delete(where.sql),
        f"DELETE FROM lake.{spelled(name)} WHERE {where.sql}",
        table=name,
    )


def update(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
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

    odd = _is_odd(table, [values, *(row.values for row in table.rows)])
    assigned = ", ".join(f"{quote(column)} = {value}" for column, value in said.items())
    return Action(
        f"update {name} set {assigned} where {where.sql}",
        on_model,
        lambda lake: lake.table(spelled(name)).update(said, where=where.sql),
        None if odd else f"UPDATE lake.{spelled(name)} SET {assigned} WHERE {where.sql}",
        table=name,
    )


def overwrite(model: Model, chance: Random) -> Action | None:
    """Whole, or the rows from some key upwards by new ones, whose keys are above it."""
    name = _a_table(model, chance)
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
        lambda lake: lake.table(spelled(name)).overwrite(
            as_arrow(table, rows), where=where and where.sql
        ),
    )


def merge(model: Model, chance: Random) -> Action | None:
    """Some keys that are there, some that are not."""
    name = _a_table(model, chance)
    if name is None or not hasattr(tidelake.Table, "merge"):
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
        lambda lake: lake.table(spelled(name)).merge(as_arrow(table, rows), on=KEY),
    )


def rollback(model: Model, chance: Random) -> Action | None:
    """A table as it was, under the name it now has."""
    name = _a_table(model, chance)
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
        lambda lake: lake.table(spelled(name)).rollback(to=at),
        table=name,
    )


# Columns


def any_kind(chance: Random) -> Kind:
    return chance.choice(NESTED) if chance.random() < 0.25 else chance.choice(list(SCALARS))


def new_name(table: Table, chance: Random) -> str | None:
    pool = ("a", "b", "c", "d", "e", "f", "odd name", 'q"q', "select")
    free = [name for name in pool if name not in table.names]
    return chance.choice(free) if free else None


def add_column(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    column = name and new_name(model.now.tables[name], chance)
    if name is None or column is None or len(model.now.tables[name].columns) > 7:
        return None
    kind = any_kind(chance)
    default = None
    if isinstance(kind, str) and kind != "BLOB" and chance.random() < 0.5:
        default = any_value(chance, kind, 0)

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.columns.append(Column(column, kind, default))
        for row in table.rows:
            row.values[column] = default

    def tide(lake: tidelake.Lake) -> object:
        clause = "" if default is None else f" DEFAULT {literal(kind, default)}"
        return lake.table(spelled(name)).evolve(add=f"{quote(column)} {ddl(kind)}{clause}")

    clause = "" if default is None else f" DEFAULT {literal(kind, default)}"
    return Action(
        f"add column {column} {ddl(kind)}{clause} to {name}",
        on_model,
        tide,
        f"ALTER TABLE lake.{spelled(name)} ADD COLUMN {quote(column)} {ddl(kind)}{clause}",
        table=name,
    )


def _loose(model: Model, chance: Random) -> tuple[Name, Column] | None:
    """A column that nothing depends on."""
    name = _a_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    tied = {KEY, *(by for by in (*table.partitioned, *table.sorted))}
    loose = [column for column in table.columns if column.name not in tied]
    return (name, chance.choice(loose)) if loose else None


def drop_column(model: Model, chance: Random) -> Action | None:
    found = _loose(model, chance)
    if found is None:
        return None
    name, column = found

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.columns.remove(table.column(column.name))
        for row in table.rows:
            del row.values[column.name]

    return Action(
        f"drop column {column.name} of {name}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(drop=[quote(column.name)]),
        f"ALTER TABLE lake.{spelled(name)} DROP COLUMN {quote(column.name)}",
        table=name,
    )


def rename_column(model: Model, chance: Random) -> Action | None:
    found = _loose(model, chance)
    new = found and new_name(model.now.tables[found[0]], chance)
    if found is None or new is None:
        return None
    name, column = found
    old = column.name

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.column(old).name = new
        for row in table.rows:
            row.values[new] = row.values.pop(old)

    return Action(
        f"rename column {old} of {name} to {new}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(rename={quote(old): quote(new)}),
        f"ALTER TABLE lake.{spelled(name)} RENAME COLUMN {quote(old)} TO {quote(new)}",
        table=name,
    )


def widen(model: Model, chance: Random) -> Action | None:
    found = _loose(model, chance)
    if found is None or found[1].kind not in WIDER:
        return None
    name, column = found
    wider = chance.choice(WIDER[str(column.kind)])

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        mine = table.column(column.name)
        mine.kind = wider
        mine.default = widened(wider, mine.default)
        for row in table.rows:
            row.values[mine.name] = widened(wider, row.values[mine.name])

    return Action(
        f"widen {column.name} of {name} from {column.kind} to {wider}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(widen={quote(column.name): wider}),
        f"ALTER TABLE lake.{spelled(name)} ALTER COLUMN {quote(column.name)} TYPE {wider}",
        table=name,
    )


def reorder(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None:
        return None
    names = list(model.now.tables[name].names)
    chance.shuffle(names)

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.columns = [table.column(column) for column in names]
        table.reordered = True

    return Action(
        f"reorder {name} as {names}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(order=[quote(n) for n in names]),
        table=name,
    )


def set_default(model: Model, chance: Random) -> Action | None:
    found = _loose(model, chance)
    if found is None or not isinstance(found[1].kind, str) or found[1].kind == "BLOB":
        return None
    name, column = found
    value = any_value(chance, column.kind, 0.3)

    def on_model(m: Model) -> None:
        m.now.tables[name].column(column.name).default = value

    said = "NULL" if value is None else literal(column.kind, value)
    return Action(
        f"default of {column.name} of {name}: {value!r}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(default={quote(column.name): value}),
        f"ALTER TABLE lake.{spelled(name)} ALTER COLUMN {quote(column.name)} SET DEFAULT {said}",
        table=name,
    )


def change_field(model: Model, chance: Random) -> Action | None:
    """Add, drop or rename a field of a struct."""
    name = _a_table(model, chance)
    if name is None:
        return None
    columns = model.now.tables[name].columns
    structs = [c for c in columns if not isinstance(c.kind, str) and c.kind[0] == "struct"]
    if not structs:
        return None
    column = chance.choice(structs)
    fields: list[tuple[str, Kind]] = list(column.kind[1])
    free = next(n for n in "abcdefghijklmnop" if n not in dict(fields))
    what = chance.choice(("add", "drop", "rename"))
    if what == "drop" and len(fields) == 1:
        return None
    old = chance.choice(fields)[0]
    kind = chance.choice(("INTEGER", "VARCHAR", ("list", "INTEGER")))
    path = f"{quote(column.name)}.{old if what != 'add' else free}"
    if what == "add":
        after = [*fields, (free, kind)]
        duck, tide = f"ADD COLUMN {path} {ddl(kind)}", {"add": {path: ddl(kind)}}
    elif what == "drop":
        after = [f for f in fields if f[0] != old]
        duck, tide = f"DROP COLUMN {path}", {"drop": [path]}
    else:
        after = [(free if n == old else n, k) for n, k in fields]
        duck, tide = f"RENAME COLUMN {path} TO {free}", {"rename": {path: free}}
    before = {free: old} if what == "rename" else {}

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.column(column.name).kind = ("struct", tuple(after))
        for row in table.rows:
            value = row.values[column.name]
            if value is not None:
                row.values[column.name] = {n: value.get(before.get(n, n)) for n, _ in after}

    return Action(
        f"{what} field {path} {free} {kind} of {name}",
        on_model,
        lambda lake: lake.table(spelled(name)).evolve(**tide),
        f"ALTER TABLE lake.{spelled(name)} {duck}",
        table=name,
    )


# Tables


def create_table(model: Model, chance: Random) -> Action | None:
    pool = [(s, n) for s in sorted(model.now.schemas) for n in ("t", "u", 'odd "t"', "w")]
    free = [n for n in pool if n not in model.now.tables and n not in model.now.views]
    if not free or len(model.now.tables) > 3:
        return None
    name = chance.choice(free)
    required = chance.random() < 0.5
    columns = [Column(KEY, "BIGINT", required=required)]
    names = ("a", "b", "c", "d")[: chance.randint(1, 4)]
    columns += [Column(column, any_kind(chance)) for column in names]
    uid = model.new_uid()
    clauses = [f"{quote(c.name)} {ddl(c.kind)}{' NOT NULL' if c.required else ''}" for c in columns]
    return Action(
        f"create table {name} ({', '.join(clauses)})",
        lambda m: m.now.tables.__setitem__(name, Table(columns, uid=uid)),
        lambda lake: lake.create_table(spelled(name), ", ".join(clauses)),
        f"CREATE TABLE lake.{spelled(name)} ({', '.join(clauses)})",
        table=name,
    )


def drop_table(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None or name in model.now.views.values():
        return None
    return Action(
        f"drop table {name}",
        lambda m: m.now.tables.__delitem__(name),
        lambda lake: lake.drop(spelled(name)),
        f"DROP TABLE lake.{spelled(name)}",
        table=name,
    )


def rename_table(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None or name in model.now.views.values():
        return None
    free = [(name[0], n) for n in ("t", "u", "w", "y") if (name[0], n) not in model.now.tables]
    free = [n for n in free if n not in model.now.views]
    if not free:
        return None
    new = chance.choice(free)

    def on_model(m: Model) -> None:
        m.now.tables[new] = m.now.tables.pop(name)

    return Action(
        f"rename table {name} to {new}",
        on_model,
        lambda lake: lake.rename(spelled(name), quote(new[1])),
        f"ALTER TABLE lake.{spelled(name)} RENAME TO {quote(new[1])}",
        table=name,
    )


def create_schema(model: Model, chance: Random) -> Action | None:
    free = [name for name in ("s", "odd schema") if name not in model.now.schemas]
    if not free:
        return None
    name = chance.choice(free)
    return Action(
        f"create schema {name}",
        lambda m: m.now.schemas.add(name),
        lambda lake: lake.create_schema(name),
        f"CREATE SCHEMA lake.{quote(name)}",
    )


def drop_schema(model: Model, chance: Random) -> Action | None:
    loose = sorted(model.now.schemas - {"main"})
    if not loose:
        return None
    name = chance.choice(loose)
    if any(home == name for home, _ in model.now.views.values()):
        return None

    def on_model(m: Model) -> None:
        m.now.schemas.remove(name)
        m.now.tables = {n: t for n, t in m.now.tables.items() if n[0] != name}
        m.now.views = {n: v for n, v in m.now.views.items() if n[0] != name}

    return Action(
        f"drop schema {name}",
        on_model,
        lambda lake: lake.drop_schema(name, cascade=True),
        f"DROP SCHEMA lake.{quote(name)} CASCADE",
    )


_TEMPORAL = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


def set_partitioning(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None:
        return None
    table = model.now.tables[name]
    empty = all(uid != table.uid for uid in _ever_filled(model)) and not table.rows
    choices = [(c.name, by) for c in table.columns for by in _keys(c, empty)]
    picked = chance.sample(choices, min(len(choices), chance.choice((0, 1, 1, 2))))
    columns = tuple(column for column, _ in picked)
    if len(set(columns)) < len(columns):
        return None

    def on_model(m: Model) -> None:
        m.now.tables[name].partitioned = columns

    by = [text for _, text in picked]
    clause = f"SET PARTITIONED BY ({', '.join(by)})" if by else "RESET PARTITIONED BY"
    return Action(
        f"partition {name} by {by}",
        on_model,
        lambda lake: lake.table(spelled(name)).set_partitioning(by),
        f"ALTER TABLE lake.{spelled(name)} {clause}",
        table=name,
    )


def _ever_filled(model: Model) -> Iterator[int]:
    for state in model.snapshots.values():
        yield from (table.uid for table in state.tables.values() if table.rows)


def _keys(column: Column, empty: bool) -> list[str]:
    if not isinstance(column.kind, str):
        return []
    name = quote(column.name)
    found = []
    if column.kind in ("BOOLEAN", "TINYINT", "INTEGER", "VARCHAR", "DATE", "DECIMAL(9,2)"):
        found.append(name)
    if column.kind in _TEMPORAL:
        found += [f"year({name})", f"month({name})", f"day({name})"]
    if empty and column.kind in ("BIGINT", "INTEGER", "VARCHAR", "DATE"):
        found.append(f"bucket(3, {name})")
    return found


def set_sorting(model: Model, chance: Random) -> Action | None:
    name = _a_table(model, chance)
    if name is None:
        return None
    scalars = [c.name for c in model.now.tables[name].columns if isinstance(c.kind, str)]
    columns = tuple(chance.sample(scalars, min(len(scalars), chance.randint(0, 2))))

    def on_model(m: Model) -> None:
        m.now.tables[name].sorted = columns

    by = [f"{quote(c)} {chance.choice(('ASC', 'DESC'))}" for c in columns]
    clause = f"SET SORTED BY ({', '.join(by)})" if by else "RESET SORTED BY"
    return Action(
        f"sort {name} by {by}",
        on_model,
        lambda lake: lake.table(spelled(name)).set_sorting(by),
        f"ALTER TABLE lake.{spelled(name)} {clause}",
        table=name,
    )


def create_view(model: Model, chance: Random) -> Action | None:
    """A view that names the key only, so that columns may come and go."""
    table = _a_table(model, chance)
    free = [
        (s, "v")
        for s in sorted(model.now.schemas)
        if (s, "v") not in model.now.views and (s, "v") not in model.now.tables
    ]
    if table is None or not free:
        return None
    name = chance.choice(free)
    sql = f"SELECT {KEY} AS key FROM {spelled(table)} WHERE {KEY} % 2 = 0"

    return Action(
        f"create view {name} on {table}",
        lambda m: m.now.views.__setitem__(name, table),
        lambda lake: lake.create_view(spelled(name), sql),
        f"CREATE VIEW lake.{spelled(name)} AS {sql}",
    )


def drop_view(model: Model, chance: Random) -> Action | None:
    if not model.now.views:
        return None
    name = chance.choice(sorted(model.now.views))
    return Action(
        f"drop view {name}",
        lambda m: m.now.views.__delitem__(name),
        lambda lake: lake.drop(spelled(name)),
        f"DROP VIEW lake.{spelled(name)}",
    )


ON_ROWS: tuple[Maker, ...] = (
    *(append, append, append, delete, update, update, overwrite, merge),
    rollback,
)
ON_SHAPES: tuple[Maker, ...] = (
    add_column,
    add_column,
    drop_column,
    rename_column,
    widen,
    widen,
    reorder,
    set_default,
    change_field,
    create_table,
    create_table,
    drop_table,
    rename_table,
    create_schema,
    drop_schema,
    set_partitioning,
    set_sorting,
    create_view,
    drop_view,
)


def any_action(model: Model, chance: Random) -> Action:
    """Some change that is possible now."""
    while True:
        if not model.now.tables:
            maker: Maker = create_table
        else:
            maker = chance.choice(ON_ROWS if chance.random() < 0.65 else ON_SHAPES)
        action = maker(model, chance)
        if action is not None:
            return action
