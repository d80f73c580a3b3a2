"""Schemas, tables, views and macros: their names, lives and paths."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "empty_lake",
        "SELECT 1;",
        "names",
    ),
    script(
        "empty_tables",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR, l INTEGER[]);
        CREATE TABLE u AS SELECT 1 AS x WHERE false;
        ALTER TABLE t ADD COLUMN d DATE DEFAULT '2024-01-01';
        """,
        "names",
    ),
    script(
        "schemas",
        """
        CREATE SCHEMA a;
        CREATE SCHEMA "Odd schema.é";
        CREATE TABLE a.t (i INTEGER);
        CREATE TABLE "Odd schema.é".t (i VARCHAR);
        CREATE TABLE t (i DOUBLE);
        INSERT INTO a.t VALUES (1);
        INSERT INTO "Odd schema.é".t VALUES ('x');
        INSERT INTO t VALUES (0.5);
        DROP SCHEMA a CASCADE;
        CREATE SCHEMA a;
        CREATE TABLE a.t (j BIGINT);
        INSERT INTO a.t VALUES (2);
        """,
        "names",
    ),
    script(
        "odd_names",
        """
        CREATE TABLE "table" ("select" INTEGER, "from" VARCHAR);
        CREATE TABLE "dotted.name" ("a.b" INTEGER);
        CREATE TABLE "quo""ted" ("q""q" INTEGER, "it's" INTEGER);
        CREATE TABLE "Ünïcødé 🦆" ("日本" INTEGER, " lead" INTEGER, "trail " INTEGER);
        CREATE TABLE "sp ace" ("new
line" INTEGER);
        INSERT INTO "table" VALUES (1, 'x');
        INSERT INTO "dotted.name" VALUES (2);
        INSERT INTO "quo""ted" VALUES (3, 33);
        INSERT INTO "Ünïcødé 🦆" VALUES (4, 5, 6);
        INSERT INTO "sp ace" VALUES (7);
        UPDATE "quo""ted" SET "it's" = 34;
        DELETE FROM "dotted.name";
        """,
        "names",
    ),
    script(
        "names_like_ours",
        """
        CREATE TABLE t (filename VARCHAR, file_row_number INTEGER, pos INTEGER, file_path VARCHAR,
            data_file_id INTEGER,
            "_metadata" INTEGER, "__index" INTEGER, "row_index" INTEGER);
        INSERT INTO t VALUES ('f', 1, 2, 'p', 3, 4, 5, 6);
        INSERT INTO t VALUES (NULL, 10, 20, NULL, 30, 40, 50, 60);
        DELETE FROM t WHERE pos = 2;
        """,
        "names",
    ),
    script(
        "mixed_case",
        """
        CREATE TABLE "MixedCase" ("Id" INTEGER, "NAME" VARCHAR);
        INSERT INTO mixedcase VALUES (1, 'x');
        ALTER TABLE MIXEDCASE RENAME TO lower;
        ALTER TABLE lower RENAME COLUMN name TO other;
        INSERT INTO lower (OTHER, ID) VALUES ('y', 2);
        CREATE SCHEMA "S";
        CREATE TABLE s."T" (x INTEGER);
        INSERT INTO S.T VALUES (1);
        """,
        "names inline",
    ),
    script(
        "rename_table",
        """
        CREATE TABLE a (i INTEGER);
        INSERT INTO a VALUES (1);
        ALTER TABLE a RENAME TO b;
        INSERT INTO b VALUES (2);
        CREATE TABLE a (s VARCHAR);
        INSERT INTO a VALUES ('new');
        DELETE FROM b WHERE i = 1;
        """,
        "names",
    ),
    script(
        "drop_table_and_again",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t VALUES (1);
        DROP TABLE t;
        CREATE TABLE t (s VARCHAR, i INTEGER);
        INSERT INTO t VALUES ('x', 2);
        DROP TABLE t;
        """,
        "names",
    ),
    script(
        "create_or_replace",
        """
        CREATE TABLE t AS SELECT 1 AS a;
        CREATE OR REPLACE TABLE t AS SELECT 'x' AS b, 2 AS a;
        INSERT INTO t VALUES ('y', 3);
        CREATE OR REPLACE TABLE t (c DOUBLE);
        """,
        "names",
    ),
    script(
        "views",
        """
        CREATE TABLE t AS SELECT i, i % 2 = 0 AS even FROM range(20) r(i);
        CREATE VIEW v AS SELECT i FROM t WHERE even;
        CREATE VIEW w(renamed) AS SELECT i + 1 FROM t;
        INSERT INTO t VALUES (100, true);
        CREATE OR REPLACE VIEW v AS SELECT count(*) AS n FROM t;
        ALTER VIEW w RENAME TO x;
        COMMENT ON VIEW x IS 'a view';
        DROP VIEW v;
        """,
        "names views",
    ),
    script(
        "macros",
        """
        CREATE MACRO plus(a, b) AS a + b;
        CREATE MACRO rows_up_to(n) AS TABLE SELECT i FROM range(n) r(i);
        CREATE TABLE t AS SELECT 1 AS i;
        DROP MACRO plus;
        """,
        "names macros",
    ),
    script(
        "comments",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR);
        COMMENT ON TABLE t IS 'the table';
        COMMENT ON COLUMN t.i IS 'it''s the column';
        INSERT INTO t VALUES (1, 'x');
        COMMENT ON TABLE t IS 'changed';
        COMMENT ON TABLE t IS NULL;
        """,
        "names comments",
    ),
    script(
        "commit_messages",
        """
        CREATE TABLE t (i INTEGER);
        BEGIN;
        INSERT INTO t VALUES (1);
        CALL lake.set_commit_message('Ada', 'first, "quoted" row', extra_info => '{"job": 7}');
        COMMIT;
        INSERT INTO t VALUES (2);
        BEGIN;
        DELETE FROM t WHERE i = 1;
        CALL lake.set_commit_message('Grace', NULL);
        COMMIT;
        """,
        "names",
    ),
    script(
        "several_tables_in_one_commit",
        """
        CREATE TABLE a (i INTEGER);
        BEGIN;
        CREATE SCHEMA s;
        CREATE TABLE s.b (i INTEGER);
        INSERT INTO a SELECT i FROM range(12) r(i);
        INSERT INTO s.b SELECT i FROM range(20, 32) r(i);
        DELETE FROM a WHERE i < 3;
        CREATE VIEW s.v AS SELECT * FROM lake.main.a;
        COMMIT;
        BEGIN;
        INSERT INTO a VALUES (100);
        DROP TABLE s.b;
        COMMIT;
        """,
        "names",
    ),
    script(
        "encrypted",
        """
        CREATE TABLE t (i INTEGER, s VARCHAR, l INTEGER[]);
        INSERT INTO t SELECT i, 's' || i, [i] FROM range(20) r(i);
        DELETE FROM t WHERE i % 3 = 0;
        ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 4;
        INSERT INTO t SELECT i, 's' || i, NULL, i FROM range(20, 40) r(i);
        UPDATE t SET s = 'upd' WHERE i = 25;
        DELETE FROM t WHERE i % 3 = 1;
        """,
        "encrypted",
        attach=", ENCRYPTED",
    ),
    script(
        "encrypted_nested",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR), l INTEGER[]);
        INSERT INTO t SELECT i, {'a': i, 'b': 'x'}, [i] FROM range(15) r(i);
        ALTER TABLE t RENAME COLUMN s.a TO z;
        INSERT INTO t SELECT i, {'z': i, 'b': 'y'}, [] FROM range(15, 30) r(i);
        ALTER TABLE t DROP COLUMN s.b;
        """,
        "encrypted nested evolution",
        attach=", ENCRYPTED",
    ),
    script(
        "encrypted_and_merged",
        """
        CREATE TABLE t (i INTEGER, p INTEGER);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t SELECT i, i % 2 FROM range(20) r(i);
        INSERT INTO t SELECT i, i % 2 FROM range(20, 40) r(i);
        CALL ducklake_merge_adjacent_files('lake');
        DELETE FROM t WHERE i = 3;
        """,
        "encrypted maintenance",
        attach=", ENCRYPTED",
        inline=0,
    ),
    script(
        "absolute_table_path",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(20) r(i);
        DELETE FROM t WHERE i = 4;
        """,
        "paths",
        inline=0,
        after="""
        UPDATE meta.ducklake_table SET path = '$DATA/main/t/', path_is_relative = false;
        """,
    ),
    script(
        "absolute_schema_path",
        """
        CREATE SCHEMA s;
        CREATE TABLE s.t (i INTEGER);
        INSERT INTO s.t SELECT i FROM range(20) r(i);
        DELETE FROM s.t WHERE i = 4;
        """,
        "paths",
        inline=0,
        after="""
        UPDATE meta.ducklake_schema SET path = '$DATA/s/', path_is_relative = false
        WHERE schema_name = 's';
        """,
    ),
    script(
        "absolute_file_paths",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t SELECT i FROM range(20) r(i);
        DELETE FROM t WHERE i = 4;
        """,
        "paths",
        inline=0,
        after="""
        UPDATE meta.ducklake_data_file
        SET path = '$DATA/main/t/' || path, path_is_relative = false;
        UPDATE meta.ducklake_delete_file
        SET path = '$DATA/main/t/' || path, path_is_relative = false;
        """,
    ),
    script(
        "table_tags",
        """
        CREATE TABLE t (i INTEGER);
        INSERT INTO t VALUES (1);
        """,
        "names",
        after="""
        INSERT INTO meta.ducklake_tag
        SELECT table_id, 1, NULL, 'owner', 'ada' FROM meta.ducklake_table;
        """,
    ),
]
