"""Rows from Parquet, CSV and JSON files."""

import datetime as dt
import gzip
import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.incoming.taking import TABLE, opened, parsed, refusal, taken, text_of, values
from tidelake.engine.incoming.bring import bring
from tidelake.engine.local.object_stores import allow_remote
from tidelake.errors import Invalid, NotFound
from tidelake.model.schema import Column


@pytest.fixture
def connection():
    with opened() as connection:
        yield connection


FILES = [
    Column(1, "i", "int64"),
    Column(2, "d", "decimal(9,2)"),
    Column(3, "s", "varchar", default="none"),
    Column(4, "at", "timestamp"),
]
ROWS = [("1", "1.50", "x", "2024-03-05 14:30:00"), ("2", None, "", None)]


def test_parquet_files_each_with_its_own_columns(connection, tmp_path):
    pq.write_table(pa.table({"i": [1], "at": [dt.datetime(2024, 3, 5)]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"S": ["x"], "i": pa.array([2], pa.int8())}), tmp_path / "b.parquet")
    expected = [("1", None, "none", "2024-03-05 00:00:00"), ("2", None, "x", None)]
    for data in (
        f"{tmp_path}/*.parquet",
        [tmp_path / "a.parquet", str(tmp_path / "b.parquet")],
    ):
        assert taken(connection, data, FILES) == expected
    incoming = bring(connection, "given", f"{tmp_path}/*.parquet", FILES, table=TABLE)
    assert incoming.present == {"i", "s", "at"}
    assert incoming.rereadable
    pq.write_table(pa.table({"i": [1], "zz": [1]}), tmp_path / "c.parquet")
    assert "'zz'" in str(refusal(connection, f"{tmp_path}/*.parquet", FILES))


def test_types_that_only_files_of_duckdb_have(connection, tmp_path):
    source = "SELECT '01:00:00+00'::TIMETZ AS a, 1::HUGEINT AS b, [1, 2]::INT[2] AS c"
    connection.execute(f"COPY ({source}) TO '{tmp_path}/a.parquet'")
    columns = [parsed("timetz"), Column(2, "b", "float64"), parsed("list(int64)", "c")]
    assert taken(connection, tmp_path / "a.parquet", columns) == [("01:00:00+00", "1.0", "[1, 2]")]
    columns[0] = parsed("varchar")
    assert "has TIMETZ" in str(refusal(connection, tmp_path / "a.parquet", columns))


def test_folders_of_partitions_add_no_columns(connection, tmp_path):
    (tmp_path / "zz=1").mkdir()
    pq.write_table(pa.table({"i": [1]}), tmp_path / "zz=1" / "a.parquet")
    assert values(connection, tmp_path / "zz=1" / "a.parquet", FILES[0]) == ["1"]


def test_a_path_may_look_like_a_pattern(connection, tmp_path):
    path = tmp_path / "it's [1].parquet"
    pq.write_table(pa.table({"i": [1]}), path)
    assert values(connection, path, FILES[0]) == ["1"]


CSV = 'S,d,i,at\nx,1.5,1,2024-03-05T14:30:00Z\n"",,2,\n'


def test_csv_is_read_as_the_table_says(connection, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "c.csv").write_text(CSV.replace(",", ";"))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for path in tmp_path.iterdir():
        assert taken(connection, path, FILES) == ROWS, path
    (tmp_path / "empty.csv").write_text("i,s\n")
    assert taken(connection, tmp_path / "empty.csv", FILES) == []


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("boolean", "true", "TRUE"),
        ("uint64", str(2**64 - 1), str(2**64 - 1)),
        ("int128", str(2**53 - 1), str(2**53 - 1)),
        ("float32", "0.1", "0.1"),
        ("float64", "1e300", "1e300"),
        ("decimal(9,2)", "1.5000", "1.5"),
        ("date", "2024-03-05", "'2024-03-05'"),
        ("time", "01:02:03.5", "'01:02:03.5'"),
        ("timestamp_us", "2024-03-05 14:30:00+05:30", "'2024-03-05 09:00:00'"),
        ("timestamp_s", "2024-03-05 14:30:00.000", "'2024-03-05 14:30:00'"),
        ("timestamp_ns", "2024-03-05 14:30:00.123456789", "'2024-03-05 14:30:00.123456789'"),
        ("timestamptz", "2024-03-05 14:30:00+05:30", "'2024-03-05 09:00:00+00'"),
        ("interval", "1 month", "INTERVAL 1 MONTH"),
        ("uuid", str(uuid.UUID(int=7)), f"'{uuid.UUID(int=7)}'"),
        ("json", "[1]", "'[1]'"),
        ("list(int64)", '"[1, NULL]"', "[1, NULL]"),
        (
            "struct(x date, y list(varchar))",
            '"{x: 2024-03-05, y: [a, b]}"',
            "{'x': '2024-03-05', 'y': ['a', 'b']}",
        ),
        ("map(varchar, int64)", "{k=1}", "MAP {'k': 1}"),
    ],
)
def test_csv_text_of_each_type(connection, tmp_path, kind, text, expected):
    (tmp_path / "a.csv").write_text(f"a,b\n{text},\n,\n")
    column = parsed(kind)
    want = text_of(connection, f"CAST({expected} AS {column.duckdb_type})")
    found = taken(connection, tmp_path / "a.csv", [column, Column(2, "b", "varchar")])
    assert [row[0] for row in found] == [want, None]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int64", "1.5"),
        ("int64", "x"),
        ("int8", "300"),
        ("int128", str(2**53)),
        ("decimal(9,2)", "1.239"),
        ("decimal(4,2)", "100"),
        ("float64", "x"),
        ("boolean", "maybe"),
        ("date", "2024-03-05 14:30:00"),
        ("date", "05.03.2024"),
        ("timestamp", "2024-03-05 14:30:00.1234567"),
        ("timestamp_s", "2024-03-05 14:30:00.5"),
        ("timestamp_ns", "2024-03-05 14:30:00+05:30"),
        ("uuid", "x"),
        ("json", "{"),
        ("list(int64)", "[1.5]"),
        ("struct(x int64)", "{x: 1.5}"),
        ("list(int64)", "1"),
    ],
)
def test_csv_text_that_does_not_fit(connection, tmp_path, kind, text):
    (tmp_path / "a.csv").write_text(f"a,b\n,\n{text},\n")
    error = refusal(connection, tmp_path / "a.csv", [parsed(kind), Column(2, "b", "varchar")])
    assert isinstance(error, Invalid)
    assert error.message.startswith(f"main.t from {tmp_path}/a.csv: column 'a'")
    assert ("1.5" if "1.5" in text else text) in error.message


def test_a_ragged_csv_is_refused(connection, tmp_path):
    (tmp_path / "a.csv").write_text("i,s\n1,x\n2\n3,y,z\n")
    assert isinstance(refusal(connection, tmp_path / "a.csv", FILES), Invalid)


@pytest.mark.parametrize("lines", [False, True])
def test_json_is_read_as_the_table_says(connection, tmp_path, lines):
    rows = [
        {"I": 1, "d": 1.5, "s": "x", "at": "2024-03-05T14:30:00Z"},
        {"i": 2, "s": "", "d": None},
    ]
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows, indent=1)
    path = tmp_path / ("a.ndjson" if lines else "a.json")
    path.write_text(text)
    assert taken(connection, path, FILES) == ROWS


def test_json_keeps_every_digit(connection, tmp_path):
    (tmp_path / "a.json").write_text('{"a": 12345678901234567890.12}')
    column = parsed("decimal(38,2)")
    assert values(connection, tmp_path / "a.json", column) == ["12345678901234567890.12"]


def test_long_json_is_streamed(connection, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(f'{{"i": {n}}}' for n in range(50_000)))
    incoming = bring(connection, "given", path, FILES[:1], table=TABLE)
    assert connection.execute(f"SELECT sum(i) FROM ({incoming.sql})").fetchone() == (1249975000,)


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("a.json", '[{"i": 1}, {"i": 1.5}]', Invalid, "row 2: column 'i'"),
        ("a.json", '[{"zz": 1}]', Invalid, "'zz'"),
        ("a.json", "[1]", Invalid, "not an object"),
        ("a.json", '{"i": 1', Invalid, "a.json"),
        ("a.parquet", "no", Invalid, "a.parquet"),
        ("a.txt", "no", Invalid, "a.txt"),
        ("a.csv", "zz\n1\n", Invalid, "'zz'"),
    ],
)
def test_files_that_are_refused(connection, tmp_path, name, text, kind, message):
    (tmp_path / name).write_text(text)
    error = refusal(connection, tmp_path / name, FILES)
    assert isinstance(error, kind)
    assert message in error.message
    assert error.hint


def test_files_that_are_not_there(connection, tmp_path):
    for path in (tmp_path / "a.parquet", f"{tmp_path}/*.csv", [tmp_path / "a.json"]):
        assert isinstance(refusal(connection, path, FILES), NotFound)
    (tmp_path / "a.csv").write_text(CSV)
    error = refusal(connection, [tmp_path / "a.csv", tmp_path / "a.parquet"], FILES)
    assert "several kinds" in error.message
    assert isinstance(refusal(connection, Path(tmp_path), FILES), Invalid)


def test_json_columns_of_a_json_file_hold_what_stands_there(connection, tmp_path):
    """A string in the file is a JSON string in the column, though a str in a dict is JSON text."""
    given = ['"12"', "12", "12345678901234567890.12", '{"b": [1, 2.50, null]}', "true"]
    (tmp_path / "a.ndjson").write_text("\n".join(f'{{"A": {text}}}' for text in given))
    assert values(connection, tmp_path / "a.ndjson", parsed("json")) == given


def test_files_in_an_object_store(connection, tmp_path, s3_server):
    bucket = s3_server.new_bucket()
    allow_remote(connection, ["s3"], s3_server.storage_options)
    for kind in ("parquet", "csv", "json"):
        source = f"SELECT i FROM range(3) AS r(i)) TO 's3://{bucket}/in/a.{kind}'"
        connection.execute(f"COPY ({source} (FORMAT {kind})")
        for path in (f"s3://{bucket}/in/a.{kind}", f"s3://{bucket}/in/*.{kind}"):
            assert values(connection, path, FILES[0]) == ["0", "1", "2"]
        error = refusal(connection, f"s3://{bucket}/none.{kind}", FILES)
        assert isinstance(error, NotFound), error
