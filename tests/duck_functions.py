"""Conditions made of every scalar function that DuckDB has, over rows that are often NULL."""

from collections.abc import Iterator
from random import Random

import duckdb

from tidelake.syntax.harmless import is_harmless

COLUMNS = {
    "id": "BIGINT",
    "z": "BOOLEAN",
    "i": "INTEGER",
    "n": "BIGINT",
    "u": "UTINYINT",
    "f": "DOUBLE",
    "g": "FLOAT",
    "d": "DECIMAL(10,3)",
    "s": "VARCHAR",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "tz": "TIMESTAMPTZ",
    "tm": "TIME",
    "x": "BLOB",
    "uu": "UUID",
    "iv": "INTERVAL",
    "j": "JSON",
    "l": "INTEGER[]",
    "w": "VARCHAR[]",
    "v": "DOUBLE[]",
    "st": "STRUCT(a INTEGER, b VARCHAR)",
    "m": "MAP(VARCHAR, INTEGER)",
}
"""`id` alone is never NULL."""

LITERALS = {
    "BOOLEAN": ["true", "false"],
    "INTEGER": ["0", "1", "-3", "7"],
    "BIGINT": ["0", "2", "-1::BIGINT"],
    "UTINYINT": ["3::UTINYINT", "0::UTINYINT"],
    "DOUBLE": ["0.5::DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE", "2e0"],
    "FLOAT": ["1.5::FLOAT", "'nan'::FLOAT"],
    "DECIMAL(10,3)": ["1.250", "-2.000"],
    "VARCHAR": ["'a'", "'ab'", "'day'", "'%b'", "''", "'$.a'"],
    "DATE": ["DATE '2024-03-01'", "DATE '1970-01-01'"],
    "TIMESTAMP": ["TIMESTAMP '2024-03-01 12:00:00'"],
    "TIMESTAMPTZ": ["TIMESTAMPTZ '2024-03-01 12:00:00+02'"],
    "TIME": ["TIME '12:30:00'"],
    "BLOB": ["'ab'::BLOB"],
    "UUID": ["'f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID"],
    "INTERVAL": ["INTERVAL 1 DAY", "INTERVAL '2 hours'"],
    "JSON": ["""'{"a": 1}'::JSON""", "'[1, null]'::JSON"],
    "INTEGER[]": ["[1, NULL]", "[3, 7]", "[]::INTEGER[]"],
    "VARCHAR[]": ["['a', 'b']"],
    "DOUBLE[]": ["[1.0, 2.0]::DOUBLE[]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': 'x'}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1}"],
}
# What functions call the types of their parameters, and which of ours can stand there.
_TYPES = {
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ",
    "HUGEINT": "BIGINT",
    "DECIMAL": "DECIMAL(10,3)",
    "ANY[]": "INTEGER[]",
    "T[]": "INTEGER[]",
    "T": "INTEGER",
    "BIGINT[]": "INTEGER[]",
    "STRUCT": "STRUCT(a INTEGER, b VARCHAR)",
    "MAP(K, V)": "MAP(VARCHAR, INTEGER)",
    "K": "VARCHAR",
    "V": "INTEGER",
    "SMALLINT": "UTINYINT",
    "TINYINT": "BOOLEAN",
    "USMALLINT": "UTINYINT",
    "UINTEGER": "UTINYINT",
    "UBIGINT": "UTINYINT",
}
_SPECIAL = {
    "LAMBDA": ["lambda e: e IS NULL", "lambda e: coalesce(e, 1) > 1"],
    "BIT": ["'101'::BIT", "i::BIT"],
}
_WRAPS = (
    "{c}",
    "NOT ({c})",
    "NOT (NOT ({c}))",
    "({c}) IS TRUE",
    "({c}) IS NOT TRUE",
    "({c}) IS FALSE",
    "({c}) IS NOT FALSE",
    "({c}) IS NULL",
    "NOT (({c}) IS NOT NULL)",
    "CASE WHEN {c} THEN true ELSE false END",
    "NOT (CASE WHEN {c} THEN true ELSE false END)",
    "CASE WHEN {c} THEN false ELSE true END",
    "coalesce({c}, false)",
    "NOT coalesce({c}, false)",
    "coalesce({c}, true)",
    "if({c}, false, true)",
    "({c}) IS DISTINCT FROM true",
    "NOT (({c}) IS NOT DISTINCT FROM true)",
    "NOT (({c}) AND {p})",
    "({c}) OR {p}",
    "NOT (({c}) OR NOT ({p}))",
    "({c}) = ({p})",
    "NOT (({c}) <> ({p}))",
)
_PLAIN = (
    "i > 0",
    "i = 5",
    "s = 'ab'",
    "s LIKE 'a%'",
    "NOT s LIKE 'a%'",
    "starts_with(s, 'a')",
    "NOT starts_with(s, 'a')",
    "z",
    "NOT z",
    "z IS TRUE",
    "f > 1",
    "f = 'nan'::DOUBLE",
    "f <> 1",
    "i IN (1, 5)",
    "i NOT IN (1, 5)",
    "i NOT IN (1, NULL)",
    "s IN ('ab', NULL)",
    "i BETWEEN 0 AND 5",
    "i NOT BETWEEN 0 AND 5",
    "i IS NULL",
    "s IS NOT NULL",
    "i IS DISTINCT FROM 5",
    "i IS NOT DISTINCT FROM 5",
    "dt >= DATE '2024-01-01'",
    "ts < TIMESTAMP '2024-06-01 00:00:00'",
    "d = 1.25",
    "NULL",
    "true",
)
# DuckDB gives other values for a row when its neighbours, or how they are held, are others.
_MOODY = ("jaro_similarity", "jaro_winkler_similarity", "parse_filename", "parse_path")
_NEVER = ("error", "write_log", "sleep_ms", "parse_dirname", "parse_dirpath", *_MOODY)


def functions(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, list[str], str | None]]:
    """Every scalar function that gives the same for the same row: name, parameters, varargs."""
    found = connection.execute(
        "SELECT DISTINCT function_name, parameter_types, varargs FROM duckdb_functions()"
        " WHERE function_type = 'scalar' AND stability = 'CONSISTENT' ORDER BY ALL"
    ).fetchall()
    return [each for each in found if each[0] not in _NEVER and is_harmless(each[0].lower())]


def condition(function: tuple[str, list[str], str | None], random: Random) -> str:
    """A condition in which the function stands, wrapped in something that may turn it round."""
    name, types, more = function
    given = [*types, *[more for _ in range(random.randint(1, 2)) if more]]
    called = _called(name, [_argument(kind, random) for kind in given])
    test = random.choice(
        ("{f} IS NULL", "{f} = {f}", "{f} = {o}", "{f} > {o}", "{f} IN ({o})", "{f}", "{f}")
    )
    other = _called(name, [_literal(kind, random) for kind in given])
    inner = test.format(f=called, o=other)
    if random.random() < 0.15:
        inner = random.choice(_PLAIN)
    for _ in range(random.choice((1, 1, 2, 3))):
        inner = random.choice(_WRAPS).format(c=inner, p=random.choice(_PLAIN))
    return inner


def _called(name: str, arguments: list[str]) -> str:
    if name[0].isalpha() or name.startswith("_"):
        return f'"{name}"({", ".join(arguments)})'
    if len(arguments) == 1:
        return f"({name} {arguments[0]})"
    return "(" + f" {name} ".join(f"({each})" for each in arguments) + ")"


def _ours(kind: str, random: Random) -> str:
    kind = _TYPES.get(kind, kind)
    if kind in LITERALS:
        return kind
    return random.choice([each for each in COLUMNS.values() if each in LITERALS])


def _argument(kind: str, random: Random) -> str:
    if kind in _SPECIAL:
        return random.choice(_SPECIAL[kind])
    ours = _ours(kind, random)
    columns = [name for name, each in COLUMNS.items() if each == ours and name != "id"]
    if not columns or random.random() < 0.25:
        return random.choice(LITERALS[ours])
    return random.choice(columns)


def _literal(kind: str, random: Random) -> str:
    return random.choice(_SPECIAL.get(kind) or LITERALS[_ours(kind, random)])


def rows(random: Random, kind: str, first: int) -> Iterator[str]:
    """Rows of one file, as SQL tuples: all NULL but the id, half NULL, NaN, or one value."""
    fixed = {name: _value(each, random) for name, each in COLUMNS.items()}
    for n in range({"one": 1}.get(kind, 5)):
        row = {name: _value(each, random) for name, each in COLUMNS.items()}
        if kind == "null":
            row = dict.fromkeys(COLUMNS, "NULL")
        elif kind == "half":
            row = {name: random.choice((value, "NULL")) for name, value in row.items()}
        elif kind == "same":
            row = dict(fixed)
        elif kind == "nan":
            row |= {"f": "'nan'::DOUBLE", "g": random.choice(("'nan'::FLOAT", "1.5::FLOAT"))}
        row["id"] = str(first + n)
        yield f"({', '.join(row.values())})"


def _value(kind: str, random: Random) -> str:
    return random.choice(LITERALS[kind]) if kind in LITERALS else "NULL"
