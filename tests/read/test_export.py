"""The ways out of a table: each exact, lazy where it says so, and safe to use side by side."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import time
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import tidelake
from tidelake.engine.export import columns_of_query
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.model.types import FROM_DUCKDB, TYPES

SETUP = [
    "CREATE TABLE t (i INTEGER, big BIGINT, f DOUBLE, d DECIMAL(38, 10), s VARCHAR, b BOOLEAN)",
    "INSERT INTO t VALUES (1, 9007199254740993, 1.5, 0.1, 'a', true),"
    " (2, NULL, 'nan', NULL, NULL, NULL), (3, 4, NULL, 3, 'c', false)",
    "CREATE TABLE odd (k INTEGER, h HUGEINT, tz TIMETZ, v VARIANT, iv INTERVAL, n STRUCT(a INT)[])",
    "INSERT INTO odd VALUES (1, 170141183460469231731687303715884105727, '12:30:00+02',"
    " {'x': [1, 2]}::VARIANT, INTERVAL '1 month 2 days', [{'a': 1}, NULL]),"
    " (2, NULL, NULL, NULL, NULL, NULL)",
    "CREATE TABLE wide AS SELECT i, 'some text of row ' || i AS s, i * 1.5 AS f"
    " FROM range(3000000) r(i)",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tidelake.testing.duck import duck_connection

    path = tmp_path_factory.mktemp("reading")
    with duck_connection() as connection:
        # A DuckDB catalog keeps hugeints inlined, and so exact.
        connection.execute(f"ATTACH 'ducklake:{path}/c.duckdb' AS lake (DATA_PATH '{path}/d/')")
        connection.execute("USE lake")
        for statement in SETUP:
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH lake")
    return path


@pytest.fixture
def lake(folder: Path) -> tidelake.Lake:
    return tidelake.connect(f"duckdb:///{folder}/c.duckdb", read_only=True)


def test_pandas_loses_nothing(lake: tidelake.Lake) -> None:
    frame = lake.table("t").to_pandas().sort_values("i").reset_index(drop=True)
    assert frame["big"].tolist()[0] == 9007199254740993
    assert frame["big"].isna().tolist() == [False, True, False]
    assert frame["d"].tolist()[0] == Decimal("0.1000000000")
    nan, null = frame["f"].tolist()[1:]
    assert nan != nan
    assert null is None
    assert frame["b"].tolist() == [True, None, False]


def test_pandas_takes_what_arrow_cannot(lake: tidelake.Lake) -> None:
    table = lake.table("odd")
    frame = table.scan(columns=["k", "tz", "v", "n"]).to_pandas().sort_values("k")
    first = frame.iloc[0]
    assert first["tz"].isoformat() == "12:30:00+02:00"
    assert first["v"] == {"x": [1, 2]}
    assert first["n"] == [{"a": 1}, None]
    assert frame.iloc[1][["tz", "v", "n"]].tolist() == [None, None, None]
    with pytest.raises(Unsupported, match="'tz' holds timetz"):
        table.to_arrow()


def test_a_number_too_wide_for_arrow_is_refused(lake: tidelake.Lake) -> None:
    scan = lake.table("odd").scan(columns=["h"])
    with pytest.raises(Invalid, match="170141183460469231731687303715884105727"):
        scan.to_arrow()
    assert scan.to_duckdb().fetchall()[0][0] == 2**127 - 1


def test_polars_has_no_months(lake: tidelake.Lake) -> None:
    with pytest.raises(Unsupported, match="'iv' holds intervals"):
        lake.table("odd").scan(columns=["k", "iv"]).to_polars()
    assert lake.table("t").to_polars().height == 3


ODD_TIMES = {
    "to_pandas": ("24:00:00", "nanoseconds", "out of range"),
    "to_polars": ("24:00:00",),
    "to_dicts": ("24:00:00", "nanoseconds", "out of range"),
}


@pytest.mark.parametrize("call", ODD_TIMES)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("TIME '24:00:00'", "24:00:00"),
        ("TIME_NS '01:02:03.000000001'", "nanoseconds"),
        ("DATE '12000-01-01'", "out of range"),
        ("'infinity'::DATE", "out of range"),
    ],
)
@pytest.mark.parametrize(
    "form", ["{}", "[NULL, {}]", "{{'a': {{'b': {}}}}}", "MAP {{{}: 1}}", "MAP {{1: [{}]}}"]
)
def test_times_that_python_does_not_have_are_refused(
    lake: tidelake.Lake, call: str, value: str, why: str, form: str
) -> None:
    rows = lake.sql(f'SELECT 1 AS i, {form.format(value)} AS "a b" UNION ALL SELECT 2, NULL')
    if why in ODD_TIMES[call]:
        with pytest.raises(Unsupported, match=rf"'a b' holds a time .*{why}"):
            getattr(rows, call)()
    else:
        assert len(getattr(rows, call)()) == 2
    assert rows.to_arrow().num_rows == 2


def test_moments_without_end_are_no_dicts(lake: tidelake.Lake) -> None:
    rows = lake.sql("SELECT '-infinity'::TIMESTAMP AS ts")
    with pytest.raises(Unsupported, match=r"'ts' holds a time .*out of range"):
        rows.to_dicts()
    with pytest.raises(Unsupported, match="'ts' holds a time"):
        rows.limit(1).to_dicts()


def test_times_of_day_come_as_they_are(lake: tidelake.Lake) -> None:
    sql = "SELECT TIME '23:59:59.999999' AS t, [TIME_NS '01:02:03.000001'] AS l, NULL::TIME AS n"
    found = lake.sql(sql).to_pandas()
    assert found["t"][0] == time(23, 59, 59, 999999)
    assert found["l"][0] == [time(1, 2, 3, 1)]
    exact = lake.sql("SELECT TIME_NS '01:02:03.000000001' AS t").to_polars()
    assert exact["t"].dt.nanosecond()[0] == 1


@pytest.mark.parametrize(
    ("package", "call"),
    [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyspark", "to_spark")],
)
def test_a_missing_package_is_named(
    lake: tidelake.Lake, package: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelake.model.extras.find_spec", lambda _: None)
    with pytest.raises(Unsupported, match=rf"{package}.*pip install 'tidelake\["):
        getattr(lake.table("t"), call)()


@pytest.mark.parametrize("kind", [row.name for row in TYPES.values() if row.name != "geometry"])
def test_the_columns_of_a_query_are_in_ducklakes_words(kind: str) -> None:
    name = TYPES[kind].duckdb
    with duckdb.connect() as connection:
        sql = f"SELECT NULL::{name} AS c, {{'a': NULL::{name}}} AS s, NULL::DECIMAL(9, 2) AS d"
        plain, nested, decimal = columns_of_query(connection, sql, None)
    assert plain.type == nested.children[0].type == FROM_DUCKDB[name]
    assert decimal.type == "decimal(9,2)"


def test_conditions_without_sql(lake: tidelake.Lake) -> None:
    col = tidelake.col
    scan = lake.table("t").scan(columns=["i"], where=(col("i") > 1) & col("s").is_not_null())
    assert scan.to_arrow().to_pylist() == [{"i": 3}]
    assert scan.count() == 1
    with pytest.raises(Invalid, match="&"):
        lake.table("t").scan(where=(col("i") > 1) and (col("i") < 3))


def test_conditions_that_python_thinks_equal_are_planned_apart(lake: tidelake.Lake) -> None:
    col = tidelake.col
    found = [lake.table("t").scan(where=col("b") == v).plan().where for v in (True, 1)]
    assert found[0] != found[1]
    for nonsense in ([1], 5, object()):
        with pytest.raises(Invalid, match="where="):
            lake.table("t").scan(where=nonsense).to_arrow()  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="must be names"):
        lake.table("t").scan(columns=[["i"]]).to_arrow()  # type: ignore[list-item]


def test_a_commit_is_seen_by_the_next_read(tmp_path: Path) -> None:
    """Plans are kept only while the catalog stands still."""
    from tidelake.testing.duck import duck_connection

    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/c.db' AS lake (DATA_PATH '{tmp_path}')")
        duck.execute("CREATE TABLE lake.t (i INTEGER)")
        lake = tidelake.connect(f"sqlite:///{tmp_path}/c.db", read_only=True)
        table = lake.table("t")
        for number in range(5):
            assert table.to_arrow().num_rows == number
            duck.execute(f"INSERT INTO lake.t VALUES ({number})")
        duck.execute("ALTER TABLE lake.t RENAME COLUMN i TO j")
        assert table.to_arrow().column_names == ["j"]
        duck.execute("CALL ducklake_flush_inlined_data('lake')")
        assert [table.known_at(n + 1).count() for n in range(6)] == list(range(6))
        assert table.known_at(3).to_arrow().column("i").to_pylist() == [0, 1]


def test_columns(lake: tidelake.Lake) -> None:
    table = lake.table("t")
    assert table.scan(columns=["S", "i"]).to_arrow().column_names == ["s", "i"]
    assert sorted(table.scan(columns=["rowid"]).to_arrow()["rowid"].to_pylist()) == [0, 1, 2]
    assert table.scan(columns="i").count() == 3
    for wrong, error in ((["nope"], NotFound), ([], Invalid), (["i", "I"], Invalid)):
        with pytest.raises(error):
            table.scan(columns=wrong).to_arrow()


@pytest.mark.slow
def test_batches_come_in_bounded_memory(folder: Path) -> None:
    """A process that may hold a part of the table reads all of it, batch by batch."""
    code = f"""
import resource, tidelake
table = tidelake.connect("duckdb:///{folder}/c.duckdb", read_only=True).table("wide")
size = table.scan(columns=["i"]).to_arrow().nbytes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rows = sum(batch.num_rows for batch in table.to_batches(50_000))
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
assert rows == 3_000_000, rows
assert grown < 60_000_000, grown
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_many_threads_share_a_lake(lake: tidelake.Lake) -> None:
    def read(number: int) -> int:
        where = f"i >= {number * 1000} AND i < {number * 1000 + 500}"
        return lake.table("wide").scan(where=where).to_arrow().num_rows

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(40))) == [500] * 40
