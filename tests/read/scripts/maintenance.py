"""Compaction, rewriting, expiry: the past must read as it did."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "merge_adjacent",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'a');
        INSERT INTO t VALUES (2, 'b');
        INSERT INTO t VALUES (3, NULL);
        CALL ducklake_merge_adjacent_files('lake');
        INSERT INTO t VALUES (4, 'd');
        CALL ducklake_merge_adjacent_files('lake');
        """,
        "maintenance",
        inline=0,
    ),
    script(
        "merge_then_delete",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(10) r(i);
        INSERT INTO t SELECT i FROM range(10, 20) r(i);
        CALL ducklake_merge_adjacent_files('lake');
        DELETE FROM t WHERE i % 5 = 0;
        DELETE FROM t WHERE i = 11;
        INSERT INTO t SELECT i FROM range(20, 30) r(i);
        CALL ducklake_merge_adjacent_files('lake');
        UPDATE t SET i = i + 100 WHERE i < 4;
        """,
        "maintenance deletes",
        inline=0,
    ),
    script(
        "merge_of_updated",
        """
        CREATE TABLE t (i INTEGER, v INTEGER);
        INSERT INTO t SELECT i, 0 FROM range(10) r(i);
        UPDATE t SET v = 1 WHERE i = 3;
        UPDATE t SET v = 2 WHERE i IN (5, 6);
        INSERT INTO t VALUES (50, 0);
        UPDATE t SET v = 3 WHERE i = 9;
        CALL ducklake_merge_adjacent_files('lake');
        UPDATE t SET v = v + 10;
        """,
        "maintenance updates",
        inline=0,
    ),
    script(
        "rewrite",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(100) r(i);
        INSERT INTO t SELECT i FROM range(100, 110) r(i);
        DELETE FROM t WHERE i < 60;
        DELETE FROM t WHERE i BETWEEN 70 AND 75;
        CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.5);
        DELETE FROM t WHERE i = 80;
        INSERT INTO t VALUES (500);
        CALL ducklake_rewrite_data_files('lake', delete_threshold => 0);
        """,
        "maintenance deletes",
        inline=0,
    ),
    script(
        "rewrite_then_merge",
        """
        CREATE TABLE t (i INTEGER, v VARCHAR);
        INSERT INTO t SELECT i, 'a' FROM range(20) r(i);
        INSERT INTO t SELECT i, 'b' FROM range(20, 40) r(i);
        UPDATE t SET v = 'c' WHERE i % 2 = 0;
        CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1);
        INSERT INTO t VALUES (100, 'd');
        CALL ducklake_merge_adjacent_files('lake');
        DELETE FROM t WHERE v = 'c' AND i < 10;
        """,
        "maintenance deletes updates",
        inline=0,
    ),
    script(
        "expire",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(12) r(i);
        DELETE FROM t WHERE i < 4;
        INSERT INTO t SELECT i FROM range(20, 35) r(i);
        DELETE FROM t WHERE i = 30;
        CREATE TABLE gone (x INTEGER);
        DROP TABLE gone;
        CALL ducklake_expire_snapshots('lake', versions => [1, 2, 6]);
        INSERT INTO t VALUES (100);
        """,
        "maintenance",
    ),
    script(
        "expire_under_renamed_columns",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR, c INTEGER);
        INSERT INTO t VALUES (1, 'x', 10);
        ALTER TABLE t RENAME COLUMN a TO z;
        INSERT INTO t VALUES (2, 'y', 20);
        ALTER TABLE t DROP COLUMN c;
        ALTER TABLE t ADD COLUMN a DOUBLE DEFAULT 0.5;
        INSERT INTO t VALUES (3, 'w', 3.5);
        CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2, 3, 4, 5, 6]);
        INSERT INTO t VALUES (4, 'v', 4.5);
        """,
        "maintenance evolution inline",
    ),
    script(
        "expire_under_deletes",
        """
        CREATE TABLE t AS SELECT i FROM range(30) r(i);
        DELETE FROM t WHERE i < 5;
        DELETE FROM t WHERE i BETWEEN 10 AND 14;
        DELETE FROM t WHERE i = 20;
        CALL ducklake_expire_snapshots('lake', versions => [1, 2, 3]);
        DELETE FROM t WHERE i = 21;
        """,
        "maintenance deletes",
    ),
    script(
        "expire_and_cleanup",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t VALUES (1);
        INSERT INTO t VALUES (2);
        INSERT INTO t VALUES (3);
        DELETE FROM t WHERE i = 2;
        CALL ducklake_merge_adjacent_files('lake');
        CALL ducklake_expire_snapshots('lake', versions => [0, 1, 2]);
        CALL ducklake_cleanup_old_files('lake', cleanup_all => true);
        INSERT INTO t VALUES (4);
        """,
        "maintenance",
    ),
    script(
        "checkpoint",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'a'), (2, 'b');
        INSERT INTO t SELECT i, 'f' FROM range(20, 40) r(i);
        DELETE FROM t WHERE i < 30;
        CHECKPOINT;
        INSERT INTO t VALUES (3, 'c');
        UPDATE t SET s = 'z' WHERE i = 35;
        CHECKPOINT;
        """,
        "maintenance inline",
    ),
    script(
        "flush_then_rewrite",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t VALUES (1), (2), (3);
        INSERT INTO t SELECT i FROM range(20, 40) r(i);
        DELETE FROM t WHERE i IN (2, 25);
        CALL ducklake_flush_inlined_data('lake');
        DELETE FROM t WHERE i = 3;
        CALL ducklake_rewrite_data_files('lake', delete_threshold => 0);
        INSERT INTO t VALUES (4);
        """,
        "maintenance inline deletes",
        inline=10,
    ),
    script(
        "parquet_options",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR, l INTEGER[]);
        CALL lake.set_option('parquet_compression', 'zstd');
        INSERT INTO t SELECT i, 's' || i % 3, [i] FROM range(50) r(i);
        CALL lake.set_option('parquet_compression', 'gzip');
        CALL lake.set_option('parquet_version', 2);
        INSERT INTO t SELECT i, 's' || i % 3, [i, NULL] FROM range(50, 100) r(i);
        CALL lake.set_option('parquet_compression', 'uncompressed');
        INSERT INTO t SELECT i, NULL, NULL FROM range(100, 150) r(i);
        CALL lake.set_option('parquet_compression', 'lz4');
        INSERT INTO t SELECT i, 'z', [] FROM range(150, 200) r(i);
        """,
        "files",
        inline=0,
    ),
    script(
        "parquet_brotli",
        """
        CALL lake.set_option('parquet_compression', 'brotli');
        CREATE TABLE t AS SELECT i, 's' || i % 3 AS s FROM range(50) r(i);
        DELETE FROM t WHERE i % 5 = 0;
        """,
        "files beyond_spark",  # which brings no Brotli codec, and says so
        inline=0,
    ),
    script(
        "merge_across_tables_and_schemas",
        """
        CREATE SCHEMA s;
        CREATE TABLE a (i INTEGER);
        CREATE TABLE s.b (i INTEGER);
        INSERT INTO a VALUES (1);
        INSERT INTO s.b VALUES (10);
        INSERT INTO a VALUES (2);
        INSERT INTO s.b VALUES (20);
        CALL ducklake_merge_adjacent_files('lake');
        ALTER TABLE s.b RENAME TO c;
        INSERT INTO s.c VALUES (30);
        """,
        "maintenance names",
        inline=0,
    ),
    script(
        "sorted_table",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        ALTER TABLE t SET SORTED BY (s DESC NULLS LAST, i ASC);
        INSERT INTO t SELECT i, 's' || (i * 7 % 5) FROM range(20) r(i);
        INSERT INTO t VALUES (100, NULL), (99, 's0');
        CALL ducklake_merge_adjacent_files('lake');
        DELETE FROM t WHERE i = 7;
        ALTER TABLE t RESET SORTED BY;
        INSERT INTO t VALUES (1, 'a');
        """,
        "maintenance sorted",
    ),
    script(
        "sorted_and_flushed",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        ALTER TABLE t SET SORTED BY (i DESC);
        INSERT INTO t VALUES (3, 'c'), (1, 'a');
        INSERT INTO t VALUES (2, 'b');
        DELETE FROM t WHERE i = 1;
        CALL ducklake_flush_inlined_data('lake');
        INSERT INTO t VALUES (9, 'z');
        """,
        "maintenance sorted inline",
        inline=10,
    ),
]
