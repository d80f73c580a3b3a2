"""Inlined values that DuckDB 1.5.5 writes and then cannot read back, or reads back wrong.

On SQLite and PostgreSQL it stores a top-level struct as an SQL literal (quotes doubled,
`CAST('…' AS DATE)`), but reads it as the text of a cast: quotes and backslashes vanish, and
anything inside a CAST is an error. JSON lists are read as JSON. Not part of the corpus: here the
truth is what the same script gives without inlining.
"""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "struct_of_quotes",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a VARCHAR));
        INSERT INTO t VALUES (1, {'a': 'it''s'});
        INSERT INTO t VALUES (2, {'a': 'back\\slash'});
        """,
        "wrong",
        inline=10,
    ),
    script(
        "struct_of_blobs",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a BLOB));
        INSERT INTO t VALUES (1, {'a': '\\x00\\xFFa'});
        """,
        "wrong",
        inline=10,
    ),
    script(
        "struct_of_dates_and_times",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a DATE, b TIMESTAMP, c TIMESTAMPTZ, d TIMESTAMP_S,
            e TIMESTAMP_MS));
        INSERT INTO t VALUES (1, {'a': '2024-02-29', 'b': '2024-02-29 01:02:03.5',
            'c': '2024-02-29 01:02:03+02',
            'd': '2024-02-29 01:02:03', 'e': '2024-02-29 01:02:03.5'}), (2, NULL);
        """,
        "error",
        inline=10,
    ),
    script(
        "struct_of_uuids",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a UUID));
        INSERT INTO t VALUES (1, {'a': 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'});
        """,
        "error",
        inline=10,
    ),
    script(
        "struct_of_nan",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a DOUBLE, b FLOAT));
        INSERT INTO t VALUES (1, {'a': 'nan', 'b': '-inf'});
        """,
        "error",
        inline=10,
    ),
    script(
        "struct_of_structs",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a STRUCT(b DATE, l VARCHAR[])));
        INSERT INTO t VALUES (1, {'a': {'b': '2024-01-01', 'l': ['it''s', NULL, 'x']}});
        """,
        "error",
        inline=10,
    ),
    script(
        "struct_with_quote_in_field_name",
        """
        CREATE TABLE t (k INTEGER, s STRUCT("it's" INTEGER));
        INSERT INTO t VALUES (1, {'it''s': 4});
        """,
        "error",
        inline=10,
    ),
    script(
        "list_of_json",
        """
        CREATE TABLE t (k INTEGER, l JSON[]);
        INSERT INTO t VALUES (1, ['{"a": 1}', 'null', NULL]);
        """,
        "error",
        inline=10,
    ),
]
