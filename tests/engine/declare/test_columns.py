"""Every way to describe a table's columns; DuckDB says how it would number and store them."""

import datetime
import decimal
import sqlite3
import uuid
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidelake.engine.declare.columns import columns_of
from tidelake.engine.declare.ddl import with_default
from tidelake.errors import Invalid, Unsupported
from tidelake.model.schema import Column, Schema
from tidelake.model.types import DUCKDB_NAMES

SCALARS = [name for name in DUCKDB_NAMES if name not in {"time_ns", "timestamp_us"}]
ODD = [
    'quo"te',
    "a.b",
    "a/b",
    "..",
    "select",
    " ",
    "é",
    "日本",
    "new\nline",
    "rowid",
    "snapshot_id",
]


def types(schema):
    return {column.name: column.duckdb_type for column in columns_of(schema)}


def only(schema):
    (column,) = columns_of(schema)
    return column


@pytest.fixture
def stored(new_duck, tmp_path):
    """What DuckDB writes into the catalog for columns in a CREATE TABLE."""

    def run(ddl):
        connection = new_duck()
        connection.execute(
            f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}/data/')"
        )
        connection.execute(f"CREATE TABLE lake.t ({ddl})")
        connection.close()
        return sqlite3.connect(tmp_path / "c.db").execute(
            "SELECT column_id, parent_column, column_name, column_type, nulls_allowed,"
            " initial_default, default_value, default_value_type FROM ducklake_column"
            " ORDER BY column_id"
        )

    return run


def rows_of(columns, parent=None):
    for c in columns:
        kind = "" if c.is_nested else "expression" if c.default_is_expression else "literal"
        default = "NULL" if c.default is None else c.default
        yield c.id, parent, c.name, c.type, c.nullable, c.initial_default, default, kind
        yield from rows_of(c.children, c.id)


def test_columns_are_numbered_and_stored_as_by_duckdb(stored):
    ddl = (
        "id BIGINT NOT NULL, s STRUCT(a INT, b VARCHAR[], c STRUCT(x DOUBLE)[]),"
        " m MAP(VARCHAR, STRUCT(k UUID)), d DECIMAL, n NUMERIC(5), t VARCHAR(10), l INT[][],"
        ' "odd ""name" TIMESTAMPTZ'
    )
    assert list(rows_of(columns_of(ddl))) == list(stored(ddl))


def test_defaults_are_stored_as_by_duckdb(stored):
    ddl = r"""
        a INT DEFAULT 5, b VARCHAR DEFAULT 'it''s', c VARCHAR DEFAULT '', d INT DEFAULT NULL,
        e INT DEFAULT -3, f DOUBLE DEFAULT 1e300, g INT DEFAULT '7', h BLOB DEFAULT '\xAA',
        i TIMESTAMPTZ DEFAULT '2024-01-01 00:00:00+00', j TIMESTAMP DEFAULT now(),
        k INT DEFAULT 1 + 2, l UUID DEFAULT gen_random_uuid(), m INT NOT NULL DEFAULT 5
    """
    assert list(rows_of(columns_of(ddl))) == list(stored(ddl))


@pytest.mark.parametrize(
    ("ddl", "default"),
    [
        ("a BOOLEAN DEFAULT TRUE", "true"),
        ("a DATE DEFAULT DATE '2024-01-01'", "2024-01-01"),
        ("a INT DEFAULT CAST('5' AS INT)", "5"),
        ("a DECIMAL(9,2) DEFAULT 1.5", "1.50"),
    ],
)
def test_a_constant_is_a_literal_even_where_duckdb_keeps_an_expression(ddl, default):
    column = only(ddl)
    assert (column.default, column.initial_default) == (default, default)
    assert not column.default_is_expression


def test_the_text_null_is_not_mistaken_for_no_default():
    column = only("a VARCHAR DEFAULT 'NULL'")
    assert (column.default, column.default_is_expression) == ("'NULL'", True)
    assert column.initial_default == "NULL"


@pytest.mark.parametrize("name", [*SCALARS, "decimal(18,3)"])
def test_every_ducklake_type_by_its_own_name(name):
    assert only({"a": name}).type == name
    assert only({"a": name.upper()}).type == name


@pytest.mark.parametrize("name", SCALARS)
def test_every_ducklake_type_by_duckdbs_name(name):
    assert only({"a": DUCKDB_NAMES[name]}).type == name
    assert only(f"a {DUCKDB_NAMES[name]}[]").children[0].type == name


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, "BIGINT"),
        (str, "VARCHAR"),
        (float, "DOUBLE"),
        (bool, "BOOLEAN"),
        (bytes, "BLOB"),
        (datetime.datetime, "TIMESTAMP"),
        (datetime.date, "DATE"),
        (datetime.time, "TIME"),
        (datetime.timedelta, "INTERVAL"),
        (uuid.UUID, "UUID"),
        (list[int], "BIGINT[]"),
        (dict[str, list[float]], "MAP(VARCHAR, DOUBLE[])"),
        ("STRUCT(a INT, b VARCHAR[])", 'STRUCT("a" INTEGER, "b" VARCHAR[])'),
        ("STRUCT(a float32)", 'STRUCT("a" FLOAT)'),
        ("MAP(VARCHAR, INT)", "MAP(VARCHAR, INTEGER)"),
        ("INT[3]", "INTEGER[]"),
        ("  bigint  ", "BIGINT"),
        (pa.int8(), "TINYINT"),
        (pl.Int16, "SMALLINT"),
        (pl.Datetime("ms", "UTC"), "TIMESTAMPTZ"),
    ],
)
def test_types_in_a_dict(kind, expected):
    assert types({"a": kind, "b": "INT"}) == {"a": expected, "b": "INTEGER"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.uint64(), "uint64"),
        (pa.float16(), "float32"),
        (pa.float32(), "float32"),
        (pa.large_string(), "varchar"),
        (pa.string_view(), "varchar"),
        (pa.binary(5), "blob"),
        (pa.date64(), "date"),
        (pa.time32("s"), "time"),
        (pa.time64("ns"), "time"),
        (pa.timestamp("s"), "timestamp_s"),
        (pa.timestamp("ms"), "timestamp_ms"),
        (pa.timestamp("us"), "timestamp"),
        (pa.timestamp("ns"), "timestamp_ns"),
        (pa.timestamp("ns", "Europe/Berlin"), "timestamptz"),
        (pa.duration("us"), "interval"),
        (pa.month_day_nano_interval(), "interval"),
        (pa.decimal128(18, 3), "decimal(18,3)"),
        (pa.decimal32(5, 2), "decimal(5,2)"),
        (pa.dictionary(pa.int32(), pa.string()), "varchar"),
        (pa.run_end_encoded(pa.int32(), pa.int8()), "int8"),
        (pa.uuid(), "uuid"),
        (pa.json_(), "json"),
        (pa.bool8(), "boolean"),
    ],
)
def test_arrow_types(kind, expected):
    assert only(pa.schema([("a", kind)])).type == expected


def test_nested_arrow_types():
    point = pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string(), 2))])
    schema = pa.schema([("l", pa.large_list(point)), ("m", pa.map_(pa.string(), point))])
    inside = 'STRUCT("x" TINYINT, "y" VARCHAR[])'
    assert types(schema) == {"l": f"{inside}[]", "m": f"MAP(VARCHAR, {inside})"}
    ids = [[c.id for c in column.walk()] for column in columns_of(schema)]
    assert ids == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_nullability_and_comments_come_along():
    field = pa.field("a", pa.int32(), nullable=False, metadata={"comment": "how many"})
    expected = Column(1, "a", "int32", nullable=False, comment="how many")
    assert columns_of(pa.schema([field])) == (expected,)
    assert columns_of("a INT NOT NULL COMMENT 'how many'") == (expected,)
    assert columns_of({"a": "int32 NOT NULL COMMENT 'how many'"}) == (expected,)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"a": [1], "b": ["x"]}),
        pa.record_batch({"a": [1], "b": ["x"]}),
        pa.table({"a": [1], "b": ["x"]}).to_reader(),
        pl.DataFrame({"a": [1], "b": ["x"]}),
        pl.LazyFrame({"a": [1], "b": ["x"]}),
        pl.Schema({"a": pl.Int64, "b": pl.String}),
        pd.DataFrame({"a": [1], "b": ["x"]}),
        {"a": pl.Int64(), "b": pl.Categorical()},
        Schema((Column(7, "a", "int64"), Column(9, "b", "varchar"))),
        [Column(7, "a", "int64"), Column(9, "b", "varchar")],
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_frames_and_schemas(frame):
    assert columns_of(frame) == (Column(1, "a", "int64"), Column(2, "b", "varchar"))


def test_a_column_of_another_table_starts_afresh():
    old = Column(7, "a", "int64", default="5", initial_default="1")
    assert columns_of(Schema((old,))) == (replace(old, id=1, initial_default="5"),)


def test_spark_types_and_schemas():
    from pyspark.sql import types as t

    schema = t.StructType(
        [
            t.StructField("a", t.LongType(), False, {"comment": "how many"}),
            t.StructField("b", t.ArrayType(t.StructType([t.StructField("x", t.TimestampType())]))),
            t.StructField("c", t.MapType(t.StringType(), t.DecimalType(9, 2))),
            t.StructField("d", t.TimestampNTZType()),
            t.StructField("e", t.VarcharType(5)),
        ]
    )
    first, *_ = columns_of(schema)
    assert first == Column(1, "a", "int64", nullable=False, comment="how many")
    assert types(schema) == {
        "a": "BIGINT",
        "b": 'STRUCT("x" TIMESTAMPTZ)[]',
        "c": "MAP(VARCHAR, DECIMAL(9,2))",
        "d": "TIMESTAMP",
        "e": "VARCHAR",
    }
    assert only({"a": t.ByteType()}).type == "int8"
    with pytest.raises(Unsupported, match=r"'a'.*void"):
        columns_of(t.StructType([t.StructField("a", t.NullType())]))


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_fine(name):
    assert only({name: "int32"}).name == only({name: int}).name == name
    assert only(pa.schema([(name, pa.int8())])).name == name


def test_a_thousand_columns():
    columns = columns_of({f"c{n}": "DECIMAL(9,2) NOT NULL" for n in range(1000)})
    assert [columns[999].id, columns[999].name] == [1000, "c999"]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "no columns"),
        ([], "no columns"),
        ("", "leaves out a column"),
        ("a INT,", "leaves out a column"),
        (pa.schema([("a", pa.struct([]))]), "no columns in a"),
        ({"": int}, "empty name"),
        ({5: int}, "no text"),
        ({"a\0": int}, "no database takes"),
        ({"a\ud800": int}, "no database takes"),
        ("a INT, A INT", "'a' and 'A'"),
        (pa.schema([("a", pa.int8()), ("a", pa.int8())]), "'a' and 'a'"),
        ({"éa": int, "éA": int}, "'éa' and 'éA'"),
        ({"s": pa.struct([("x", pa.int8()), ("X", pa.int8())])}, "in s are called 'x' and 'X'"),
        ("s STRUCT(x INT, X INT)", 'Duplicate.*X.*STRUCT|Duplicate STRUCT.*"X"'),
        ({"_ducklake_internal_row_id": int}, "is taken"),
        ({"_DuckLake_internal_snapshot_id": int}, "is taken"),
        ({"_tidelake_row": int}, "is taken"),
        ("a FOO", "'a FOO'.*FOO does not exist"),
        ("a INT, b", "'b'.*(syntax error|must have a type)"),
        ("a VARCHAR DEFAULT 'x", "not SQL"),
        ("a INT; DROP TABLE t", "more than columns"),
        ("a INT) AS SELECT (1", "more than columns"),
        ({"a": "INT, b INT"}, "one column"),
        ("a TINYINT DEFAULT 300", "'a'.*300.*TINYINT"),
        ("a INT DEFAULT 'abc'", "'a'.*abc.*INTEGER"),
        ("a INT DEFAULT now()", r"'a'.*now\(\).*INTEGER"),
        ("a INT, b INT DEFAULT a", "cannot contain column names"),
        ("a INT DEFAULT (SELECT 1)", "cannot contain subqueries"),
        (pd.DataFrame({"a": [1, "x"]}), "no Arrow types"),
        (5, "int does not describe"),
        (None, "NoneType does not describe"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(schema, reason):
    with pytest.raises(Invalid, match=reason) as caught:
        columns_of(schema)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("a ENUM('x')", "'a'.*ENUM"),
        ("a UNION(x INT)", "'a'.*UNION"),
        ("a STRUCT(b BIT)", "'a.b'.*BIT"),
        ("a VARINT", "'a'.*BIGNUM"),
        ("a TIME_NS", "'a'.*TIME_NS"),
        ("a INT PRIMARY KEY", "PRIMARY"),
        ("a INT, PRIMARY KEY (a)", "PRIMARY"),
        ("a INT UNIQUE", "UNIQUE"),
        ("a INT CHECK (a > 1)", "CHECK"),
        ("a INT, b INT AS (a + 1)", "AS"),
        ("a VARCHAR COLLATE NOCASE", "COLLATE"),
        ("a INT[] DEFAULT [1]", "'a'.*list"),
        ({"a": decimal.Decimal}, "'a'.*Decimal"),
        ({"a": object}, "'a'.*object"),
        ({"a": None}, "'a'.*None"),
        ({"a": pa.null()}, "'a'.*null"),
        ({"a": pa.list_(pa.null())}, "'a.element'.*null"),
        ({"a": pa.decimal256(50, 2)}, "'a'.*decimal256"),
        ({"a": pa.decimal128(5, -2)}, "'a'.*decimal128"),
        ({"a": pa.sparse_union([pa.field("x", pa.int8())])}, "'a'.*union"),
        ({"a": pl.List(pl.Object)}, "'a'.*Object"),
        ({"a": pl.Int128}, "'a'.*Int128"),
    ],
)
def test_types_that_a_table_cannot_have_are_refused_by_name(schema, reason):
    with pytest.raises(Unsupported, match=reason) as caught:
        columns_of(schema)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("int32", 5, "5"),
        ("varchar", "it's", "it's"),
        ("boolean", True, "true"),
        ("decimal(9,2)", decimal.Decimal("1.5"), "1.50"),
        ("date", datetime.date(2024, 1, 1), "2024-01-01"),
        ("blob", b"\xaa", r"\xAA"),
        ("float64", float("nan"), "nan"),
        (
            "timestamptz",
            datetime.datetime(2024, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            "2024-01-01 00:00:00+00",
        ),
    ],
)
def test_python_values_as_defaults(kind, value, text):
    column = with_default(Column(1, "a", kind), value)
    assert (column.default, column.initial_default) == (text, text)
    assert with_default(column, None).default is None


@pytest.mark.parametrize(("kind", "value"), [("int8", 300), ("date", "x"), ("int8", object())])
def test_python_values_of_another_type_are_no_defaults(kind, value):
    with pytest.raises(Invalid, match="'a'"):
        with_default(Column(1, "a", kind), value)
