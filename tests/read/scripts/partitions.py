"""Partitions: every transform, awkward values, and evolution of the specification."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "partition_identity",
        """
        CREATE TABLE t (k INTEGER, p VARCHAR);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, 'p' || (i % 3) FROM range(30) r(i);
        INSERT INTO t VALUES (100, NULL), (101, ''), (102, 'a/b c=é'),
            (103, '__HIVE_DEFAULT_PARTITION__'), (104, '%41');
        DELETE FROM t WHERE p = 'p1';
        UPDATE t SET p = 'moved' WHERE k < 10;
        """,
        "partition",
    ),
    script(
        "partition_identity_types",
        """
        CREATE TABLE t (k INTEGER, a BOOLEAN, b DATE, c DECIMAL(9,2), d UBIGINT);
        ALTER TABLE t SET PARTITIONED BY (a, b, c, d);
        INSERT INTO t VALUES (1, true, '2024-01-01', 1.50, 18446744073709551615),
            (2, false, NULL, -0.01, 0);
        INSERT INTO t VALUES (3, NULL, '1969-12-31', NULL, NULL),
            (4, true, '2024-01-01', 1.50, 18446744073709551615);
        DELETE FROM t WHERE k = 1;
        """,
        "partition",
    ),
    script(
        "partition_calendar_of_timestamp",
        """
        CREATE TABLE t (k INTEGER, ts TIMESTAMP);
        ALTER TABLE t SET PARTITIONED BY (year(ts), month(ts), day(ts), hour(ts));
        INSERT INTO t SELECT i, TIMESTAMP '2023-12-31 20:00:00' + i * INTERVAL 1 HOUR FROM
            range(12) r(i);
        INSERT INTO t VALUES (100, NULL), (101, '1969-12-31 23:59:59'),
            (102, '0001-01-01 00:00:00');
        DELETE FROM t WHERE ts >= '2024-01-01 02:00:00';
        """,
        "partition",
    ),
    script(
        "partition_calendar_of_date",
        """
        CREATE TABLE t (k INTEGER, d DATE);
        ALTER TABLE t SET PARTITIONED BY (year(d), month(d));
        INSERT INTO t SELECT i, DATE '2023-11-15' + (i * 20)::INTEGER FROM range(8) r(i);
        INSERT INTO t VALUES (100, NULL);
        ALTER TABLE t SET PARTITIONED BY (day(d));
        INSERT INTO t SELECT i, DATE '2024-05-01' + (i % 3)::INTEGER FROM range(9) r(i);
        UPDATE t SET d = '2025-01-01' WHERE k = 3;
        """,
        "partition",
    ),
    script(
        "partition_calendar_of_timestamptz",
        """
        SET TimeZone = 'Asia/Tokyo';
        CREATE TABLE t (k INTEGER, ts TIMESTAMPTZ);
        ALTER TABLE t SET PARTITIONED BY (day(ts), hour(ts));
        INSERT INTO t SELECT i, '2023-12-31 20:00:00+00'::TIMESTAMPTZ + i * INTERVAL 1 HOUR FROM
            range(12) r(i);
        SET TimeZone = 'UTC';
        INSERT INTO t SELECT i, '2023-12-31 20:00:00+00'::TIMESTAMPTZ + i * INTERVAL 1 HOUR FROM
            range(12, 24) r(i);
        """,
        "partition",
    ),
    script(
        "partition_bucket",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        ALTER TABLE t SET PARTITIONED BY (bucket(4, k));
        INSERT INTO t SELECT i, 's' || i FROM range(20) r(i);
        INSERT INTO t VALUES (NULL, 'null'), (-5, 'negative');
        ALTER TABLE t SET PARTITIONED BY (bucket(3, s));
        INSERT INTO t SELECT i, 's' || i FROM range(20, 40) r(i);
        DELETE FROM t WHERE k % 4 = 1;
        """,
        "partition",
    ),
    script(
        "partition_bucket_types",
        """
        CREATE TABLE t (k INTEGER, a UUID, b DECIMAL(30,2), c DATE, d UINTEGER);
        ALTER TABLE t SET PARTITIONED BY (bucket(2, a), bucket(2, b), bucket(2, c), bucket(2, d));
        INSERT INTO t VALUES (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1.5, '2024-01-01', 1),
            (2, '00000000-0000-0000-0000-000000000000', -1.5, '1969-01-01',
            4000000000);
        INSERT INTO t VALUES (3, NULL, NULL, NULL, NULL);
        """,
        "partition",
    ),
    script(
        "partition_evolution",
        """
        CREATE TABLE t (k INTEGER, p VARCHAR, ts TIMESTAMP);
        INSERT INTO t SELECT i, 'p' || (i % 2), TIMESTAMP '2024-01-01' + i * INTERVAL 1 DAY FROM
            range(12) r(i);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, 'p' || (i % 2), TIMESTAMP '2024-01-01' + i * INTERVAL 1 DAY FROM
            range(12, 24) r(i);
        ALTER TABLE t SET PARTITIONED BY (month(ts), bucket(2, k));
        INSERT INTO t SELECT i, 'p' || (i % 2), TIMESTAMP '2024-01-01' + i * INTERVAL 1 DAY FROM
            range(24, 48) r(i);
        ALTER TABLE t RESET PARTITIONED BY;
        INSERT INTO t VALUES (1000, 'none', NULL);
        DELETE FROM t WHERE k % 6 = 0;
        """,
        "partition",
    ),
    script(
        "partition_key_renamed",
        """
        CREATE TABLE t (k INTEGER, p INTEGER);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, i % 3 FROM range(12) r(i);
        ALTER TABLE t RENAME COLUMN p TO part;
        INSERT INTO t SELECT i, i % 3 FROM range(12, 24) r(i);
        ALTER TABLE t ADD COLUMN p VARCHAR DEFAULT 'new';
        INSERT INTO t VALUES (100, 1, 'x');
        """,
        "partition evolution",
    ),
    script(
        "partition_key_dropped",
        """
        CREATE TABLE t (k INTEGER, p INTEGER);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, i % 2 FROM range(12) r(i);
        ALTER TABLE t RESET PARTITIONED BY;
        ALTER TABLE t DROP COLUMN p;
        INSERT INTO t VALUES (100);
        """,
        "partition evolution",
    ),
    script(
        "partition_maintenance",
        """
        CREATE TABLE t (k INTEGER, p INTEGER);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, i % 2 FROM range(12) r(i);
        INSERT INTO t SELECT i, i % 2 FROM range(12, 24) r(i);
        CALL ducklake_merge_adjacent_files('lake');
        DELETE FROM t WHERE k < 14 AND p = 0;
        CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1);
        INSERT INTO t SELECT i, i % 3 FROM range(24, 36) r(i);
        """,
        "partition maintenance",
        inline=0,
    ),
    script(
        "partition_flush",
        """
        CREATE TABLE t (k INTEGER, p INTEGER);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t VALUES (1, 1), (2, 2), (3, 1);
        INSERT INTO t VALUES (4, 2), (5, NULL);
        DELETE FROM t WHERE k = 2;
        CALL ducklake_flush_inlined_data('lake');
        INSERT INTO t VALUES (6, 1);
        """,
        "partition inline maintenance",
        inline=10,
    ),
    script(
        "partition_without_hive_folders",
        """
        CALL lake.set_option('hive_file_pattern', false);
        CREATE TABLE t (k INTEGER, p VARCHAR);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, 'p' || (i % 3) FROM range(15) r(i);
        DELETE FROM t WHERE k = 4;
        """,
        "partition",
    ),
]
