"""Writing on Spark, compared with DuckDB and with the local engine at every snapshot."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.engine import SparkEngine
from tidelake.errors import Invalid, Unsupported
from tidelake.model.names import TableName, quote
from tidelake.model.schema import Column
from tidelake.testing import canonical
from tidelake.testing.place import Place

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.at("sqlite", tmp_path / "lake")


@pytest.fixture
def far_away(spark: Any) -> Iterator[Any]:
    """A session in a zone with summer time, and with times of the day."""
    spark.conf.set(ZONE, "America/New_York")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield spark
    spark.conf.set(ZONE, "UTC")


def attached(place: Place, duck: Any) -> duckdb.DuckDBPyConnection:
    connection: duckdb.DuckDBPyConnection = duck()
    connection.execute(f"ATTACH '{place.ducklake}' AS lake")
    connection.execute("USE lake")
    return connection


def agree(place: Place, duck: Any) -> None:
    """DuckDB reads the same rows as the local engine, with the same ids, at every snapshot."""
    with attached(place, duck) as connection, place.open() as lake:
        for snapshot in lake.snapshots():
            then = lake.known_at(snapshot.snapshot_id)
            for name in then.tables():
                table = then.table(name)
                columns = [*table.schema.names, "rowid"]
                listed = ", ".join(map(quote, columns))
                version = f"{name} AT (VERSION => {snapshot.snapshot_id})"
                theirs = connection.sql(f"SELECT {listed} FROM {version}").to_arrow_table()
                ours = table.scan(columns=columns).to_arrow()
                assert canonical.rows(ours) == canonical.rows(theirs), (name, snapshot)


def read_by_spark(place: Place, spark: Any) -> None:
    """The newest rows are the same for both engines."""
    with place.open() as lake, place.open(engine="spark", spark=spark) as other:
        for name in lake.tables():
            there = other.table(name).scan().to_arrow()
            here = lake.table(name).scan().to_arrow()
            assert canonical.rows(there) == canonical.rows(here.cast(there.schema)), name


TYPES = {
    "BOOLEAN": ("true", "true"),
    "TINYINT": ("CAST(-128 AS TINYINT)", "-128"),
    "USMALLINT": ("65535", "65535"),
    "BIGINT": ("9223372036854775807L", "9223372036854775807"),
    "UBIGINT": ("CAST('18446744073709551615' AS DECIMAL(20, 0))", "18446744073709551615"),
    "HUGEINT": ("9007199254740991L", "9007199254740991"),
    "FLOAT": ("CAST('NaN' AS FLOAT)", "'NaN'::FLOAT"),
    "DOUBLE": ("-0.0D", "'-0.0'::DOUBLE"),
    "DECIMAL(38,10)": (
        "CAST('-1234567890123456789012345678.0123456789' AS DECIMAL(38, 10))",
        "-1234567890123456789012345678.0123456789",
    ),
    "VARCHAR": ("'a''b\\\\ \u00e9 \U0001f600'", "'a''b\\ \u00e9 \U0001f600'"),
    "BLOB": ("X'00FF41'", "'\\x00\\xFFA'::BLOB"),
    "UUID": (
        "'0B0B0B0B-0b0b-0b0b-0b0b-0b0b0b0b0b0b'",
        "'0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b'",
    ),
    "JSON": ("'{\"a\": 1}'", "'{\"a\": 1}'::JSON"),
    "DATE": ("DATE '0001-01-01'", "DATE '0001-01-01'"),
    "TIME": ("TIME '23:59:59.999999'", "TIME '23:59:59.999999'"),
    "TIMESTAMP": (
        "TIMESTAMP_NTZ '2024-03-10 02:30:00.000001'",
        "TIMESTAMP '2024-03-10 02:30:00.000001'",
    ),
    "TIMESTAMP_S": ("TIMESTAMP_NTZ '2024-03-10 02:30:00'", "TIMESTAMP_S '2024-03-10 02:30:00'"),
    "TIMESTAMPTZ": (
        "TIMESTAMP_LTZ '2024-11-03 01:30:00'",
        "TIMESTAMPTZ '2024-11-03 05:30:00+00'",
    ),
    "TIMESTAMP_NS": ("TIMESTAMP_NTZ '1969-12-31 23:59:59.5'", "'1969-12-31 23:59:59.5'"),
    "INTERVAL": ("INTERVAL '1-3' YEAR TO MONTH", "INTERVAL 15 MONTH"),
    "VARIANT": (
        'parse_json(\'{"a": [1, null, "x"], "b": 1.5}\')',
        '\'{"a": [1, null, "x"], "b": 1.5}\'::JSON::VARIANT',
    ),
    'STRUCT(a INTEGER, "b.c" VARCHAR[])': (
        "named_struct('b.c', array('x', NULL), 'A', 7)",
        "{'a': 7, 'b.c': ['x', NULL]}",
    ),
    "MAP(VARCHAR, TIMESTAMPTZ)": (
        "map('k', TIMESTAMP_LTZ '2024-07-01 00:00:00')",
        "MAP {'k': TIMESTAMPTZ '2024-07-01 04:00:00+00'}",
    ),
}


def test_every_type_arrives_exactly(far_away: Any, place: Place, new_duck: Any) -> None:
    """Whatever the session's zone; a second row holds nothing but nulls."""
    names = [f"c {n}.`'\"{{x}}" for n in range(len(TYPES))]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    ticked = ["`" + name.replace("`", "``") + "`" for name in names]
    pairs = list(zip(ticked, TYPES.values(), strict=True))
    rows = far_away.sql(
        f"SELECT {', '.join(f'IF(id = 0, {v[0]}, NULL) AS {n}' for n, v in pairs)} FROM range(2)"
    )
    with place.open() as lake:
        ddl = ", ".join(f"{n} {kind}" for n, kind in zip(quoted, TYPES, strict=True))
        assert lake.create_table("t", ddl).append(rows).rows == 2
    connection = attached(place, new_duck)
    for name, (kind, (_, truth)) in zip(quoted, TYPES.items(), strict=True):
        found = connection.execute(
            f"SELECT typeof({name}), CAST({name} AS VARCHAR), CAST(({truth})::{kind} AS VARCHAR)"
            f" FROM t WHERE {quoted[0]} IS NOT NULL"
        ).fetchone()
        assert found is not None
        assert found[1] == found[2], kind
        nulls = connection.execute(f"SELECT count(*) FROM t WHERE {name} IS NULL").fetchone()
        assert nulls == (1,), kind


SCHEMA = (
    "id BIGINT NOT NULL, k VARCHAR, v DOUBLE DEFAULT 1.5, ts TIMESTAMP, tz TIMESTAMPTZ,"
    ' u UUID, "s t.r" STRUCT(a INTEGER, b VARCHAR[])'
)


def frame(spark: Any, first: int, last: int, extra: str = "''") -> Any:
    return spark.sql(
        f"SELECT id, concat('k', id, {extra}) AS k, IF(id % 7 = 0, DOUBLE('NaN'), id / 2) AS v,"
        " timestamp_ntz '2024-03-10 02:30:00' + make_dt_interval(int(id)) AS ts,"
        " timestamp_seconds(1700000000 + id * 3600) AS tz,"
        " format_string('%08x-0000-4000-8000-000000000000', id) AS u,"
        " IF(id % 5 = 0, NULL, struct(int(id) AS a, array('x', NULL) AS b)) AS `s t.r`"
        f" FROM range({first}, {last}, 1, 3)"
    )


def write_history(lake: tidelake.Lake, spark: Any) -> None:
    """Every kind of write, with rows in files and in the catalog, alone and in a transaction."""
    table = lake.create_table("t", SCHEMA)
    table.append(frame(spark, 0, 300))
    table.append(frame(spark, 300, 303).select("K", "id"))
    table.append([{"id": 1000, "k": "kept"}, {"id": 1001}])
    table.delete("id IN (3, 1001)")
    table.delete("id BETWEEN 10 AND 60 AND v IS NOT NULL")
    table.delete("id BETWEEN 60 AND 80")
    table.update({"v": "v * 10", "k": "printf('%05d', id)"}, where="id < 4 OR id = 1000")
    table.update({"v": None, "ts": "ts + INTERVAL 1 DAY"}, where="id >= 100 AND id < 200")
    table.overwrite(frame(spark, 5, 20, "' new'"), where="id < 50")
    table.merge(frame(spark, 290, 320, "' merged'").drop("ts"), on="id")
    table.merge([{"id": 1000, "k": "again"}, {"id": 2000, "k": None}], on=["id"])
    with lake.transaction(message="several") as tx:
        staged = tx.table("t")
        staged.append(frame(spark, 3000, 3040))
        staged.delete("id % 10 = 5")
        staged.delete("id % 10 = 6")
        assert staged.scan(where="id % 10 IN (5, 6)").count() == 0
        staged.update({"k": "'tx'"}, where="id % 10 = 7")


@pytest.mark.slow
def test_a_history_of_writes(far_away: Any, place: Place, new_duck: Any) -> None:
    with place.open(engine="spark", spark=far_away) as lake:
        write_history(lake, far_away)
        rows = lake.table("t").count()
    agree(place, new_duck)
    read_by_spark(place, far_away)
    with place.open() as lake:
        table = lake.table("t")
        assert table.count() == rows
        assert set(
            table.scan(columns=["id"], where="k = 'tx'").to_arrow().column(0).to_pylist()
        ) == {
            i
            for i in (*range(20), *range(81, 320), 1000, 2000, *range(3000, 3040))
            if i % 10 == 7 and i > 4
        }
        changed = table.scan(columns=["id", "ts"], where="id = 1000").to_arrow().to_pylist()
        assert changed == [{"id": 1000, "ts": None}]


@pytest.mark.slow
def test_the_same_on_connect(spark_connect: Any, place: Place, new_duck: Any) -> None:
    spark_connect.conf.set(ZONE, "Asia/Kolkata")
    try:
        with place.open(engine="spark", spark=spark_connect) as lake:
            table = lake.create_table("t", SCHEMA)
            table.append(frame(spark_connect, 0, 100))
            table.delete("id BETWEEN 10 AND 30")
            table.merge(frame(spark_connect, 90, 120, "' merged'").drop("ts"), on="id")
            parts = lake.create_table("p", "a BIGINT, b VARCHAR", partition_by=["bucket(3, b)"])
            parts.append(spark_connect.sql("SELECT id AS a, string(id) AS b FROM range(90)"))
            with pytest.raises(Invalid, match=r"main\.p: column 'a'"):
                parts.append(spark_connect.sql("SELECT 1.5BD AS a"))
        agree(place, new_duck)
        read_by_spark(place, spark_connect)
    finally:
        spark_connect.conf.set(ZONE, "UTC")


PARTITIONINGS = {
    "moment": ["year(tz)", "month(tz)", "day(tz)", "hour(tz)"],
    "value": ["k"],
    "buckets": ["bucket(4, k)", "bucket(2, u)"],
    "both": ["day(ts)", "bucket(3, id)"],
}


@pytest.mark.slow
@pytest.mark.parametrize("keys", PARTITIONINGS.values(), ids=PARTITIONINGS)
def test_partitions_are_duckdbs_and_few_files(
    far_away: Any, place: Place, new_duck: Any, keys: list[str]
) -> None:
    """Times are told in UTC; k holds null, empty and odd texts; DuckDB then writes the same."""
    rows = far_away.sql(
        "SELECT id, element_at(array(NULL, '', 'a/b=c%', 'ß'), int(id % 4) + 1) AS k,"
        " timestamp_ntz '2024-02-28 23:00:00' + make_dt_interval(0, int(id % 3)) AS ts,"
        " timestamp_seconds(-1800 + (id % 5) * 1800) AS tz,"
        " format_string('%08x-0000-4000-8000-000000000000', id % 6) AS u FROM range(0, 600, 1, 4)"
    )
    with place.open() as lake:
        ddl = "id BIGINT, k VARCHAR, ts TIMESTAMP, tz TIMESTAMPTZ, u UUID"
        table = lake.create_table("t", ddl, partition_by=keys, sort_by=["id DESC"])
        ours = table.append(rows)
    with attached(place, new_duck) as connection:
        connection.execute("INSERT INTO t FROM t")
        for (path,) in connection.execute(
            "SELECT data_file FROM ducklake_list_files('lake', 't')"
        ).fetchall():
            ids = connection.execute(f"SELECT id FROM read_parquet('{path}')").fetchall()
            assert ids == sorted(ids, reverse=True)
    by_snapshot: dict[int, list[tuple[Any, ...]]] = {}
    for snapshot, _, *found in place.catalog(
        "SELECT f.begin_snapshot, f.data_file_id, f.record_count,"
        " group_concat(coalesce(p.partition_value, 'NULL'), '|')"
        " FROM ducklake_data_file f JOIN (SELECT * FROM ducklake_file_partition_value"
        " ORDER BY partition_key_index) p USING (data_file_id) GROUP BY f.data_file_id"
    ):
        by_snapshot.setdefault(snapshot, []).append(tuple(found))
    here, there = by_snapshot.values()
    assert sorted(here) == sorted(there)
    assert ours.files == len({value for _, value in here})


def test_files_keep_to_the_target_size(spark: Any, place: Place) -> None:
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT, h BIGINT")
        lake.set_option("target_file_size", 1_000_000)
        rows = spark.range(0, 600_000, 1, 1).selectExpr("id", "xxhash64(id) AS h")
        result = table.append(rows)
        assert result.rows == table.count() == 600_000
        assert result.files > 3
        empty = table.append(rows.where("id < 0"))
        assert (empty.rows, empty.files) == (0, 0)


REFUSED = {
    "an unknown column": ("id, 1 AS nope", "main.t: there is no 'nope'"),
    "a missing column": ("'x' AS k", "main.t: column 'id' is missing"),
    "another type": ("'one' AS id", "main.t: column 'id' is BIGINT, and the data has VARCHAR"),
    "another type inside": ("id, struct(date '2020-01-01' AS a) AS s", "'s'.'a' is INTEGER"),
    "two of one name": ("id, id AS ID", "two columns of one name"),
    "a type without a place": ("id, array(INTERVAL '1' MONTH) AS k", "column 'k' of the data"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_the_types_tell_is_refused_before_anything_runs(
    spark: Any, place: Place, case: tuple[str, str]
) -> None:
    chosen, message = case
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT NOT NULL, k VARCHAR, s STRUCT(a INTEGER)")
        rows = (
            spark.range(1).where("raise_error('it ran') IS NULL").selectExpr(*chosen.split(", ", 1))
        )
        with place.refuses(Invalid, message):
            table.append(rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "session", [pytest.param("spark", marks=pytest.mark.slow), "spark_connect"]
)
def test_values_that_do_not_fit_leave_nothing(
    request: pytest.FixtureRequest, place: Place, session: str
) -> None:
    spark = request.getfixturevalue(session)
    ddl = "id BIGINT NOT NULL, small TINYINT, price DECIMAL(6,2), js JSON"
    bad = [
        (["nullif(id, 7) AS id"], "main.t: column 'id' may not be null"),
        (["id", "id AS small"], "main.t: column 'small': 128 does not fit TINYINT exactly"),
        (["id", "id / 8BD AS price"], "main.t: column 'price'"),
        (["id", "'no json' AS js"], "main.t: column 'js': no json is not valid JSON"),
    ]
    with place.open() as lake:
        table = lake.create_table("t", ddl)
        before = [snapshot.snapshot_id for snapshot in lake.snapshots()]
        for chosen, message in bad:
            with pytest.raises(Invalid) as caught:
                table.append(spark.range(200).selectExpr(*chosen))
            assert message in caught.value.message
            assert caught.value.hint
            assert "Traceback" not in str(caught.value)
        assert [snapshot.snapshot_id for snapshot in lake.snapshots()] == before
        assert table.count() == 0


def test_the_error_of_somebodys_own_function_is_not_hidden(spark: Any, place: Place) -> None:
    with place.open() as lake:
        table = lake.create_table("t", "id BIGINT")
        with pytest.raises(Exception, match="my own mistake"):
            table.append(
                spark.range(9).selectExpr("IF(id = 5, raise_error('my own mistake'), id) id")
            )
        assert table.count() == 0


def test_nothing_but_facts_comes_to_the_driver(
    spark: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.classic.dataframe import DataFrame

    seen: list[int] = []
    collect, to_arrow = DataFrame.collect, DataFrame.toArrow

    def collecting(self: Any) -> Any:
        rows = collect(self)
        seen.append(
            sum(len(row[0]) if isinstance(row[0], bytes | bytearray) else 8 for row in rows)
        )
        return rows

    def to_arrowing(self: Any) -> pa.Table:
        table = to_arrow(self)
        seen.append(table.nbytes)
        return table

    monkeypatch.setattr(DataFrame, "collect", collecting)
    monkeypatch.setattr(DataFrame, "toArrow", to_arrowing)
    with place.open(engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "id BIGINT, v VARCHAR")
        table.append(spark.range(30_000).selectExpr("id", "string(id) AS v"))
        table.update({"v": "'even'"}, where="id % 2 = 0")
        table.delete("id % 3 = 0")
        table.merge(spark.range(0, 60_000, 2).selectExpr("id", "'merged' AS v"), on="id")
    assert seen
    assert max(seen) < 20_000


COLUMNS = (
    Column(1, "i", "int64"),
    Column(2, "s", "varchar"),
    Column(3, "f", "float64"),
    Column(4, "d", "decimal(10,2)"),
    Column(5, "moment", "timestamptz"),
    Column(6, "odd.name", "uuid"),
)
ROWS = [
    {
        "i": 1,
        "s": "a",
        "f": 0.5,
        "d": 1,
        "moment": "2024-03-10 07:30:00+00",
        "odd.name": f"{1:032x}",
    },
    {"i": 2, "s": None, "f": float("nan"), "d": None, "moment": None, "odd.name": None},
    {"i": 2, "s": "it's \\ {b}", "f": -0.0, "d": -2, "moment": None, "odd.name": f"{2:032x}"},
]
QUERIES = [
    "SELECT * FROM r ORDER BY i, s",
    'SELECT count(*), min(moment), max("odd.name"), max(s), max(d) FROM r',
    "SELECT i, count(*) FROM r GROUP BY i HAVING count(*) > 1 ORDER BY i LIMIT 3",
    "SELECT DISTINCT f FROM r WHERE f IS NOT NULL ORDER BY f",
    "SELECT i, s FROM r AS a WHERE NOT EXISTS (SELECT 1 FROM r AS b WHERE b.f < a.f) ORDER BY s",
    'SELECT a.i, b.d FROM r AS a JOIN r AS b ON a."odd.name" = b."odd.name" ORDER BY a.i',
    "SELECT a.s FROM r AS a LEFT JOIN r AS b ON a.s IS NOT DISTINCT FROM b.s WHERE b.i = 2"
    " ORDER BY a.s",
    "SELECT CASE WHEN s IS NULL THEN 0 WHEN s = 'a' THEN 1 ELSE 2 END AS x FROM r ORDER BY x",
    "SELECT CAST(moment AS TIMESTAMP) AS x, CAST(f AS VARCHAR) AS y, s || '!' AS z FROM r"
    " UNION ALL SELECT NULL, 'y', 'z' FROM r WHERE i = 1",
    "SELECT i // 2 AS x, i / 2 AS y, d * 3 AS z, strftime(moment, '%j') AS j, list_value(i) FROM r",
    "SELECT * FROM (SELECT *, i + 1 AS n FROM (SELECT i, s FROM r WHERE i > 1) AS q) WHERE n = 3",
    "SELECT coalesce(s, 'none'), CAST(i AS DECIMAL(12,1)), i IN (1, 5) FROM r",
]


@pytest.mark.slow
def test_a_query_gives_the_same_rows_on_both_engines(far_away: Any) -> None:
    local = LocalEngine()
    with local.job("a test") as here, SparkEngine(far_away, local).job("a test") as there:
        for job in (here, there):
            given = job.bring("rows", ROWS, COLUMNS, TableName("main", "t"))
            assert job.keep("r", given.sql) == 3
        for sql in QUERIES:
            order = None if "ORDER BY" in sql else repr
            found, truth = (job.rows(sql) for job in (there, here))
            if order:
                found, truth = sorted(found, key=order), sorted(truth, key=order)
            assert str(found) == str(truth), sql
        for job in (here, there):
            with pytest.raises(Invalid, match="no such row"):
                job.rows("SELECT CASE WHEN i = 2 THEN error('no such row') ELSE i END FROM r")
            with pytest.raises(Invalid, match="nowhere"):
                job.rows("SELECT nowhere FROM r")
        with pytest.raises(Unsupported):
            there.keep("wide", "SELECT CAST(i AS HUGEINT) AS h FROM r")


WRITE = """
import json, sys

from pyspark.sql import SparkSession

import tidelake

spark = SparkSession.builder.getOrCreate()
with tidelake.connect(sys.argv[1], engine="spark") as lake:
    rows = spark.sql("SELECT id, concat('v', id) AS v, int(id % 3) AS p FROM range(0, 3000, 1, 6)")
    for name, keys in (("t", ()), ("p", ["p", "bucket(2, v)"])):
        table = lake.create_table(name, "id BIGINT, v VARCHAR, p INTEGER", partition_by=keys)
        table.append(rows)
        table.delete("id % 10 = 0")
        table.update({"v": "upper(v)"}, where="id % 10 = 1")
        table.merge(rows.where("id >= 2990").selectExpr("id + 5 AS id", "'m' AS v"), on="id")
    print(json.dumps({name: lake.table(name).count() for name in lake.tables()}))
"""


@pytest.mark.slow
def test_writing_on_two_workers(place: Place, spark_cluster: Any, new_duck: Any) -> None:
    with place.open():
        pass
    printed = spark_cluster.run_python(WRITE, place.url)
    assert json.loads(printed.strip().splitlines()[-1]) == {"main.p": 2705, "main.t": 2705}
    agree(place, new_duck)


@pytest.mark.slow
def test_a_merge_by_what_the_source_says(tmp_path: Path, spark: Any) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "id BIGINT, name VARCHAR")
        table.append([{"id": i, "name": "old"} for i in range(20)])
        rows = [(1, "new", "u"), (2, None, "d"), (99, "more", "i"), (98, None, "d")]
        changes = spark.createDataFrame(rows, "id BIGINT, name STRING, op STRING")
        done = (
            table.merge_builder(changes, on="id")
            .when_matched_delete(condition="source.op = 'd'")
            .when_matched_update()
            .when_not_matched_insert(condition="source.op <> 'd'")
            .execute()
        )
        assert (done.inserted, done.updated, done.deleted) == (1, 1, 1)
        found = {row["id"]: row["name"] for row in table.to_arrow().to_pylist()}
        assert (found[1], found.get(2), found[99], len(found)) == ("new", None, "more", 20)


@pytest.mark.spark
@pytest.mark.slow
def test_new_values_are_exact_there_too(tmp_path: Path, spark: Any) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, f"{tmp_path}/data/", engine="spark", spark=spark) as lake:
        table = lake.create_table("t", "id BIGINT NOT NULL, n INT, amount DECIMAL(10,2), s VARCHAR")
        table.append([{"id": i, "n": i, "amount": i, "s": "x"} for i in range(30)])
        for column, given in (("n", 1.5), ("amount", "amount * 1.001")):
            with pytest.raises(Invalid, match=f"column '{column}'"):
                table.update({column: given})
        table.update({"n": "n * 2.0", "amount": "amount / 2"}, values={"s": "upper(s)"})
        found = table.scan(where="id = 3").to_arrow().to_pylist()
        assert found == [{"id": 3, "n": 6, "amount": Decimal("1.50"), "s": "upper(s)"}]
        source = [{"id": 3, "n": 1}, {"id": 99, "n": 2}]
        builder = table.merge_builder(source, on="id")
        builder.when_matched_update({"n": "source.n + target.n", "s": tidelake.lit("n")})
        builder.when_not_matched_insert({"id": "source.id", "n": "source.n * 2.0"}).execute()
        found = table.scan(columns=["id", "n", "s"], where="id IN (3, 99)").to_arrow()
        assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [
            (3, 7, "n"),
            (99, 4, None),
        ]
