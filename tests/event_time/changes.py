"""Random changes to a table of facts: mostly late, often about what was said before."""

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

from tests.event_time.facts import Facts
from tidelake.testing.histories.action import Action, Condition, Maker, quote
from tidelake.testing.histories.kinds import (
    SCALARS,
    WIDER,
    any_value,
    ddl,
    literal,
    order,
    widen_value,
)
from tidelake.testing.histories.model import Column, Model, Name
from tidelake.testing.histories.row_actions import as_arrow, as_values, rollback

NAME: Name = ("main", "facts")
TABLE = '"main"."facts"'
KEYS = ("VARCHAR", "INTEGER", "BIGINT", "UUID", "DATE", "DECIMAL(9,2)", "BLOB", "BOOLEAN")
TIMES = ("TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
VALUES = ("INTEGER", "VARCHAR", "DOUBLE", "BOOLEAN", "TINYINT", "DECIMAL(9,2)", "TIMESTAMP")
START = datetime(2024, 3, 10, 22)


def the_table(model: Model) -> Facts | None:
    found = model.now.tables.get(NAME)
    assert found is None or isinstance(found, Facts)
    return found


def create(model: Model, chance: Random, *, plain: bool = False) -> Action:
    """`plain`: of types that Spark reads, too."""
    times = [kind for kind in TIMES if not (plain and kind == "TIMESTAMP_NS")]
    columns = [Column("k", chance.choice(KEYS), required=True)]
    if chance.random() < 0.3:
        columns.append(Column("k2", "INTEGER", required=True))
    by = tuple(column.name for column in columns)
    columns.append(Column("ts", chance.choice(times), required=True))
    end = "gone" if chance.random() < 0.8 else None
    columns += [Column("gone", "BOOLEAN")] if end else []
    columns += [Column(name, chance.choice(VALUES)) for name in ("a", "b")]
    chance.shuffle(columns)
    kinds = {column.name: column.kind for column in columns}
    table = Facts(columns, uid=model.new_uid(), by=by, when="ts", end=end)
    table.partitioned, parts = chance.choice(
        [((), []), ((), []), (("ts",), ["day(ts)"]), (("ts",), ["year(ts)", "month(ts)"])]
        + ([(("k",), ["k"])] if kinds["k"] in ("VARCHAR", "INTEGER", "DATE") else [])
        + ([(("b",), ["b"])] if kinds["b"] in ("VARCHAR", "INTEGER", "BOOLEAN") else [])
    )
    table.sorted = chance.choice([(), (), ("k", "ts"), ("ts",), ("a",)])
    clauses = ", ".join(
        f"{c.name} {ddl(c.kind)}{' NOT NULL' if c.required else ''}" for c in columns
    )
    return Action(
        f"create ({clauses}) key {by} tombstone {end} parted {parts} sorted {table.sorted}",
        lambda m: m.now.tables.__setitem__(NAME, table),
        lambda lake: lake.create_table(
            TABLE,
            clauses,
            partition_by=parts,
            sort_by=list(table.sorted),
            key=list(by),
            event_time="ts",
            tombstone=end,
        ),
        table=NAME,
    )


def a_time(chance: Random, kind: Any) -> Any:
    """One of a few moments, so that many facts share theirs or are next to each other."""
    found = START + timedelta(hours=chance.randrange(6))
    if chance.random() < 0.3:
        found += chance.choice([-1, 1]) * timedelta(microseconds=1)
    if kind == "DATE":
        return date(2024, 3, 10) + timedelta(days=chance.randrange(5))
    if kind == "TIMESTAMP_S":
        return found.replace(microsecond=0)
    if kind == "TIMESTAMP_MS":
        return found.replace(microsecond=found.microsecond // 1000 * 1000)
    return found.replace(tzinfo=UTC) if kind == "TIMESTAMPTZ" else found


def a_key(chance: Random, kind: Any) -> Any:
    return chance.choice(SCALARS[kind][1][:4])


def a_value(table: Facts, column: Column, chance: Random) -> Any:
    if column.name in table.by:
        return a_key(chance, column.kind)
    if column.name == table.when:
        return a_time(chance, column.kind)
    if column.name == table.end:
        return chance.choice((True, False, False, None))
    return any_value(chance, column.kind)


def new_facts(table: Facts, chance: Random, count: int) -> list[dict[str, Any]]:
    """No two of one key and time, unless they are the same in all: which of them is the later
    one would depend on how the rows of one write are arranged."""
    loose = [c.name for c in table.columns if c.name not in (*table.by, table.when)]
    left_out = {name for name in loose if chance.random() < 0.1}
    found: dict[Any, dict[str, Any]] = {}
    for _ in range(count):
        row = {c.name: a_value(table, c, chance) for c in table.columns if c.name not in left_out}
        found[*table.key(row), row[table.when]] = row
    rows = list(found.values())
    if chance.random() < 0.2:
        rows += [dict(row) for row in chance.choices(rows, k=2)]
    return rows


def how_many(chance: Random) -> int:
    return chance.choice((1, 1, 2, 4, 12, 25))


def append(model: Model, chance: Random) -> Action | None:
    table = the_table(model)
    assert table is not None
    rows = new_facts(table, chance, how_many(chance))
    data: Any = as_arrow(table, rows) if chance.random() < 0.5 else rows
    return Action(
        f"append {rows}",
        lambda m: m.add(NAME, rows),
        lambda lake: lake.table(TABLE).append(data),
        f"INSERT INTO lake.{TABLE} {as_values(table, rows)}",
        table=NAME,
    )


def condition(table: Facts, chance: Random) -> Condition:
    column = chance.choice(table.columns)
    name, sql = column.name, quote(column.name)
    if chance.random() < 0.15:
        return Condition(f"{sql} IS NULL", lambda v: v[name] is None)
    value = a_value(table, column, chance)
    while value is None:
        value = a_value(table, column, chance)
    signs = {
        "=": lambda a, b: a == b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    sign = chance.choice(list(signs))
    return Condition(
        f"{sql} {sign} {literal(column.kind, value)}",
        lambda v: v[name] is not None and bool(signs[sign](order(v[name]), order(value))),
    )


def delete(model: Model, chance: Random) -> Action | None:
    table = the_table(model)
    assert table is not None
    where = condition(table, chance)

    def on_model(m: Model) -> None:
        now = m.now.tables[NAME]
        now.rows = [row for row in now.rows if not where.holds(row.values)]

    return Action(
        f"delete where {where.sql}",
        on_model,
        lambda lake: lake.table(TABLE).delete(where.sql),
        f"DELETE FROM lake.{TABLE} WHERE {where.sql}",
        table=NAME,
    )


def update(model: Model, chance: Random) -> Action | None:
    """Any column: a fact may turn out to be about another key or another time. Not where the rows
    of one write are arranged: some may then come to share theirs."""
    table = the_table(model)
    assert table is not None
    where = condition(table, chance)
    tied = {*table.by, table.when} if table.partitioned or table.sorted else set()
    loose = [c for c in table.columns if c.name not in tied]
    if not loose:
        return None
    chosen = chance.sample(loose, min(len(loose), chance.randint(1, 2)))
    values = {c.name: a_value(table, c, chance) for c in chosen}
    said = {c.name: literal(c.kind, values[c.name]) for c in chosen}

    def on_model(m: Model) -> None:
        for row in m.now.tables[NAME].rows:
            if where.holds(row.values):
                row.values |= values

    assigned = ", ".join(f"{quote(name)} = {value}" for name, value in said.items())
    return Action(
        f"update set {assigned} where {where.sql}",
        on_model,
        lambda lake: lake.table(TABLE).update(said, where=where.sql),
        f"UPDATE lake.{TABLE} SET {assigned} WHERE {where.sql}",
        table=NAME,
    )


def overwrite(model: Model, chance: Random) -> Action | None:
    table = the_table(model)
    assert table is not None
    rows = new_facts(table, chance, how_many(chance))

    def on_model(m: Model) -> None:
        m.now.tables[NAME].rows = []
        m.add(NAME, rows)

    return Action(
        f"overwrite with {rows}",
        on_model,
        lambda lake: lake.table(TABLE).overwrite(as_arrow(table, rows)),
        table=NAME,
    )


def merge(model: Model, chance: Random) -> Action | None:
    """Corrections in place: what is known of a key and a time is put right, or said now."""
    table = the_table(model)
    assert table is not None
    rows = new_facts(table, chance, how_many(chance))
    said = {(*table.key(row), row[table.when]): row for row in rows}

    def on_model(m: Model) -> None:
        there = set()
        for row in m.now.tables[NAME].rows:
            place = (*table.key(row.values), row.values[table.when])
            if place in said:
                row.values |= said[place]
                there.add(place)
        m.add(NAME, [row for place, row in said.items() if place not in there])

    return Action(
        f"merge {list(said.values())}",
        on_model,
        lambda lake: lake.table(TABLE).merge(
            as_arrow(table, list(said.values())), on=[*table.by, table.when]
        ),
        table=NAME,
    )


def add_column(model: Model, chance: Random) -> Action | None:
    table = the_table(model)
    assert table is not None
    free = [name for name in ("a", "b", "c", "d", "e f") if name not in table.names]
    if not free:
        return None
    name, kind = chance.choice(free), chance.choice(VALUES)
    default = any_value(chance, kind, 0.5)
    clause = "" if default is None else f" DEFAULT {literal(kind, default)}"

    def on_model(m: Model) -> None:
        now = m.now.tables[NAME]
        now.columns.append(Column(name, kind, default))
        for row in now.rows:
            row.values[name] = default

    return Action(
        f"add {name} {kind}{clause}",
        on_model,
        lambda lake: lake.table(TABLE).evolve(add=f"{quote(name)} {kind}{clause}"),
        f"ALTER TABLE lake.{TABLE} ADD COLUMN {quote(name)} {kind}{clause}",
        table=NAME,
    )


def drop_column(model: Model, chance: Random) -> Action | None:
    table = the_table(model)
    assert table is not None
    tied = {*table.roles, *table.partitioned, *table.sorted}
    loose = [name for name in table.names if name not in tied]
    if not loose:
        return None
    name = chance.choice(loose)

    def on_model(m: Model) -> None:
        now = m.now.tables[NAME]
        now.columns.remove(now.column(name))
        for row in now.rows:
            del row.values[name]

    return Action(
        f"drop {name}",
        on_model,
        lambda lake: lake.table(TABLE).evolve(drop=[quote(name)]),
        f"ALTER TABLE lake.{TABLE} DROP COLUMN {quote(name)}",
        table=NAME,
    )


def rename_column(model: Model, chance: Random) -> Action | None:
    """Those that decide, too."""
    table = the_table(model)
    assert table is not None
    loose = [n for n in table.names if n not in (*table.partitioned, *table.sorted)]
    free = [n for n in ("g", "h", "i", "odd name", "TS2") if n not in table.names]
    if not loose or not free:
        return None
    old, new = chance.choice(loose), chance.choice(free)

    def on_model(m: Model) -> None:
        now = m.now.tables[NAME]
        assert isinstance(now, Facts)
        now.column(old).name = new
        now.by = tuple(new if name == old else name for name in now.by)
        now.when = new if now.when == old else now.when
        now.end = new if now.end == old else now.end
        for row in now.rows:
            row.values[new] = row.values.pop(old)

    return Action(
        f"rename {old} to {new}",
        on_model,
        lambda lake: lake.table(TABLE).evolve(rename={quote(old): quote(new)}),
        f"ALTER TABLE lake.{TABLE} RENAME COLUMN {quote(old)} TO {quote(new)}",
        table=NAME,
    )


def widen(model: Model, chance: Random) -> Action | None:
    """Keys and times, too."""
    table = the_table(model)
    assert table is not None
    tied = {*table.partitioned, *table.sorted}
    loose = [c for c in table.columns if c.name not in tied and c.kind in WIDER]
    if not loose:
        return None
    column = chance.choice(loose)
    wider = chance.choice(WIDER[str(column.kind)])
    if column.name in table.by and wider in ("FLOAT", "DOUBLE"):
        return None

    def on_model(m: Model) -> None:
        now = m.now.tables[NAME]
        mine = now.column(column.name)
        mine.kind, mine.default = wider, widen_value(wider, mine.default)
        for row in now.rows:
            row.values[mine.name] = widen_value(wider, row.values[mine.name])

    return Action(
        f"widen {column.name} from {column.kind} to {wider}",
        on_model,
        lambda lake: lake.table(TABLE).evolve(widen={quote(column.name): wider}),
        f"ALTER TABLE lake.{TABLE} ALTER COLUMN {quote(column.name)} TYPE {wider}",
        table=NAME,
    )


ON_ROWS: tuple[Maker, ...] = (
    *(append, append, append, append, append, delete, update, update, overwrite, merge, merge),
    rollback,
)
ON_SHAPES: tuple[Maker, ...] = (add_column, drop_column, rename_column, widen)


def any_change(model: Model, chance: Random) -> Action:
    while True:
        maker = chance.choice(ON_ROWS if chance.random() < 0.85 else ON_SHAPES)
        action = maker(model, chance)
        if action is not None:
            return action
