"""Fields inside structs, lists and maps that come, go and change."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "field_add",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER));
        INSERT INTO t VALUES (1, {'a': 1}), (2, NULL);
        ALTER TABLE t ADD COLUMN s.b VARCHAR;
        INSERT INTO t VALUES (3, {'a': 3, 'b': 'x'}), (4, NULL);
        ALTER TABLE t ADD COLUMN s.c STRUCT(d INTEGER, e VARCHAR[]);
        INSERT INTO t VALUES (5, {'a': 5, 'b': NULL, 'c': {'d': 1, 'e': ['y']}});
        """,
        "nested evolution",
    ),
    script(
        "field_add_with_default",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER));
        INSERT INTO t VALUES (1, {'a': 1}), (2, NULL);
        ALTER TABLE t ADD COLUMN s.b INTEGER DEFAULT 42;
        INSERT INTO t VALUES (3, {'a': 3, 'b': NULL});
        """,
        "nested evolution",
    ),
    script(
        "field_drop",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR, c DOUBLE));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x', 'c': 0.5}), (2, NULL);
        ALTER TABLE t DROP COLUMN s.b;
        INSERT INTO t VALUES (3, {'a': 3, 'c': NULL});
        ALTER TABLE t DROP COLUMN s.a;
        INSERT INTO t VALUES (4, {'c': 4.5});
        """,
        "nested evolution",
    ),
    script(
        "field_rename",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}), (2, NULL);
        ALTER TABLE t RENAME COLUMN s.a TO z;
        INSERT INTO t VALUES (3, {'z': 3, 'b': NULL});
        ALTER TABLE t RENAME COLUMN s TO "S t";
        INSERT INTO t VALUES (4, {'z': 4, 'b': 'y'});
        """,
        "nested evolution",
    ),
    script(
        "field_rename_and_reuse",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'});
        ALTER TABLE t RENAME COLUMN s.a TO old;
        ALTER TABLE t ADD COLUMN s.a VARCHAR;
        INSERT INTO t VALUES (2, {'old': 2, 'b': 'y', 'a': 'new'});
        ALTER TABLE t DROP COLUMN s.b;
        ALTER TABLE t ADD COLUMN s.b BIGINT;
        INSERT INTO t VALUES (3, {'old': 3, 'a': NULL, 'b': 5000000000});
        """,
        "nested evolution",
    ),
    script(
        "field_promote",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a SMALLINT, b FLOAT, d DECIMAL(4,1)));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 0.5, 'd': 99.5}), (2, NULL);
        ALTER TABLE t ALTER COLUMN s SET DATA TYPE STRUCT(a BIGINT, b DOUBLE, d DECIMAL(18,6));
        INSERT INTO t VALUES (3, {'a': 5000000000, 'b': 1e300, 'd': 123456.123456});
        """,
        "nested evolution promotion",
    ),
    script(
        "field_promote_temporal",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(d DATE, s TIMESTAMP_S)[]);
        INSERT INTO t VALUES (1, [{'d': '2024-02-29', 's': '2024-02-29 01:02:03'}, NULL]),
            (2, NULL);
        ALTER TABLE t ALTER COLUMN s SET DATA TYPE STRUCT(d TIMESTAMP, s TIMESTAMP)[];
        INSERT INTO t VALUES (3, [{'d': '2024-02-29 01:02:03.5', 's': '2024-02-29 01:02:03.5'}]);
        """,
        "nested evolution promotion",
    ),
    script(
        "field_in_list",
        """
        CREATE TABLE t (k INTEGER, l STRUCT(a INTEGER, b VARCHAR)[]);
        INSERT INTO t VALUES (1, [{'a': 1, 'b': 'x'}, NULL]), (2, []), (3, NULL);
        ALTER TABLE t ADD COLUMN l.element.c DOUBLE;
        INSERT INTO t VALUES (4, [{'a': 4, 'b': 'y', 'c': 0.5}]);
        ALTER TABLE t RENAME COLUMN l.element.a TO z;
        INSERT INTO t VALUES (5, [{'z': 5, 'b': NULL, 'c': NULL}]);
        ALTER TABLE t DROP COLUMN l.element.b;
        INSERT INTO t VALUES (6, [{'z': 6, 'c': 6.5}, {'z': NULL, 'c': NULL}]);
        """,
        "nested evolution",
    ),
    script(
        "field_in_map",
        """
        CREATE TABLE t (k INTEGER, m MAP(VARCHAR, STRUCT(a INTEGER, b VARCHAR)));
        INSERT INTO t VALUES (1, MAP {'p': {'a': 1, 'b': 'x'}, 'q': NULL}), (2, MAP {}), (3, NULL);
        ALTER TABLE t ADD COLUMN m.value.c DOUBLE;
        INSERT INTO t VALUES (4, MAP {'r': {'a': 4, 'b': 'y', 'c': 0.5}});
        ALTER TABLE t RENAME COLUMN m.value.a TO z;
        ALTER TABLE t DROP COLUMN m.value.b;
        INSERT INTO t VALUES (5, MAP {'s': {'z': 5, 'c': NULL}});
        """,
        "nested evolution",
    ),
    script(
        "field_promote_in_list_and_map",
        """
        CREATE TABLE t (k INTEGER, l INTEGER[], m MAP(VARCHAR, INTEGER), n STRUCT(a SMALLINT)[]);
        INSERT INTO t VALUES (1, [1, NULL], MAP {'a': 1}, [{'a': 1}]), (2, [], MAP {}, []),
            (3, NULL, NULL, NULL);
        ALTER TABLE t ALTER COLUMN l SET DATA TYPE BIGINT[];
        ALTER TABLE t ALTER COLUMN m SET DATA TYPE MAP(VARCHAR, BIGINT);
        ALTER TABLE t ALTER COLUMN n SET DATA TYPE STRUCT(a INTEGER)[];
        INSERT INTO t VALUES (4, [5000000000], MAP {'b': 5000000000}, [{'a': 70000}, NULL]);
        """,
        "nested evolution promotion",
    ),
    script(
        "field_deep",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(l STRUCT(m MAP(VARCHAR, STRUCT(x INTEGER)))[]));
        INSERT INTO t VALUES (1, {'l': [{'m': MAP {'a': {'x': 1}}}]}), (2, {'l': []}), (3, NULL);
        ALTER TABLE t ADD COLUMN s.l.element.m.value.y VARCHAR;
        INSERT INTO t VALUES (4, {'l': [{'m': MAP {'b': {'x': 4, 'y': 'four'}}}]});
        ALTER TABLE t RENAME COLUMN s.l.element.m.value.x TO xx;
        INSERT INTO t VALUES (5, {'l': [NULL, {'m': MAP {'c': {'xx': 5, 'y': NULL}}}]});
        ALTER TABLE t ADD COLUMN s.top INTEGER;
        DELETE FROM t WHERE k = 1;
        """,
        "nested evolution",
    ),
    script(
        "fields_inlined_through_evolution",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'it''s'});
        ALTER TABLE t ADD COLUMN s.c INTEGER;
        INSERT INTO t VALUES (2, {'a': 2, 'b': 'y', 'c': 3});
        ALTER TABLE t RENAME COLUMN s.b TO bb;
        ALTER TABLE t DROP COLUMN s.a;
        INSERT INTO t VALUES (3, {'bb': 'z', 'c': NULL});
        UPDATE t SET k = 10 WHERE k = 1;
        """,
        "nested evolution inline",
        inline=10,
    ),
    script(
        "fields_through_maintenance",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'});
        INSERT INTO t VALUES (2, {'a': 2, 'b': 'y'});
        ALTER TABLE t RENAME COLUMN s.a TO z;
        INSERT INTO t VALUES (3, {'z': 3, 'b': 'w'});
        INSERT INTO t VALUES (4, {'z': 4, 'b': 'v'});
        CALL ducklake_merge_adjacent_files('lake');
        ALTER TABLE t ADD COLUMN s.c INTEGER;
        INSERT INTO t VALUES (5, {'z': 5, 'b': 'u', 'c': 5});
        """,
        "nested evolution maintenance",
        inline=0,
    ),
]
