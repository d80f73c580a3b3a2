"""Columns that come, go and change their names."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "add_column",
        """
        CREATE TABLE t (a INTEGER);
        INSERT INTO t VALUES (1), (2);
        ALTER TABLE t ADD COLUMN b VARCHAR;
        INSERT INTO t VALUES (3, 'x');
        ALTER TABLE t ADD COLUMN c DOUBLE;
        INSERT INTO t VALUES (4, NULL, 1.5);
        """,
        "evolution",
    ),
    script(
        "add_column_with_default",
        """
        CREATE TABLE t (a INTEGER);
        INSERT INTO t VALUES (1), (2);
        ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'it''s, the {default}';
        ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 42;
        INSERT INTO t VALUES (3, NULL, NULL);
        INSERT INTO t (a) VALUES (4);
        ALTER TABLE t ALTER COLUMN c SET DEFAULT 43;
        INSERT INTO t (a) VALUES (5);
        ALTER TABLE t ALTER COLUMN c DROP DEFAULT;
        INSERT INTO t (a) VALUES (6);
        """,
        "evolution",
    ),
    script(
        "default_of_every_type",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1), (2);
        BEGIN;
        ALTER TABLE t ADD COLUMN c0 BOOLEAN DEFAULT 'yes';
        ALTER TABLE t ADD COLUMN c1 TINYINT DEFAULT -5;
        ALTER TABLE t ADD COLUMN c2 UBIGINT DEFAULT 18446744073709551615;
        ALTER TABLE t ADD COLUMN c3 FLOAT DEFAULT 1.5;
        ALTER TABLE t ADD COLUMN c4 DOUBLE DEFAULT 'nan';
        ALTER TABLE t ADD COLUMN c5 DECIMAL(20,4) DEFAULT -12.3456;
        ALTER TABLE t ADD COLUMN c6 DATE DEFAULT '2024-2-9';
        ALTER TABLE t ADD COLUMN c7 TIMESTAMP DEFAULT '2024-01-01 00:00:00.000001';
        ALTER TABLE t ADD COLUMN c8 TIMESTAMPTZ DEFAULT '2024-01-01 00:00:00+02';
        ALTER TABLE t ADD COLUMN c9 UUID DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
        ALTER TABLE t ADD COLUMN c10 VARCHAR DEFAULT 'NULL';
        ALTER TABLE t ADD COLUMN c11 JSON DEFAULT '{"a": 1}';
        ALTER TABLE t ADD COLUMN c12 BLOB DEFAULT '\\x01\\xFF';
        ALTER TABLE t ADD COLUMN c13 INTEGER DEFAULT 1.5;
        ALTER TABLE t ADD COLUMN c14 TIMESTAMP_S DEFAULT '2024-01-01 00:00:01';
        ALTER TABLE t ADD COLUMN c15 DECIMAL(38,2) DEFAULT
            '999999999999999999999999999999999999.99';
        COMMIT;
        INSERT INTO t (k) VALUES (3);
        """,
        "evolution types",
    ),
    script(
        "default_of_rare_types",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1), (2);
        BEGIN;
        ALTER TABLE t ADD COLUMN c0 INTERVAL DEFAULT '1 month 2 days';
        ALTER TABLE t ADD COLUMN c1 HUGEINT DEFAULT 5;
        ALTER TABLE t ADD COLUMN c2 TIMESTAMP_NS DEFAULT '2024-01-01 00:00:00.123456789';
        ALTER TABLE t ADD COLUMN c3 TIME DEFAULT '10:00';
        ALTER TABLE t ADD COLUMN c4 GEOMETRY DEFAULT 'POINT(1 2)';
        COMMIT;
        INSERT INTO t (k) VALUES (3);
        """,
        "evolution types interval int128 timestamp_ns time geometry",
    ),
    script(
        "default_of_variant",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1), (2);
        BEGIN;
        ALTER TABLE t ADD COLUMN c0 VARIANT DEFAULT 5;
        COMMIT;
        INSERT INTO t (k) VALUES (3);
        """,
        "evolution types variant",
    ),
    script(
        "default_of_empty_text",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1);
        ALTER TABLE t ADD COLUMN s VARCHAR DEFAULT '';
        INSERT INTO t (k) VALUES (2);
        ALTER TABLE t ADD COLUMN u VARCHAR DEFAULT ' é ';
        """,
        "evolution",
    ),
    script(
        "add_nested_columns",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1);
        ALTER TABLE t ADD COLUMN l INTEGER[];
        ALTER TABLE t ADD COLUMN s STRUCT(a INTEGER, b VARCHAR);
        ALTER TABLE t ADD COLUMN m MAP(VARCHAR, INTEGER);
        INSERT INTO t VALUES (2, [1], {'a': 1, 'b': 'x'}, MAP {'k': 1}), (3, NULL, NULL, NULL);
        DELETE FROM t WHERE k = 1;
        """,
        "evolution nested",
    ),
    script(
        "default_at_creation",
        """
        CREATE TABLE t (a INTEGER, b INTEGER DEFAULT 7, c VARCHAR DEFAULT 'd');
        INSERT INTO t (a) VALUES (1);
        INSERT INTO t VALUES (2, NULL, NULL);
        ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 9;
        INSERT INTO t (a, d) VALUES (3, NULL);
        """,
        "evolution",
    ),
    script(
        "drop_column",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE);
        INSERT INTO t VALUES (1, 'x', 1.5), (2, 'y', NULL);
        ALTER TABLE t DROP COLUMN b;
        INSERT INTO t VALUES (3, 3.5);
        ALTER TABLE t DROP COLUMN a;
        INSERT INTO t VALUES (4.5);
        DELETE FROM t WHERE c IS NULL;
        """,
        "evolution",
    ),
    script(
        "drop_then_add_the_same_name",
        """
        CREATE TABLE t (a INTEGER, b INTEGER);
        INSERT INTO t VALUES (1, 10);
        ALTER TABLE t DROP COLUMN b;
        INSERT INTO t VALUES (2);
        ALTER TABLE t ADD COLUMN b INTEGER;
        INSERT INTO t VALUES (3, 30);
        ALTER TABLE t DROP COLUMN b;
        ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'again';
        INSERT INTO t VALUES (4, 'four');
        """,
        "evolution",
    ),
    script(
        "rename_column",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        INSERT INTO t VALUES (1, 'x');
        ALTER TABLE t RENAME COLUMN a TO z;
        INSERT INTO t VALUES (2, 'y');
        ALTER TABLE t RENAME COLUMN z TO "Odd Name";
        INSERT INTO t VALUES (3, NULL);
        DELETE FROM t WHERE "Odd Name" = 2;
        """,
        "evolution",
    ),
    script(
        "rename_then_reuse_the_name",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        INSERT INTO t VALUES (1, 'x');
        ALTER TABLE t RENAME COLUMN a TO old;
        ALTER TABLE t ADD COLUMN a DOUBLE DEFAULT 0.5;
        INSERT INTO t VALUES (2, 'y', 2.5);
        UPDATE t SET a = 9.5 WHERE old = 1;
        """,
        "evolution",
    ),
    script(
        "swap_names",
        """
        CREATE TABLE t (a INTEGER, b INTEGER);
        INSERT INTO t VALUES (1, 100);
        ALTER TABLE t RENAME COLUMN a TO c;
        ALTER TABLE t RENAME COLUMN b TO a;
        ALTER TABLE t RENAME COLUMN c TO b;
        INSERT INTO t VALUES (2, 200);
        DELETE FROM t WHERE a = 100;
        """,
        "evolution",
    ),
    script(
        "rename_case_only",
        """
        CREATE TABLE t (abc INTEGER, "MixedCase" INTEGER);
        INSERT INTO t VALUES (1, 2);
        ALTER TABLE t RENAME COLUMN abc TO x;
        ALTER TABLE t RENAME COLUMN x TO "ABC";
        INSERT INTO t VALUES (3, 4);
        """,
        "evolution inline",
    ),
    script(
        "not_null_and_back",
        """
        CREATE TABLE t (a INTEGER NOT NULL, b INTEGER);
        INSERT INTO t VALUES (1, 1);
        ALTER TABLE t ALTER COLUMN a DROP NOT NULL;
        INSERT INTO t VALUES (NULL, 2);
        ALTER TABLE t ALTER COLUMN b SET NOT NULL;
        INSERT INTO t VALUES (3, 3);
        """,
        "evolution",
    ),
    script(
        "evolve_between_deletes",
        """
        CREATE TABLE t (a INTEGER, b INTEGER);
        INSERT INTO t SELECT i, i * 10 FROM range(20) r(i);
        DELETE FROM t WHERE a < 3;
        ALTER TABLE t ADD COLUMN c VARCHAR DEFAULT 'c';
        DELETE FROM t WHERE a BETWEEN 5 AND 8;
        ALTER TABLE t DROP COLUMN b;
        UPDATE t SET c = 'upd' WHERE a > 15;
        ALTER TABLE t RENAME COLUMN c TO b;
        DELETE FROM t WHERE b = 'upd' AND a % 2 = 0;
        """,
        "evolution deletes",
    ),
    script(
        "evolve_in_one_transaction",
        """
        CREATE TABLE t (a INTEGER);
        INSERT INTO t VALUES (1);
        BEGIN;
        ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 5;
        INSERT INTO t VALUES (2, 20);
        ALTER TABLE t RENAME COLUMN a TO aa;
        INSERT INTO t VALUES (3, 30);
        COMMIT;
        INSERT INTO t (aa) VALUES (4);
        """,
        "evolution",
        inline=0,
    ),
    script(
        "inlined_through_evolution",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        INSERT INTO t VALUES (1, 'one');
        ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 7;
        INSERT INTO t VALUES (2, 'two', 2);
        ALTER TABLE t RENAME COLUMN b TO d;
        INSERT INTO t VALUES (3, 'three', 3);
        ALTER TABLE t ADD COLUMN b DATE;
        INSERT INTO t VALUES (4, 'four', 4, '2024-01-01');
        ALTER TABLE t DROP COLUMN c;
        UPDATE t SET d = upper(d) WHERE a <= 2;
        ALTER TABLE t ALTER COLUMN a TYPE BIGINT;
        INSERT INTO t VALUES (5000000000, 'big', NULL);
        DELETE FROM t WHERE a = 3;
        """,
        "evolution inline",
        inline=10,
    ),
    script(
        "evolve_then_compact",
        """
        CREATE TABLE t (a INTEGER, b VARCHAR);
        INSERT INTO t VALUES (1, 'x');
        INSERT INTO t VALUES (2, 'y');
        ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3;
        INSERT INTO t VALUES (3, 'z', 30);
        INSERT INTO t VALUES (4, 'w', 40);
        ALTER TABLE t RENAME COLUMN b TO e;
        ALTER TABLE t ALTER COLUMN a TYPE BIGINT;
        CALL ducklake_merge_adjacent_files('lake');
        INSERT INTO t VALUES (5, 'v', 50);
        """,
        "evolution maintenance",
        inline=0,
    ),
]
