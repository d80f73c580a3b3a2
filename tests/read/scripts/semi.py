"""Variant and geometry: types with a life of their own."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "variant_scalars",
        """
        CREATE TABLE t (k INTEGER, v VARIANT);
        INSERT INTO t VALUES (1, 42::VARIANT), (2, 'text'::VARIANT), (3, NULL), (4, true::VARIANT),
            (5, 1.5::DOUBLE::VARIANT), (6, 12.34::DECIMAL(6,2)::VARIANT);
        INSERT INTO t VALUES (7, DATE '2024-02-29'::VARIANT),
            (8, TIMESTAMP '2024-01-02 03:04:05.678901'::VARIANT),
            (9, '2024-01-02 03:04:05+00'::TIMESTAMPTZ::VARIANT),
            (10, '\\x00\\xFF'::BLOB::VARIANT);
        INSERT INTO t VALUES (11, 1::TINYINT::VARIANT), (12, 32767::SMALLINT::VARIANT),
            (13, 9223372036854775807::VARIANT), (14, 1.5::FLOAT::VARIANT), (15, ''::VARIANT),
            (16, false::VARIANT);
        """,
        "types variant",
    ),
    script(
        "variant_of_rarer_types",
        """
        CREATE TABLE t (k INTEGER, v VARIANT);
        INSERT INTO t VALUES (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID::VARIANT),
            (2, TIME '10:11:12'::VARIANT);
        INSERT INTO t VALUES (3, NULL), (4, TIME '23:59:59.999999'::VARIANT);
        """,
        "types variant beyond_spark",
    ),
    script(
        "variant_objects",
        """
        CREATE TABLE t (k INTEGER, v VARIANT);
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}), (2, {'a': 2, 'b': 'y'}),
            (3, {'a': NULL, 'b': NULL});
        INSERT INTO t VALUES (4, [1, 2, 3]), (5, []), (6, {'n': {'deep': [{'x': 1}, {'x': 2}]}});
        INSERT INTO t VALUES (7, {'a': 'now text', 'c': DATE '2024-01-01'}), (8, NULL),
            (9, {'é ü': 'ß'});
        DELETE FROM t WHERE k = 2;
        """,
        "types variant",
    ),
    script(
        "variant_shredded",
        """
        CREATE TABLE t (k INTEGER, v VARIANT);
        INSERT INTO t SELECT i, {'id': i, 'name': 'n' || i, 'tags': [i, i + 1]} FROM range(50) r(i);
        INSERT INTO t SELECT i, CASE WHEN i % 2 = 0 THEN i::VARIANT ELSE ('s' || i)::VARIANT END
            FROM range(50, 90) r(i);
        UPDATE t SET v = {'id': -1} WHERE k = 3;
        """,
        "types variant",
        inline=0,
    ),
    script(
        "variant_added_later",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1), (2);
        ALTER TABLE t ADD COLUMN v VARIANT;
        INSERT INTO t VALUES (3, {'a': [1, NULL]}), (4, NULL);
        """,
        "types variant",
    ),
    script(
        "geometries",
        """
        CREATE TABLE t (k INTEGER, g GEOMETRY);
        INSERT INTO t VALUES (1, 'POINT (1 2)'), (2, NULL), (3, 'LINESTRING (0 0, 1 1, 2 0)');
        INSERT INTO t VALUES (4, 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (1 1, 2 1, 2 2, 1 1))'),
            (5, 'MULTIPOINT (1 1, 2 2)'),
            (6, 'GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))');
        INSERT INTO t VALUES (7, 'POINT EMPTY'), (8, 'POINT Z (1 2 3)'), (9, 'POINT M (1 2 3)'),
            (10, 'POINT ZM (1 2 3 4)'), (11, 'MULTIPOLYGON EMPTY');
        DELETE FROM t WHERE k IN (2, 5);
        """,
        "types geometry",
    ),
]
