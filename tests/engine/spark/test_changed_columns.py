"""Columns that changed over time, read at every snapshot and compared with DuckDB."""

import pytest

from tests.engine.plans import DuckLake, by_arrow, differences, sorted_rows
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.columns import reads_as
from tidelake.engine.spark.engine import SparkEngine

pytestmark = pytest.mark.spark

# What DuckDB promotes, each with values at the edges; `native` is what Spark's reader reads itself.
PROMOTIONS = [
    (
        "TINYINT",
        "-128, 127",
        {"SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL(12,2)"},
        {"FLOAT"},
    ),
    ("SMALLINT", "-32768, 32767", {"INTEGER", "BIGINT", "DOUBLE"}, {"DECIMAL(7,2)"}),
    ("INTEGER", "-2147483648, 2147483647", {"BIGINT", "DOUBLE", "DECIMAL(18,2)"}, {"FLOAT"}),
    ("BIGINT", "-9223372036854775808, 1", {"DECIMAL(20,0)", "DECIMAL(38,4)"}, {"DOUBLE"}),
    ("UTINYINT", "0, 255", {"SMALLINT", "BIGINT", "USMALLINT", "UINTEGER", "DOUBLE"}, {"UBIGINT"}),
    ("USMALLINT", "0, 65535", {"INTEGER", "BIGINT", "UINTEGER", "DOUBLE"}, {"UBIGINT"}),
    ("UINTEGER", "0, 4294967295", {"BIGINT"}, {"UBIGINT", "DOUBLE"}),
    ("UBIGINT", "0, 18446744073709551615", set(), {"DOUBLE"}),
    ("FLOAT", "0.1, 3.4e38", {"DOUBLE"}, set()),
    (
        "DECIMAL(5,2)",
        "-999.99, 1.25",
        {"DECIMAL(9,2)", "DECIMAL(18,4)", "DECIMAL(38,10)"},
        {"DOUBLE"},
    ),
    ("DECIMAL(18,2)", "-9999999999999999.99, 0.01", {"DECIMAL(38,10)"}, {"DOUBLE"}),
    ("BOOLEAN", "true, false", set(), {"INTEGER", "BIGINT"}),
    ("DATE", "'0001-01-01', '9999-12-31'", {"TIMESTAMP", "TIMESTAMP_S"}, {"TIMESTAMPTZ"}),
    ("TIMESTAMP_S", "'1500-01-01 01:02:03', '2024-01-01'", {"TIMESTAMP_MS", "TIMESTAMP"}, set()),
    ("TIMESTAMP_MS", "'1500-01-01 01:02:03.456', '2024-01-01'", {"TIMESTAMP"}, set()),
    ("TIMESTAMP", "'1500-01-01 01:02:03.456789', '2024-01-01'", set(), {"TIMESTAMPTZ"}),
    ("VARCHAR", "'1', '[2]'", {"JSON"}, set()),
]


def same_at_every_snapshot(spark, lake, table="t"):
    engine = SparkEngine(spark, LocalEngine())
    plans = [lake.plan(table, at=snapshot) for snapshot in lake.snapshots(table)]
    for plan in plans:
        found = sorted_rows(engine.read(plan).to_arrow(), plan)
        assert list(differences(found, lake.expected(plan))) == [], plan.snapshot_id
    return plans


def is_native(frame):
    return "MapInArrow" not in frame._jdf.queryExecution().toString()


@pytest.mark.slow
def test_promotions(spark, tmp_path):
    """All that Spark reads itself are columns of one table, all others of another."""
    lake = DuckLake(tmp_path)
    engine = SparkEngine(spark, LocalEngine())
    for table, chosen in (("native", 2), ("other", 3)):
        pairs = [(p[0], p[1].split(", "), new) for p in PROMOTIONS for new in sorted(p[chosen])]
        old = ", ".join(f"c{n} {kind}" for n, (kind, _, _) in enumerate(pairs))
        lake.run(f"CREATE TABLE {table} (id INTEGER, {old})")
        for row in range(2):
            values = ", ".join(f"({v[row]})::{kind}" for kind, v, _ in pairs)
            lake.run(f"INSERT INTO {table} VALUES ({row}, {values})")
        for n, (_, _, new) in enumerate(pairs):
            lake.run(f"ALTER TABLE {table} ALTER c{n} TYPE {new}")
        lake.run(f"INSERT INTO {table} SELECT * REPLACE (id + 10 AS id) FROM {table}")
        plan = lake.plan(table)
        for column in plan.columns[1:]:
            (former,) = plan.former_types[column.id]
            assert reads_as(former, column.type) == (table == "native"), (former, column.type)
        frame = engine.frame(plan)
        assert is_native(frame) == (table == "native")
        assert list(differences(sorted_rows(frame.toArrow(), plan), lake.expected(plan))) == []


@pytest.mark.slow
def test_names_that_moved_between_columns(spark, tmp_path):
    """Spark pushes filters down by name: under a moved name they would drop the wrong rows."""
    lake = DuckLake(tmp_path)
    lake.run(
        "CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR, c INTEGER)",
        "INSERT INTO t VALUES (1, 1, 'x', 100), (2, 2, 'y', 200)",
        "ALTER TABLE t RENAME a TO z",
        "ALTER TABLE t RENAME b TO a",
        "ALTER TABLE t RENAME z TO b",
        "ALTER TABLE t DROP c",
        "ALTER TABLE t ADD COLUMN c INTEGER",
        "INSERT INTO t VALUES (3, 3, 'z', NULL), (4, 4, 'q', 7)",
    )
    plans = same_at_every_snapshot(spark, lake)
    frame = SparkEngine(spark, LocalEngine()).frame(plans[-1])
    assert is_native(frame)
    assert sorted(row.id for row in frame.where("c IS NULL").collect()) == [1, 2, 3]
    assert [row.id for row in frame.where("b = 2").collect()] == [2]
    assert [row.id for row in frame.where("a = 'y'").collect()] == [2]
    pushed = frame.where("id = 2")._jdf.queryExecution().toString()
    assert "EqualTo(id,2)" in pushed


@pytest.mark.slow
def test_defaults_of_columns_that_came_later(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t AS SELECT range::INTEGER AS id FROM range(3)")
    added = {
        "i": "INTEGER DEFAULT 42",
        "u": "UINTEGER DEFAULT 4294967295",
        "dec": "DECIMAL(9,2) DEFAULT 1.25",
        "f": "DOUBLE DEFAULT 0.1",
        "b": "BOOLEAN DEFAULT 'true'",
        "v": "VARCHAR DEFAULT 'it''s \\ é'",
        "d": "DATE DEFAULT '2020-02-29'",
        "ts": "TIMESTAMP DEFAULT '2020-02-29 01:02:03.5'",
        "n": "INTEGER",
    }
    for name, column in added.items():
        lake.run(f"ALTER TABLE t ADD COLUMN {name} {column}")
    lake.run("INSERT INTO t (id, i, v) VALUES (10, NULL, '')")
    plan = lake.plan()
    engine = SparkEngine(spark, LocalEngine())
    frame = engine.frame(plan)
    assert is_native(frame)
    assert list(differences(sorted_rows(frame.toArrow(), plan), lake.expected(plan))) == []
    assert frame.where("i = 42").count() == 3

    lake.run(
        "ALTER TABLE t ADD COLUMN uu UUID DEFAULT '550e8400-e29b-41d4-a716-446655440000'",
        "ALTER TABLE t ADD COLUMN u64 UBIGINT DEFAULT 18446744073709551615",
    )
    plan = lake.plan()
    assert not is_native(engine.frame(plan))
    found = sorted_rows(engine.read(plan).to_arrow(), plan)
    assert list(differences(found, lake.expected(plan))) == []


@pytest.mark.slow
def test_insides_of_nested_columns(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run(
        "CREATE TABLE t (id BIGINT, s STRUCT(x INTEGER, y VARCHAR, u UUID),"
        " l STRUCT(x INTEGER, y VARCHAR)[], m MAP(VARCHAR, STRUCT(x INTEGER, y VARCHAR)))",
        "INSERT INTO t VALUES (1, {x: 1, y: 'a', u: '550e8400-e29b-41d4-a716-446655440000'},"
        " [{x: 1, y: 'b'}, NULL], MAP {'k': {x: 1, y: 'c'}}), (2, NULL, NULL, NULL)",
        "ALTER TABLE t RENAME COLUMN s.x TO z",
        "ALTER TABLE t RENAME COLUMN s.y TO x",
        "ALTER TABLE t ADD COLUMN s.y BIGINT",
        "ALTER TABLE t DROP COLUMN l.element.x",
        "ALTER TABLE t ADD COLUMN l.element.x VARCHAR",
        "ALTER TABLE t RENAME COLUMN m.value.x TO w",
        "INSERT INTO t VALUES (3, {z: 3, x: 'n', u: NULL, y: 5}, [{y: 'q', x: 't'}],"
        " MAP {'k': {w: 9, y: 'r'}})",
    )
    plans = same_at_every_snapshot(spark, lake)
    engine = SparkEngine(spark, LocalEngine())
    frame = engine.frame(plans[-1])
    assert is_native(frame)
    other = by_arrow(plans[-1])
    found = sorted_rows(engine.read(other).to_arrow(), other)
    assert list(differences(found, lake.expected(plans[-1]))) == []
    # Spark reads parts of a nested column by name alone.
    parts = ("s.x", "s.z", "l.y[0] AS ly", "map_values(m).w[0] AS w", "s.y IS NULL AS n")
    rows = frame.where("s.z > 0").orderBy("id").selectExpr(*parts).collect()
    assert [tuple(row) for row in rows] == [("a", 1, "b", 1, True), ("n", 3, "q", 9, False)]


@pytest.mark.slow
def test_parts_of_nested_columns(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run(
        "CREATE TABLE t (id INTEGER, f DOUBLE, s STRUCT(x INTEGER, u UUID, f FLOAT),"
        " q STRUCT(x INTEGER, y VARCHAR), l STRUCT(x INTEGER, y VARCHAR)[])",
        "INSERT INTO t VALUES (1, 0.5, {x: 1, u: '550e8400-e29b-41d4-a716-446655440000', f: 'nan'},"
        " {x: 2, y: 'a'}, [{x: 3, y: 'b'}]), (2, NULL, NULL, NULL, NULL)",
        "ALTER TABLE t ADD COLUMN q.z INTEGER",
    )
    frame = SparkEngine(spark, LocalEngine()).frame(lake.plan()).orderBy("id")
    rows = frame.selectExpr("f", "s.x", "s.u", "q.y", "q.z", "l.x", "q IS NULL").collect()
    uuid = "550e8400-e29b-41d4-a716-446655440000"
    assert [tuple(row) for row in rows] == [
        (0.5, 1, uuid, "a", None, [3], False),
        (None, None, None, None, None, None, True),
    ]
    assert frame.selectExpr("q.z IS NULL AND q IS NULL").collect()[0][0] is False
    assert frame.where("s.f > 5").count() == 1
    assert "struct<x:int>" in frame.selectExpr("q.x")._jdf.queryExecution().toString()


def test_nan_is_found_in_files_whose_statistics_leave_it_out(spark, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t (id INTEGER, d DOUBLE)", "INSERT INTO t VALUES (1, 1.0), (2, 'nan')")
    plan = lake.plan()
    fields = [
        pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"}),
        pa.field("d", pa.float64(), metadata={"PARQUET:field_id": "2"}),
    ]
    table = pa.table([pa.array([1, 2]).cast(pa.int32()), [1.0, float("nan")]], pa.schema(fields))
    pq.write_table(table, plan.files[0].path)
    frame = SparkEngine(spark, LocalEngine()).frame(plan)
    assert [row.id for row in frame.where("d > 5").collect()] == [2]
