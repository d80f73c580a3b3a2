"""The past can be proved not to have changed: fingerprints of every state."""

import hashlib
import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.verify.conftest import Patient
from tidelake.errors import Denied
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place


@pytest.fixture
def lake(tmp_path):
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


def kept(lake: tidelake.Lake) -> dict[int, tuple[int, str]]:
    """Rows and hash by snapshot, of the only table."""
    with lake.session.database.reading() as reader:
        rows = reader.rows("SELECT snapshot_id, row_count, content_hash FROM tidelake_fingerprint")
    return {row[0]: (row[1], row[2]) for row in rows}


def prove(lake: tidelake.Lake) -> None:
    report = lake.verify(fingerprint=True)
    assert report.ok, str(report)


def test_every_state_has_one_and_a_second_run_adds_none(lake):
    t = lake.create_table("t", "a INTEGER")
    t.append([{"a": 1}, {"a": 2}])
    t.delete("a = 1")
    lake.create_schema("elsewhere")
    assert lake.verify(fingerprint=True).checked["new fingerprints"] == 4  # the newest has one too
    assert lake.verify(fingerprint=True).checked["new fingerprints"] == 0
    assert {at: rows for at, (rows, _) in kept(lake).items()} == {1: 0, 2: 2, 3: 1, 4: 1}
    assert kept(lake)[3] == kept(lake)[4]


def test_the_definition_is_what_the_documentation_says(lake):
    t = lake.create_table("t", "a INTEGER, s VARCHAR, d DOUBLE")
    t.append([{"a": 7, "s": "ü", "d": -0.0}, {"a": None, "s": "", "d": 1.5}])
    prove(lake)

    def bits(value: float) -> str:
        return f"{struct.unpack('>Q', struct.pack('>d', value))[0]:064b}"

    rows = [f"1:01:71:ü64:{bits(-0.0)}", f"1:1n0:64:{bits(1.5)}"]
    digests = [hashlib.md5(row.encode()).hexdigest() for row in rows]
    upper = sum(int(digest[:16], 16) for digest in digests) % 2**64
    lower = sum(int(digest[16:], 16) for digest in digests) % 2**64
    columns = "1 int32 a(),2 varchar s(),3 float64 d()"
    text = f"{columns}\n2\n{upper:016x}{lower:016x}"
    assert kept(lake)[2] == (2, hashlib.md5(text.encode()).hexdigest())


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("DOUBLE", "0.0", "'-0.0'"),
        ("DOUBLE", "'nan'", "NULL"),
        ("FLOAT", "'inf'", "'-inf'"),
        ("VARCHAR", "''", "NULL"),
        ("VARCHAR", "'n'", "NULL"),
        ("DOUBLE[]", "[0.0]", "['-0.0']"),
        ("INTEGER[]", "[]", "NULL"),
        ("INTEGER[]", "[NULL]", "[]"),
        ("VARCHAR[]", "['a', 'b']", "['a1:b']"),
        ("STRUCT(a INTEGER, b INTEGER)", "{'a': 1, 'b': NULL}", "{'a': NULL, 'b': 1}"),
        ("STRUCT(a INTEGER)", "{'a': NULL}", "NULL"),
        ("MAP(VARCHAR, INTEGER)", "MAP {'a': 1}", "MAP {'a': NULL}"),
        ("MAP(VARCHAR, DOUBLE[])", "MAP {'a': [0.0]}", "MAP {'a': ['-0.0'::DOUBLE]}"),
        ("BLOB", "'\\x00'::BLOB", "'\\x00\\x00'::BLOB"),
        ("TIMESTAMPTZ", "'infinity'", "'2024-01-01 00:00:00+00'"),
        ("DECIMAL(38, 10)", "0.0000000001", "0.0000000002"),
        ("UUID", "'00000000-0000-0000-0000-000000000001'", "NULL"),
        ("TIMETZ", "'12:00:00+00'", "'12:00:01+00'"),
        ("INTERVAL", "INTERVAL 1 MONTH", "INTERVAL 30 DAY"),
        ("JSON", "'{\"a\": 1}'", "'{\"a\": 2}'"),
    ],
)
def test_values_that_differ_have_other_fingerprints(lake, kind, one, other):
    lake.sql(f"CREATE TABLE t (v {kind})")
    lake.sql(f"INSERT INTO t SELECT CAST({one} AS {kind})")
    lake.sql(f"UPDATE t SET v = CAST({other} AS {kind})")
    lake.sql(f"UPDATE t SET v = CAST({one} AS {kind})")
    prove(lake)
    hashes = {at: content for at, (_, content) in kept(lake).items()}
    assert hashes[2] != hashes[3]
    assert hashes[2] == hashes[4]


def test_deeply_nested_values(lake):
    kind = "INTEGER"
    for depth in range(12):
        kind = f"STRUCT(a {kind}, b VARCHAR)" if depth % 3 else f"{kind}[]"
    lake.sql(f"CREATE TABLE t (v {kind})")
    lake.sql(f"INSERT INTO t SELECT CAST(NULL AS {kind})")
    prove(lake)
    assert len(kept(lake)) == 2


def test_columns_and_row_ids_count_too(lake):
    t = lake.create_table("t", "a INTEGER, b INTEGER")
    t.append([{"a": 1, "b": 1}])
    t.evolve(rename={"b": "c"})
    t.evolve(rename={"c": "b"})
    t.overwrite([{"a": 1, "b": 1}])
    prove(lake)
    hashes = {at: content for at, (_, content) in kept(lake).items()}
    assert hashes[2] == hashes[4]
    assert len({hashes[2], hashes[3], hashes[5]}) == 3


MAINTENANCE = [
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "CALL ducklake_expire_snapshots('lake', versions => [3, 5])",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
]


def _history(duck: Any) -> None:
    for statement in (
        "CREATE TABLE t (i INTEGER, d DOUBLE, l VARCHAR[], z TIMESTAMPTZ)",
        "INSERT INTO t VALUES (1, 'nan', ['a', NULL], '2024-01-01 00:00:00+01'), (2, '-0.0', [],"
        " 'infinity'), (3, NULL, NULL, NULL)",
        "UPDATE t SET d = 2.5 WHERE i = 1",
        "DELETE FROM t WHERE i = 2",
        "INSERT INTO t SELECT i, i / 3, [i::VARCHAR], NULL FROM range(20, 60) r(i)",
        "INSERT INTO t SELECT i, i / 7, NULL, NULL FROM range(60, 90) r(i)",
        "DELETE FROM t WHERE i BETWEEN 20 AND 25",
        "UPDATE t SET l = ['u'] WHERE i % 10 = 0",
        "ALTER TABLE t ALTER COLUMN i TYPE BIGINT",
        "ALTER TABLE t ADD COLUMN s STRUCT(a INTEGER)",
        "INSERT INTO t SELECT i, 0, NULL, NULL, {'a': i} FROM range(90, 120) r(i)",
        "DELETE FROM t WHERE i IN (91, 61)",
    ):
        duck.execute(statement)


@pytest.mark.slow
def test_duckdbs_maintenance_and_ours_leave_the_past_as_it_was(lake, tmp_path):
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
        duck.execute("USE lake")
        _history(duck)
        prove(lake)
        before = kept(lake)
        for statement in MAINTENANCE:
            duck.execute(statement).fetchall()
            report = lake.verify(fingerprint=True, deep=True)
            assert report.ok, f"{statement}\n{report}"
    lake.compact()
    prove(lake)
    assert kept(lake).items() >= before.items()


def test_duckdbs_merge_of_updated_rows_gives_them_other_ids(tmp_path):
    """It takes the ids in an updated file for consecutive ones, and so changes what was read."""
    with duck_connection() as duck:
        duck.execute(
            f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake"
            f" (DATA_PATH '{tmp_path}/data/', DATA_INLINING_ROW_LIMIT 0)"
        )
        duck.execute("USE lake")
        duck.execute("CREATE TABLE t AS SELECT i, 0 AS v FROM range(20) r(i)")
        duck.execute("UPDATE t SET v = 1")
        duck.execute("INSERT INTO t SELECT i, 2 FROM range(20, 30) r(i)")
        with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
            prove(lake)
            duck.execute("CALL ducklake_merge_adjacent_files('lake')").fetchall()
            found = lake.verify(deep=True, fingerprint=True).problems
    assert {(problem.check, problem.snapshot_id) for problem in found} == {
        ("fingerprint", 2),
        ("fingerprint", 3),
    }


def test_other_values_in_a_file_are_a_changed_past(patient: Patient):
    with patient.open() as lake:
        prove(lake)

        def change(rows: pa.Table) -> pa.Table:
            return rows.set_column(0, rows.schema.field(0), pa.array([1, 1, 3], pa.int32()))

        patient.rewrite(patient.path("merged"), change)
        assert lake.verify(tables=["merged"]).ok
        (problem, *others) = lake.verify(fingerprint=True).problems
    assert problem.check == "fingerprint"
    assert problem.table == "main.merged"
    assert "past has changed" in problem.what
    assert {other.table for other in others} <= {"main.merged"}


def test_a_row_smuggled_into_the_past_is_found(lake):
    t = lake.create_table("t", "a INTEGER")
    t.append([{"a": 1}])
    lake.create_schema("s")
    lake.create_schema("r")
    prove(lake)
    with lake.session.database.writing() as writer:
        (name,) = writer.row("SELECT table_name FROM ducklake_inlined_data_tables")
        writer.execute(f"INSERT INTO {name} VALUES (50, 3, NULL, 9)")
        writer.execute("UPDATE ducklake_table_stats SET next_row_id = 51, record_count = 2")
        writer.execute("UPDATE ducklake_table_column_stats SET max_value = '9'")
    found = lake.verify(fingerprint=True).problems
    assert {(p.check, p.snapshot_id) for p in found} == {("fingerprint", 3), ("fingerprint", 4)}


def test_expired_snapshots_are_let_go(lake):
    t = lake.create_table("t", "a INTEGER")
    for value in range(5):
        t.append([{"a": value}])
    prove(lake)
    lake.expire(keep_last=2)
    prove(lake)
    t.append([{"a": 9}])
    prove(lake)
    assert max(kept(lake)) == 7


def test_rows_in_the_catalog_that_did_not_fit_the_types_of_before(lake):
    t = lake.create_table("t", "a TINYINT")
    t.append([{"a": 1}])
    t.evolve(widen={"a": "DOUBLE"})
    t.append([{"a": 1e300}])
    prove(lake)
    assert lake.verify(deep=True).ok


def test_a_lake_that_cannot_be_written_keeps_none(lake, tmp_path):
    lake.create_table("t", "a INTEGER")
    with tidelake.connect(lake.url, read_only=True) as reader, pytest.raises(Denied, match="kept"):
        reader.verify(fingerprint=True)


def test_a_fingerprint_of_mapped_files(lake, tmp_path):
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "m.parquet")
    t = lake.create_table("t", "a BIGINT")
    t.add_files([str(tmp_path / "m.parquet")])
    t.delete("a = 2")
    prove(lake)
    assert [rows for rows, _ in kept(lake).values()] == [0, 3, 2]
