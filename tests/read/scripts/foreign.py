"""Files that were not written by the lake: name mapping instead of field ids."""

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.read.scripts.script import script


def _foreign_lists(folder: Path) -> None:
    """Lists as other writers name them: `item`, and the old two-level `array`."""
    table = pa.table(
        {
            "k": pa.array([1, 2, 3], pa.int32()),
            "l": pa.array([[1, None], [], None], pa.list_(pa.int32())),
        }
    )
    pq.write_table(table, folder / "item.parquet", use_compliant_nested_type=False)
    nested = pa.array(
        [[{"a": 1, "b": "x"}], [None], None],
        pa.list_(pa.struct({"a": pa.int32(), "b": pa.string()})),
    )
    pq.write_table(
        pa.table({"k": pa.array([4, 5, 6], pa.int32()), "n": nested}), folder / "structs.parquet"
    )


def _foreign_encodings(folder: Path) -> None:
    """INT96 timestamps, dictionaries, large strings, several row groups, another codec."""
    table = pa.table(
        {
            "k": pa.array(range(100), pa.int32()),
            "s": pa.array([f"s{i % 3}" for i in range(100)]).dictionary_encode(),
            "ts": pa.array([datetime(2024, 1, 1, i % 24) for i in range(100)], pa.timestamp("ns")),
        }
    )
    pq.write_table(
        table,
        folder / "int96.parquet",
        use_deprecated_int96_timestamps=True,
        row_group_size=17,
        compression="gzip",
    )
    large = table.set_column(1, "s", pa.array(["large"] * 100, pa.large_string()))
    pq.write_table(
        large,
        folder / "large.parquet",
        coerce_timestamps="us",
        row_group_size=50,
        compression="zstd",
    )


SCRIPTS = [
    script(
        "foreign_plain",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        COPY (SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL) TO '$FILES/a.parquet';
        COPY (SELECT 'swapped' AS b, 3::INTEGER AS a) TO '$FILES/b.parquet';
        COPY (SELECT 4::INTEGER AS "A", 'upper' AS "B") TO '$FILES/c.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/c.parquet');
        INSERT INTO t VALUES (5, 'own');
        DELETE FROM t WHERE a IN (1, 4);
        UPDATE t SET b = 'upd' WHERE a = 3;
        """,
        "foreign",
    ),
    script(
        "foreign_missing_and_extra",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR DEFAULT 'dflt', c DOUBLE);
        COPY (SELECT 1 AS a) TO '$FILES/a.parquet';
        COPY (SELECT 2 AS a, 'b' AS b, 0.5::DOUBLE AS c, 'extra' AS z) TO '$FILES/b.parquet';
        COPY (SELECT 'extra' AS y, 1.5::DOUBLE AS c, 3 AS a) TO '$FILES/c.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet', allow_missing => true);
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet', ignore_extra_columns => true);
        CALL ducklake_add_data_files('lake', 't', '$FILES/c.parquet', allow_missing => true,
            ignore_extra_columns => true);
        """,
        "foreign",
    ),
    script(
        "foreign_narrower_types",
        """
        CREATE TABLE t (a BIGINT, b DOUBLE, c TIMESTAMP);
        COPY (SELECT 1::SMALLINT AS a, 0.5::FLOAT AS b, TIMESTAMP '2024-01-01 00:00:00' AS c) TO
            '$FILES/a.parquet';
        COPY (SELECT 200::UTINYINT AS a, 1.5::DOUBLE AS b,
            TIMESTAMP_MS '2024-01-01 00:00:00.001' AS c) TO '$FILES/b.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet');
        """,
        "foreign",
    ),
    script(
        "foreign_hive",
        """
        CREATE TABLE t (k INTEGER, year INTEGER, name VARCHAR);
        COPY (SELECT i::INTEGER AS k, 2020 + i % 2 AS year,
            CASE i % 3 WHEN 0 THEN 'a b/é' ELSE 'n' || i % 3 END AS name FROM range(12) r(i))
            TO '$FILES/hive' (FORMAT parquet, PARTITION_BY (year, name));
        CALL ducklake_add_data_files('lake', 't', '$FILES/hive/*/*/*.parquet',
            hive_partitioning => true);
        INSERT INTO t VALUES (100, 2030, 'own');
        DELETE FROM t WHERE year = 2021 AND k < 6;
        ALTER TABLE t RENAME COLUMN year TO y;
        """,
        "foreign partition",
    ),
    script(
        "foreign_hive_odd_values",
        """
        CREATE TABLE t (i INTEGER, k VARCHAR);
        COPY (SELECT * FROM (VALUES (1, 'a b'), (2, 'a/b'), (3, ''), (4, 'é%'), (5, NULL), (6, '+'))
            v(i, k)) TO '$FILES/hive' (FORMAT parquet, PARTITION_BY (k));
        CALL ducklake_add_data_files('lake', 't', '$FILES/hive/*/*.parquet',
            hive_partitioning => true);
        """,
        "foreign",
    ),
    script(
        "foreign_hive_null_and_date",
        """
        CREATE TABLE t (k INTEGER, d DATE);
        COPY (SELECT i::INTEGER AS k, CASE WHEN i = 2 THEN NULL ELSE DATE '2024-01-01' + i::INTEGER
            END AS d FROM range(4) r(i))
            TO '$FILES/hive' (FORMAT parquet, PARTITION_BY (d));
        CALL ducklake_add_data_files('lake', 't', '$FILES/hive/*/*.parquet',
            hive_partitioning => true);
        DELETE FROM t WHERE k = 0;
        """,
        "foreign partition",
    ),
    script(
        "foreign_hive_mixed_case",
        """
        CREATE TABLE t (k INTEGER, "Name" VARCHAR, "Upper" INTEGER);
        COPY (SELECT i::INTEGER AS k, 'v=' || i % 2 AS "Name", (i % 3)::INTEGER AS "Upper"
            FROM range(6) r(i))
            TO '$FILES/hive' (FORMAT parquet, PARTITION_BY ("Name", "Upper"));
        CALL ducklake_add_data_files('lake', 't', '$FILES/hive/*/*/*.parquet',
            hive_partitioning => true);
        """,
        "foreign partition",
    ),
    script(
        "foreign_hive_with_the_column_inside",
        """
        CREATE TABLE t (k INTEGER, p INTEGER);
        COPY (SELECT i::INTEGER AS k, (i % 2)::INTEGER AS p FROM range(6) r(i))
            TO '$FILES/hive' (FORMAT parquet, PARTITION_BY (p), WRITE_PARTITION_COLUMNS true);
        CALL ducklake_add_data_files('lake', 't', '$FILES/hive/*/*.parquet');
        """,
        "foreign partition",
    ),
    script(
        "foreign_nested",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b STRUCT(c VARCHAR, d INTEGER[])),
            l STRUCT(x INTEGER)[], m MAP(VARCHAR, INTEGER));
        COPY (SELECT 1::INTEGER AS k, {'a': 1, 'b': {'c': 'x', 'd': [1, NULL]}} AS s,
            [{'x': 1}, NULL] AS l, MAP {'k': 1} AS m
            UNION ALL SELECT 2, NULL, NULL, NULL) TO '$FILES/a.parquet';
        COPY (SELECT MAP {'z': NULL::INTEGER} AS m, 3::INTEGER AS k,
            {'b': {'d': [], 'c': 'y'}, 'a': 3} AS s, [] AS l WHERE false) TO '$FILES/empty.parquet';
        COPY (SELECT 3::INTEGER AS k, {'b': {'d': [3], 'c': 'y'}, 'a': 33} AS s, [{'x': 3}] AS l,
            MAP {'z': 5} AS m) TO '$FILES/b.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet');
        INSERT INTO t VALUES (4, {'a': 4, 'b': {'c': 'own', 'd': []}}, [], MAP {});
        DELETE FROM t WHERE k = 2;
        """,
        "foreign nested",
    ),
    script(
        "foreign_then_evolve",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        COPY (SELECT 1 AS a, 'x' AS b) TO '$FILES/a.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        ALTER TABLE t RENAME COLUMN a TO z;
        ALTER TABLE t ADD COLUMN a DOUBLE DEFAULT 0.5;
        COPY (SELECT 2 AS z, 'y' AS b, 1.5::DOUBLE AS a) TO '$FILES/b.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet');
        ALTER TABLE t ALTER COLUMN z TYPE BIGINT;
        ALTER TABLE t DROP COLUMN b;
        INSERT INTO t VALUES (3, 3.5);
        """,
        "foreign evolution",
    ),
    script(
        "foreign_nested_then_evolve",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        COPY (SELECT 1::INTEGER AS k, {'a': 1, 'b': 'x'} AS s UNION ALL SELECT 2,
            NULL) TO '$FILES/a.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        ALTER TABLE t RENAME COLUMN s.a TO z;
        ALTER TABLE t ADD COLUMN s.a VARCHAR;
        INSERT INTO t VALUES (3, {'z': 3, 'b': 'y', 'a': 'new'});
        ALTER TABLE t DROP COLUMN s.b;
        """,
        "foreign nested evolution",
    ),
    script(
        "foreign_twice_and_deleted",
        """
        CREATE TABLE t (a INTEGER);
        COPY (SELECT i::INTEGER AS a FROM range(20) r(i)) TO '$FILES/a.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        DELETE FROM t WHERE a < 5;
        DELETE FROM t WHERE a > 15;
        """,
        "foreign deletes",
    ),
    script(
        "foreign_merged",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        COPY (SELECT 1 AS a, 'x' AS b) TO '$FILES/a.parquet';
        COPY (SELECT 'y' AS b, 2 AS a) TO '$FILES/b.parquet';
        CALL ducklake_add_data_files('lake', 't', '$FILES/a.parquet');
        CALL ducklake_add_data_files('lake', 't', '$FILES/b.parquet');
        INSERT INTO t VALUES (3, 'z');
        CALL ducklake_merge_adjacent_files('lake');
        """,
        "foreign maintenance",
        inline=0,
    ),
    script(
        "foreign_lists",
        """
        CREATE TABLE t (k INTEGER, l INTEGER[]);
        CREATE TABLE n (k INTEGER, n STRUCT(a INTEGER, b VARCHAR)[]);
        CALL ducklake_add_data_files('lake', 't', '$FILES/item.parquet');
        CALL ducklake_add_data_files('lake', 'n', '$FILES/structs.parquet');
        INSERT INTO t VALUES (10, [10]);
        """,
        "foreign nested",
        prepare=_foreign_lists,
    ),
    script(
        "foreign_encodings",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR, ts TIMESTAMP_NS);
        CREATE TABLE u (k INTEGER, s VARCHAR, ts TIMESTAMP);
        CALL ducklake_add_data_files('lake', 't', '$FILES/int96.parquet');
        CALL ducklake_add_data_files('lake', 'u', '$FILES/large.parquet');
        DELETE FROM u WHERE k % 7 = 0;
        """,
        "foreign timestamp_ns",
        prepare=_foreign_encodings,
    ),
]
