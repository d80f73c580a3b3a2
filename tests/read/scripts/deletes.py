"""Deletes, updates and merges, several over time."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "delete_over_time",
        """
        CREATE TABLE t AS SELECT i, i % 4 AS m FROM range(40) r(i);
        DELETE FROM t WHERE i = 3;
        DELETE FROM t WHERE i IN (0, 39);
        DELETE FROM t WHERE m = 1;
        DELETE FROM t WHERE i > 30;
        """,
        "deletes",
    ),
    script(
        "delete_over_files",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        INSERT INTO t SELECT i, 'a' FROM range(20) r(i);
        INSERT INTO t SELECT i, 'b' FROM range(20, 40) r(i);
        DELETE FROM t WHERE i % 10 = 0;
        INSERT INTO t SELECT i, 'c' FROM range(40, 60) r(i);
        DELETE FROM t WHERE i % 10 = 5;
        DELETE FROM t WHERE s = 'b';
        DELETE FROM t WHERE i % 10 = 7;
        """,
        "deletes",
    ),
    script(
        "delete_whole_file",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(15) r(i);
        INSERT INTO t SELECT i FROM range(15, 30) r(i);
        DELETE FROM t WHERE i < 15;
        DELETE FROM t WHERE i = 20;
        DELETE FROM t;
        INSERT INTO t VALUES (100);
        """,
        "deletes",
    ),
    script(
        "delete_nothing",
        """
        CREATE TABLE t AS SELECT i FROM range(12) r(i);
        DELETE FROM t WHERE i > 100;
        DELETE FROM t WHERE i = 5;
        DELETE FROM t WHERE i = 5;
        """,
        "deletes",
    ),
    script(
        "truncate",
        """
        CREATE TABLE t AS SELECT i FROM range(12) r(i);
        DELETE FROM t WHERE i = 1;
        TRUNCATE t;
        INSERT INTO t SELECT i FROM range(20, 23) r(i);
        TRUNCATE t;
        """,
        "deletes",
    ),
    script(
        "update_over_time",
        """
        CREATE TABLE t AS SELECT i, 'v' || i AS v FROM range(20) r(i);
        UPDATE t SET v = 'one' WHERE i = 1;
        UPDATE t SET v = 'two' WHERE i IN (1, 2);
        UPDATE t SET v = v || '!';
        UPDATE t SET i = i + 1000 WHERE i % 5 = 0;
        DELETE FROM t WHERE v LIKE 'two%';
        UPDATE t SET v = NULL WHERE i = 1005;
        """,
        "deletes updates",
    ),
    script(
        "update_same_row_often",
        """
        CREATE TABLE t (k INTEGER, n INTEGER);
        INSERT INTO t VALUES (1, 0), (2, 0);
        UPDATE t SET n = n + 1 WHERE k = 1;
        UPDATE t SET n = n + 1 WHERE k = 1;
        UPDATE t SET n = n + 1 WHERE k = 1;
        DELETE FROM t WHERE k = 1;
        INSERT INTO t VALUES (1, 100);
        UPDATE t SET n = n + 1;
        """,
        "deletes updates",
    ),
    script(
        "merge_into",
        """
        CREATE TABLE t AS SELECT i AS k, 'old' AS v FROM range(15) r(i);
        MERGE INTO t USING (SELECT i AS k, 'new' AS v FROM range(10, 20) r(i)) s ON (t.k = s.k)
            WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT;
        MERGE INTO t USING (SELECT i AS k FROM range(5) r(i)) s ON (t.k = s.k) WHEN MATCHED THEN
            DELETE;
        MERGE INTO t USING (VALUES (7, 'x'), (70, 'y')) s(k, v) ON (t.k = s.k)
            WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'ins');
        """,
        "deletes updates",
    ),
    script(
        "mixed_in_one_transaction",
        """
        CREATE TABLE t AS SELECT i, 'v' AS v FROM range(15) r(i);
        BEGIN;
        INSERT INTO t SELECT i, 'tx' FROM range(100, 112) r(i);
        DELETE FROM t WHERE i % 2 = 0;
        UPDATE t SET v = 'upd' WHERE i < 5;
        INSERT INTO t VALUES (999, 'last');
        DELETE FROM t WHERE i = 101;
        COMMIT;
        BEGIN; DELETE FROM t; ROLLBACK;
        DELETE FROM t WHERE i = 999;
        """,
        "deletes updates",
    ),
    script(
        "delete_across_row_groups",
        """
        CALL lake.set_option('parquet_row_group_size', 2048);
        CREATE TABLE t AS SELECT i, i % 11 AS m FROM range(7000) r(i);
        DELETE FROM t WHERE i BETWEEN 2000 AND 2100;
        DELETE FROM t WHERE m = 3;
        DELETE FROM t WHERE i IN (0, 2047, 2048, 4095, 4096, 6999);
        """,
        "deletes",
        inline=0,
    ),
    script(
        "deletion_vector",
        """
        CALL lake.set_option('write_deletion_vectors', true);
        CREATE TABLE t AS SELECT i FROM range(3000) r(i);
        DELETE FROM t WHERE i % 7 = 0;
        INSERT INTO t SELECT i FROM range(5000, 5020) r(i);
        DELETE FROM t WHERE i BETWEEN 5003 AND 5009;
        """,
        "deletes puffin",
        inline=0,
    ),
    script(
        "deletion_vector_dense",
        """
        CALL lake.set_option('write_deletion_vectors', true);
        CREATE TABLE t AS SELECT i FROM range(150000) r(i);
        DELETE FROM t WHERE i % 3 <> 0 OR i BETWEEN 60000 AND 140000;
        """,
        "deletes puffin",
        inline=0,
    ),
    script(
        "deletion_vector_twice",
        """
        CALL lake.set_option('write_deletion_vectors', true);
        CREATE TABLE t AS SELECT i FROM range(20) r(i);
        DELETE FROM t WHERE i < 3;
        DELETE FROM t WHERE i BETWEEN 10 AND 14;
        """,
        "deletes puffin",
        inline=0,
    ),
    script(
        "deletion_vector_after_delete_file",
        """
        CREATE TABLE t AS SELECT i FROM range(20) r(i);
        INSERT INTO t SELECT i FROM range(20, 40) r(i);
        DELETE FROM t WHERE i < 3;
        CALL lake.set_option('write_deletion_vectors', true);
        DELETE FROM t WHERE i BETWEEN 30 AND 34;
        UPDATE t SET i = -i WHERE i = 39;
        """,
        "deletes puffin",
        inline=0,
    ),
    script(
        "delete_all_then_refill",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        INSERT INTO t SELECT i, 's' FROM range(12) r(i);
        DELETE FROM t WHERE i < 6;
        DELETE FROM t WHERE i >= 6;
        INSERT INTO t SELECT i, 't' FROM range(3) r(i);
        DELETE FROM t;
        """,
        "deletes",
    ),
]
