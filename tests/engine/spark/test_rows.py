"""Which rows of a file are there: deletes, partial files, row ids; and where files may live."""

from dataclasses import replace

import pytest

from tests.engine.plans import DuckLake, by_arrow, differences, sorted_rows
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.arrow_reader import read_deletions
from tidelake.engine.spark.engine import SparkEngine
from tidelake.errors import Corrupt, Unsupported

pytestmark = pytest.mark.spark

LINEAGE = ["id", "rowid", "snapshot_id", "v"]


def check(spark, lake, plan):
    found = sorted_rows(SparkEngine(spark, LocalEngine()).read(plan).to_arrow(), plan)
    assert list(differences(found, lake.expected(plan))) == [], plan.snapshot_id


def scan_of(frame):
    return frame._jdf.queryExecution().toString()


def with_many_deletes(plan):
    """The plan as if so many rows were deleted that Spark reads the delete files."""
    return replace(
        plan,
        files=tuple(
            file._replace(deletes=tuple(replace(d, rows=10**7) for d in file.deletes))
            for file in plan.files
        ),
    )


@pytest.mark.slow
def test_deletes_are_read_here_if_they_are_few_and_else_by_spark(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t (id INTEGER, v VARCHAR)")
    for start in (0, 100):
        lake.run(f"INSERT INTO t SELECT {start} + range, 'v' || range FROM range({50 + start})")
    lake.run("DELETE FROM t WHERE id % 10 = 0", "DELETE FROM t WHERE id % 10 = 1")
    *_, before, last = lake.snapshots()
    engine = SparkEngine(spark, LocalEngine())
    for plan in (lake.plan(at=before), lake.plan(at=last, columns=LINEAGE)):
        for each in (plan, with_many_deletes(plan)):
            check(spark, lake, each)
            assert ("__tidelake_staged" in scan_of(engine.frame(each))) == (each is not plan)


@pytest.mark.slow
def test_deletes_updates_and_merged_files_at_every_snapshot(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t (id INTEGER, v VARCHAR)")
    for start in (0, 100, 200):
        lake.run(f"INSERT INTO t SELECT {start} + range, 'v' || range FROM range(50)")
    lake.run(
        "DELETE FROM t WHERE id % 10 = 0",
        "DELETE FROM t WHERE id % 10 = 1",
        "UPDATE t SET v = 'new' WHERE id % 10 = 2",
        "INSERT INTO t VALUES (1000, 'a')",
        "INSERT INTO t VALUES (1001, 'b')",
        "CALL ducklake_merge_adjacent_files('lake')",
    )
    plans = [lake.plan(at=snapshot, columns=LINEAGE) for snapshot in lake.snapshots()]
    for plan in plans:
        check(spark, lake, plan)
        check(spark, lake, with_many_deletes(plan))
    assert any(file.deletes for file in plans[-1].files)
    assert any(f.is_partial_at(plan.snapshot_id) for plan in plans for f in plan.files)
    check(spark, lake, by_arrow(plans[-1]))
    plain = lake.plan()
    check(spark, lake, plain)
    assert "Join LeftAnti" in scan_of(SparkEngine(spark, LocalEngine()).frame(plain))


def test_spark_knows_how_large_is_what_python_reads(spark, tmp_path):
    """Else it would broadcast it to all executors, whatever its size."""
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t (id BIGINT, v VARCHAR)")
    for start in (0, 50_000):
        lake.run(f"INSERT INTO t SELECT {start} + range, md5(range::VARCHAR) FROM range(50000)")
    lake.run("DELETE FROM t WHERE id % 3 = 0")
    plan = lake.plan()
    frame = SparkEngine(spark, LocalEngine()).frame(by_arrow(plan))
    assert claimed(frame) >= sum(file.bytes for file in plan.files)
    assert frame.count() == 66_666
    deletions = read_deletions(spark, LocalEngine(), plan.files)
    assert claimed(deletions) >= 33_334 * 24
    assert deletions.distinct().count() == 33_334


def claimed(frame):
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def test_rows_and_deletes_that_the_catalog_keeps(spark, tmp_path):
    lake = DuckLake(tmp_path, options="DATA_INLINING_ROW_LIMIT 10")
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARCHAR)",
        "INSERT INTO t SELECT range, 'v' FROM range(50)",
        "DELETE FROM t WHERE id IN (3, 7)",
        "INSERT INTO t VALUES (100, 'in'), (101, NULL)",
        "DELETE FROM t WHERE id IN (8, 100)",
        "CALL ducklake_flush_inlined_data('lake')",
        "DELETE FROM t WHERE id = 9",
    )
    plans = [lake.plan(at=snapshot, columns=LINEAGE) for snapshot in lake.snapshots()]
    for plan in plans:
        check(spark, lake, plan)
    assert any(file.deleted_positions for plan in plans for file in plan.files)


@pytest.mark.slow
def test_files_of_any_name(spark, tmp_path):
    """Partition folders are url-encoded on disk, so that `%` is part of their names."""
    lake = DuckLake(tmp_path, data="a b%20[c]{d}*?é+#'x")
    values = ["a/b", "x=y", "50%", "é 日本", "[z]{1,2}*?", "", None]
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARCHAR)",
        "ALTER TABLE t SET PARTITIONED BY (v)",
    )
    lake.duck.executemany(
        "INSERT INTO t VALUES (?, ?), (?, ?)",
        [[n, value, n + 100, value] for n, value in enumerate(values)],
    )
    lake.run("DELETE FROM t WHERE id > 100")
    check(spark, lake, lake.plan(columns=LINEAGE))
    check(spark, lake, lake.plan(columns=["v", "id"]))


@pytest.mark.slow
def test_filters(spark, tmp_path):
    lake = DuckLake(tmp_path, options="DATA_INLINING_ROW_LIMIT 5")
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARCHAR, u UUID)",
        "INSERT INTO t SELECT range, 'v' || range, uuid() FROM range(20)",
        "INSERT INTO t VALUES (50, 'v50', NULL)",
        "DELETE FROM t WHERE id = 3",
    )
    for where in ("id > 2 AND v LIKE 'v%'", "rowid < 5 OR rowid = 20", "u IS NULL"):
        check(spark, lake, lake.plan(columns=["v", "id"], where=where))
    odd = lake.plan(columns=["id"], where="list_contains([1, 5], id)")
    check(spark, lake, odd)
    count = replace(lake.plan(), output=())
    assert SparkEngine(spark, LocalEngine()).read(count).count() == 20


def test_foreign_files_deletion_vectors_and_hidden_names_go_by_arrow(spark, tmp_path):
    lake = DuckLake(tmp_path)
    foreign = tmp_path / "k=7" / "_hidden.parquet"
    foreign.parent.mkdir()
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARCHAR)",
        f"COPY (SELECT 'x' AS v, 500 AS id) TO '{foreign}'",
        f"CALL ducklake_add_data_files('lake', 't', '{foreign}')",
        "CALL lake.set_option('write_deletion_vectors', true)",
        "INSERT INTO t SELECT range, 'v' FROM range(10)",
        "DELETE FROM t WHERE id = 3",
        "INSERT INTO t VALUES (20, 'native')",
    )
    plan = lake.plan(columns=["id", "v", "rowid"])
    assert {delete.format for f in plan.files for delete in f.deletes} == {"puffin"}
    check(spark, lake, plan)
    read = scan_of(SparkEngine(spark, LocalEngine()).frame(plan))
    assert "MapInArrow" in read
    assert "FileScan parquet" in read


@pytest.mark.slow
def test_what_cannot_be_read_is_said_in_our_words(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t AS SELECT range AS id FROM range(10)")
    plan = lake.plan()
    engine = SparkEngine(spark, LocalEngine())
    with pytest.raises(Unsupported, match="encrypted"):
        engine.frame(replace(plan, files=(replace(plan.files[0], encryption_key="k"),)))
    gone = replace(plan, files=(replace(plan.files[0], path=str(tmp_path / "gone.parquet")),))
    with pytest.raises(Corrupt, match=r"missing: .*gone\.parquet"):
        engine.frame(gone)
    with pytest.raises(Corrupt, match=r"missing: .*gone\.parquet"):
        engine.read(by_arrow(gone)).to_arrow()
    nowhere = replace(plan, files=(replace(plan.files[0], path="nosuch://b/x.parquet"),))
    with pytest.raises(Unsupported, match="nosuch"):
        engine.read(nowhere).to_arrow()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is no Parquet PAR1")
    bad = replace(plan, files=(replace(plan.files[0], path=str(tmp_path / "bad.parquet")),))
    with pytest.raises(Corrupt, match=r"damaged: .*bad\.parquet"):
        engine.read(bad).to_arrow()


@pytest.mark.slow
def test_a_path_that_spark_spells_otherwise_stops_the_read(spark, tmp_path, monkeypatch):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t AS SELECT range AS id FROM range(10)", "DELETE FROM t WHERE id = 3")
    place = "tidelake.engine.spark.native_reader.metadata_path"
    monkeypatch.setattr(place, lambda path: path + "?")
    engine = SparkEngine(spark, LocalEngine())
    plans = [lake.plan(), lake.plan(columns=["rowid"]), lake.plan(columns=["snapshot_id"])]
    for plan in map(with_many_deletes, plans):
        with pytest.raises(Corrupt, match="not a file of this read"):
            engine.read(plan).to_arrow()


def test_queries(spark, tmp_path):
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t AS SELECT range AS id, '{x}' AS v FROM range(10)")
    engine = SparkEngine(spark, LocalEngine())
    sql = "SELECT v, sum(id) AS n FROM t0 WHERE v = '{x}' GROUP BY v ORDER BY 1"
    found = engine.query(sql, {"t0": lake.plan()}).to_arrow()
    assert found.to_pylist() == [{"v": "{x}", "n": 45}]
    assert engine.query("SELECT 1 AS one", {}).count() == 1


@pytest.mark.slow
def test_connect(spark_connect, tmp_path):
    lake = DuckLake(tmp_path, options="DATA_INLINING_ROW_LIMIT 5")
    lake.run(
        "CREATE TABLE t (id INTEGER, v VARCHAR, u UUID, tm TIME, s STRUCT(x INTEGER))",
        "INSERT INTO t SELECT range, 'v', uuid(), TIME '01:02:03', {x: range} FROM range(20)",
        "ALTER TABLE t RENAME COLUMN s.x TO y",
        "ALTER TABLE t RENAME u TO w",
        "INSERT INTO t VALUES (50, 'v50', NULL, NULL, NULL)",
        "DELETE FROM t WHERE id IN (3, 4, 5, 6, 7, 8, 9)",
    )
    plan = lake.plan(columns=["id", "v", "w", "tm", "s", "rowid", "snapshot_id"])
    check(spark_connect, lake, plan)
    check(spark_connect, lake, by_arrow(plan))
    query = SparkEngine(spark_connect, LocalEngine()).query("SELECT max(id) FROM t0", {"t0": plan})
    assert query.to_arrow().column(0).to_pylist() == [50]


@pytest.mark.parametrize(
    "session", ["spark", pytest.param("spark_connect", marks=pytest.mark.slow)]
)
def test_deleted_rows_are_looked_up_wherever_their_bits_are(request, session, tmp_path):
    """First and last bits of words, the sign bit among them, of one file and of several."""
    spark = request.getfixturevalue(session)
    lake, engine = DuckLake(tmp_path), SparkEngine(spark, LocalEngine())
    lake.run('CREATE TABLE t (id INTEGER, "a{b}" VARCHAR)')
    gone = [0, 1, 62, 63, 64, 127, 128, 191, 192, 255]
    for files, (start, count) in enumerate(((0, 256), (1000, 65), (2000, 64), (3000, 1)), start=1):
        rows = f"SELECT {start} + range, 'v' || range FROM range({count})"
        lake.run(f"INSERT INTO t {rows}", f"DELETE FROM t WHERE id % 1000 IN {tuple(gone)}")
        plan = lake.plan()
        assert len([file for file in plan.files if file.has_deletes]) == min(files, 3)
        assert session == "spark_connect" or "scalar-subquery" in scan_of(engine.frame(plan))
        check(spark, lake, plan)


@pytest.mark.slow
def test_files_are_told_apart_by_their_sizes_or_else_by_their_paths(spark, tmp_path):
    """A size that is not the catalog's must stop the read, not bring deleted rows back."""
    lake = DuckLake(tmp_path)
    lake.run("CREATE TABLE t (id INTEGER, v VARCHAR)")
    for start, count in ((0, 50), (100, 700)):
        lake.run(f"INSERT INTO t SELECT {start} + range, 'v' || range FROM range({count})")
    lake.run("DELETE FROM t WHERE id % 10 = 3")
    plan = lake.plan()
    one, other = plan.files
    assert one.bytes != other.bytes
    assert all(file.has_deletes for file in plan.files)
    check(spark, lake, plan)
    engine = SparkEngine(spark, LocalEngine())
    assert "file_size" in scan_of(engine.frame(plan))
    alike = replace(plan, files=(one, replace(other, bytes=one.bytes)))
    assert "file_size" not in scan_of(engine.frame(alike))
    check(spark, lake, alike)
    wrong = replace(plan, files=(one, replace(other, bytes=other.bytes + 1)))
    with pytest.raises(Corrupt, match="not of the size that the catalog says"):
        engine.read(wrong).to_arrow()
    fewer = replace(plan, files=(replace(one, rows=20), other))
    with pytest.raises(Corrupt, match="not of the size that the catalog says"):
        engine.read(fewer).to_arrow()
