"""Lists, structs and maps, at depth, with NULL and empty told apart."""

from tests.read.scripts.script import script

SCRIPTS = [
    script(
        "lists",
        """
        CREATE TABLE t (k INTEGER, l INTEGER[], s VARCHAR[]);
        INSERT INTO t VALUES (1, [1, 2, 3], ['a', 'b']), (2, [], []), (3, NULL, NULL),
            (4, [NULL], [NULL]);
        INSERT INTO t VALUES (5, [1, NULL, 3], ['', NULL, 'NULL']), (6, [NULL, NULL], ['null']);
        DELETE FROM t WHERE k = 2;
        """,
        "nested",
    ),
    script(
        "lists_of_lists",
        """
        CREATE TABLE t (k INTEGER, l INTEGER[][][]);
        INSERT INTO t VALUES (1, [[[1, 2], [3]], [[4]]]), (2, [[], [[]], [[NULL]], NULL]),
            (3, NULL), (4, []);
        INSERT INTO t VALUES (5, [NULL, [NULL, [1, NULL]]]);
        """,
        "nested",
    ),
    script(
        "long_lists",
        """
        CREATE TABLE t (k INTEGER, l BIGINT[]);
        INSERT INTO t VALUES (1, range(3000)), (2, []), (3, range(10));
        INSERT INTO t SELECT i, range(i) FROM range(4, 60) r(i);
        DELETE FROM t WHERE k % 2 = 1;
        """,
        "nested",
    ),
    script(
        "structs",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a INTEGER, b VARCHAR));
        INSERT INTO t VALUES (1, {'a': 1, 'b': 'x'}), (2, NULL), (3, {'a': NULL, 'b': NULL});
        INSERT INTO t VALUES (4, {'a': 4, 'b': ''}), (5, {'a': NULL, 'b': 'NULL'});
        UPDATE t SET s = {'a': 99, 'b': s.b} WHERE k = 1;
        """,
        "nested",
    ),
    script(
        "structs_deep",
        """
        CREATE TABLE t (k INTEGER, s STRUCT(a STRUCT(b STRUCT(c STRUCT(d STRUCT(e INTEGER,
            f VARCHAR[]))))));
        INSERT INTO t VALUES (1, {'a': {'b': {'c': {'d': {'e': 5, 'f': ['x', NULL]}}}}}), (2, NULL);
        INSERT INTO t VALUES (3, {'a': NULL}), (4, {'a': {'b': NULL}}),
            (5, {'a': {'b': {'c': {'d': NULL}}}});
        """,
        "nested",
    ),
    script(
        "maps",
        """
        CREATE TABLE t (k INTEGER, m MAP(VARCHAR, INTEGER), n MAP(INTEGER, VARCHAR));
        INSERT INTO t VALUES (1, MAP {'a': 1, 'b': 2}, MAP {1: 'x'}), (2, MAP {}, MAP {}),
            (3, NULL, NULL);
        INSERT INTO t VALUES (4, MAP {'a': NULL}, MAP {7: NULL, 8: ''}),
            (5, MAP {'': 0}, MAP {-1: 'NULL'});
        """,
        "nested",
    ),
    script(
        "maps_of_nested",
        """
        CREATE TABLE t (k INTEGER, m MAP(VARCHAR, STRUCT(x INTEGER, y DOUBLE[])),
            n MAP(DATE, MAP(INTEGER, VARCHAR)),
            o MAP(STRUCT(a INTEGER), INTEGER[])[]);
        INSERT INTO t VALUES (1, MAP {'a': {'x': 1, 'y': [1.5, NULL]}, 'b': NULL},
            MAP {DATE '2024-01-01': MAP {1: 'x'}},
            [MAP {{'a': 1}: [1, 2]}, NULL]);
        INSERT INTO t VALUES (2, MAP {}, MAP {DATE '2024-01-02': MAP {}, DATE '1969-01-01': NULL},
            []), (3, NULL, NULL, NULL);
        """,
        "nested",
    ),
    script(
        "lists_of_structs",
        """
        CREATE TABLE t (k INTEGER, l STRUCT(a INTEGER, b VARCHAR[])[]);
        INSERT INTO t VALUES (1, [{'a': 1, 'b': ['x']}, {'a': 2, 'b': []}]), (2, []), (3, NULL);
        INSERT INTO t VALUES (4, [NULL, {'a': NULL, 'b': NULL}]), (5, [{'a': 5, 'b': [NULL, '']}]);
        DELETE FROM t WHERE k = 1;
        """,
        "nested",
    ),
    script(
        "nested_every_scalar",
        """
        CREATE TABLE t (k INTEGER, l STRUCT(a BOOLEAN, b TINYINT, c UBIGINT, d FLOAT,
            e DECIMAL(20,4), f DATE,
            g TIMESTAMP, h TIMESTAMPTZ, i UUID, j BLOB, l VARCHAR, m JSON)[]);
        INSERT INTO t VALUES (1, [{'a': true, 'b': -128, 'c': 18446744073709551615, 'd': 'nan',
            'e': -1.5,
            'f': '2024-02-29', 'g': '2024-01-01 00:00:00.000001', 'h': '2024-01-01 00:00:00+00',
            'i': 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'j': '\\x00\\xFFab', 'l': 'x',
            'm': '{"a": [1]}'}]),
            (2, [{'a': NULL, 'b': NULL, 'c': NULL, 'd': NULL, 'e': NULL, 'f': NULL, 'g': NULL,
            'h': NULL,
            'i': NULL, 'j': NULL, 'l': NULL, 'm': NULL}, NULL]), (3, NULL), (4, []);
        INSERT INTO t VALUES (5, [{'a': false, 'b': 127, 'c': 0, 'd': '-inf',
            'e': 9999999999999999.9999,
            'f': '0001-01-01', 'g': '1969-12-31 23:59:59.999999', 'h': '1969-12-31 23:59:59+05',
            'i': '00000000-0000-0000-0000-000000000000', 'j': '', 'l': '', 'm': 'null'}]);
        """,
        "nested types inline",
    ),
    script(
        "nested_times",
        """
        CREATE TABLE t (k INTEGER, a TIME[], b STRUCT(x TIMESTAMP_S, y TIMESTAMP_MS)[],
            c MAP(TIMESTAMP, TIMESTAMPTZ[]));
        INSERT INTO t VALUES (1, ['10:00:00', NULL, '23:59:59.999999'],
            [{'x': '2024-01-01 01:02:03', 'y': '2024-01-01 01:02:03.004'}],
            MAP {TIMESTAMP '2024-01-01 00:00:00': ['2024-01-01 00:00:00+02'::TIMESTAMPTZ]});
        INSERT INTO t VALUES (2, [], [{'x': NULL, 'y': NULL}], MAP {}), (3, NULL, NULL, NULL);
        """,
        "nested types time inline",
    ),
    script(
        "nested_dates",
        """
        CREATE TABLE t (k INTEGER, l DATE[], m MAP(DATE, DATE));
        INSERT INTO t VALUES (1, ['2024-02-29', NULL, '0044-03-15 (BC)'],
            MAP {DATE '1969-12-31': NULL});
        INSERT INTO t VALUES (2, ['10000-01-01', '0001-01-01'], MAP {});
        """,
        "nested types far inline",
    ),
    script(
        "nested_intervals",
        """
        CREATE TABLE t (k INTEGER, a INTERVAL[], b MAP(VARCHAR, INTERVAL));
        INSERT INTO t VALUES (1, [INTERVAL '1 month 2 days 03:04:05.678', NULL],
            MAP {'x': INTERVAL '1 year'});
        INSERT INTO t VALUES (2, [], MAP {}), (3, NULL, NULL);
        """,
        "nested types interval inline",
    ),
    script(
        "nested_timestamp_ns",
        """
        CREATE TABLE t (k INTEGER, b STRUCT(x TIMESTAMP_NS)[]);
        INSERT INTO t VALUES (1, [{'x': '2024-01-01 00:00:00.123456789'}, NULL]);
        INSERT INTO t VALUES (2, []), (3, NULL), (4, [{'x': NULL}]);
        """,
        "nested types timestamp_ns inline",
    ),
    script(
        "nested_hugeint",
        """
        CREATE TABLE t (k INTEGER, l HUGEINT[]);
        INSERT INTO t VALUES (1, [1, NULL, -5]), (2, []), (3, NULL);
        INSERT INTO t VALUES (4, [1152921504606846976]);
        """,
        "nested types int128 inline",
    ),
    script(
        "nested_floats",
        """
        CREATE TABLE t (k INTEGER, l DOUBLE[], s STRUCT(f FLOAT)[]);
        INSERT INTO t VALUES (1, ['nan', 'inf', '-inf', '-0.0', NULL], [{'f': 'nan'::FLOAT}]),
            (2, [1e300, 5e-324], [{'f': 0.1::FLOAT}]);
        INSERT INTO t VALUES (3, [0.1, 1/3], [{'f': 3.4028234e38}, {'f': '-inf'::FLOAT}]);
        """,
        "nested types inline",
    ),
    script(
        "nested_blobs",
        """
        CREATE TABLE t (k INTEGER, l BLOB[], m MAP(INTEGER, BLOB));
        INSERT INTO t VALUES (1, ['\\x00', '\\x27\\x5C\\x22', '', NULL], MAP {1: '\\xFF\\x00'}),
            (2, [], MAP {});
        INSERT INTO t VALUES (3, ['plain', ', ]'::BLOB], MAP {2: NULL});
        """,
        "nested types inline",
    ),
    script(
        "nested_awkward_text",
        """
        CREATE TABLE t (k INTEGER, l VARCHAR[], s STRUCT(a VARCHAR, b VARCHAR),
            m MAP(VARCHAR, VARCHAR));
        INSERT INTO t VALUES (1, ['a,b', 'it''s', '"dq"', '[x]', '{y}', 'k=v', 'a: b'],
            {'a': 'x, "b": y', 'b': '}'},
            MAP {'k=1': 'v, w', '{': '}', 'it''s': '"'});
        INSERT INTO t VALUES (2, ['NULL', 'null', '', ' ', ' lead', 'trail '],
            {'a': 'NULL', 'b': NULL},
            MAP {'NULL': 'NULL', '': '', 'n': NULL});
        INSERT INTO t VALUES (3, ['back\\slash', '\\''', E'new\\nline', E'tab\\t', '日本🦆'],
            {'a': '=', 'b': '["'},
            MAP {'a\\': 'b\\', '=': ',', ' ': ' '});
        INSERT INTO t VALUES (4, ['(', ')', ';', '--', '1', 'true', '1.5'], {'a': '', 'b': ' '},
            MAP {'1': '2'});
        """,
        "nested inline",
    ),
    script(
        "nested_awkward_text_deeper",
        """
        CREATE TABLE t (k INTEGER, l VARCHAR[][], s STRUCT(a STRUCT(b VARCHAR[])),
            m MAP(VARCHAR, STRUCT(x VARCHAR))[]);
        INSERT INTO t VALUES (1, [['[', ']'], ['a, b', NULL, 'NULL'], [], NULL],
            {'a': {'b': ['{"b": 1}', '']}},
            [MAP {'k': {'x': 'it''s {a=b}, [c]'}}, MAP {}]);
        INSERT INTO t VALUES (2, [['''', '"', '\\']], {'a': {'b': [NULL]}},
            [MAP {'"': {'x': NULL}}, NULL]);
        UPDATE t SET l = list_append(l, ['more']) WHERE k = 2;
        """,
        "nested inline",
    ),
    script(
        "nested_json_text",
        """
        CREATE TABLE t (k INTEGER, l STRUCT(j JSON)[], s STRUCT(j JSON), m MAP(VARCHAR, JSON));
        INSERT INTO t VALUES (1, [{'j': '{"a": [1, "x"]}'}, {'j': 'null'}, NULL, {'j': '"it''s"'}],
            {'j': '{"b": {"c": "d"}}'}, MAP {'k': '[1, 2]'});
        INSERT INTO t VALUES (2, [], {'j': NULL}, MAP {}), (3, NULL, NULL, NULL);
        """,
        "nested types inline",
    ),
    script(
        "nested_odd_field_names",
        """
        CREATE TABLE t (k INTEGER, s STRUCT("with space" INTEGER, "dot.ted" VARCHAR, "Üñí" INTEGER,
            "quo""te" VARCHAR, "element" INTEGER, "key" INTEGER, "list" INTEGER[]));
        INSERT INTO t VALUES (1, {'with space': 1, 'dot.ted': 'a', 'Üñí': 3, 'quo"te': 'b',
            'element': 6,
            'key': 7, 'list': [8]});
        INSERT INTO t VALUES (2, NULL), (3, {'with space': NULL, 'dot.ted': NULL, 'Üñí': 3,
            'quo"te': '',
            'element': NULL, 'key': NULL, 'list': NULL});
        """,
        "nested inline",
    ),
    script(
        "nested_deletes_and_updates",
        """
        CREATE TABLE t (k INTEGER, l STRUCT(a INTEGER, m MAP(VARCHAR, INTEGER[]))[]);
        INSERT INTO t SELECT i, [{'a': i, 'm': MAP {'x': [i, NULL], 'y': []}}] FROM range(30) r(i);
        DELETE FROM t WHERE k % 4 = 0;
        UPDATE t SET l = list_append(l, {'a': -k, 'm': NULL}) WHERE k % 5 = 0;
        DELETE FROM t WHERE k % 3 = 0;
        """,
        "nested",
    ),
]
