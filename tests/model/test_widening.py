"""Every change of type that Tidelake allows, done by DuckDB to rows that are there already."""

from itertools import permutations

import pytest

from tidelake.model.schema import Column
from tidelake.model.types import DUCKDB_NAMES
from tidelake.model.widening import why_not, widens

VALUES = {
    **{f"int{n}": [str(-(2 ** (n - 1))), str(2 ** (n - 1) - 1)] for n in (8, 16, 32, 64)},
    **{f"uint{n}": ["0", str(2**n - 1)] for n in (8, 16, 32, 64)},
    "float32": ["0.1", "'-inf'"],
    "float64": ["0.1", "'nan'"],
    "decimal(3,0)": ["-999", "999"],
    "decimal(4,1)": ["-999.9", "0.1"],
    "decimal(7,4)": ["-999.9999", "0.0001"],
    "decimal(11,1)": ["-9999999999.9", "0.1"],
    "decimal(19,0)": ["-9223372036854775808", "1"],
    "decimal(20,0)": ["18446744073709551615", "1"],
    "decimal(38,10)": ["-9999999999999999999999999999.9999999999", "1"],
    "date": ["'0001-01-01'", "'9999-12-31'"],
    "timestamp_s": ["'0001-01-01 00:00:01'", "'9999-12-31 23:59:59'"],
    "timestamp_ms": ["'0001-01-01 00:00:00.001'", "'9999-12-31 23:59:59.999'"],
    "timestamp": ["'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"],
}
PAIRS = [(old, new) for old, new in permutations(VALUES, 2) if widens(old, new)]


def duckdb_type(kind):
    return Column(0, "a", kind).duckdb_type


def text(number, kind):
    """DuckDB has no casts between some timestamps but by way of text."""
    return f"CAST(c{number} AS VARCHAR)" if "timestamp" in kind else f"c{number}"


def test_there_is_something_to_try():
    assert len(PAIRS) > 60


@pytest.mark.parametrize("inline", [0, 10])
def test_duckdb_makes_every_change_and_keeps_every_value(inline, new_duck, tmp_path):
    connection = new_duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake"
        f" (DATA_PATH '{tmp_path}/data/', DATA_INLINING_ROW_LIMIT {inline})"
    )
    typed = ", ".join(f"c{n} {duckdb_type(old)}" for n, (old, _) in enumerate(PAIRS))
    rows = ["(" + ", ".join(VALUES[old][row] for old, _ in PAIRS) + ")" for row in (0, 1)]
    casts = ", ".join(
        f"CAST(c{n} AS {duckdb_type(new)}) AS c{n}" for n, (_, new) in enumerate(PAIRS)
    )
    connection.execute(f"CREATE TABLE lake.t ({typed}); CREATE TABLE plain ({typed})")
    connection.execute(f"INSERT INTO lake.t VALUES {', '.join(rows)}")
    connection.execute(f"INSERT INTO plain VALUES {', '.join(rows)}")
    connection.execute("BEGIN")
    for n, (_, new) in enumerate(PAIRS):
        connection.execute(f"ALTER TABLE lake.t ALTER COLUMN c{n} TYPE {duckdb_type(new)}")
    connection.execute("COMMIT")
    wide = connection.execute("SELECT * FROM lake.t ORDER BY rowid").fetchall()
    assert wide == connection.execute(f"SELECT {casts} FROM plain ORDER BY rowid").fetchall()
    back = ", ".join(
        f"CAST({text(n, old)} AS {duckdb_type(old)})" for n, (old, _) in enumerate(PAIRS)
    )
    narrow = connection.execute(f"SELECT {back} FROM lake.t ORDER BY rowid").fetchall()
    assert narrow == connection.execute("SELECT * FROM plain ORDER BY rowid").fetchall()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int8", "int16"),
        ("uint32", "int64"),
        ("int32", "float64"),
        ("uint32", "float64"),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("uint64", "decimal(20,0)"),
        ("int64", "decimal(19,0)"),
        ("int8", "decimal(5,2)"),
        ("float32", "float64"),
        ("decimal(4,1)", "decimal(6,3)"),
        ("date", "timestamp"),
        ("timestamp_s", "timestamp_us"),
        ("timestamp", "timestamp_us"),
        ("varchar", "varchar"),
    ],
)
def test_lossless(old, new):
    assert widens(old, new)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("int64", "int32", "does not hold every int64"),
        ("uint32", "int32", "does not hold every uint32"),
        ("int8", "uint64", "does not hold every int8"),
        ("int32", "float32", "does not hold every int32"),
        ("int64", "float64", "does not hold every int64"),
        ("uint64", "decimal(19,0)", "does not hold every uint64"),
        ("int8", "decimal(4,2)", "does not hold every int8"),
        ("int64", "int128", "kept in files as a double"),
        ("float64", "float32", "does not hold every float64"),
        ("decimal(6,3)", "decimal(6,4)", "fewer digits"),
        ("decimal(6,3)", "float64", "read as something else"),
        ("timestamp", "timestamp_ns", "2262"),
        ("date", "timestamp_ns", "2262"),
        ("timestamp", "timestamptz", "time zone"),
        ("date", "timestamptz", "time zone"),
        ("timestamp", "date", "does not hold every timestamp"),
        ("varchar", "int32", "read as something else"),
        ("varchar", "json", "read as something else"),
        ("boolean", "int8", "read as something else"),
        ("uuid", "varchar", "read as something else"),
        ("int32", "varchar", "read as something else"),
    ],
)
def test_lossy(old, new, reason):
    assert not widens(old, new)
    assert reason in why_not(old, new)


def test_nothing_else_widens():
    """Between types that the table above has no values for, only a type to itself."""
    rest = set(DUCKDB_NAMES) - set(VALUES) - {"timestamp_us"}
    assert not [(a, b) for a in rest for b in DUCKDB_NAMES if a != b and widens(a, b)]
