"""The model, Tidelake and DuckDB side by side. Differences come back as sentences."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import tidelake
from tidelake.lake.changeable import Changeable
from tidelake.model.names import TableName
from tidelake.testing import canonical
from tidelake.testing.agreement import row_differences
from tidelake.testing.histories.action import KEY, qualified_name, quote
from tidelake.testing.histories.kinds import arrow, literal, order
from tidelake.testing.histories.model import Column, Name, State, Table
from tidelake.testing.oracle import exact_arrow
from tidelake.testing.place import files_below

Found = list[str]


def expected_arrow(table: Table) -> pa.Table:
    return pa.table(
        [
            pa.array([row.values[c.name] for row in table.rows], arrow(c.kind))
            for c in table.columns
        ],
        schema=pa.schema([pa.field(c.name, arrow(c.kind)) for c in table.columns]),
    )


def unequal(what: str, expected: Any, got: Any) -> Found:
    return [] if expected == got else [f"{what}: expected {expected!r}, got {got!r}"]


def same_table(expected: pa.Table, got: pa.Table) -> Found:
    kinds = [canonical.type_name(kind) for kind in expected.schema.types]
    got_kinds = [canonical.type_name(kind) for kind in got.schema.types]
    return [
        *unequal("columns", expected.column_names, got.column_names),
        *unequal("types", kinds, got_kinds),
        *row_differences(canonical.rows(expected), canonical.rows(got)),
    ]


def _labelled(label: str, found: Found) -> Found:
    return [f"{label}: {one}" for one in found]


def tide_state(lake: Changeable, state: State, label: str) -> Found:
    """Everything that Tidelake shows of a moment."""
    found = unequal("schemas", sorted(state.schemas), sorted(lake.schemas()))
    found += unequal("tables", sorted(state.tables), sorted(map(_parsed, lake.tables())))
    found += unequal("views", sorted(state.views), sorted(map(_parsed, lake.views())))
    if found:
        return _labelled(f"{label} tidelake", found)
    for name, table in state.tables.items():
        here = f"{label} tidelake {name}"
        handle = lake.table(qualified_name(name))
        found += _labelled(here, same_table(expected_arrow(table), handle.to_arrow()))
        found += _labelled(here, unequal("count()", len(table.rows), handle.count()))
    for name, source in state.views.items():
        rows = lake.sql(f"SELECT * FROM {qualified_name(name)}").to_arrow()
        found += _labelled(f"{label} tidelake {name}", _view(state, source, rows))
    return found


def _parsed(text: str) -> Name:
    name = TableName.parse(text)
    return name.schema, name.name


def _view(state: State, source: Name, rows: pa.Table) -> Found:
    keys = [row.values[KEY] for row in state.tables[source].rows if row.values[KEY] % 2 == 0]
    return unequal("keys", sorted(keys), sorted(rows["key"].to_pylist()))


def duck_state(duck: duckdb.DuckDBPyConnection, at: int, state: State, label: str) -> Found:
    """The rows and counts that DuckDB sees at a snapshot."""
    found: Found = []
    for name, table in state.tables.items():
        here = f"{label} duckdb {name}"
        source = f"lake.{qualified_name(name)} AT (VERSION => {at})"
        rows = exact_arrow(duck.sql(f"SELECT * FROM {source}"))
        found += _labelled(here, same_table(expected_arrow(table), rows))
        (count,) = duck.execute(f"SELECT count(*) FROM {source}").fetchall()[0]
        found += _labelled(here, unequal("count(*)", len(table.rows), count))
    return found


def duck_lists_all_columns(duck: duckdb.DuckDBPyConnection) -> bool:
    """Whether the catalog says which columns each of its tables of kept rows has. DuckDB leaves
    that out of those that it makes for the first small write."""
    rows = duck.execute(
        "SELECT table_id, schema_version FROM __ducklake_metadata_lake.ducklake_inlined_data_tables"
        " EXCEPT"
        " SELECT table_id, schema_version FROM __ducklake_metadata_lake.ducklake_schema_versions"
    ).fetchall()
    return not rows


def duck_now(duck: duckdb.DuckDBPyConnection, state: State, label: str) -> Found:
    """What DuckDB says of the newest snapshot, with no version named."""
    found: Found = []
    tables = duck.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake'"
    ).fetchall()
    found += unequal("tables", sorted(state.tables), sorted(tables))
    views = duck.execute(
        "SELECT schema_name, view_name FROM duckdb_views()"
        " WHERE database_name = 'lake' AND NOT internal"
    ).fetchall()
    found += unequal("views", sorted(state.views), sorted(views))
    for name, source in state.views.items():
        rows = duck.sql(f"SELECT * FROM lake.{qualified_name(name)}").to_arrow_table()
        found += _labelled(str(name), _view(state, source, rows))
    for name, table in state.tables.items():
        rows = exact_arrow(duck.sql(f"SELECT * FROM lake.{qualified_name(name)}"))
        found += _labelled(str(name), same_table(expected_arrow(table), rows))
    return _labelled(f"{label} duckdb", found)


def tide_answers(lake: tidelake.Lake, state: State, chance: Random, most: int | None) -> Found:
    """Filtered reads of the newest snapshot; on some columns of each table, or on all."""
    found: Found = []
    for name, table, column in _chosen(state, chance, most):
        handle = lake.table(qualified_name(name))
        for where, keys in _probes(table, column, chance):
            rows = handle.scan(columns=[KEY], where=where).to_arrow()
            here = f"tidelake {name} {column.kind} where {where}"
            found += unequal(here, sorted(keys), sorted(rows[KEY].to_pylist()))
    return found


def duck_answers(
    duck: duckdb.DuckDBPyConnection, state: State, chance: Random, most: int | None
) -> Found:
    """Answers that DuckDB takes from statistics, or finds through them. Of blobs it keeps bounds
    in one spelling and asks for them in another, so that it misses rows in its own files. What a
    widened column is compared with it rounds to the whole numbers that are in older files."""
    found: Found = []
    for name, table, column in _chosen(state, chance, most):
        if column.kind == "BLOB":
            continue
        here = f"duckdb {name} {column.name} {column.kind}"
        found += _labelled(here, _extremes(duck, name, table, column))
        if column.was_narrower:
            continue
        probes = _probes(table, column, chance)
        parts = [
            f"SELECT {number}, {KEY} FROM lake.{qualified_name(name)} WHERE {where}"
            for number, (where, _) in enumerate(probes)
        ]
        rows = duck.execute(" UNION ALL ".join(parts)).fetchall()
        for number, (where, keys) in enumerate(probes):
            got = sorted(key for n, key in rows if n == number)
            found += unequal(f"{here} where {where}", sorted(keys), got)
    return found


def _chosen(state: State, chance: Random, most: int | None) -> Iterator[tuple[Name, Table, Column]]:
    for name, table in state.tables.items():
        columns = [c for c in table.columns if isinstance(c.kind, str)]
        for column in chance.sample(columns, min(len(columns), most or len(columns))):
            yield name, table, column


def _extremes(duck: duckdb.DuckDBPyConnection, name: Name, table: Table, column: Column) -> Found:
    values = [row.values[column.name] for row in table.rows]
    present = sorted((v for v in values if v is not None), key=order)
    expected = (present[0], present[-1]) if present else (None, None)
    of = quote(column.name)
    sql = f"SELECT min({of}), max({of}) FROM lake.{qualified_name(name)}"
    got = duck.sql(sql).to_arrow_table()
    wanted = pa.table([pa.array([v], arrow(column.kind)) for v in expected], ["min", "max"])
    return unequal("min, max", canonical.rows(wanted), canonical.rows(got))


def _probes(table: Table, column: Column, chance: Random) -> list[tuple[str, list[int]]]:
    """Conditions around the least and the greatest value, and the keys that meet them."""
    sql = quote(column.name)
    rows = [(row.values[column.name], row.values[KEY]) for row in table.rows]
    present = sorted((pair for pair in rows if pair[0] is not None), key=lambda p: order(p[0]))
    found = [
        (f"{sql} IS NULL", [key for value, key in rows if value is None]),
        (f"{sql} IS NOT NULL", [key for value, key in rows if value is not None]),
    ]
    picked = [present[0], present[-1], chance.choice(present)] if present else []
    for value, _ in picked:
        text = literal(column.kind, value)
        mark = order(value)
        found += [
            (f"{sql} = {text}", [key for v, key in present if order(v) == mark]),
            (f"{sql} >= {text}", [key for v, key in present if order(v) >= mark]),
            (f"{sql} < {text}", [key for v, key in present if order(v) < mark]),
        ]
    return found


RowIdsByKey = dict[Name, list[tuple[int, int]]]


def tide_row_ids(lake: tidelake.Lake, state: State) -> RowIdsByKey:
    found = {}
    for name in state.tables:
        rows = lake.table(qualified_name(name)).scan(columns=[KEY, "rowid"]).to_arrow()
        found[name] = sorted(zip(rows[KEY].to_pylist(), rows["rowid"].to_pylist(), strict=True))
    return found


def duck_row_ids(duck: duckdb.DuckDBPyConnection, state: State) -> RowIdsByKey:
    return {
        name: sorted(
            duck.execute(f"SELECT {KEY}, rowid FROM lake.{qualified_name(name)}").fetchall()
        )
        for name in state.tables
    }


class RowIds:
    """Every row keeps the id it was first seen with, and no two rows of a table share one."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def check(self, state: State, found: RowIdsByKey) -> Found:
        wrong: Found = []
        for name, table in state.tables.items():
            row_ids = dict(found[name])
            if len(set(row_ids.values())) < len(table.rows):
                wrong.append(f"row ids of {name} are not unique: {row_ids}")
            for row in table.rows:
                now = row_ids.get(row.values[KEY], -1)
                before = self._known.setdefault(row.uid, now)
                if before != now:
                    wrong.append(f"row ids of {name}: {row.values[KEY]} had {before}, now {now}")
        return wrong


def feed(duck: duckdb.DuckDBPyConnection, at: int, before: State, after: State) -> Found:
    """DuckDB's change feed of one commit against what the commit did."""
    found: Found = []
    earlier = {table.uid: (name, table) for name, table in before.tables.items()}
    for name, table in after.tables.items():
        old_name, old = earlier.get(table.uid, (name, Table(table.columns)))
        if old_name != name or [(c.name, c.kind) for c in old.columns] != [
            (c.name, c.kind) for c in table.columns
        ]:
            continue
        here = f"changes of {name} in {at}"
        found += _labelled(here, _feed(duck, at, name, old, table))
    return found


def _feed(
    duck: duckdb.DuckDBPyConnection, at: int, name: Name, before: Table, after: Table
) -> Found:
    old = {row.uid: row for row in before.rows}
    new = {row.uid: row for row in after.rows}
    expected: Counter[tuple[str, int]] = Counter()
    for uid, row in old.items():
        if uid not in new:
            expected["delete", row.values[KEY]] += 1
    for uid, row in new.items():
        if row.at == at and uid in old:
            expected["update_preimage", old[uid].values[KEY]] += 1
            expected["update_postimage", row.values[KEY]] += 1
        elif row.at == at:
            expected["insert", row.values[KEY]] += 1
    schema, table = (part.replace("'", "''") for part in name)
    sql = f"FROM ducklake_table_changes('lake', '{schema}', '{table}', {at}, {at})"
    rows = duck.execute(f"SELECT change_type, {KEY} {sql}").fetchall()
    got = Counter(rows)
    missing, extra = expected - got, got - expected
    if not missing and not extra:
        return []
    return [f"missing {sorted(missing.items())[:5]}; not expected {sorted(extra.items())[:5]}"]


def orphans(data: Path, duck: duckdb.DuckDBPyConnection) -> Found:
    """Files that nothing in the catalog knows, and files that are missing."""
    listed = duck.execute(
        """SELECT CASE WHEN f.path_is_relative THEN s.path || t.path || f.path ELSE f.path END
        FROM (SELECT table_id, path, path_is_relative
              FROM __ducklake_metadata_lake.ducklake_data_file UNION ALL
              SELECT table_id, path, path_is_relative
              FROM __ducklake_metadata_lake.ducklake_delete_file) f
        JOIN (SELECT DISTINCT table_id, schema_id, path
              FROM __ducklake_metadata_lake.ducklake_table) t USING (table_id)
        JOIN __ducklake_metadata_lake.ducklake_schema s USING (schema_id)"""
    ).fetchall()
    doomed = duck.execute(
        "SELECT path FROM __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion"
    ).fetchall()
    there = {str(path.relative_to(data)) for path in files_below(data)}
    live, old = {row[0] for row in listed}, {row[0] for row in doomed}
    return [
        *unequal("files nobody knows", set(), there - live - old),
        *unequal("files that are missing", set(), (live | old) - there),
    ]
