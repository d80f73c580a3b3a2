"""Delta's own reader and writer, in Spark: it reads mirrors as the lake is, at every version; what
it has written is imported as it reads it itself."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.delta.logs import snapshots_by_version
from tests.servers.delta_spark import DeltaSpark, DeltaSparkError, plain_rows
from tidelake import Lake, Table
from tidelake.testing.place import Place

pytestmark = pytest.mark.jvm

COLUMNS = """
    id BIGINT NOT NULL, s VARCHAR, d DECIMAL(12, 3), local TIMESTAMP, ts TIMESTAMPTZ, day DATE,
    small UTINYINT, data BLOB, n STRUCT(a INTEGER, b VARCHAR[]), m MAP(VARCHAR, INTEGER)
"""
START = datetime(2024, 1, 31, 23, 59, 59, 123456)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "s": None if n % 7 == 0 else f"Zürich {n}",
            "d": Decimal(n) / 8,
            "local": START + timedelta(hours=n),
            "ts": (START + timedelta(minutes=n)).replace(tzinfo=UTC),
            "day": START.date() - timedelta(days=1000 * n),
            "small": n % 256,
            "data": bytes([n % 256, 0]),
            "n": None if n % 5 == 0 else {"a": n, "b": [str(n), None]},
            "m": {"x": n, "y": None},
        }
        for n in range(first, last)
    ]


def lived(lake: Lake) -> Table:
    """A table with a life of every kind that Delta can be told."""
    table = lake.create_table("t", COLUMNS, partition_by=["bucket(3, id)"])
    table.append(rows(0, 20))
    lake.mirror("t")
    table.append(rows(20, 40))
    table.delete("id % 6 = 1")
    table.update({"s": "upper(s)", "d": "d + 1"}, where="id < 9")
    table.evolve(rename={"s": "name", "n.a": "inner"})
    table.append([{"id": 50, "name": "renamed", "n": {"inner": 5, "b": ["x"]}}])
    table.merge([{"id": 2, "name": "merged"}, {"id": 51, "name": "new"}], on="id")
    table.compact()
    table.evolve(drop=["d"], add={"d": "VARCHAR", "z": "INTEGER DEFAULT 7"})
    table.append([{"id": 60, "d": "another", "z": 1}])
    table.evolve(widen={"z": "BIGINT"})
    table.delete("id >= 30 AND id < 35")
    table.rollback(to=lake.snapshots()[4].snapshot_id)
    table.delete("true")
    return table


def by_id(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: (row["id"], str(row)))


def test_spark_reads_every_version_of_a_mirror(lake: Lake, delta_spark: DeltaSpark) -> None:
    table = lived(lake)
    mirror = lake.mirrored("t")
    assert (mirror.status.status, mirror.status.reason) == ("active", None)
    seen = set()
    for snapshot in lake.snapshots():
        version = lake.delta_versions(snapshot.snapshot_id).get("main.t")
        if version is None or version in seen:
            continue
        seen.add(version)
        found = delta_spark.sql(f"SELECT * FROM delta.`{mirror.root}` VERSION AS OF {version}")
        expected = table.known_at(snapshot.snapshot_id).to_arrow().to_pylist()
        assert by_id(found) == by_id(plain_rows(expected)), version
    assert seen == set(range(mirror.state.version + 1))


def test_spark_leaves_mirrors_alone(lake: Lake, delta_spark: DeltaSpark) -> None:
    table = lake.create_table("t", "id BIGINT")
    root = lake.mirror("t").root
    for n in range(2):
        table.append([{"id": n}])
    for statement in (
        f"INSERT INTO delta.`{root}` VALUES (2)",
        f"DELETE FROM delta.`{root}`",
        f"OPTIMIZE delta.`{root}`",
        f"VACUUM delta.`{root}` RETAIN 0 HOURS",
        f"ALTER TABLE delta.`{root}` ADD COLUMN x INT",
    ):
        with pytest.raises(DeltaSparkError, match=r"tidelake\.sqlMirror"):
            delta_spark.sql(statement)
    assert lake.mirrored("t").diff().exit_code == 0


VECTORS = "'delta.enableDeletionVectors' = 'true'"
MAPPING = "'delta.columnMapping.mode' = 'name'"
MERGE = """
    MERGE INTO {t} AS t USING (SELECT id + 5 AS id, 'merged' AS s FROM range(10)) AS n
    ON t.id = n.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.id, n.s)
"""
FILL = "INSERT INTO {t} SELECT id, concat('s', id), id % 3, struct(id, array(id)) FROM range({n})"
TABLE = "CREATE TABLE {t} (id BIGINT, s STRING, p BIGINT, n STRUCT<a: BIGINT, b: ARRAY<BIGINT>>)"
HISTORIES = {
    "deletion vectors": [
        f"{TABLE} USING delta TBLPROPERTIES ({VECTORS}, 'delta.checkpointInterval' = '4')",
        FILL.format(t="{t}", n=12),
        "DELETE FROM {t} WHERE id % 4 = 1",
        "DELETE FROM {t} WHERE id % 4 = 2",
        MERGE,
        "UPDATE {t} SET n = named_struct('a', 1, 'b', array(2)) WHERE id = 7",
        "OPTIMIZE {t}",
    ],
    "partitioned, optimized and vacuumed": [
        f"{TABLE} USING delta PARTITIONED BY (p)",
        FILL.format(t="{t}", n=9),
        FILL.format(t="{t}", n=6),
        "DELETE FROM {t} WHERE p = 1",
        "OPTIMIZE {t}",
        "ALTER TABLE {t} ADD COLUMNS (x INT)",
        "INSERT INTO {t} VALUES (100, 'é', null, null, 5)",
        MERGE,
    ],
    "columns by other names": [
        f"{TABLE} USING delta TBLPROPERTIES ({MAPPING}, {VECTORS},"
        " 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3')",
        FILL.format(t="{t}", n=10),
        "ALTER TABLE {t} RENAME COLUMN p TO `odd name`",
        "ALTER TABLE {t} RENAME COLUMN n.a TO aa",
        "DELETE FROM {t} WHERE id = 3",
        "ALTER TABLE {t} DROP COLUMN s",
        "ALTER TABLE {t} ADD COLUMN s INT",
        "INSERT INTO {t} VALUES (50, 1, named_struct('aa', 2, 'b', array(3)), 4)",
        "DELETE FROM {t} WHERE id > 5 AND id < 8",
    ],
}


@pytest.mark.parametrize("history", HISTORIES)
def test_what_spark_wrote_is_imported_as_it_reads_it(
    lake: Lake, delta_spark: DeltaSpark, tmp_path: Path, history: str
) -> None:
    root = f"{tmp_path}/theirs"
    for statement in HISTORIES[history]:
        delta_spark.sql(statement.replace("{t}", f"delta.`{root}`"))
    newest = max(int(path.stem) for path in Path(root, "_delta_log").glob("?" * 20 + ".json"))
    seen = {
        version: delta_spark.sql(f"SELECT * FROM delta.`{root}` VERSION AS OF {version}")
        for version in range(newest + 1)
    }
    tidelake.import_delta(lake, root, table="full", mode="full-history")
    for version, snapshot in snapshots_by_version(lake, "full").items():
        found = lake.table("full").known_at(snapshot).to_arrow().to_pylist()
        assert by_id(plain_rows(found)) == by_id(seen[version]), version
    for version in seen:
        name = f"fast{version}"
        tidelake.import_delta(lake, root, table=name, up_to_version=version)
        found = lake.table(name).to_arrow().to_pylist()
        assert by_id(plain_rows(found)) == by_id(seen[version]), version
    if "vacuumed" in history:
        delta_spark.sql(f"VACUUM delta.`{root}` RETAIN 0 HOURS")
        tidelake.import_delta(lake, root, table="after")
        found = lake.table("after").to_arrow().to_pylist()
        assert by_id(plain_rows(found)) == by_id(seen[newest])
