"""What happens to a series: each doing looks at the table as it is, and chooses by chance."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import tidelake
from tidelake.model.names import quote
from tidelake.model.schema import Column
from tidelake.model.settings import Settings
from tidelake.model.types import INTEGERS

Doing = Callable[[tidelake.Lake, Random, Path], str]
"""Does something, and says what."""

ENTITIES = ("VARCHAR", "INTEGER", "SMALLINT", "BIGINT", "UUID", "DATE", "UTINYINT")
TIMES = (
    *["TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"],
    *["INTEGER", "BIGINT", "USMALLINT", "UBIGINT"],
)
PLAIN_TIMES = ("TIMESTAMP", "TIMESTAMPTZ", "DATE", "INTEGER", "BIGINT")
WIDER = {
    "int8": ("SMALLINT", "BIGINT"),
    "int16": ("INTEGER", "BIGINT"),
    "int32": ("BIGINT",),
    "uint8": ("USMALLINT", "BIGINT"),
    "uint16": ("UINTEGER", "BIGINT"),
    "date": ("TIMESTAMP",),
    "timestamp_s": ("TIMESTAMP", "TIMESTAMP_NS"),
    "timestamp_ms": ("TIMESTAMP",),
}
TEXTS = ("a", "b", "", "it's", "ü \u2603", '["a"]')
UUIDS = tuple(str(uuid.UUID(int=n * 0x1234567890ABCDEF1234567890ABCDEF % 2**128)) for n in range(3))
SQUARE = "ts"
BASE = datetime(1970, 1, 1, 20)


def the_table(lake: tidelake.Lake) -> tidelake.Table:
    return lake.table(lake.tables()[0])


def roles(table: tidelake.Table) -> tuple[list[Column], Column | None]:
    """Entity columns and the clock; of a table that is no series any more, what is there."""
    settings = Settings.of(table.info.tags)
    by_id = {column.id: column for column in table.schema}
    entity = [by_id[each] for each in settings.entity if each in by_id]
    time = by_id.get(-1 if settings.event_time is None else settings.event_time)
    return entity, time or next((c for c in table.schema if c.name.startswith(SQUARE)), None)


def value(column: Column, chance: Random, *, is_time: bool = False) -> str:
    """A literal; a few entities, and moments on both sides of 1970."""
    if not is_time and chance.random() < 0.08:
        return f"CAST(NULL AS {column.duckdb_type})"
    return f"CAST('{_text(column.type, chance)}' AS {column.duckdb_type})"


def _text(kind: str, chance: Random) -> str:
    if kind == "varchar":
        return chance.choice(TEXTS).replace("'", "''")
    if kind == "uuid":
        return chance.choice(UUIDS)
    if kind in INTEGERS:
        low = 0 if kind.startswith("u") else -100
        far = [70_000] if kind.endswith(("32", "64")) else []
        further = [3_000_000_000] if kind.endswith("64") else []
        return str(chance.choice([chance.randint(low, 120), *far, *further]))
    moment = BASE + timedelta(minutes=chance.randint(-60 * 40, 60 * 60))
    if kind == "date":
        return str(moment.date())
    if kind.startswith("timestamp"):
        return str(moment.replace(tzinfo=UTC) if kind == "timestamptz" else moment)
    if kind == "boolean":
        return chance.choice(["true", "false"])
    return str(chance.randint(0, 9))


def rows_sql(table: tidelake.Table, chance: Random, count: int) -> str:
    _, time = roles(table)
    columns = list(table.schema)
    rows = [
        f"({', '.join(value(c, chance, is_time=c == time) for c in columns)})" for _ in range(count)
    ]
    names = ", ".join(quote(c.name) for c in columns)
    return f"SELECT {names} FROM (VALUES {', '.join(rows)}) AS v({names})"


def arrow(sql: str) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET arrow_lossless_conversion = true")
        return connection.execute(sql).to_arrow_table()


def how_many(chance: Random) -> int:
    return chance.choice((1, 2, 4, 15, 30))


def condition(table: tidelake.Table, chance: Random) -> str:
    entity, time = roles(table)
    columns = [*entity, *([time] if time else []), *list(table.schema)[-1:]]
    column = chance.choice(columns)
    if chance.random() < 0.1:
        return f"{quote(column.name)} IS NULL"
    sign = chance.choice(["=", "<", ">=", "<>"])
    return f"{quote(column.name)} {sign} {value(column, chance, is_time=True)}"


def assignment(table: tidelake.Table, chance: Random) -> tuple[str, str]:
    entity, time = roles(table)
    column = chance.choice([*entity, *([time] if time else []), *table.schema])
    return quote(column.name), value(column, chance, is_time=column == time)


def a_bucket(kind: str, chance: Random) -> str:
    if kind in INTEGERS:
        return str(chance.choice([1, 10, 1000]))
    if kind == "date":
        return chance.choice(["1d", "2d", "1w", "1mo", "1y"])
    widths = ["1m", "15m", "1h", "7h", "1d", "1w", "1mo", "1s", "2y"]
    return chance.choice(widths if kind == "timestamp_s" else [*widths, "1ms", "250ms"])


def create(lake: tidelake.Lake, chance: Random, *, plain: bool = False) -> str:
    entities = [f"e{n} {chance.choice(ENTITIES)}" for n in range(chance.choice([0, 1, 1, 1, 2]))]
    kind = chance.choice(PLAIN_TIMES if plain else TIMES)
    columns = [*entities, f"ts {kind}", "v INTEGER"]
    chance.shuffle(columns)
    shape = ", ".join(columns)
    parted = [[], [], ["v"]] + ([["day(ts)"]] if kind in ("TIMESTAMP", "DATE") else [])
    given: dict[str, Any] = {
        "partition_by": chance.choice(parted),
        "sort_by": chance.choice([[], [], ["ts"], ["v"]]),
        "entity": [each.split()[0] for each in entities],
        "event_time": "ts",
    }
    ducklake = {"INTEGER": "int32", "BIGINT": "int64", "USMALLINT": "uint16", "UBIGINT": "uint64"}
    given["bucket"] = a_bucket(ducklake.get(kind, kind.lower()), chance)
    lake.create_table(f"s{chance.randrange(1000)}", shape, **given)
    return f"create ({shape}) {given}"


def append(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    sql = rows_sql(table, chance, how_many(chance))
    table.append(arrow(sql))
    return f"append {sql}"


def insert(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    sql = f"INSERT INTO {table.name} BY NAME {rows_sql(table, chance, how_many(chance))}"
    lake.sql(sql)
    return sql


def delete(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    where = condition(table, chance)
    table.delete(where)
    return f"delete where {where}"


def update(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    where, (name, new) = condition(table, chance), assignment(table, chance)
    table.update({name: new}, where=where)
    return f"update {name} = {new} where {where}"


def merge(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    sql = rows_sql(table, chance, 1)
    on = chance.choice([column.name for column in table.schema])
    table.merge(arrow(sql), on=quote(on))
    return f"merge on {on}: {sql}"


def overwrite(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    sql = rows_sql(table, chance, how_many(chance))
    table.overwrite(arrow(sql))
    return f"overwrite {sql}"


def rollback(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    if not (known := table.snapshots()):
        return "no rollback: the table is the transaction's own"
    at = chance.choice(known).snapshot_id
    table.rollback(to=at)
    return f"rollback to {at}"


def add_column(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    """One that becomes part of the entity, too."""
    table = the_table(lake)
    free = [name for name in ("x", "y", "z") if name not in table.schema.names]
    entity, time = roles(table)
    added = (
        f"{free[0]} {chance.choice(['VARCHAR', 'INTEGER'])} DEFAULT '7'" if free else "x INTEGER"
    )
    table.evolve(add=added)
    if time is not None and chance.random() < 0.6:
        names = [quote(column.name) for column in entity] + [free[0]]
        bucket = Settings.of(table.info.tags).bucket or a_bucket(time.type, chance)
        table.set_coverage(bucket, entity=names, event_time=quote(time.name))
        return f"add {added}, entity {names}"
    return f"add {added}"


def drop_column(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    name = quote(chance.choice([column.name for column in table.schema]))
    table.evolve(drop=[name])
    return f"drop {name}"


def rename_column(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    old = chance.choice([column.name for column in table.schema])
    new = f"{old[:2]}_{chance.randrange(1000)}"
    table.evolve(rename={quote(old): new})
    return f"rename {old} to {new}"


def _widening(table: tidelake.Table, chance: Random) -> tuple[str, str] | None:
    loose = [column for column in table.schema if column.type in WIDER]
    if not loose:
        return None
    column = chance.choice(loose)
    return quote(column.name), chance.choice(WIDER[column.type])


def widen(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    found = _widening(table, chance)
    if found is not None:
        table.evolve(widen=dict([found]))
    return f"widen {found}"


def rename(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    old, new = the_table(lake).name, f"s{chance.randrange(1000)}"
    lake.rename(old, new)
    return f"rename table {old} to {new}"


def anew(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    name = the_table(lake).name
    lake.drop(name)
    return f"drop {name}, {create(lake, chance, plain=True)}"


def set_coverage(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    entity, time = roles(table)
    if chance.random() < 0.25 or time is None:
        table.set_coverage(None)
        return "set coverage to none"
    bucket = a_bucket(time.type, chance)
    names = [quote(column.name) for column in entity if chance.random() < 0.8]
    table.set_coverage(bucket, entity=names, event_time=quote(time.name))
    return f"set coverage {bucket} of {names} by {time.name}"


def add_files(lake: tidelake.Lake, chance: Random, folder: Path) -> str:
    table = the_table(lake)
    path = _foreign(table, chance, folder)
    table.add_files(str(path))
    return f"add {path.name}"


def _foreign(table: tidelake.Table, chance: Random, folder: Path) -> Path:
    path = folder / f"found-{chance.randrange(1 << 30)}.parquet"
    with duckdb.connect() as connection:
        connection.sql(rows_sql(table, chance, 5)).write_parquet(str(path))
    return path


def arrange(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    table = the_table(lake)
    name = chance.choice([column.name for column in table.schema])
    if chance.random() < 0.5:
        table.set_sorting([quote(name)])
        return f"sort by {name}"
    parted = chance.choice([[], [quote(name)]])
    table.set_partitioning(parted)
    return f"partition by {parted}"


def compact(lake: tidelake.Lake, _: Random, __: Path) -> str:
    the_table(lake).compact()
    return "compact"


def expire(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    keep = chance.randint(1, 6)
    lake.expire(keep_last=keep)
    return f"expire all but {keep}"


def tag(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    """Snapshots that stay when those around them go."""
    at = chance.choice(lake.snapshots()).snapshot_id
    lake.tag(f"tag-{chance.randrange(1 << 30)}", known_at=at)
    return f"tag {at}"


def cleanup(lake: tidelake.Lake, _: Random, __: Path) -> str:
    lake.cleanup(older_than=timedelta(0))
    return "cleanup"


def option(lake: tidelake.Lake, chance: Random, _: Path) -> str:
    limit = chance.choice((0, 3, 10, 20))
    lake.set_option("data_inlining_row_limit", limit)
    return f"inlining limit {limit}"


def recompute(lake: tidelake.Lake, _: Random, __: Path) -> str:
    return f"recompute {the_table(lake).recompute_coverage()} files"


ON_ROWS: tuple[Doing, ...] = (
    *[append] * 6,
    *[insert] * 2,
    *[delete] * 4,
    *[update] * 4,
    *[merge, merge, overwrite, rollback, add_files],
)
ON_SHAPES: tuple[Doing, ...] = (
    *[add_column, drop_column, rename_column, widen, widen, rename, anew, arrange],
    *[set_coverage] * 3,
)
UPKEEP: tuple[Doing, ...] = (
    *[compact] * 3,
    *[expire, cleanup, option, recompute, tag],
)


def ours(chance: Random) -> Doing:
    return chance.choice(ON_ROWS if chance.random() < 0.75 else ON_SHAPES)


def by_duckdb(table: tidelake.Table, ids: list[int], chance: Random, folder: Path) -> list[str]:
    """Statements for DuckDB, in one transaction if they are several."""
    if chance.random() < 0.6:
        some = [_duck_write(table, chance) for _ in range(chance.choice([1, 1, 1, 2]))]
        return some if len(some) == 1 else ["BEGIN", *some, "COMMIT"]
    name, old = table.name, quote(chance.choice(table.schema.names))
    wider = _widening(table, chance)
    gone = sorted(chance.sample(ids[:-1], min(len(ids) - 1, 3)))
    return [
        chance.choice(
            [
                "CALL ducklake_flush_inlined_data('lake')",
                "CALL ducklake_merge_adjacent_files('lake')",
                "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.01)",
                *([f"CALL ducklake_expire_snapshots('lake', versions => {gone})"] if gone else []),
                "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
                f"ALTER TABLE {name} RENAME COLUMN {old} TO d{chance.randrange(1000)}",
                f"ALTER TABLE {name} ADD COLUMN d{chance.randrange(1000)} INTEGER DEFAULT 3",
                *([f"ALTER TABLE {name} ALTER {wider[0]} TYPE {wider[1]}"] if wider else []),
                f"ALTER TABLE {name} DROP COLUMN {old}",
                f"ALTER TABLE {name} RENAME TO s{chance.randrange(1000)}",
                f"CALL ducklake_add_data_files('lake', '{name}',"
                f" '{_foreign(table, chance, folder)}')",
            ]
        )
    ]


def _duck_write(table: tidelake.Table, chance: Random) -> str:
    kind = chance.choice(["insert", "insert", "delete", "update"])
    if kind == "insert":
        return f"INSERT INTO {table.name} BY NAME {rows_sql(table, chance, how_many(chance))}"
    where = condition(table, chance)
    if kind == "delete":
        return f"DELETE FROM {table.name} WHERE {where}"
    name, new = assignment(table, chance)
    return f"UPDATE {table.name} SET {name} = {new} WHERE {where}"
