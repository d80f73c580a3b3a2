"""Partition values as our SQL gives them, beside those that DuckDB records for the same rows."""

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.cases import every
from tidelake.errors import Invalid, Unsupported
from tidelake.model.comparable import comparable
from tidelake.model.schema import Column
from tidelake.plan.partitioning.bucket_hash import bucket, buckets_of
from tidelake.plan.partitioning.sql import allow_keys, key_column, key_sql, partition_values
from tidelake.testing.duck import duck_connection

PARTS = ("year", "month", "day", "hour")
BUCKETS = "bucket(1000003)"

DAYS = ["1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "0044-03-15 (BC)", "10000-01-01"]
MOMENTS = [f"{day} 10:59:59" for day in DAYS]
TEXTS = [
    *(
        "",
        " ",
        "a",
        "ab",
        "abc",
        "abcd",
        "a/b",
        "a=b",
        "é",
        "日本語😀",
        "it's",
        '"q"',
        "%20",
        "a%2Fb",
    ),
    *("NULL", "null", "__HIVE_DEFAULT_PARTITION__", "..", ".", "a\\b", "a\nb", "[1]", "x" * 1000),
]
SIGNED = {8: "int8", 16: "int16", 32: "int32", 64: "int64", 128: "int128"}
DECIMALS = {
    "decimal(4,1)": ["1.5", "-1.5", "0", "-0.1", "999.9"],
    "decimal(3,3)": ["0.5", "-0.5", "0", "-0.001"],
    "decimal(18,0)": ["0", "-1", "999999999999999999", "-999999999999999999"],
    "decimal(18,18)": ["0", "-0.999999999999999999", "0.000000000000000001"],
    "decimal(18,3)": ["1.5", "-0.001", "123456789012345.123"],
    "decimal(19,3)": ["1.5", "-1.5", "0", "-0.001", "1234567890123456.123"],
    "decimal(20,20)": ["0.5", "-0.5", "0"],
    "decimal(38,0)": ["1", "-1", "9" * 38],
}

VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    **{kind: ["0", "-1", "1", str(-(2**b) // 2), str(2**b // 2 - 1)] for b, kind in SIGNED.items()},
    **{"u" + kind: ["0", "1", str(2**bits - 1)] for bits, kind in SIGNED.items()},
    **DECIMALS,
    "float32": [
        "0",
        "nan",
        "inf",
        "-inf",
        "0.1",
        "-1.5",
        "1e30",
        "16777216",
        "3.4028235e38",
        "1e-45",
    ],
    "float64": [
        "0",
        "nan",
        "inf",
        "-inf",
        "0.1",
        "-1.5",
        "1e15",
        "1e16",
        "5e-324",
        "-1.7e308",
        "2",
    ],
    "date": [*DAYS, "infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)"],
    "time": ["00:00:00", "23:59:59.999999", "24:00:00", "12:30:00.5"],
    "timetz": ["00:00:00+00", "23:59:59.999999+05:30", "12:30:00.5-15:59"],
    "timestamp": [*MOMENTS, *(f"{each}.999999" for each in MOMENTS), "infinity", "-infinity"],
    "timestamptz": [*(f"{each}.25+05:30" for each in MOMENTS), "infinity", "-infinity"],
    "timestamp_s": MOMENTS,
    "timestamp_ms": [*MOMENTS, "1969-12-31 23:59:59.999", "infinity", "-infinity"],
    "timestamp_ns": [
        "1969-12-31 23:59:59.999999999",
        "1970-01-01 00:00:00.5",
        "infinity",
        "-infinity",
    ],
    "interval": ["1 day", "0 days", "14 months 3 days 5 hours", "5 microseconds"],
    "varchar": TEXTS,
    "json": ['{"a": 1}', "null", "[]"],
    "blob": ["", "abc", "\\xC3\\xA9", "a\\x00b", "\\x0A", "\\x5Cx41"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "c0ffee00-1234-5678-9abc-def012345678"],
    "variant": ["1"],
    "geometry": ["POINT (0 0)", "LINESTRING EMPTY"],
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("lake")
    connection = duck_connection(extensions=["ducklake", "sqlite_scanner"])
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{folder}/meta.db' AS lake"
        f" (DATA_PATH '{folder}/data', DATA_INLINING_ROW_LIMIT 0)"
    )
    # A folder cannot have a name as long as some of the values.
    connection.execute("CALL lake.set_option('hive_file_pattern', false)")
    allow_keys(connection)
    yield connection
    connection.close()


def fill_source(connection: duckdb.DuckDBPyConnection, duckdb_type: str, texts: list[str]) -> None:
    """A table `memory.source (n, v)` with a row for every text, and one for NULL."""
    connection.execute(f"CREATE OR REPLACE TABLE memory.source (n INTEGER, v {duckdb_type})")
    connection.execute(
        "INSERT INTO memory.source"
        f" SELECT unnest(range(?)), CAST(unnest(?::VARCHAR[]) AS {duckdb_type})",
        [len(texts) + 1, [*texts, None]],
    )


def recorded_by_duckdb(
    connection: duckdb.DuckDBPyConnection, duckdb_type: str, transforms: list[str]
) -> dict[int, tuple[str | None, ...]]:
    """The values of each row, by its number, that DuckDB puts into the catalog."""
    keys = [t.replace(")", ", v)") if "(" in t else f"{t}(v)" for t in transforms]
    keys = ["v" if key == "identity(v)" else key for key in keys]
    connection.execute(f"CREATE OR REPLACE TABLE lake.t (n INTEGER, v {duckdb_type})")
    connection.execute(f"ALTER TABLE lake.t SET PARTITIONED BY ({', '.join(keys)})")
    connection.execute("INSERT INTO lake.t FROM memory.source")
    found = connection.execute(
        """SELECT n, list(partition_value ORDER BY partition_key_index)
        FROM (SELECT n, parse_filename(filename) AS path FROM lake.t)
        JOIN __ducklake_metadata_lake.ducklake_data_file USING (path)
        JOIN __ducklake_metadata_lake.ducklake_file_partition_value USING (data_file_id)
        GROUP BY n"""
    ).fetchall()
    return {number: tuple(values) for number, values in found}


def returned_by_copy(
    connection: duckdb.DuckDBPyConnection, column: Column, transforms: list[str], folder: Path
) -> dict[int, tuple[str | None, ...]]:
    """The same from COPY, partitioned by our keys."""
    names = [key_column(at) for at in range(len(transforms))]
    keys = [
        f"{key_sql(column, transform, 'v')} AS {name}"
        for name, transform in zip(names, transforms, strict=True)
    ]
    files = connection.execute(
        f"COPY (SELECT n, {', '.join(keys)} FROM memory.source) TO '{folder}' (FORMAT parquet,"
        f" PARTITION_BY ({', '.join(names)}), HIVE_FILE_PATTERN false, APPEND, RETURN_STATS,"
        " FILENAME_PATTERN 'ducklake-{uuidv7}')"
    ).fetchall()
    return {
        number: partition_values(keys, len(transforms))
        for path, *_, keys in files
        for (number,) in connection.execute("SELECT n FROM read_parquet(?)", [path]).fetchall()
    }


def column_of(kind: str) -> Column:
    return Column(1, "v", kind)


def allowed(kind: str) -> list[str]:
    """The transforms that we let a column of that kind have."""
    found = []
    for transform in ["identity", *PARTS, BUCKETS]:
        try:
            key_sql(column_of(kind), transform, "v")
        except Invalid:
            continue
        found.append(transform)
    return found


@pytest.mark.parametrize("kind", every(2, VALUES))
def test_every_key_is_the_text_that_duckdb_records(lake, tmp_path, kind):
    column, transforms = column_of(kind), allowed(kind)
    fill_source(lake, column.duckdb_type, VALUES[kind])

    expected = recorded_by_duckdb(lake, column.duckdb_type, transforms)
    assert len(expected) == len(VALUES[kind]) + 1
    assert expected[len(VALUES[kind])] == (None,) * len(transforms)
    assert returned_by_copy(lake, column, transforms, tmp_path) == expected


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("text", ["-0.0", "-nan"])
def test_equal_floats_keep_their_own_text(lake, tmp_path, kind, text):
    """DuckDB puts -0.0 and 0.0, or two NaNs, into one file under the text of one of them."""
    column = column_of(kind)
    fill_source(lake, column.duckdb_type, [text])

    expected = recorded_by_duckdb(lake, column.duckdb_type, ["identity", BUCKETS])
    assert expected[0][0] == text
    assert returned_by_copy(lake, column, ["identity", BUCKETS], tmp_path) == expected


NESTED = [
    (Column(1, "v", "struct", children=(Column(2, "a", "int32"),)), "{'a': 1}"),
    (Column(1, "v", "list", children=(Column(2, "element", "varchar"),)), "[x, NULL, y z]"),
]


@pytest.mark.parametrize(("column", "text"), NESTED, ids=lambda each: getattr(each, "type", None))
def test_nested_values_go_by_their_text(lake, tmp_path, column, text):
    fill_source(lake, column.duckdb_type, [text])

    expected = recorded_by_duckdb(lake, column.duckdb_type, ["identity", BUCKETS])
    assert returned_by_copy(lake, column, ["identity", BUCKETS], tmp_path) == expected


@pytest.mark.parametrize(("kind", "text"), [("blob", r"\xFF\x00ab"), ("geometry", "POINT (1 2)")])
def test_bytes_that_are_no_text(lake, tmp_path, kind, text):
    """DuckDB has buckets for them, but fails to record them as they are."""
    column = column_of(kind)
    fill_source(lake, column.duckdb_type, [text])

    expected = recorded_by_duckdb(lake, column.duckdb_type, [BUCKETS])
    assert returned_by_copy(lake, column, [BUCKETS], tmp_path) == expected
    assert returned_by_copy(lake, column, ["identity"], tmp_path) == {0: (text,), 1: (None,)}


@pytest.mark.parametrize("kind", [*DECIMALS, "int64", "uint64", "varchar", "uuid"])
def test_a_value_is_looked_for_in_the_bucket_it_is_written_to(lake, kind):
    column = column_of(kind)
    fill_source(lake, column.duckdb_type, VALUES[kind])
    key = key_sql(column, BUCKETS, "v")
    rows = lake.execute(f"SELECT v, {key} FROM memory.source WHERE v IS NOT NULL").fetchall()
    for value, written in rows:
        operand = comparable(column, str(value) if kind == "uuid" else value)
        assert operand is not None
        assert buckets_of(operand, kind, 1000003, type_then=kind) == {int(written)}, value


def test_floats_on_both_sides_of_every_power_of_two(lake):
    powers = [2.0**exponent for exponent in range(-1074, 1024)]
    near = [math.nextafter(power, way) for power in powers for way in (0, math.inf)]
    values = [sign * value for value in powers + near for sign in (1, -1)]
    fill_source(lake, "DOUBLE", [repr(value) for value in values])

    key = key_sql(column_of("float64"), BUCKETS, "v")
    found = lake.execute(f"SELECT {key} FROM memory.source WHERE v IS NOT NULL ORDER BY n")
    assert [text for (text,) in found.fetchall()] == [
        str(bucket(struct.pack("<d", value + 0.0), 1000003)) for value in values
    ]


@pytest.mark.parametrize(
    ("kind", "transform"),
    [
        *(("int32", part) for part in PARTS),
        *(("varchar", part) for part in PARTS),
        *(("time", part) for part in ("year", "month", "day")),
    ],
)
def test_what_has_no_calendar_is_refused_by_both(lake, kind, transform):
    column = column_of(kind)
    with pytest.raises(Invalid, match=f"'v' is {column.duckdb_type} and has no {transform}"):
        key_sql(column, transform, "v")

    fill_source(lake, column.duckdb_type, [])
    with pytest.raises(duckdb.BinderException):
        recorded_by_duckdb(lake, column.duckdb_type, [transform])


@pytest.mark.parametrize("transform", ["epoch_day", "bucket(x)", "truncate(4)", ""])
def test_an_unknown_transform_is_refused(transform):
    with pytest.raises(Unsupported, match=r"this version knows identity, .*bucket\(N\)"):
        key_sql(column_of("date"), transform, "v")


def test_no_buckets_at_all_are_refused():
    with pytest.raises(Invalid, match="at least 1"):
        key_sql(column_of("date"), "bucket(0)", "v")


def test_allowing_buckets_again_is_harmless_also_in_a_transaction(lake):
    lake.execute("BEGIN")
    allow_keys(lake)
    assert lake.execute(f"SELECT {key_sql(column_of('int32'), 'bucket(4)', '34')}").fetchone()
    lake.execute("COMMIT")
