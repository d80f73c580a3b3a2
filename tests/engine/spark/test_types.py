"""Every type, by Spark's own reader and by way of Arrow, against DuckDB's rows."""

from dataclasses import replace

import pytest

from tests.engine.plans import DuckLake, by_arrow, differences, sorted_rows
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.engine import SparkEngine
from tidelake.engine.spark.types import spark_schema
from tidelake.errors import Unsupported
from tidelake.model.schema import Column

pytestmark = pytest.mark.spark

VALUES = {
    "b": ("BOOLEAN", "true", "false"),
    "i8": ("TINYINT", "-128", "127"),
    "i16": ("SMALLINT", "-32768", "32767"),
    "i32": ("INTEGER", "-2147483648", "2147483647"),
    "i64": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "u8": ("UTINYINT", "0", "255"),
    "u16": ("USMALLINT", "0", "65535"),
    "u32": ("UINTEGER", "0", "4294967295"),
    "u64": ("UBIGINT", "0", "18446744073709551615"),
    "f": ("FLOAT", "'-inf'", "'nan'"),
    "d": ("DOUBLE", "5e-324", "0.1"),
    "dec3": ("DECIMAL(3,1)", "1.2", "-99.9"),
    "dec18": ("DECIMAL(18,2)", "1.25", "-9999999999999999.99"),
    "dec38": ("DECIMAL(38,8)", "0", "-999999999999999999999999999999.99999999"),
    "tm": ("TIME", "'00:00:00'", "'23:59:59.999999'"),
    "day": ("DATE", "'0044-03-15 (BC)'", "'20000-01-01'"),
    "old_day": ("DATE", "'1582-10-04'", "'1582-10-15'"),
    "ts": ("TIMESTAMP", "'0001-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"),
    "old_ts": ("TIMESTAMP", "'1500-02-28 04:05:06.789'", "'1900-01-01'"),
    "tz": ("TIMESTAMPTZ", "'0001-01-01 00:00:00+00'", "'1582-10-06 23:59:59.999999+02'"),
    "ts_s": ("TIMESTAMP_S", "'1500-02-03 04:05:06'", "'2024-02-03 04:05:06'"),
    "ts_ms": ("TIMESTAMP_MS", "'1500-02-03 04:05:06.789'", "'2024-02-03 04:05:06.789'"),
    "v": ("VARCHAR", "''", "'é😀 \"x\"'"),
    "js": ("JSON", "'{\"a\":  [1, null]}'", "'null'"),
    "bl": ("BLOB", "''", "'\\xAA\\x00'"),
    "uu": (
        "UUID",
        "'550e8400-e29b-41d4-a716-446655440000'",
        "'ffffffff-0000-0000-0000-00000000000a'",
    ),
    "l": ("INTEGER[]", "[]", "[1, NULL, 3]"),
    "s": ("STRUCT(x INTEGER, y VARCHAR)", "{x: NULL, y: 'a'}", "{x: 1, y: ''}"),
    "m": ("MAP(VARCHAR, INTEGER)", "MAP {'a': 1, 'b': NULL}", "MAP {}"),
    "deep": (
        "STRUCT(x TIME, y UUID[])[]",
        "[{x: '01:02:03', y: ['550e8400-e29b-41d4-a716-446655440000', NULL]}, NULL]",
        "[]",
    ),
    "mm": (
        "MAP(UUID, STRUCT(u UBIGINT, f FLOAT, ts TIMESTAMP_S))",
        "MAP {'550e8400-e29b-41d4-a716-446655440000':"
        " {u: 18446744073709551615, f: 'nan', ts: '1500-01-01'}}",
        "MAP {}",
    ),
    'odd `name`."x"': ("INTEGER", "1", "2"),
    "_metadata": ("INTEGER", "3", "4"),
}
TYPES = {name: kind for name, (kind, *_) in VALUES.items()}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def make(lake: DuckLake) -> None:
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in TYPES.items())
    rows = [
        f"({n}, {', '.join(f'({value[1 + n]})::{value[0]}' for value in VALUES.values())})"
        for n in range(2)
    ]
    rows.append(f"(2, {', '.join('NULL' for _ in VALUES)})")
    lake.run(f"CREATE TABLE t (id INTEGER, {declared})", f"INSERT INTO t VALUES {', '.join(rows)}")


@pytest.mark.slow
def test_every_type_by_both_ways(spark, tmp_path):
    lake = DuckLake(tmp_path)
    make(lake)
    plan = lake.plan()
    engine = SparkEngine(spark, LocalEngine())
    expected = lake.expected(plan)
    for way in (plan, replace(plan, renamed=None), by_arrow(plan)):
        found = sorted_rows(engine.read(way).to_arrow(), plan)
        assert list(differences(found, expected)) == []
    assert engine.frame(plan).schema.names == list(plan.output)


@pytest.mark.slow
def test_inlined_rows_and_files_together(spark, tmp_path):
    lake = DuckLake(tmp_path, options="DATA_INLINING_ROW_LIMIT 10")
    make(lake)
    lake.run("CALL ducklake_flush_inlined_data('lake')")
    lake.run("INSERT INTO t SELECT * REPLACE (id + 10 AS id) FROM t")
    plan = lake.plan()
    assert plan.files
    assert plan.inlined
    found = sorted_rows(SparkEngine(spark, LocalEngine()).read(plan).to_arrow(), plan)
    assert list(differences(found, lake.expected(plan))) == []


@pytest.mark.slow
def test_variants_and_geometry(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARIANT, g GEOMETRY)",
        "INSERT INTO t VALUES (0, {'a': 1, 'b': 'x'}::VARIANT, 'POINT(1 2)'),"
        " (1, [1, 2.5, NULL]::VARIANT, NULL), (2, NULL, 'POINT(3 4)'),"
        " (3, {'a': 2, 'b': 'y', 'c': DATE '2020-01-01'}::VARIANT, NULL)",
    )
    plan = lake.plan()
    expected = [
        (0, '{"a":1,"b":"x"}', "0101000000000000000000F03F0000000000000040"),
        (1, "[1,2.5,null]", None),
        (2, None, "010100000000000000000008400000000000001040"),
        (3, '{"a":2,"b":"y","c":"2020-01-01"}', None),
    ]
    engine = SparkEngine(spark, LocalEngine())
    for way in (plan, by_arrow(plan)):
        rows = engine.frame(way).selectExpr("id", "to_json(v)", "hex(g)").collect()
        assert sorted(tuple(row) for row in rows) == expected
        nulls = engine.read(way).to_arrow().sort_by("id").column("v").is_null()
        assert nulls.to_pylist() == [False, False, True, False]


@pytest.mark.parametrize(
    "kind", ["int128", "uint128", "timetz", "interval", "timestamp_ns", "time_ns"]
)
def test_types_that_spark_has_not_are_refused_by_name(kind):
    element = Column(2, "element", kind)
    for column in (Column(1, "odd", kind), Column(1, "odd", "list", children=(element,))):
        with pytest.raises(Unsupported, match=f"'odd' holds {kind}") as caught:
            spark_schema([column])
        assert "columns=" in str(caught.value)


def test_a_refused_type_may_be_left_out(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t AS SELECT 1 AS id, 2::HUGEINT AS h, INTERVAL 1 YEAR AS i")
    engine = SparkEngine(spark, LocalEngine())
    with pytest.raises(Unsupported, match="'h' holds int128"):
        engine.frame(lake.plan())
    assert engine.read(lake.plan(columns=["id"])).count() == 1
