"""Folders of partitions are called as DuckDB's ducklake extension calls them."""

from collections.abc import Iterator
from random import Random
from typing import Any

import duckdb
import pytest

from tidelake.model.names import quote, text_literal
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.plan.partitioning.folders import Folders
from tidelake.testing.duck import duck_connection

NAMES = [
    *("k", "year", "Month", "BUCKET", "year_k", "bucket_year", "day", "a b", "x=y", "p/q", "50%"),
    *("é", "É", "日本", "a'b", 'a"b', "_-.~", "hour_é", "."),
]
TEXTS = [
    *(
        "",
        " ",
        "a b",
        "a/b",
        "a=b",
        "a%20b",
        "%",
        "é",
        "日本",
        "..",
        ".",
        "NULL",
        "~_-.",
        "a+b&c?d#e",
    ),
    *("__HIVE_DEFAULT_PARTITION__", "tab\tline\n", "\\", "'\"", "\x7f", "\U0001f30a", "x" * 200),
]
VALUES = {
    "VARCHAR": TEXTS,
    "INTEGER": ["0", "-7", "2147483647"],
    "BOOLEAN": ["true", "false"],
    "DOUBLE": ["1.5", "1e300", "1e-7", "nan", "inf", "-inf", "0.0"],
    "DECIMAL(12,3)": ["1.5", "-0.001"],
    "DATE": ["2024-02-29", "0001-01-01", "infinity"],
    "TIMESTAMP": ["2024-01-02 03:04:05.678", "1969-12-31 23:59:59.999999", "infinity"],
    "TIMESTAMPTZ": ["2024-01-02 03:04:05.678+00", "2024-06-30 23:00:00+02"],
    "TIME": ["03:04:05.5"],
    "UUID": ["c0ffee00-1234-5678-9abc-def012345678"],
    "HUGEINT": ["170141183460469231731687303715884105727"],
    "INTERVAL": ["1 day 3 hours"],
}
TIMES = {"DATE", "TIMESTAMP", "TIMESTAMPTZ"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("lake")
    connection = duck_connection(extensions=["ducklake", "sqlite_scanner"])
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{folder}/meta.db' AS lake"
        f" (DATA_PATH '{folder}/data', DATA_INLINING_ROW_LIMIT 0)"
    )
    yield connection
    connection.close()


def drawn_key(chance: Random, name: str, kind: str) -> str:
    kinds = ["identity", *([] if kind == "INTERVAL" else ["bucket"])]
    kinds += ["year", "month", "day"] if kind in TIMES else []
    kinds += ["hour"] if kind in TIMES - {"DATE"} else []
    match chance.choice(kinds):
        case "identity":
            return quote(name)
        case "bucket":
            return f"bucket({chance.randint(1, 5)}, {quote(name)})"
        case word:
            return f"{word}({quote(name)})"


def written(lake: duckdb.DuckDBPyConnection) -> tuple[Folders | None, list[tuple[str, Any]]]:
    """What we would call the folders of `lake.t`, and DuckDB's own with the values of each."""
    meta = "__ducklake_metadata_lake"
    (number,) = lake.execute(
        f"SELECT table_id FROM {meta}.ducklake_table WHERE end_snapshot IS NULL"
    ).fetchone() or (None,)
    columns = lake.execute(
        f"SELECT column_id, column_name, column_type FROM {meta}.ducklake_column"
        " WHERE table_id = $1 AND end_snapshot IS NULL",
        [number],
    ).fetchall()
    keys = lake.execute(
        f"SELECT column_id, transform FROM {meta}.ducklake_partition_column"
        " WHERE table_id = $1 ORDER BY partition_key_index",
        [number],
    ).fetchall()
    files = lake.execute(
        "SELECT path, list(partition_value ORDER BY partition_key_index)"
        f" FROM {meta}.ducklake_data_file JOIN {meta}.ducklake_file_partition_value"
        " USING (data_file_id, table_id) WHERE table_id = $1 GROUP BY path",
        [number],
    ).fetchall()
    spec = PartitionSpec(1, tuple(PartitionKey(*key) for key in keys))
    folders = Folders.of(spec, [Column(*column) for column in columns], wanted=True)
    return folders, [(path[: path.rindex("/") + 1], tuple(values)) for path, values in files]


@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 250), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_random_partitionings_have_the_folders_of_duckdb(
    lake: duckdb.DuckDBPyConnection, seeds: range
) -> None:
    seen, deepest = set(), 0
    for seed in seeds:
        chance = Random(seed)
        names = chance.sample(NAMES, chance.randint(1, 4))
        names = [name for n, name in enumerate(names) if name.lower() not in names[:n]]
        columns = {name: chance.choice(list(VALUES)) for name in names}
        keys = [drawn_key(chance, *chance.choice([*columns.items()])) for _ in range(4)]
        keys = [*dict.fromkeys(keys[: chance.randint(1, 4)])]
        listed = ", ".join(f"{quote(name)} {kind}" for name, kind in columns.items())
        rows = ", ".join(
            f"({', '.join(drawn_value(chance, kind) for kind in columns.values())})"
            for _ in range(4)
        )
        lake.execute(f"CREATE TABLE lake.t ({listed})")
        try:
            lake.execute(f"ALTER TABLE lake.t SET PARTITIONED BY ({', '.join(keys)})")
            refused = ""
            try:
                lake.execute(f"INSERT INTO lake.t VALUES {rows}")
            except duckdb.Error as error:
                refused = str(error)
            folders, found = written(lake)
            if refused:
                assert "Map keys must be unique" in refused, (seed, keys, refused)
                assert folders is None, (seed, keys)
                continue
            assert folders is not None
            for folder, values in found:
                assert folder == folders.holding(values), (seed, keys, values)
                seen.add(folder)
                deepest = max(deepest, folder.count("/"))
        finally:
            lake.execute("DROP TABLE lake.t")
    assert (len(seen) > 2 * len(seeds), deepest >= 3) == (True, True)


def drawn_value(chance: Random, kind: str) -> str:
    if chance.random() < 0.15:
        return "NULL"
    return f"{text_literal(chance.choice(VALUES[kind]))}::{kind}"


def test_keys_of_one_name_have_no_folders(lake: duckdb.DuckDBPyConnection) -> None:
    spec = PartitionSpec(1, tuple(PartitionKey(1, f"bucket({n})") for n in (4, 8, 16)))
    assert Folders.of(spec, [Column(1, "a", "int32")], wanted=True) is None
    lake.execute("CREATE TABLE lake.t (a INTEGER)")
    try:
        lake.execute(
            "ALTER TABLE lake.t SET PARTITIONED BY (bucket(4,a), bucket(8,a), bucket(16,a))"
        )
        with pytest.raises(duckdb.Error, match="unique"):
            lake.execute("INSERT INTO lake.t VALUES (1)")
    finally:
        lake.execute("DROP TABLE lake.t")


@pytest.mark.parametrize(
    ("text", "fits"),
    [("x" * 253, True), ("x" * 254, False), ("é" * 43, False)],
    ids=["253", "254", "258"],
)
def test_a_name_that_is_too_long_is_none(
    lake: duckdb.DuckDBPyConnection, text: str, fits: bool
) -> None:
    spec = PartitionSpec(1, (PartitionKey(1, "identity"),))
    folders = Folders.of(spec, [Column(1, "a", "varchar")], wanted=True)
    assert folders is not None
    assert bool(folders.holding((text,))) is fits
    lake.execute("CREATE TABLE lake.t (a VARCHAR)")
    try:
        lake.execute("ALTER TABLE lake.t SET PARTITIONED BY (a)")
        insert = f"INSERT INTO lake.t VALUES ({text_literal(text)})"
        if fits:
            lake.execute(insert)
            assert written(lake)[1] == [(folders.holding((text,)), (text,))]
        else:
            with pytest.raises(duckdb.IOException, match="directory"):
                lake.execute(insert)
    finally:
        lake.execute("DROP TABLE lake.t")


def test_nothing_is_said_of_what_is_not_known() -> None:
    columns = [Column(1, "a", "varchar")]
    known, unknown = PartitionKey(1, "identity"), PartitionKey(1, "truncate(3)")
    assert Folders.of(None, columns, wanted=True) is None
    assert Folders.of(PartitionSpec(1, (known,)), columns, wanted=False) is None
    assert Folders.of(PartitionSpec(1, (known, unknown)), columns, wanted=True) is None
    assert (
        Folders.of(PartitionSpec(1, (PartitionKey(2, "identity"),)), columns, wanted=True) is None
    )
    assert Folders(("a", "b")).holding(("1",)) == ""
