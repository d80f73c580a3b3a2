"""Every scalar type, with its NULLs and its extremes."""

from tests.read.scripts.script import script

_ALL_BYTES = "".join(f"\\x{byte:02X}" for byte in range(256))
_MANY_COLUMNS = ", ".join(f"i + {n} AS c{n}" for n in range(120))

SCRIPTS = [
    script(
        "booleans",
        """
        CREATE TABLE t (k INTEGER, b BOOLEAN);
        INSERT INTO t VALUES (1, true), (2, false), (3, NULL);
        INSERT INTO t VALUES (4, NULL), (5, NULL);
        INSERT INTO t VALUES (6, true);
        """,
        "types",
    ),
    script(
        "signed_integers",
        """
        CREATE TABLE t (a TINYINT, b SMALLINT, c INTEGER, d BIGINT);
        INSERT INTO t VALUES (-128, -32768, -2147483648, -9223372036854775808),
            (127, 32767, 2147483647, 9223372036854775807);
        INSERT INTO t VALUES (0, 0, 0, 0), (NULL, NULL, NULL, NULL);
        INSERT INTO t VALUES (NULL, NULL, NULL, NULL);
        """,
        "types",
    ),
    script(
        "unsigned_integers",
        """
        CREATE TABLE t (a UTINYINT, b USMALLINT, c UINTEGER, d UBIGINT);
        INSERT INTO t VALUES (0, 0, 0, 0), (255, 65535, 4294967295, 18446744073709551615);
        INSERT INTO t VALUES (128, 32768, 2147483648, 9223372036854775808),
            (NULL, NULL, NULL, NULL);
        """,
        "types",
    ),
    script(
        "hugeint",
        """
        CREATE TABLE t (k INTEGER, a HUGEINT, b UHUGEINT);
        INSERT INTO t VALUES (1, 0, 0), (2, -1, 1), (3, 9007199254740991, 9007199254740991),
            (4, NULL, NULL);
        INSERT INTO t VALUES (5, 170141183460469231731687303715, 340282366920938463463374607431);
        INSERT INTO t VALUES (6, -18446744073709551616, 18446744073709551616);
        """,
        "types int128",
    ),
    script(
        "hugeint_inlined_exactly",
        """
        CREATE TABLE t (k INTEGER, a HUGEINT, b UHUGEINT);
        INSERT INTO t VALUES (1, 99999999999999999999999999999999999999,
            12345678901234567890123456789),
            (2, -99999999999999999999999999999999999999, 18446744073709551617);
        INSERT INTO t VALUES (3, 9007199254740993, NULL);
        UPDATE t SET a = a - 1 WHERE k = 1;
        """,
        "types int128 inline",
        inline=10,
    ),
    script(
        "floats",
        """
        CREATE TABLE t (k INTEGER, f FLOAT, d DOUBLE);
        INSERT INTO t VALUES (1, 0.0, 0.0), (2, '-0.0', '-0.0'), (3, 'nan', 'nan'),
            (4, 'inf', 'inf'),
            (5, '-inf', '-inf'), (6, NULL, NULL);
        INSERT INTO t VALUES (7, 3.4028234e38, 1.7976931348623157e308), (8, 1e-45, 5e-324),
            (9, 0.1, 0.1), (10, 16777217, 9007199254740993);
        INSERT INTO t VALUES (11, 'nan', NULL);
        INSERT INTO t VALUES (12, 1.17549435e-38, 2.2250738585072014e-308), (13, 1/3, 1/3);
        """,
        "types",
    ),
    script(
        "decimals",
        """
        CREATE TABLE t (a DECIMAL(1,0), b DECIMAL(4,1), c DECIMAL(9,4), d DECIMAL(18,18),
            e DECIMAL(18,3), f DECIMAL(19,2), g DECIMAL(38,0), h DECIMAL(38,10),
            i DECIMAL(38,38));
        INSERT INTO t VALUES (9, 999.9, 99999.9999, 0.999999999999999999, 999999999999999.999,
            99999999999999999.99, 99999999999999999999999999999999999999,
            '9999999999999999999999999999.9999999999', '0.99999999999999999999999999999999999999');
        INSERT INTO t VALUES (-9, -999.9, -99999.9999, -0.999999999999999999, -999999999999999.999,
            -99999999999999999.99, -99999999999999999999999999999999999999,
            '-9999999999999999999999999999.9999999999',
            '-0.99999999999999999999999999999999999999');
        INSERT INTO t VALUES (0, 0, 0, 0, 0, 0, 0, 0, 0),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (1, 0.1, 0.0001, 0.000000000000000001, 0.001, 0.01, 1, 0.0000000001, 0.1);
        """,
        "types",
    ),
    script(
        "strings",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, ''), (2, NULL), (3, 'NULL'), (4, 'null'), (5, ' padded ');
        INSERT INTO t VALUES (6, 'naïve Ünïcode'), (7, '日本語 🦆 👩‍👩‍👧'), (8, 'it''s "quoted"'),
            (9, 'back\\slash'), (10, E'line\\nbreak\\ttab\\r');
        INSERT INTO t VALUES (11, repeat('long ', 5000)), (12, chr(769) || 'combining'), (13, '0'),
            (14, '%_[]{}');
        INSERT INTO t VALUES (15, chr(127) || chr(128) || chr(1114111)), (16, 'ß'), (17, 'ẞ');
        """,
        "types",
    ),
    script(
        "strings_with_nul",
        """
        CREATE TABLE t (k INTEGER, s VARCHAR);
        INSERT INTO t VALUES (1, 'before' || chr(0) || 'after'), (2, chr(0)), (3, 'x');
        INSERT INTO t VALUES (4, NULL);
        """,
        "types",
        inline=0,
    ),
    script(
        "blobs",
        f"""
        CREATE TABLE t (k INTEGER, b BLOB);
        INSERT INTO t VALUES (1, ''), (2, NULL), (3, '\\x00'), (4, '\\x00\\xFF\\x00');
        INSERT INTO t VALUES (5, '{_ALL_BYTES}'::BLOB), (6, 'text'), (7, '\\x27\\x22\\x5C');
        UPDATE t SET b = b || '\\x00'::BLOB WHERE k <= 3;
        """,
        "types",
    ),
    script(
        "dates",
        """
        CREATE TABLE t (k INTEGER, d DATE);
        INSERT INTO t VALUES (1, '1970-01-01'), (2, '1969-12-31'), (3, '2000-02-29'), (4, NULL);
        INSERT INTO t VALUES (5, '0044-03-15 (BC)'), (6, '0001-01-01'), (7, '9999-12-31'),
            (8, '1582-10-10'), (9, '1500-02-28');
        """,
        "types",
    ),
    script(
        "dates_far",
        """
        CREATE TABLE t (k INTEGER, d DATE);
        INSERT INTO t VALUES (1, '290000-12-31'), (2, '5877642-06-25 (BC)'), (3, '5881580-07-10');
        INSERT INTO t VALUES (4, 'infinity'), (5, '-infinity'), (6, '10000-01-01');
        """,
        "types far",
    ),
    script(
        "times",
        """
        CREATE TABLE t (k INTEGER, a TIME);
        INSERT INTO t VALUES (1, '00:00:00'), (2, '23:59:59.999999'), (3, '12:34:56.000001'),
            (4, NULL);
        INSERT INTO t VALUES (5, '00:00:00.000001'), (6, '01:00:00');
        """,
        "types time",
    ),
    script(
        "time_midnight_after",
        """
        CREATE TABLE t (k INTEGER, a TIME);
        INSERT INTO t VALUES (1, '24:00:00'), (2, '00:00:00');
        """,
        "types time",
    ),
    script(
        "times_with_zone",
        """
        CREATE TABLE t (k INTEGER, a TIMETZ);
        INSERT INTO t VALUES (1, '10:00:00+02'), (2, '23:59:59.999999-15:59'), (3, NULL);
        INSERT INTO t VALUES (4, '00:00:00+00');
        """,
        "types timetz",
    ),
    script(
        "time_ns_inlined",
        """
        CREATE TABLE t (k INTEGER, a TIME_NS);
        INSERT INTO t VALUES (1, '10:00:00.123456789'), (2, NULL), (3, '23:59:59.999999999');
        INSERT INTO t VALUES (4, '00:00:00');
        """,
        "types time_ns inline",
        inline=10,
        catalogs=("sqlite", "duckdb"),  # PostgreSQL has no such type
    ),
    script(
        "timestamps",
        """
        CREATE TABLE t (k INTEGER, a TIMESTAMP);
        INSERT INTO t VALUES (1, '1970-01-01 00:00:00'), (2, '1969-12-31 23:59:59.999999'),
            (3, NULL),
            (4, '2024-02-29 12:34:56.789012');
        INSERT INTO t VALUES (5, '0001-01-01 00:00:00'), (6, '9999-12-31 23:59:59.999999'),
            (7, '1500-06-01 01:02:03');
        """,
        "types",
    ),
    script(
        "timestamps_far",
        """
        CREATE TABLE t (k INTEGER, a TIMESTAMP);
        INSERT INTO t VALUES (1, '0044-03-15 (BC) 12:00:00'), (2, '294247-01-10 04:00:54.775806'),
            (3, '290309-12-22 (BC) 00:00:00');
        INSERT INTO t VALUES (4, 'infinity'), (5, '-infinity'), (6, '10000-01-01 00:00:00');
        """,
        "types far",
    ),
    script(
        "timestamps_with_zone",
        """
        SET TimeZone = 'Asia/Tokyo';
        CREATE TABLE t (k INTEGER, a TIMESTAMPTZ);
        INSERT INTO t VALUES (1, '2024-01-01 00:00:00'), (2, '2024-01-01 00:00:00+00'), (3, NULL);
        SET TimeZone = 'America/New_York';
        INSERT INTO t VALUES (4, '2024-03-10 02:30:00'), (5, '2024-11-03 01:30:00'),
            (6, '1970-01-01 00:00:00.000001+00');
        INSERT INTO t VALUES (7, '1883-11-18 12:03:57.5'), (8, '0001-01-01 00:00:00+00');
        SET TimeZone = 'UTC';
        """,
        "types",
    ),
    script(
        "timestamps_with_zone_far",
        """
        CREATE TABLE t (k INTEGER, a TIMESTAMPTZ);
        INSERT INTO t VALUES (1, 'infinity'), (2, '-infinity');
        INSERT INTO t VALUES (3, '0044-03-15 (BC) 12:00:00+00'),
            (4, '294247-01-10 04:00:54.775806+00');
        """,
        "types far",
    ),
    script(
        "timestamp_units",
        """
        CREATE TABLE t (k INTEGER, s TIMESTAMP_S, ms TIMESTAMP_MS, us TIMESTAMP);
        INSERT INTO t VALUES (1, '2024-01-02 03:04:05', '2024-01-02 03:04:05.678',
            '2024-01-02 03:04:05.678901'),
            (2, NULL, NULL, NULL);
        INSERT INTO t VALUES (3, '1969-12-31 23:59:59', '1969-12-31 23:59:59.999',
            '1969-12-31 23:59:59.999999');
        INSERT INTO t VALUES (4, '0001-01-01 00:00:00', '9999-12-31 23:59:59.999',
            '1970-01-01 00:00:00');
        """,
        "types",
    ),
    script(
        "timestamp_ns",
        """
        CREATE TABLE t (k INTEGER, ns TIMESTAMP_NS);
        INSERT INTO t VALUES (1, '2024-01-02 03:04:05.678901234'), (2, NULL),
            (3, '1969-12-31 23:59:59.999999999');
        INSERT INTO t VALUES (4, '2262-04-11 23:47:16.854775806'),
            (5, '1677-09-22 00:00:00.000000001');
        """,
        "types timestamp_ns",
    ),
    script(
        "timestamp_units_infinite",
        """
        CREATE TABLE t (k INTEGER, s TIMESTAMP_S, ms TIMESTAMP_MS, ns TIMESTAMP_NS);
        INSERT INTO t VALUES (1, 'infinity', 'infinity', 'infinity');
        INSERT INTO t VALUES (2, '-infinity', '-infinity', '-infinity');
        """,
        "types far timestamp_ns inline",
        inline=10,
    ),
    script(
        "intervals",
        """
        CREATE TABLE t (k INTEGER, i INTERVAL);
        INSERT INTO t VALUES (1, INTERVAL '1 year 2 months 3 days 04:05:06.789'),
            (2, INTERVAL 0 DAY), (3, NULL);
        INSERT INTO t VALUES (4, INTERVAL '30 days'), (5, INTERVAL '1 month'),
            (6, INTERVAL '720 hours'),
            (7, INTERVAL '5 microseconds');
        """,
        "types interval",
    ),
    script(
        "intervals_negative",
        """
        CREATE TABLE t (k INTEGER, i INTERVAL);
        INSERT INTO t VALUES (1, -INTERVAL '1 month'), (2, INTERVAL '-3 days'),
            (3, INTERVAL '-00:00:01');
        INSERT INTO t VALUES (4, INTERVAL '1 month -5 days 3 hours');
        """,
        "types interval inline",
        inline=10,
    ),
    script(
        "uuids",
        """
        CREATE TABLE t (k INTEGER, u UUID);
        INSERT INTO t VALUES (1, '00000000-0000-0000-0000-000000000000'),
            (2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (3, NULL);
        INSERT INTO t VALUES (4, '80000000-0000-0000-0000-000000000001'),
            (5, 'EEFBA1C2-0000-7000-8000-0123456789AB');
        """,
        "types",
    ),
    script(
        "json",
        """
        CREATE TABLE t (k INTEGER, j JSON);
        INSERT INTO t VALUES (1, '{"a": 1, "b": [1, 2, null]}'), (2, 'null'), (3, NULL),
            (4, '"text"');
        INSERT INTO t VALUES (5, '  {"spaced" :  true } '), (6, '[]'), (7, '{}'),
            (8, '123456789012345678901234567890');
        INSERT INTO t VALUES (9, '{"quote": "it''s \\"q\\" \\\\ \\u00e9 é"}'), (10, '1.0'),
            (11, '""');
        """,
        "types",
    ),
    script(
        "all_null_columns",
        """
        CREATE TABLE t (a BOOLEAN, b BIGINT, c DOUBLE, d DECIMAL(20,5), e VARCHAR, f BLOB, g DATE,
            h TIME, i TIMESTAMP, j TIMESTAMPTZ, k UUID, l JSON, m INTEGER[],
            n STRUCT(x INTEGER), o MAP(VARCHAR, INTEGER), p UBIGINT);
        INSERT INTO t (a) SELECT NULL FROM range(3);
        INSERT INTO t (a) VALUES (true);
        INSERT INTO t (a) SELECT NULL FROM range(12);
        """,
        "types time",
    ),
    script(
        "wide_table",
        f"""
        CREATE TABLE t AS SELECT {_MANY_COLUMNS} FROM range(4) r(i);
        DELETE FROM t WHERE c0 = 2;
        ALTER TABLE t DROP COLUMN c60;
        INSERT INTO t SELECT * FROM t;
        """,
        "types",
    ),
    script(
        "many_rows",
        """
        CREATE TABLE t AS SELECT i, i % 7 AS m, 'row ' || i AS s,
            i / 3.0 AS d FROM range(5000) r(i);
        DELETE FROM t WHERE i % 3 = 0;
        INSERT INTO t SELECT i, i % 5, NULL, NULL FROM range(5000, 7500) r(i);
        UPDATE t SET s = upper(s) WHERE m = 4;
        """,
        "types",
        inline=0,
    ),
]
