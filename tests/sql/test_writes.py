"""SQL that writes: the same statements leave the same lake as when DuckDB runs them, and DuckDB
reads what they wrote."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tests.cases import every
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing.faults import Meanwhile, watch_database

if TYPE_CHECKING:
    import duckdb

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

HISTORY = """
CREATE TABLE t (
    id INT8 NOT NULL, k VARCHAR DEFAULT 'z', d DATE, x DOUBLE, st STRUCT(a INT, b VARCHAR[])
);
INSERT INTO t VALUES (1, 'a', '2024-01-01', 1.5, {'a': 1, 'b': ['x']}), (2, DEFAULT, NULL, 3, NULL);
insert into main.t (id, "d") select i, DATE '2024-02-01' + i::INT FROM range(3, 40) r(i);
INSERT INTO t BY NAME SELECT 'nine' AS k, 99 AS "ID";
WITH q AS (SELECT 100 AS a) INSERT INTO t (id) SELECT a FROM q;
UPDATE t SET x = x * 2, k = 'up''d' /* both */ WHERE t.id <= 2 -- the first two
;
UPDATE main.t AS q SET x = q.id + 1 WHERE q.k = 'z' OR q.st.a = 1;
UPDATE t SET x = 0.1;
DELETE FROM t WHERE id BETWEEN 10 AND 20;
DELETE FROM t AS q WHERE q.id = 21 OR q.st.b[1] = 'y';
CREATE TABLE u AS SELECT id, k, x::DECIMAL(9, 2) AS n, d IS NULL AS "odd name" FROM t WHERE id < 30;
INSERT INTO u SELECT * FROM u;
CREATE OR REPLACE TABLE u AS SELECT id, max(k) AS k, count(*) AS n FROM u GROUP BY id;
DELETE FROM u;
INSERT INTO u SELECT id, k, 7 FROM t WHERE id > 25;
CREATE SCHEMA IF NOT EXISTS s;
CREATE SCHEMA IF NOT EXISTS s;
CREATE TABLE s."odd ""t" (
    a INT, "b c" INT, c DECIMAL(4, 1), n UBIGINT, u UUID, j JSON, w TIMESTAMPTZ
);
INSERT INTO s."odd ""t" VALUES
    (1, 2, 3.14159, 18446744073709551615, '1c0ffee0-0000-4000-8000-000000000001', '{"a": [1]}',
     '2024-01-01 12:00:00+02');
CREATE TABLE IF NOT EXISTS s."odd ""t" (other INT);
ALTER TABLE s."odd ""t" SET PARTITIONED BY (a, year(w));
ALTER TABLE s."odd ""t" SET SORTED BY ("b c" DESC NULLS FIRST, a);
ALTER TABLE s."odd ""t" ADD COLUMN IF NOT EXISTS e VARCHAR DEFAULT 'v';
ALTER TABLE s."odd ""t" ADD COLUMN IF NOT EXISTS e INT;
ALTER TABLE s."odd ""t" ADD f STRUCT(p INT8);
ALTER TABLE s."odd ""t" ADD COLUMN f.q VARCHAR;
ALTER TABLE s."odd ""t" RENAME COLUMN f.p TO pp;
ALTER TABLE s."odd ""t" ALTER a TYPE INT8;
ALTER TABLE s."odd ""t" ALTER COLUMN e SET DEFAULT 'w';
ALTER TABLE s."odd ""t" ALTER COLUMN a SET NOT NULL;
ALTER TABLE s."odd ""t" ALTER COLUMN a DROP NOT NULL;
ALTER TABLE s."odd ""t" DROP COLUMN c;
ALTER TABLE s."odd ""t" DROP COLUMN IF EXISTS c;
ALTER TABLE s."odd ""t" RENAME "b c" TO b;
ALTER TABLE s."odd ""t" RENAME TO o;
INSERT INTO s.o (a, b, f) VALUES (5, 6, {'pp': 7, 'q': 'eight'});
ALTER TABLE s.o ALTER e DROP DEFAULT;
INSERT INTO s.o (a) VALUES (8);
ALTER TABLE s.o RESET SORTED BY;
ALTER TABLE s.o RESET PARTITIONED BY;
COMMENT ON TABLE s.o IS 'it''s';
COMMENT ON COLUMN s.o.b IS 'hey';
COMMENT ON COLUMN s.o.b IS NULL;
CREATE VIEW v (p, q) AS SELECT a, b FROM s.o WHERE a > 1;
CREATE OR REPLACE VIEW v AS SELECT a + 1 AS a FROM s.o;
CREATE TABLE gone (i INT);
DROP TABLE gone;
DROP TABLE IF EXISTS gone;
MERGE INTO t USING (SELECT 1 AS id, 'm' AS k UNION ALL SELECT 777, 'n') AS s ON (t.id = s.id)
    WHEN MATCHED THEN UPDATE SET k = s.k || t.k
    WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, s.k);
MERGE INTO u USING (SELECT id, 'merged' AS k, 1 AS n FROM u WHERE id = 26) AS w USING (id)
    WHEN MATCHED THEN UPDATE;
CREATE SCHEMA empty;
DROP SCHEMA empty;
CREATE SCHEMA full_one;
CREATE TABLE full_one.x (i INT);
DROP SCHEMA full_one CASCADE;
DROP SCHEMA IF EXISTS full_one
"""


CLAUSES = """
MERGE INTO main.t AS b USING (VALUES (2, 'q'), (30, 'r'), (31, 's'), (888, 'new')) AS n(id, k)
    ON b.id = n.id
    WHEN MATCHED AND n.k = 'q' THEN DELETE
    WHEN MATCHED AND b.id > 30 THEN UPDATE SET x = -b.id
    WHEN MATCHED THEN UPDATE SET x = 30.5, k = n.k
    WHEN NOT MATCHED THEN INSERT BY NAME
    WHEN NOT MATCHED BY SOURCE AND b.id < 5 THEN DELETE
    WHEN NOT MATCHED BY SOURCE AND b.id < 8 THEN UPDATE SET k = 'left'
"""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/files") as lake:
        yield lake


def attached(duck: DuckFactory, path: Path, name: str) -> "duckdb.DuckDBPyConnection":
    connection = duck()
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{path}/{name}.db' AS lake (DATA_PATH '{path}/{name}_data/',"
        " OVERRIDE_DATA_PATH true)"
    )
    connection.execute("USE lake")
    return connection


TABLES = ("main.t", "main.u", "s.o", "main.v")


def contents(connection: "duckdb.DuckDBPyConnection") -> dict[str, object]:
    """All rows, columns, comments and layouts of the lake."""
    found: dict[str, object] = {
        name: sorted(connection.execute(f"FROM {name}").fetchall(), key=repr) for name in TABLES
    }
    found["columns"] = connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default,"
        " comment FROM duckdb_columns() WHERE database_name = 'lake' ORDER BY ALL"
    ).fetchall()
    found["comments"] = connection.execute(
        "SELECT schema_name, table_name, comment FROM duckdb_tables()"
        " WHERE database_name = 'lake' ORDER BY ALL"
    ).fetchall()
    for what in ("partition_info", "sort_info"):
        found[what] = connection.execute(
            f"SELECT table_id, begin_snapshot IS NULL, end_snapshot IS NULL"
            f" FROM __ducklake_metadata_lake.ducklake_{what} ORDER BY ALL"
        ).fetchall()
    return found


def test_the_same_statements_leave_the_same_lake_as_with_duckdb(
    tmp_path: Path, new_duck: DuckFactory
) -> None:
    theirs = attached(new_duck, tmp_path, "theirs")
    with tidelake.connect(f"sqlite:///{tmp_path}/ours.db", f"{tmp_path}/ours_data") as lake:
        for statement in HISTORY.split(";\n"):
            theirs.execute(statement)
            done = lake.sql(statement)
            assert done.snapshot_id is not None
    assert contents(attached(new_duck, tmp_path, "ours")) == contents(theirs)


def test_a_merge_of_many_clauses_does_what_duckdb_does_with_its_own_tables(
    lake: tidelake.Lake, new_duck: DuckFactory
) -> None:
    """With tables of a lake DuckDB takes only one clause that changes rows."""
    connection = new_duck()
    for statement in (
        "CREATE TABLE t AS SELECT i AS id, 'k' || i AS k, i / 2 AS x FROM range(40) r(i)",
        CLAUSES,
    ):
        connection.execute(statement)
        lake.sql(statement)
    query = "SELECT * FROM t ORDER BY id"
    assert rows(lake, query) == connection.execute(query).fetchall()


def rows(lake: tidelake.Lake, query: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in lake.sql(query).to_arrow().to_pylist()]


def test_a_write_says_what_it_did(lake: tidelake.Lake) -> None:
    assert lake.sql("CREATE TABLE t (i INT, j INT)").snapshot_id == 1
    added = lake.sql("INSERT INTO t SELECT i, i FROM range(100) r(i);")
    assert (added.snapshot_id, added.rows, added.inserted, added.files) == (2, 100, 100, 1)
    assert lake.sql("UPDATE t SET j = 0 WHERE i < 10").updated == 10
    assert lake.sql("DELETE FROM t WHERE i < 5").deleted == 5
    merged = lake.sql(
        "MERGE INTO t USING (VALUES (5, 1), (999, 1)) AS s(i, j) ON t.i = s.i"
        " WHEN MATCHED THEN UPDATE SET j = s.j WHEN NOT MATCHED THEN INSERT *"
        " WHEN NOT MATCHED BY SOURCE AND t.i > 97 THEN DELETE"
    )
    assert (merged.inserted, merged.updated, merged.deleted) == (1, 1, 2)
    assert lake.sql("DROP TABLE IF EXISTS nope").snapshot_id == merged.snapshot_id


def test_few_rows_stay_in_the_catalog_and_many_stream_into_files(lake: tidelake.Lake) -> None:
    lake.sql("CREATE TABLE t (i INT)")
    assert lake.sql("INSERT INTO t VALUES (1), (2)").files == 0
    assert lake.sql("INSERT INTO t SELECT i + 2 FROM t").files == 0
    assert lake.sql("INSERT INTO t SELECT * FROM range(300000)").files == 1
    assert rows(lake, "SELECT count(*), sum(i)::BIGINT FROM t") == [(300004, 44999850010)]


def test_create_table_as_keeps_the_types_of_the_query(lake: tidelake.Lake) -> None:
    lake.sql(
        "CREATE TABLE t PARTITIONED BY (day(w)) SORTED BY (n DESC) AS SELECT 1::HUGEINT AS n,"
        " uuid() AS u, '[1]'::JSON AS j, now() AS w, [{'a': 1::UTINYINT}] AS l, MAP {'k': 1.5} AS m"
    )
    table = lake.table("t")
    assert [column.type for column in table.schema] == [
        "int128",
        "uuid",
        "json",
        "timestamptz",
        "list",
        "map",
    ]
    assert table.partitioning is not None
    assert [key.transform for key in table.partitioning.keys] == ["day"]
    assert [(key.expression, key.direction) for key in table.sorting] == [("n", "DESC")]
    assert table.count() == 1


VALUES = {
    "TIMETZ": "'10:00:00+00'",
    "STRUCT(a TIMETZ)": "{'a': '10:00:00+00'}",
    "VARIANT": "{'a': 1, 'b': [NULL, 'x']}",
    "HUGEINT": "12345",
    "INTERVAL": "INTERVAL 1 MONTH",
    "GEOMETRY": "'POINT (1 2)'",
    "BLOB": "'\\x00\\x01'",
    "TIMESTAMP_NS": "'2024-01-01 00:00:00.123456789'",
    "MAP(VARCHAR, INT[])": "MAP {'a': [1, NULL]}",
    "DECIMAL(38, 10)": "'1234567890123456789012345678.0123456789'",
    "FLOAT": "'nan'",
    "DATE": "'infinity'",
}


@pytest.mark.parametrize("kind", every(2, VALUES))
def test_every_type_goes_from_table_to_table_as_it_is(
    lake: tidelake.Lake, new_duck: DuckFactory, kind: str
) -> None:
    lake.sql(f"CREATE TABLE t (i INT, x {kind})")
    lake.sql(f"INSERT INTO t VALUES (1, {VALUES[kind]}), (2, NULL)")
    lake.sql("INSERT INTO t SELECT i + 2, x FROM t")
    lake.sql("CREATE TABLE u AS SELECT * FROM t")
    source = "SELECT 9 AS i, x FROM t WHERE i = 1"
    lake.sql(f"MERGE INTO u USING ({source}) AS s ON u.i = s.i WHEN NOT MATCHED THEN INSERT *")
    text = new_duck().execute(f"SELECT ({VALUES[kind]})::{kind}::VARCHAR").fetchall()[0][0]
    assert rows(lake, "SELECT i, x::VARCHAR FROM u ORDER BY i") == [
        (1, text),
        (2, None),
        (3, text),
        (4, None),
        (9, text),
    ]


def test_create_table_as_is_all_or_nothing(lake: tidelake.Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT * FROM range(100)")
    before = lake.snapshots()
    with pytest.raises(TidelakeError):
        lake.sql("CREATE TABLE u AS SELECT error('no') AS i FROM t")
    with pytest.raises(TidelakeError):
        lake.sql("CREATE OR REPLACE TABLE t AS SELECT (range::VARCHAR || 'x')::INT AS i FROM t")
    assert lake.tables() == ["main.t"]
    assert lake.snapshots() == before
    assert lake.table("t").count() == 100


def test_in_a_transaction_all_statements_make_one_snapshot(lake: tidelake.Lake) -> None:
    lake.sql("CREATE TABLE t (i INT)")
    with lake.transaction(author="ann", message="several") as tx:
        assert tx.sql("INSERT INTO t VALUES (1), (2)").snapshot_id is None
        tx.sql("CREATE TABLE u AS SELECT i * 10 AS i FROM t")
        tx.sql("UPDATE u SET i = i + 1 WHERE i = 10")
        tx.sql("CREATE OR REPLACE TABLE t AS SELECT i, 'x' AS k FROM t WHERE i > 1")
        tx.sql("INSERT INTO t VALUES (7, 'y')")
        assert tx.sql("SELECT sum(i) AS n FROM u").to_arrow().to_pylist() == [{"n": 31}]
        assert lake.tables() == ["main.t"]
    assert tx.result is not None
    assert tx.result.snapshot_id == 2
    assert rows(lake, "SELECT * FROM t ORDER BY i") == [(2, "x"), (7, "y")]
    with lake.transaction() as tx:
        tx.sql("DELETE FROM t")
        with pytest.raises(Invalid, match="many"):
            tx.sql("INSERT INTO t VALUES ('many', 1)")
        tx.rollback()
    assert lake.table("t").count() == 2


def test_an_insert_reads_one_snapshot_even_when_it_must_be_repeated(lake: tidelake.Lake) -> None:
    """Somebody changes the table between the read and the commit."""
    lake.sql("CREATE TABLE t (i INT)")
    lake.sql("INSERT INTO t VALUES (1)")
    other = tidelake.connect(lake.url)
    change = Meanwhile("write", lambda: other.sql("ALTER TABLE t ADD COLUMN j INT DEFAULT 5"))
    with watch_database(lake, change):
        lake.sql("INSERT INTO t (i) SELECT i + 1 FROM t")
    assert change.happened
    assert rows(lake, "SELECT * FROM t ORDER BY i") == [(1, 5), (2, 5)]
    other.close()


def test_a_pinned_lake_refuses_and_a_read_only_one_too(lake: tidelake.Lake) -> None:
    lake.sql("CREATE TABLE t (i INT)")
    writes = ("INSERT INTO t VALUES (1)", "DELETE FROM t", "DROP TABLE t", "CREATE SCHEMA s")
    reader = tidelake.connect(lake.url, read_only=True)
    for statement in writes:
        with pytest.raises(Denied):
            lake.known_at(1).sql(statement)
        with pytest.raises(Denied):
            reader.sql(statement)
    reader.close()
    assert len(lake.snapshots()) == 2


@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("", Invalid, "no SQL"),
        ("-- nothing", Invalid, "no SQL"),
        ("DELETE FROM t; DELETE FROM t", Invalid, "several statements"),
        ("SELECT 1; DROP TABLE t", Invalid, "several statements"),
        ("INSERT INTO nope VALUES (1)", NotFound, "main.nope"),
        ("INSERT INTO t (nope) VALUES (1)", NotFound, "nope"),
        ("INSERT INTO t VALUES (1)", Invalid, "1 values for 3 columns"),
        ("INSERT INTO t (id, id) VALUES (1, 2)", Invalid, "twice"),
        ("INSERT INTO t VALUES (1, 'a', 'soon')", Invalid, "soon"),
        ("INSERT INTO t (k) VALUES ('a')", Invalid, "'id' is missing"),
        ("INSERT INTO t (id) VALUES (NULL)", Invalid, "may not be null"),
        ("INSERT OR REPLACE INTO t (id) VALUES (1)", Unsupported, "INSERT with OR REPLACE"),
        ("INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING", Unsupported, "CONFLICT"),
        ("INSERT INTO t (id) VALUES (1) RETURNING id", Unsupported, "RETURNING"),
        ("INSERT INTO v VALUES (1)", Invalid, "is a view"),
        ("UPDATE t SET id = 1 FROM u WHERE t.id = u.id", Unsupported, "UPDATE with FROM"),
        ("UPDATE t SET id = 1, ID = 2", Invalid, "twice"),
        ("UPDATE t SET nope = 1", NotFound, "nope"),
        ("UPDATE t SET (id, k) = (1, 'a')", Unsupported, "cannot set"),
        ("UPDATE t SET id = (SELECT 1)", Invalid, "SELECT 1"),
        ("UPDATE t SET id = nope + 1", Invalid, "not a column"),
        ("DELETE FROM t USING u WHERE t.id = u.id", Unsupported, "DELETE with USING"),
        ("DELETE FROM t WHERE id IN (SELECT id FROM t)", Invalid, "subquery"),
        ("DELETE FROM t WHERE nope", Invalid, "not a column"),
        ("MERGE INTO t USING t ON t.id = t.id WHEN MATCHED THEN DELETE", Invalid, "both sides"),
        (
            "MERGE INTO t USING u ON t.id > u.id WHEN MATCHED THEN DELETE",
            Unsupported,
            "cannot match",
        ),
        (
            "MERGE INTO t USING u ON t.id = u.k WHEN MATCHED THEN DELETE",
            Unsupported,
            "cannot match",
        ),
        (
            "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN UPDATE SET k = k",
            Invalid,
            "whose column",
        ),
        ("MERGE INTO t USING u USING (id) WHEN MATCHED THEN UPDATE", Invalid, "other columns"),
        ("MERGE INTO t USING u USING (id) WHEN MATCHED THEN DO NOTHING", Unsupported, "NOTHING"),
        (
            "MERGE INTO t USING u USING (id) WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2)",
            Invalid,
            "2 values for 1 columns",
        ),
        ("CREATE TABLE t (i INT)", Invalid, "already"),
        ("CREATE TABLE nope", Unsupported, "expected"),
        ("CREATE TABLE nope (i INT PRIMARY KEY)", Unsupported, "constraints"),
        ("CREATE TABLE nope (i INT) AS SELECT 1", Unsupported, "either columns"),
        ("CREATE TABLE nope (i NOSUCHTYPE)", Invalid, "NOSUCHTYPE"),
        ("CREATE TABLE nope (i INT) WITH (x = 1)", Unsupported, "WITH"),
        ("CREATE TABLE nope (i INT", Unsupported, "closing"),
        ("CREATE TABLE nowhere.x (i INT)", NotFound, "nowhere"),
        ("CREATE TABLE nope AS SELECT 1 AS a, 2 AS a", Invalid, "one name"),
        ("CREATE TABLE nope AS DELETE FROM t", Unsupported, "not a query"),
        ("CREATE VIEW w AS INSERT INTO t (id) VALUES (1)", Unsupported, "not a query"),
        ("CREATE VIEW v AS SELECT 1", Invalid, "already"),
        ("CREATE TEMP TABLE nope (i INT)", Unsupported, "CREATE TEMP TABLE"),
        ("CREATE INDEX i ON t (id)", Unsupported, "CREATE INDEX"),
        ("CREATE MACRO f(x) AS x", Unsupported, "CREATE MACRO"),
        ("DROP TABLE nope", NotFound, "main.nope"),
        ("DROP TABLE v", Invalid, "is a view"),
        ("DROP VIEW t", Invalid, "is a table"),
        ("DROP TABLE t, v", Unsupported, "the end"),
        ("DROP SCHEMA main", Invalid, "main"),
        ("DROP MACRO f", Unsupported, "DROP MACRO"),
        ("ALTER TABLE t", Unsupported, "ADD COLUMN"),
        ("ALTER TABLE t ADD COLUMN k INT", Invalid, "k"),
        (
            "ALTER TABLE t ALTER COLUMN d SET DEFAULT CAST(now() AS DATE)",
            Unsupported,
            "not a plain value",
        ),
        ("ALTER TABLE t ALTER COLUMN id TYPE TINYINT", Invalid, "id"),
        ("ALTER TABLE t ALTER COLUMN id TYPE VARCHAR USING k", Invalid, ""),
        ("ALTER TABLE t DROP COLUMN nope", NotFound, "nope"),
        ("ALTER VIEW v RENAME TO w", Unsupported, "ALTER VIEW"),
        ("COMMENT ON VIEW v IS 'x'", Unsupported, "COMMENT ON VIEW"),
        ("COMMENT ON TABLE t IS x", Unsupported, "in quotes"),
        ("TRUNCATE t", Unsupported, "TRUNCATE"),
        ("CALL something()", NotFound, "no procedure something"),
        ("BEGIN", Unsupported, "BEGIN is not supported"),
        ("COPY t TO 'x.csv'", Unsupported, "COPY"),
        ("ATTACH 'x.db'", Unsupported, "ATTACH"),
        ("SELEC 1", Invalid, ""),
    ],
)
def test_what_is_not_supported_says_so_and_changes_nothing(
    lake: tidelake.Lake,
    capfd: pytest.CaptureFixture[str],
    statement: str,
    error: type[TidelakeError],
    said: str,
) -> None:
    lake.sql("CREATE TABLE t (id INT NOT NULL, k VARCHAR, d DATE)")
    lake.sql("CREATE TABLE u AS SELECT 1 AS id, 'a' AS k")
    lake.sql("CREATE VIEW v AS SELECT * FROM t")
    with pytest.raises(error) as told:
        lake.sql(statement)
    assert said in told.value.message
    assert told.value.hint
    assert len(lake.snapshots()) == 4
    assert capfd.readouterr().err == ""


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark_the_executors_write_what_a_query_gives(tmp_path: Path, spark: object) -> None:
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/files", engine="spark", spark=spark
    ) as lake:
        lake.sql("CREATE TABLE odd_t AS SELECT range AS id, 'k' AS k FROM range(100)")
        assert lake.sql("INSERT INTO odd_t VALUES (100, 'new')").files == 0
        assert lake.sql("INSERT INTO odd_t SELECT id + 200, k FROM odd_t WHERE id < 5").rows == 5
        assert lake.sql("UPDATE odd_t AS q SET k = 'up' WHERE q.id >= 100").updated == 6
        assert lake.sql("DELETE FROM odd_t WHERE id BETWEEN 10 AND 99").deleted == 90
        merged = lake.sql(
            "MERGE INTO odd_t AS t USING (SELECT 1 AS id, 'm' AS k UNION ALL SELECT 999, 'n') s"
            " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        assert (merged.inserted, merged.updated) == (1, 1)
        found = lake.sql("SELECT k, count(*) AS n FROM odd_t GROUP BY k ORDER BY k").to_arrow()
        assert found.to_pylist() == [
            {"k": "k", "n": 9},
            {"k": "m", "n": 1},
            {"k": "n", "n": 1},
            {"k": "up", "n": 6},
        ]
