"""Every change of a column's type that DuckDB lets through: old files are cast on reading."""

from tests.read.scripts.script import Script, script

_SIGNED = {
    "TINYINT": ["-128", "127"],
    "SMALLINT": ["-32768", "32767"],
    "INTEGER": ["-2147483648", "2147483647"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
}
_UNSIGNED = {
    "UTINYINT": ["0", "255"],
    "USMALLINT": ["0", "65535"],
    "UINTEGER": ["0", "4294967295"],
    "UBIGINT": ["0", "18446744073709551615"],
}
_SMALL = {
    "TINYINT": ["-7", "100"],
    "SMALLINT": ["-7", "3000"],
    "INTEGER": ["-7", "70000"],
    "BIGINT": ["-7", "70000"],
}
_DAY = ["'1969-12-31'", "'2024-02-29'"]
_MOMENT = ["'1969-12-31 23:59:59'", "'2024-02-29 12:34:56'"]

Pair = tuple[str, str, list[str]]


def _wider(family: dict[str, list[str]], targets: dict[str, list[str]] | None = None) -> list[Pair]:
    names, goals = list(family), list(targets or family)
    return [(a, b, family[a]) for i, a in enumerate(names) for j, b in enumerate(goals) if j > i]


def _promotion(name: str, pairs: list[Pair], tags: str = "", **more: object) -> Script:
    """One column per pair; two rows before the change and the same two, as the new type, after."""
    columns = ", ".join(f"c{n} {old}" for n, (old, _, _) in enumerate(pairs))
    rows = ", ".join(
        "(" + ", ".join(["NULL"] * len(pairs) if row is None else [p[2][row] for p in pairs]) + ")"
        for row in (0, 1, None)
    )
    alters = "".join(
        f"ALTER TABLE t ALTER COLUMN c{n} TYPE {new};\n" for n, (_, new, _) in enumerate(pairs)
    )
    return script(
        name,
        f"CREATE TABLE t ({columns});\nINSERT INTO t VALUES {rows};\nBEGIN;\n{alters}COMMIT;\n"
        "INSERT INTO t SELECT * FROM t;\n",
        f"evolution promotion {tags}",
        **more,
    )


SCRIPTS = [
    _promotion("promote_signed", _wider(_SIGNED)),
    _promotion("promote_unsigned", _wider(_UNSIGNED)),
    _promotion("promote_unsigned_to_signed", _wider(_UNSIGNED, _SIGNED)),
    _promotion(
        "promote_integers_to_floats",
        [
            (a, b, v)
            for a, v in (_SMALL | {"UINTEGER": ["0", "70000"]}).items()
            for b in ("FLOAT", "DOUBLE")
        ],
    ),
    _promotion(
        "promote_float_to_double",
        [("FLOAT", "DOUBLE", ["0.1", "'nan'"]), ("FLOAT", "DOUBLE", ["'-inf'", "-0.0"])],
    ),
    _promotion(
        "promote_integers_to_hugeint",
        [(a, "HUGEINT", v) for a, v in (_SMALL | {"UBIGINT": ["0", "70000"]}).items()],
        "int128",
    ),
    _promotion(
        "promote_integers_to_decimals",
        [
            ("TINYINT", "DECIMAL(5,2)", ["-128", "127"]),
            ("SMALLINT", "DECIMAL(9,1)", ["-32768", "32767"]),
            ("INTEGER", "DECIMAL(18,4)", ["-2147483648", "2147483647"]),
            ("BIGINT", "DECIMAL(38,10)", ["-9223372036854775808", "9223372036854775807"]),
        ],
    ),
    _promotion(
        "promote_booleans",
        [("BOOLEAN", b, ["true", "false"]) for b in ("TINYINT", "INTEGER", "BIGINT")],
        inline=0,  # DuckDB stumbles over the statistics of inlined booleans
    ),
    _promotion(
        "promote_decimals",
        [
            ("DECIMAL(4,1)", "DECIMAL(9,1)", ["-999.9", "0.1"]),
            ("DECIMAL(4,1)", "DECIMAL(18,6)", ["-999.9", "0.1"]),
            ("DECIMAL(9,2)", "DECIMAL(38,2)", ["-9999999.99", "0.01"]),
            ("DECIMAL(18,3)", "DECIMAL(38,20)", ["-999999999999999.999", "0.001"]),
            ("DECIMAL(9,2)", "DOUBLE", ["-1234.56", "0.01"]),
            ("DECIMAL(9,2)", "FLOAT", ["-1234.5", "0.25"]),
        ],
    ),
    _promotion(
        "promote_dates",
        [("DATE", b, _DAY) for b in ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS")],
    ),
    _promotion(
        "promote_timestamps",
        [
            ("TIMESTAMP_S", "TIMESTAMP_MS", _MOMENT),
            ("TIMESTAMP_S", "TIMESTAMP", _MOMENT),
            ("TIMESTAMP_MS", "TIMESTAMP", _MOMENT),
            ("TIMESTAMP", "TIMESTAMPTZ", _MOMENT),
        ],
    ),
    _promotion(
        "promote_timestamps_to_ns",
        [(a, "TIMESTAMP_NS", _MOMENT) for a in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP")]
        + [("DATE", "TIMESTAMP_NS", _DAY)],
        "timestamp_ns",
    ),
    _promotion(
        "promote_to_json",
        [
            ("INTEGER", "JSON", ["-1", "2"]),
            ("DOUBLE", "JSON", ["0.1", "1e300"]),
            ("BOOLEAN", "JSON", ["true", "false"]),
            ("DATE", "JSON", _DAY),
            ("TIMESTAMP", "JSON", _MOMENT),
            ("UUID", "JSON", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "NULL"]),
            ("DECIMAL(9,2)", "JSON", ["-1.50", "2.25"]),
        ],
    ),
    script(
        "promote_twice",
        """
        CREATE TABLE t (k INTEGER, a TINYINT);
        INSERT INTO t VALUES (1, 1);
        ALTER TABLE t ALTER COLUMN a TYPE SMALLINT;
        INSERT INTO t VALUES (2, 300);
        ALTER TABLE t ALTER COLUMN a TYPE BIGINT;
        INSERT INTO t VALUES (3, 5000000000);
        ALTER TABLE t ALTER COLUMN a TYPE DOUBLE;
        INSERT INTO t VALUES (4, 0.5);
        DELETE FROM t WHERE a = 300;
        """,
        "evolution promotion",
    ),
    script(
        "promote_a_default",
        """
        CREATE TABLE t (k INTEGER);
        INSERT INTO t VALUES (1);
        ALTER TABLE t ADD COLUMN a INTEGER DEFAULT 7;
        ALTER TABLE t ADD COLUMN d DATE DEFAULT '2024-02-29';
        INSERT INTO t (k) VALUES (2);
        ALTER TABLE t ALTER COLUMN a TYPE BIGINT;
        ALTER TABLE t ALTER COLUMN d TYPE TIMESTAMP;
        INSERT INTO t (k) VALUES (3);
        """,
        "evolution promotion",
    ),
    script(
        "promote_a_partition_key",
        """
        CREATE TABLE t (k INTEGER, p SMALLINT);
        ALTER TABLE t SET PARTITIONED BY (p);
        INSERT INTO t VALUES (1, 1), (2, 2);
        ALTER TABLE t ALTER COLUMN p TYPE BIGINT;
        INSERT INTO t VALUES (3, 5000000000), (4, 1);
        DELETE FROM t WHERE p = 1;
        """,
        "evolution promotion partition",
    ),
]
