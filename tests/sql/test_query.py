"""SQL over the lake, checked against DuckDB running the same query on the same lake."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tidelake
from tidelake.errors import Invalid, Unsupported
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place

if TYPE_CHECKING:
    import duckdb

DuckFactory = Callable[[], "duckdb.DuckDBPyConnection"]

SETUP = [
    "CREATE TABLE t (i INTEGER, g VARCHAR, ts TIMESTAMP)",
    "INSERT INTO t SELECT i, 'g' || i % 3, TIMESTAMP '2024-01-01' + INTERVAL (i) HOUR"
    " FROM range(100) r(i)",
    "INSERT INTO t SELECT i, 'h', NULL FROM range(100, 200) r(i)",
    "CREATE TABLE u (g VARCHAR, label VARCHAR)",
    "INSERT INTO u VALUES ('g0', 'zero'), ('g1', 'one'), (NULL, 'none')",
    "CREATE SCHEMA s",
    "CREATE TABLE s.t AS SELECT 7 AS i",
    "CREATE VIEW v AS SELECT g, count(*) AS n FROM t GROUP BY g",
    "CREATE VIEW w (a, b) AS SELECT v.g, u.label FROM v JOIN u ON u.g = v.g",
    "CREATE VIEW s.x AS SELECT i + 1 AS j FROM s.t",
    "DELETE FROM t WHERE i < 10",
    "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 5",
]

QUERIES = [
    "SELECT * FROM t",
    "SELECT count(*), sum(i), min(ts), max(g) FROM t",
    "SELECT g, count(*) AS n FROM t WHERE i BETWEEN 20 AND 120 GROUP BY ALL",
    "SELECT a.i, u.label FROM t a LEFT JOIN u ON u.g = a.g WHERE a.i < 30",
    "SELECT t.i, u.label FROM t LEFT JOIN u ON u.g = t.g WHERE u.label IS NULL",
    "SELECT u.label, t.i FROM t RIGHT JOIN u ON u.g = t.g AND t.i > 95 WHERE u.label <> 'x'",
    "WITH t AS (SELECT 1 AS i) SELECT * FROM t",
    "WITH big AS (SELECT * FROM t WHERE i > 150) SELECT count(*) FROM big JOIN s.t USING (i)",
    "SELECT * FROM (SELECT i FROM t WHERE i % 50 = 0) x, s.t y",
    "SELECT i FROM t WHERE g IN (SELECT g FROM u) AND i < 40",
    "SELECT * FROM v ORDER BY g",
    "SELECT * FROM w",
    "SELECT * FROM s.x",
    "SELECT x.j, v.n FROM s.x x, v",
    "SELECT i FROM t WHERE i < 12 UNION ALL SELECT i FROM s.t",
    "SELECT i FROM t AT (VERSION => 2) WHERE i < 5",
    "SELECT main.t.i, s.t.i FROM main.t, s.t WHERE main.t.i < 12",
    "SELECT t.i, other.i FROM t, s.t AS other WHERE t.i < 12",
    "SELECT * FROM range(3)",
    "SELECT extra, count(*) FROM t GROUP BY 1",
    "SELECT i, row_number() OVER (PARTITION BY g ORDER BY i) FROM t WHERE i < 25",
    "SELECT lake.main.t.i FROM lake.main.t WHERE lake.main.t.i = 42",
    "SELECT max(i) FROM t WHERE ts >= '2024-01-04' AND ts < '2024-01-05'",
    "FROM t SELECT i WHERE i = 50",
    "SELECT * FROM t TABLESAMPLE 100 PERCENT",
    "SELECT (SELECT max(i) FROM s.t) AS m, i FROM t WHERE i > 195",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tidelake.testing.duck import duck_connection

    path = tmp_path_factory.mktemp("sql")
    with duck_connection() as connection:
        connection.execute(f"ATTACH 'ducklake:sqlite:{path}/c.db' AS lake (DATA_PATH '{path}/d/')")
        connection.execute("USE lake")
        for statement in SETUP:
            connection.execute(statement)
    return path


@pytest.fixture(scope="module")
def reference(folder: Path) -> "duckdb.DuckDBPyConnection":
    from tidelake.testing.duck import duck_connection

    connection = duck_connection()
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder}/c.db' AS lake (READ_ONLY)")
    connection.execute("USE lake")
    return connection


@pytest.fixture
def lake(folder: Path) -> tidelake.Lake:
    return tidelake.connect(f"sqlite:///{folder}/c.db", read_only=True)


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_rows_as_duckdb(
    query: str, lake: tidelake.Lake, reference: "duckdb.DuckDBPyConnection"
) -> None:
    truth = reference.execute(query)
    names = [column[0] for column in truth.description or []]
    found = lake.sql(query).to_arrow()
    assert found.column_names == names
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    assert sorted(map(_comparable, rows)) == sorted(map(_comparable, truth.fetchall()))


def _comparable(row: tuple[object, ...]) -> str:
    return repr([int(value) if isinstance(value, Decimal) else value for value in row])


@pytest.mark.parametrize(
    "clause",
    ["VERSION AS OF 2", "AT (VERSION => 2)", "FOR VERSION AS OF 2"],
)
def test_spellings_of_system_time_by_version(lake: tidelake.Lake, clause: str) -> None:
    assert lake.sql(f"SELECT count(*) AS n FROM t {clause}").to_arrow().to_pylist() == [{"n": 100}]


@pytest.mark.parametrize(
    "clause", ["TIMESTAMP AS OF '{}'", "AT (TIMESTAMP => '{}')", "FOR SYSTEM_TIME AS OF '{}'"]
)
def test_spellings_of_system_time_by_time(lake: tidelake.Lake, clause: str) -> None:
    moment = lake.snapshots()[2].time.isoformat()
    query = f"SELECT count(*) AS n FROM t {clause.format(moment)} AS x"
    assert lake.sql(query).to_arrow().to_pylist() == [{"n": 100}]


@pytest.mark.parametrize(
    "clause", ["AT (VERSION => 2 + 3)", "AT (VERSION => -2)", "VERSION AS OF '2024-01-01'"]
)
def test_what_is_no_version_is_refused(lake: tidelake.Lake, clause: str) -> None:
    with pytest.raises(Invalid):
        lake.sql(f"SELECT * FROM t {clause}")


def test_joins_over_rows_kept_in_the_catalog(lake: tidelake.Lake) -> None:
    query = "SELECT count(*) AS n FROM t JOIN u USING (g) JOIN v USING (g) WHERE label <> 'x'"
    assert lake.sql(query).to_arrow().to_pylist() == [{"n": 60}]


def test_two_moments_of_one_table(lake: tidelake.Lake) -> None:
    query = "SELECT count(*) AS n FROM t VERSION AS OF 2 AS a RIGHT JOIN t AS b USING (i)"
    query += " WHERE a.i IS NULL"
    assert lake.sql(query).to_arrow().to_pylist() == [{"n": 100}]


def test_a_view_at_a_moment_reads_its_tables_then(lake: tidelake.Lake) -> None:
    now = lake.sql("SELECT sum(n)::INTEGER AS n FROM v").to_arrow().to_pylist()
    then = lake.sql("SELECT sum(n)::INTEGER AS n FROM v AT (VERSION => 10)").to_arrow().to_pylist()
    assert (now, then) == ([{"n": 190}], [{"n": 200}])


def test_a_query_sees_one_snapshot(place: Place) -> None:
    """Even if somebody commits before each of its looks at the catalog."""
    with place.open() as lake, place.open() as other:
        for name in ("a", "b"):
            lake.create_table(name, "i INT")
        looks: list[str] = []

        def commit(what: str, _: str) -> None:
            if what == "read":
                looks.append(what)
                with other.transaction() as tx:
                    for name in ("a", "b"):
                        tx.table(name).append([{"i": 1}])

        with watch_database(lake, commit):
            found = lake.sql("SELECT count(a.i), (SELECT count(*) FROM b) FROM a").to_arrow()
    (one,), (two,) = (column.to_pylist() for column in found.columns)
    assert len(looks) > 1
    assert one == two > 0


def test_columns_of_the_same_name_keep_their_values(lake: tidelake.Lake) -> None:
    query = lake.sql("SELECT x.i, y.i, x.i::HUGEINT AS i FROM t x, s.t y WHERE x.i = 50")
    found = query.to_arrow()
    assert [column.to_pylist() for column in found.columns] == [[50], [7], [50]]
    assert query.to_pandas().to_numpy().tolist() == [[50, 7, 50]]


def test_a_pinned_lake_answers_from_its_moment(lake: tidelake.Lake) -> None:
    query = "SELECT count(*) AS n FROM t"
    assert lake.known_at(3).sql(query).to_arrow().to_pylist() == [{"n": 200}]
    assert lake.sql(query).to_arrow().to_pylist() == [{"n": 190}]


def test_conditions_around_a_table_skip_its_files(lake: tidelake.Lake) -> None:
    def files(query: str) -> int:
        return sum(len(plan.files) for plan in lake.sql(query).tables.values())

    assert files("SELECT * FROM t") == 2
    assert files("SELECT * FROM t WHERE i > 150") == 1
    assert files("SELECT * FROM t x JOIN s.t y ON x.i = y.i WHERE x.i > 150") == 1
    assert files("SELECT * FROM (SELECT * FROM t WHERE g = 'h') q") == 1
    assert files("SELECT * FROM s.t y LEFT JOIN t x ON x.i = y.i WHERE x.i IS NULL") == 2
    assert files("SELECT * FROM t WHERE i > 150 OR g = 'g1'") == 2


def test_all_the_ways_out(lake: tidelake.Lake) -> None:
    query = lake.sql("SELECT i FROM t WHERE i < 12")
    assert query.count() == 2
    assert sorted(query.to_pandas()["i"]) == [10, 11]
    assert sorted(query.to_polars()["i"].to_list()) == [10, 11]
    assert sorted(query.to_duckdb().fetchall()) == [(10,), (11,)]
    assert sum(batch.num_rows for batch in query.to_batches()) == 2
    with pytest.raises(Unsupported, match="engine='spark'"):
        query.to_spark()


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(folder: Path, spark: object) -> None:
    with tidelake.connect(
        f"sqlite:///{folder}/c.db", read_only=True, engine="spark", spark=spark
    ) as lake:
        query = lake.sql("SELECT u.label, count(*) AS n FROM t JOIN u USING (g) GROUP BY u.label")
        assert sorted(query.to_arrow().to_pylist(), key=repr) == [
            {"label": "one", "n": 30},
            {"label": "zero", "n": 30},
        ]
        old = lake.sql("SELECT count(*) AS n FROM t VERSION AS OF 2 WHERE i < 50")
        assert old.to_spark().collect()[0].n == 50
        assert lake.table("t").to_arrow().num_rows == 190
        wide = lake.sql("SELECT CASE WHEN i > 50 THEN 9007199254740993 END AS x FROM t").to_pandas()
        assert set(wide["x"].dropna()) == {9007199254740993}
        assert sorted(lake.sql("SELECT b FROM w").to_arrow()["b"].to_pylist()) == ["one", "zero"]


@pytest.mark.parametrize("name", ["inlined_0", "incoming", "materialised"])
def test_a_table_may_have_any_name(tmp_path: Path, name: str) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data") as lake:
        lake.create_table(name, "id INTEGER, clock TIMETZ").append([{"id": 1, "clock": None}])
        twice = f"SELECT a.id FROM {name} a JOIN {name} b USING (id)"
        assert lake.sql(twice).to_arrow()["id"].to_pylist() == [1]
        assert list(lake.sql(f"SELECT * FROM {name}").to_pandas()["id"]) == [1]
