"""Random changes to what there is by name, and to how tables are laid out."""

from collections.abc import Iterator
from random import Random

from tidelake.testing.histories.action import (
    KEY,
    Action,
    any_kind,
    qualified_name,
    quote,
    some_table,
)
from tidelake.testing.histories.kinds import ddl
from tidelake.testing.histories.model import Column, Model, Table


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
        lambda lake: lake.create_table(qualified_name(name), ", ".join(clauses)),
        f"CREATE TABLE lake.{qualified_name(name)} ({', '.join(clauses)})",
        table=name,
    )


def drop_table(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
    if name is None or name in model.now.views.values():
        return None
    return Action(
        f"drop table {name}",
        lambda m: m.now.tables.__delitem__(name),
        lambda lake: lake.drop(qualified_name(name)),
        f"DROP TABLE lake.{qualified_name(name)}",
        table=name,
    )


def rename_table(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
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
        lambda lake: lake.rename(qualified_name(name), quote(new[1])),
        f"ALTER TABLE lake.{qualified_name(name)} RENAME TO {quote(new[1])}",
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
    name = some_table(model, chance)
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
        lambda lake: lake.table(qualified_name(name)).set_partitioning(by),
        f"ALTER TABLE lake.{qualified_name(name)} {clause}",
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
    name = some_table(model, chance)
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
        lambda lake: lake.table(qualified_name(name)).set_sorting(by),
        f"ALTER TABLE lake.{qualified_name(name)} {clause}",
        table=name,
    )


def create_view(model: Model, chance: Random) -> Action | None:
    """A view that names the key only, so that columns may come and go."""
    table = some_table(model, chance)
    free = [
        (s, "v")
        for s in sorted(model.now.schemas)
        if (s, "v") not in model.now.views and (s, "v") not in model.now.tables
    ]
    if table is None or not free:
        return None
    name = chance.choice(free)
    sql = f"SELECT {KEY} AS key FROM {qualified_name(table)} WHERE {KEY} % 2 = 0"

    return Action(
        f"create view {name} on {table}",
        lambda m: m.now.views.__setitem__(name, table),
        lambda lake: lake.create_view(qualified_name(name), sql),
        f"CREATE VIEW lake.{qualified_name(name)} AS {sql}",
    )


def drop_view(model: Model, chance: Random) -> Action | None:
    if not model.now.views:
        return None
    name = chance.choice(sorted(model.now.views))
    return Action(
        f"drop view {name}",
        lambda m: m.now.views.__delitem__(name),
        lambda lake: lake.drop(qualified_name(name)),
        f"DROP VIEW lake.{qualified_name(name)}",
    )
