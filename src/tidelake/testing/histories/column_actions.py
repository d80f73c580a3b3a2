"""Random changes to the columns of a table."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tidelake.lake.changeable import Changeable
from tidelake.testing.histories.action import (
    KEY,
    Action,
    any_kind,
    qualified_name,
    quote,
    some_table,
)
from tidelake.testing.histories.kinds import WIDER, Kind, any_value, ddl, literal, widen_value
from tidelake.testing.histories.model import Column, Model, Name, Table


def new_name(table: Table, chance: Random) -> str | None:
    pool = ("a", "b", "c", "d", "e", "f", "odd name", 'q"q', "select")
    free = [name for name in pool if name not in table.names]
    return chance.choice(free) if free else None


def add_column(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
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
        table.reshaped = True
        for row in table.rows:
            row.values[column] = default

    def tide(lake: Changeable) -> object:
        clause = "" if default is None else f" DEFAULT {literal(kind, default)}"
        return lake.table(qualified_name(name)).evolve(add=f"{quote(column)} {ddl(kind)}{clause}")

    clause = "" if default is None else f" DEFAULT {literal(kind, default)}"
    return Action(
        f"add column {column} {ddl(kind)}{clause} to {name}",
        on_model,
        tide,
        f"ALTER TABLE lake.{qualified_name(name)} ADD COLUMN {quote(column)} {ddl(kind)}{clause}",
        table=name,
    )


def _loose(model: Model, chance: Random) -> tuple[Name, Column] | None:
    """A column that nothing depends on."""
    name = some_table(model, chance)
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
        table.reshaped = True
        for row in table.rows:
            del row.values[column.name]

    return Action(
        f"drop column {column.name} of {name}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).evolve(drop=[quote(column.name)]),
        f"ALTER TABLE lake.{qualified_name(name)} DROP COLUMN {quote(column.name)}",
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
        table.reshaped = True
        for row in table.rows:
            row.values[new] = row.values.pop(old)

    return Action(
        f"rename column {old} of {name} to {new}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).evolve(rename={quote(old): quote(new)}),
        f"ALTER TABLE lake.{qualified_name(name)} RENAME COLUMN {quote(old)} TO {quote(new)}",
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
        mine.was_narrower |= wider.startswith(("DECIMAL", "TIMESTAMP"))
        table.reshaped = True
        mine.default = widen_value(wider, mine.default)
        for row in table.rows:
            row.values[mine.name] = widen_value(wider, row.values[mine.name])

    return Action(
        f"widen {column.name} of {name} from {column.kind} to {wider}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).evolve(widen={quote(column.name): wider}),
        f"ALTER TABLE lake.{qualified_name(name)} ALTER COLUMN {quote(column.name)} TYPE {wider}",
        table=name,
    )


def reorder(model: Model, chance: Random) -> Action | None:
    name = some_table(model, chance)
    if name is None:
        return None
    names = list(model.now.tables[name].names)
    chance.shuffle(names)

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.columns = [table.column(column) for column in names]
        table.reordered = table.reshaped = True

    return Action(
        f"reorder {name} as {names}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).evolve(order=[quote(n) for n in names]),
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
        lambda lake: lake.table(qualified_name(name)).evolve(default={quote(column.name): value}),
        f"ALTER TABLE lake.{qualified_name(name)} ALTER COLUMN {quote(column.name)}"
        f" SET DEFAULT {said}",
        table=name,
    )


def change_field(model: Model, chance: Random) -> Action | None:
    """Add, drop or rename a field of a struct."""
    name = some_table(model, chance)
    if name is None:
        return None
    columns = model.now.tables[name].columns
    structs = [c for c in columns if not isinstance(c.kind, str) and c.kind[0] == "struct"]
    change = _field_change(chance.choice(structs), chance) if structs else None
    if change is None:
        return None

    def on_model(m: Model) -> None:
        table = m.now.tables[name]
        table.column(change.column).kind = ("struct", tuple(change.after))
        for row in table.rows:
            value = row.values[change.column]
            if value is not None:
                new = {n: value.get(change.before.get(n, n)) for n, _ in change.after}
                row.values[change.column] = new

    return Action(
        f"{change.duck} of {name}",
        on_model,
        lambda lake: lake.table(qualified_name(name)).evolve(**change.tide),
        f"ALTER TABLE lake.{qualified_name(name)} {change.duck}",
        table=name,
    )


@dataclass(frozen=True)
class _FieldChange:
    """`after` are the fields there will be, `before` the old names of those that get new ones."""

    column: str
    after: list[tuple[str, Kind]]
    duck: str
    tide: dict[str, Any]
    before: dict[str, str] = field(default_factory=dict)


def _field_change(column: Column, chance: Random) -> _FieldChange | None:
    assert not isinstance(column.kind, str)
    fields: list[tuple[str, Kind]] = list(column.kind[1])
    free = next(n for n in "abcdefghijklmnop" if n not in dict(fields))
    what = chance.choice(("add", "drop", "rename"))
    if what == "drop" and len(fields) == 1:
        return None
    old = chance.choice(fields)[0]
    kind: Kind = chance.choice(("INTEGER", "VARCHAR", ("list", "INTEGER")))
    path = f"{quote(column.name)}.{old if what != 'add' else free}"
    if what == "add":
        after = [*fields, (free, kind)]
        duck, new = f"ADD COLUMN {path} {ddl(kind)}", {path: ddl(kind)}
        return _FieldChange(column.name, after, duck, {"add": new})
    if what == "drop":
        after = [f for f in fields if f[0] != old]
        return _FieldChange(column.name, after, f"DROP COLUMN {path}", {"drop": [path]})
    after = [(free if n == old else n, k) for n, k in fields]
    duck, names = f"RENAME COLUMN {path} TO {free}", {path: free}
    return _FieldChange(column.name, after, duck, {"rename": names}, {free: old})
