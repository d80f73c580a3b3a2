"""Rows and deletes kept in the catalog itself."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "inlined_inserts",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'one'), (2, NULL);
        INSERT INTO t VALUES (3, '');
        INSERT INTO t SELECT i, 'file' FROM range(100, 120) r(i);
        INSERT INTO t VALUES (4, 'four');
        """,
        "inline",
        inline=10,
    ),
    script(
        "inlined_updates_and_deletes",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
        UPDATE t SET s = 'ONE' WHERE k = 1;
        DELETE FROM t WHERE k = 2;
        UPDATE t SET s = s || '!';
        INSERT INTO t VALUES (2, 'two again');
        DELETE FROM t WHERE k = 3;
        DELETE FROM t;
        INSERT INTO t VALUES (9, 'nine');
        """,
        "inline deletes updates",
        inline=10,
    ),
    script(
        "inlined_deletes_on_files",
        """
        CREATE TABLE t AS SELECT i, 'v' AS v FROM range(30) r(i);
        DELETE FROM t WHERE i = 5;
        DELETE FROM t WHERE i IN (0, 29);
        UPDATE t SET v = 'upd' WHERE i = 7;
        DELETE FROM t WHERE i BETWEEN 10 AND 25;
        DELETE FROM t WHERE i = 7;
        """,
        "inline deletes updates",
        inline=10,
    ),
    script(
        "inlined_deletes_many_files",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(15) r(i);
        INSERT INTO t SELECT i FROM range(15, 30) r(i);
        INSERT INTO t VALUES (100), (101);
        DELETE FROM t WHERE i IN (3, 18, 100);
        DELETE FROM t WHERE i IN (4, 19);
        CALL ducklake_flush_inlined_data('lake');
        DELETE FROM t WHERE i IN (5, 20, 101);
        DELETE FROM t WHERE i < 14;
        """,
        "inline deletes maintenance",
        inline=10,
    ),
    script(
        "inlined_every_type",
        """
        CREATE TABLE t (a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f UTINYINT,
            g USMALLINT, h UINTEGER,
            i UBIGINT, j FLOAT, k DOUBLE, l DECIMAL(4,2), m DECIMAL(38,6), n DATE,
            p TIMESTAMP,
            q TIMESTAMPTZ, r TIMESTAMP_S, s TIMESTAMP_MS, u UUID, v VARCHAR, w JSON,
            x BLOB);
        INSERT INTO t VALUES (true, -128, -32768, -2147483648, -9223372036854775808, 255, 65535,
            4294967295,
            18446744073709551615, 0.1, 0.1, -99.99, 12345678901234567890123456789012.123456,
            '2024-02-29',
            '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789012+05:30', '2024-02-29 12:34:56',
            '2024-02-29 12:34:56.789', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'it''s',
            '{"a": "b"}', '\\x00\\x27\\xFF');
        INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        UPDATE t SET e = e + 1, v = v || '?' WHERE a;
        """,
        "inline types",
        inline=10,
    ),
    script(
        "inlined_bc_and_offsets",
        """
        CREATE TABLE t (k INTEGER, d DATE, ts TIMESTAMP, tz TIMESTAMPTZ);
        INSERT INTO t VALUES (1, '0044-03-15 (BC)', '0044-03-15 (BC) 12:00:00',
            '0044-03-15 (BC) 12:00:00+00');
        INSERT INTO t VALUES (2, '12024-03-15', '12024-03-15 12:00:00.5',
            '12024-03-15 12:00:00.5+00');
        """,
        "inline types far",
        inline=10,
    ),
    script(
        "inlined_then_flushed",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'one'), (2, 'two');
        INSERT INTO t VALUES (3, 'three');
        CALL ducklake_flush_inlined_data('lake');
        INSERT INTO t VALUES (4, 'four');
        CALL ducklake_flush_inlined_data('lake');
        """,
        "inline maintenance",
        inline=10,
    ),
    script(
        "inlined_changed_then_flushed",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
        UPDATE t SET s = 'ONE' WHERE k = 1;
        DELETE FROM t WHERE k = 2;
        INSERT INTO t VALUES (4, 'four');
        UPDATE t SET s = 'uno' WHERE k = 1;
        CALL ducklake_flush_inlined_data('lake');
        DELETE FROM t WHERE k = 3;
        UPDATE t SET s = 'FOUR' WHERE k = 4;
        CALL ducklake_flush_inlined_data('lake');
        """,
        "inline deletes updates maintenance",
        inline=10,
    ),
    script(
        "inlined_flushed_through_evolution",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'one');
        ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 5;
        INSERT INTO t VALUES (2, 'two', 2);
        ALTER TABLE t RENAME COLUMN s TO r;
        INSERT INTO t VALUES (3, 'three', 3);
        CALL ducklake_flush_inlined_data('lake');
        ALTER TABLE t DROP COLUMN r;
        INSERT INTO t VALUES (4, 4);
        DELETE FROM t WHERE k = 1;
        CALL ducklake_flush_inlined_data('lake');
        """,
        "inline evolution maintenance",
        inline=10,
    ),
    script(
        "inlined_deletes_flushed_over_delete_files",
        """
        CREATE TABLE t AS SELECT i FROM range(100) r(i);
        DELETE FROM t WHERE i < 20;
        DELETE FROM t WHERE i = 50;
        CALL ducklake_flush_inlined_data('lake');
        DELETE FROM t WHERE i = 60;
        DELETE FROM t WHERE i BETWEEN 70 AND 90;
        CALL ducklake_flush_inlined_data('lake');
        """,
        "inline deletes maintenance",
        inline=10,
    ),
    script(
        "inline_limit_switched",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1);
        CALL lake.set_option('data_inlining_row_limit', 0);
        INSERT INTO t VALUES (2);
        CALL lake.set_option('data_inlining_row_limit', 100);
        INSERT INTO t SELECT i FROM range(10, 60) r(i);
        DELETE FROM t WHERE k < 30;
        """,
        "inline",
        inline=5,
    ),
    script(
        "inlined_in_one_transaction",
        """
        CREATE TABLE a (k INTEGER);
        CREATE TABLE b (k INTEGER, s VARCHAR);
        BEGIN;
        INSERT INTO a VALUES (1), (2);
        INSERT INTO b VALUES (1, 'x');
        DELETE FROM a WHERE k = 1;
        UPDATE b SET s = 'y';
        COMMIT;
        BEGIN;
        CREATE TABLE c (n INTEGER);
        INSERT INTO c VALUES (7);
        INSERT INTO a VALUES (3);
        COMMIT;
        """,
        "inline",
        inline=10,
    ),
    script(
        "columns_named_as_inlining_needs",
        """
        CREATE TABLE t (k INTEGER, row_id INTEGER, begin_snapshot VARCHAR);
        INSERT INTO t VALUES (1, 10, 'b');
        INSERT INTO t VALUES (2, 20, NULL);
        UPDATE t SET row_id = 11 WHERE k = 1;
        """,
        "names",
        inline=0,
    ),
    script(
        "inlined_odd_names",
        """
        CREATE TABLE t ("a b" INTEGER, "Quo""te" VARCHAR, "select" INTEGER, "é" DATE,
            "semi;colon" VARCHAR);
        INSERT INTO t VALUES (1, 'x', 2, '2024-01-01', ';');
        ALTER TABLE t RENAME COLUMN "a b" TO "A.B";
        INSERT INTO t VALUES (2, NULL, 3, NULL, '--');
        """,
        "inline",
        inline=10,
    ),
    script(
        "inlined_then_merged",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1);
        INSERT INTO t VALUES (2);
        CALL ducklake_flush_inlined_data('lake');
        INSERT INTO t SELECT i FROM range(10, 25) r(i);
        CALL ducklake_merge_adjacent_files('lake');
        INSERT INTO t VALUES (3);
        UPDATE t SET k = -1 WHERE k = 1;
        """,
        "inline maintenance",
        inline=10,
    ),
]
