"""Pruning against lakes that DuckDB wrote: its own statistics, partition values and promotions.

For every condition, each file in which DuckDB finds a row must survive.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

import duckdb
import pytest

from tests.cases import every
from tidelake.model.file import DataFile
from tidelake.model.predicate import And, Compare, In, IsNull, Not, Or, Predicate, StartsWith
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.interface import Values
from tidelake.plan.prune import prune
from tidelake.testing.duck import duck_connection

CONDITIONS = 60
NAMES = {"TINYINT": "int8", "INTEGER": "int32", "BIGINT": "int64", "HUGEINT": "int128"} | {
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
}


@dataclass(frozen=True)
class Recipe:
    """A table of one column: its types over time, its partitioning, its values file by file."""

    kind: str
    values: tuple[str | None, ...]
    partition: str | None = None
    promoted: tuple[str, ...] = ()
    literals: tuple[object, ...] = ()


@dataclass
class Lake:
    files: list[DataFile] = field(default_factory=list)
    statistics: dict[int, dict[int, ColumnStats]] = field(default_factory=dict)
    specs: dict[int, PartitionSpec] = field(default_factory=dict)
    types_then: dict[int, dict[int, str]] = field(default_factory=dict)
    schema: Schema = field(default_factory=lambda: Schema(()))


NUMBERS = ("0", "1", "-1", "2", "100", "-100", "7", None)
DAYS = ("2020-01-01", "2020-01-31", "2019-12-31", "1969-12-31", "2020-12-31", None)
ODD_DAYS = (*DAYS, "infinity", "-infinity", "0044-03-15 (BC)", "12345-01-01")
MOMENTS = tuple(
    f"{day} {clock}" if day else None
    for day, clock in zip(
        DAYS, ["00:00:00", "12:34:56", "23:59:59", "01:00:00", "22:00:00", ""], strict=True
    )
)
FRACTIONS = ("0", "0.5", "0.1", "-2.25", "100", "16777217", None)
TEXTS = ("", "a", "ab", "b", "é", "\U0001f600", "\uffff", None)
UUIDS = ("00000000-0000-0000-0000-000000000001", "f79c3e09-677c-4bbd-a479-3f349cb785e7", None)
RECIPES = [
    *(
        Recipe(kind, NUMBERS, part)
        for kind in ("INTEGER", "BIGINT")
        for part in (None, "x", "bucket(3, x)")
    ),
    Recipe("UTINYINT", ("0", "1", "2", "100", None), "bucket(5, x)", ("SMALLINT", "INTEGER")),
    Recipe("TINYINT", NUMBERS, "bucket(5, x)", ("BIGINT",)),
    Recipe("INTEGER", NUMBERS, "x", ("DOUBLE",)),
    Recipe("INTEGER", ("16777217", "16777216", "5", None), None, ("FLOAT",)),
    Recipe("INTEGER", NUMBERS, "bucket(3, x)", ("DECIMAL(18,4)",)),
    Recipe("BOOLEAN", ("true", "false", None), "x", ("INTEGER",), (0, 1, 2, True)),
    Recipe("BOOLEAN", ("true", "false", None), "bucket(3, x)", (), (0, 1, 2, True)),
    Recipe("HUGEINT", (*NUMBERS, "100000000000000000000000000000000001"), "bucket(3, x)"),
    Recipe("HUGEINT", (*NUMBERS, "100000000000000000000000000000000001"), "x"),
    Recipe("FLOAT", (*FRACTIONS, "nan", "inf"), None, ("DOUBLE",), (0.1, float("nan"))),
    Recipe("FLOAT", (*FRACTIONS, "nan", "inf"), "x", ("DOUBLE",), (0.1, float("nan"))),
    Recipe("DOUBLE", (*FRACTIONS, "nan", "-0.0"), "bucket(4, x)", (), (0.1, float("nan"), 0)),
    Recipe("DECIMAL(9,2)", ("0.10", "14.20", "-3.00", None), "bucket(7, x)", ("DECIMAL(20,4)",)),
    Recipe("DECIMAL(30,5)", ("0.10", "14.20", "-3.00", None), "bucket(7, x)"),
    Recipe("DECIMAL(9,2)", ("0.10", "14.20", "-3.00", None), "x", ("DOUBLE",)),
    *(Recipe("DATE", ODD_DAYS, part) for part in (None, "x", "bucket(5, x)", "year(x)")),
    Recipe("DATE", DAYS, "year(x), month(x), day(x)", ("TIMESTAMP",)),
    Recipe("DATE", DAYS, "bucket(5, x)", ("TIMESTAMP",)),
    Recipe("DATE", DAYS, None, ("TIMESTAMPTZ",)),
    *(
        Recipe("TIMESTAMP", (*MOMENTS, "infinity"), part)
        for part in (None, "x", "year(x)", "year(x), month(x), day(x), hour(x)", "month(x)")
    ),
    Recipe("TIMESTAMP", MOMENTS, "hour(x), day(x), month(x), year(x)", ("TIMESTAMPTZ",)),
    Recipe("TIMESTAMP_S", MOMENTS, "bucket(5, x)", ("TIMESTAMP_NS",)),
    Recipe("TIMESTAMP_NS", MOMENTS, "bucket(5, x)"),
    *(
        Recipe("TIMESTAMPTZ", tuple(m and f"{m}+00" for m in MOMENTS), part)
        for part in (None, "x", "bucket(5, x)", "year(x), month(x), day(x), hour(x)")
    ),
    Recipe("TIME", ("00:00:00", "12:34:56.5", "24:00:00", None), "bucket(5, x)"),
    *(Recipe("VARCHAR", TEXTS, part) for part in (None, "x", "bucket(4, x)")),
    *(Recipe("UUID", UUIDS, part) for part in (None, "x", "bucket(4, x)")),
    Recipe("INTERVAL", ("1 day", "1 month", None)),
    Recipe("TIMETZ", ("01:00:00+02", "00:00:00+00", None)),
    Recipe("BLOB", ("a", "\\xAA", None), "bucket(4, x)"),
    Recipe("JSON", ("1", '{"a": 1}', None), "x"),
    Recipe("INTEGER", NUMBERS, None, ("JSON",)),
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("lake")
    with duck_connection(extensions=["ducklake"]) as opened:
        opened.execute(
            f"ATTACH 'ducklake:{folder / 'catalog.db'}' AS lake"
            f" (DATA_PATH '{folder / 'data'}', DATA_INLINING_ROW_LIMIT 0)"
        )
        yield opened


@pytest.mark.parametrize(
    "recipe", every(4, RECIPES), ids=lambda r: f"{r.kind}-{r.partition}-{r.promoted}"
)
def test_no_file_with_a_matching_row_is_pruned(connection, recipe):
    lake = _made(connection, recipe)
    checked = pruned = 0
    for predicate in _conditions(recipe):
        wanted = _files_with_matches(connection, predicate)
        if wanted is None:
            continue
        checked += 1
        for types_then in (lake.types_then, None):
            kept, _ = prune(
                lake.files,
                predicate=predicate,
                schema=lake.schema,
                statistics=lake.statistics,
                specs=lake.specs,
                types_then=types_then,
            )
            lost = wanted - {file.id for file in kept}
            assert not lost, (predicate.sql(), [lake.statistics[i] for i in lost])
            pruned += len(lake.files) - len(kept)
    assert checked > 20
    assert pruned or recipe.kind in ("INTERVAL", "TIMETZ")


def _made(connection: duckdb.DuckDBPyConnection, recipe: Recipe) -> Lake:
    connection.execute(f"CREATE OR REPLACE TABLE lake.t(x {recipe.kind})")
    if recipe.partition:
        connection.execute(f"ALTER TABLE lake.t SET PARTITIONED BY ({recipe.partition})")
    pairs = [recipe.values[at : at + 2] for at in range(0, len(recipe.values), 2)]
    for kind, chunks in _eras(recipe, pairs):
        if kind != recipe.kind:
            connection.execute(f"ALTER TABLE lake.t ALTER x SET DATA TYPE {kind}")
        for chunk in chunks:
            connection.execute(
                f"INSERT INTO lake.t SELECT CAST(unnest($1) AS {recipe.kind})", [list(chunk)]
            )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE local AS SELECT f.data_file_id AS file, t.x FROM"
        " (SELECT rowid AS row, x FROM lake.t) t JOIN __ducklake_metadata_lake.ducklake_data_file f"
        " ON t.row BETWEEN f.row_id_start AND f.row_id_start + f.record_count - 1"
        " WHERE f.table_id = (SELECT max(table_id) FROM __ducklake_metadata_lake.ducklake_table)"
    )
    return _read_catalog(connection, recipe)


def _eras(recipe: Recipe, chunks: list) -> list[tuple[str, list]]:
    """The first type gets all the values; after each promotion the same come once more."""
    return [(kind, chunks) for kind in (recipe.kind, *recipe.promoted)]


def _read_catalog(connection: duckdb.DuckDBPyConnection, recipe: Recipe) -> Lake:
    def rows(sql: str) -> list[tuple]:
        return connection.execute(
            sql.replace("ducklake_", "__ducklake_metadata_lake.ducklake_")
        ).fetchall()

    ((table,),) = rows("SELECT max(table_id) FROM ducklake_table")
    lake = Lake()
    last = (recipe.kind, *recipe.promoted)[-1]
    lake.schema = Schema((Column(1, "x", _name(last)),))
    values: dict[int, list[str | None]] = {}
    for file, _, value in rows(
        "SELECT data_file_id, partition_key_index, partition_value"
        f" FROM ducklake_file_partition_value WHERE table_id = {table} ORDER BY 1, 2"
    ):
        values.setdefault(file, []).append(value)
    for file, path, spec in rows(
        f"SELECT data_file_id, path, partition_id FROM ducklake_data_file WHERE table_id = {table}"
    ):
        keys: Values = tuple(values.get(file, ()))
        lake.files.append(DataFile(file, path, 1, 1, 1, partition_id=spec, partition_values=keys))
    for file, *facts in rows(
        "SELECT data_file_id, min_value, max_value, null_count, value_count, contains_nan"
        f" FROM ducklake_file_column_stats WHERE table_id = {table}"
    ):
        lake.statistics[file] = {1: ColumnStats(*facts)}
    for spec, found in itertools.groupby(
        rows(
            "SELECT partition_id, column_id, transform FROM ducklake_partition_column"
            f" WHERE table_id = {table} ORDER BY partition_id, partition_key_index"
        ),
        key=lambda row: row[0],
    ):
        lake.specs[spec] = PartitionSpec(spec, tuple(PartitionKey(*row[1:]) for row in found))
        lake.types_then[spec] = {1: _name(recipe.kind)}
    return lake


def _name(kind: str) -> str:
    return NAMES.get(kind, kind.lower())


def _conditions(recipe: Recipe) -> list[Predicate]:
    """A sample of every operator on every value, as text and typed, and of combinations."""
    literals = [value for value in recipe.values if value is not None] + list(recipe.literals)
    if recipe.kind.endswith("INT") or recipe.kind == "INTEGER":
        literals += [int(v) for v in recipe.values if v] + [1.5, 2.0, Decimal("0.5"), 10**18]
    if recipe.kind.startswith("DECIMAL"):
        literals += [Decimal(v) for v in recipe.values if v] + [14.2, 0, Decimal("14.20001")]
    simple: list[Predicate] = [
        Compare("x", op, value) for op in ("=", "!=", "<", "<=", ">", ">=") for value in literals
    ]
    simple += [In("x", pair) for pair in itertools.combinations(literals[:6], 2)]
    simple += [IsNull("x"), IsNull("x", negated=True), Compare("x", "=", None)]
    if recipe.kind == "VARCHAR":
        simple += [StartsWith("x", text) for text in TEXTS if text]
    pairs = list(zip(simple, simple[3:], strict=False))
    everything = [
        *simple,
        *map(Not, simple),
        *(And(pair) for pair in pairs),
        *(Not(Or(pair)) for pair in pairs),
        *(Or(pair) for pair in pairs),
    ]
    return Random(0).sample(everything, min(len(everything), CONDITIONS))


def _files_with_matches(
    connection: duckdb.DuckDBPyConnection, predicate: Predicate
) -> set[int] | None:
    try:
        found = connection.execute(f"SELECT DISTINCT file FROM local WHERE {predicate.sql()}")
    except duckdb.Error:
        return None
    return {file for (file,) in found.fetchall()}
