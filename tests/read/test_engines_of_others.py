"""Engines of others read tables as datasets: DataFusion, DuckDB, Polars, Ibis, pyarrow."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import ibis
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tidelake
from tidelake import col
from tidelake.engine.arrow_filter import as_condition
from tidelake.errors import Denied, Invalid, Unsupported

START = datetime(2024, 1, 1)
SCHEMA = """n INT, x DOUBLE, s VARCHAR, ts TIMESTAMP, tz TIMESTAMPTZ, d DATE, b BOOLEAN,
    p DECIMAL(10, 2), "odd name" BIGINT, "(n == 1)" INT"""


def row(n: int) -> dict[str, Any]:
    texts = ["a", 'b"c', "é\\n", "", "x > 5) or (y", None]
    floats = [1.5, -0.0, math.nan, math.inf, None, 1e300]
    return {
        "n": None if n % 11 == 0 else n,
        "x": floats[n % 6],
        "s": texts[n % 5 if n % 7 else 5],
        "ts": START + timedelta(hours=n, microseconds=n),
        "tz": (START + timedelta(hours=n)).replace(tzinfo=UTC),
        "d": date(2024, 1, 1) + timedelta(days=n),
        "b": [True, False, None][n % 3],
        "p": Decimal(n) / 4,
        "odd name": 10**15 + n,
        "(n == 1)": -n,
    }


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", SCHEMA)
        for start in range(0, 80, 20):
            t.append([row(n) for n in range(start, start + 20)])
        t.delete("n = 34")
        yield lake


CONDITIONS = [
    "n > 41",
    "n > 41 AND s = 'a'",
    "n IN (1, 2, 55) OR x IS NULL",
    "NOT b",
    "b",
    "b IS NULL AND n <= 30",
    "x > 1",
    "NOT x > 1",
    "x <= 1.5 OR x <> 1.5",
    "x = 'NaN'::DOUBLE",
    "s = 'b\"c'",
    "s = 'x > 5) or (y'",
    "s IN ('a', '')",
    "s NOT IN ('a', '')",
    "n NOT IN (1, 2)",
    "n NOT IN (1, 2, 3, 4, 5)",
    "s NOT IN ('a', 'b', 'c', 'd', 'e')",
    "NOT (n IN (1, 2) OR s = 'a')",
    "s LIKE 'a%'",
    "s IS NOT NULL AND n < 12",
    "ts >= TIMESTAMP '2024-01-03 00:00:00'",
    "tz < TIMESTAMP '2024-01-02T00:00:00Z'",
    "d = DATE '2024-02-01'",
    "d BETWEEN DATE '2024-01-15' AND DATE '2024-01-20'",
    "p > 10.5",
    '"odd name" = 1000000000000007',
    '"(n == 1)" = -1 OR n = 2',
    "n + 1 = 10",
]


def rows_of(found: pa.Table) -> list[str]:
    return sorted(str(sorted(each.items())) for each in found.to_pylist())


def expected(lake: tidelake.Lake, condition: str, columns: str = "n, s, x") -> list[str]:
    return rows_of(lake.sql(f"SELECT {columns} FROM t WHERE {condition}").to_arrow())


def by_datafusion(lake: tidelake.Lake, sql: str) -> pa.Table:
    context = datafusion.SessionContext()
    context.register_dataset("t", lake["t"].to_dataset())
    return pa.table(context.sql(sql))


def by_duckdb(lake: tidelake.Lake, sql: str) -> pa.Table:
    connection = duckdb.connect()
    t = lake["t"].to_duckdb(connection=connection)
    assert t.columns
    return connection.sql(sql).to_arrow_table()


def by_polars(lake: tidelake.Lake, sql: str) -> pa.Table:
    frame = lake["t"].to_polars(lazy=True)
    return polars.SQLContext(t=frame).execute(sql).collect().to_arrow()


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("ask", [by_datafusion, by_duckdb])
def test_conditions_mean_what_they_mean_in_the_lake(
    lake: tidelake.Lake, ask: Callable[[tidelake.Lake, str], pa.Table], condition: str
) -> None:
    found = ask(lake, f"SELECT n, s, x FROM t WHERE {condition}")
    assert rows_of(found) == expected(lake, condition)


def test_polars_reads_what_it_needs(lake: tidelake.Lake) -> None:
    lazy = lake["t"].to_polars(lazy=True)
    assert isinstance(lazy, polars.LazyFrame)
    for condition, sql in (
        (polars.col("n") > 41, "n > 41"),
        ((polars.col("s") == "a") & (polars.col("n") < 50), "s = 'a' AND n < 50"),
        (polars.col("x") > 1, "x > 1"),
        (polars.col("ts") >= datetime(2024, 1, 3), "ts >= '2024-01-03'"),
        (polars.col("n").is_in([3, 4]), "n IN (3, 4)"),
        (~(polars.col("x") > 1), "NOT x > 1"),
        (~polars.col("n").is_in([3, 4]), "n NOT IN (3, 4)"),
    ):
        found = lazy.filter(condition).select("n", "s", "x").collect().to_arrow()
        assert rows_of(found) == expected(lake, sql)
    assert lazy.head(3).collect().height == 3
    assert lazy.select(polars.len()).collect().item() == 79


def test_files_that_cannot_match_are_not_read(lake: tidelake.Lake) -> None:
    """All files but one are gone, which nobody notices who asks for its rows."""
    t = lake["t"]
    kept = {file.path for file in t.scan(where="n BETWEEN 61 AND 79").files()}
    for file in t.files():
        if file.path not in kept:
            Path(file.path).unlink()
    sql = "SELECT count(*) AS c FROM t WHERE n > 65"
    for ask in (by_datafusion, by_duckdb):
        assert ask(lake, sql)["c"].to_pylist() == [12]
    lazy = t.to_polars(lazy=True).filter(polars.col("n") > 65).collect()
    assert lazy.height == 12
    assert t.to_dataset().to_table(columns=["n"], filter=pc.field("n") > 65).num_rows == 12


def test_every_scan_reads_the_lake_as_it_is(lake: tidelake.Lake) -> None:
    context, connection = datafusion.SessionContext(), duckdb.connect()
    for name, rows in (("t", lake["t"]), ("earlier", lake["t"].known_at(2))):
        context.register_dataset(name, rows.to_dataset())
        connection.register(name, rows.to_dataset())
    lake["t"].append([row(100)])
    for name, count in (("t", 80), ("earlier", 20)):
        sql = f"SELECT count(*) AS c FROM {name}"
        assert pa.table(context.sql(sql))["c"].to_pylist() == [count]
        assert connection.sql(sql).fetchall() == [(count,)]


def test_rows_of_all_kinds_are_handed_over(lake: tidelake.Lake) -> None:
    t = lake["t"]
    context = datafusion.SessionContext()
    for rows in (
        t.scan(columns=["n"], where="n < 5"),
        t.scan(columns=["n"], where=col("n") < 5),
        lake.sql("SELECT n FROM t WHERE n < ?", [5]),
        t.order_by("n").limit(5),
    ):
        dataset = rows.to_dataset()
        assert dataset.to_table(columns=["n"]).num_rows == rows.count()
        assert dataset.count_rows(filter=pc.field("n") == 3) == 1
        assert context.from_arrow(rows).count() == rows.count()
        connection = duckdb.connect()
        local = connection.sql("SELECT 3 AS n")
        assert local.join(rows.to_duckdb(connection), "n").fetchall()[0][0] == 3


def test_ibis(lake: tidelake.Lake) -> None:
    connection = duckdb.connect()
    connection.register("t", lake["t"].to_dataset())
    t = ibis.duckdb.from_connection(connection).table("t")
    found = t.filter(t.n > 41).aggregate(c=ibis._.count()).execute()
    assert found["c"].tolist() == [lake["t"].scan(where="n > 41").count()]
    memory = ibis.memtable(pa.table(lake["t"].scan(columns=["n"])))
    assert memory.count().execute() == 79


def test_a_connection_can_join_several(lake: tidelake.Lake) -> None:
    lake.append("names", [{"n": 1, "name": "one"}], create=True)
    connection = duckdb.connect()
    t = lake["t"].to_duckdb(connection=connection)
    names = lake["names"].to_duckdb(connection=connection)
    assert t.join(names, "n").project("n, name").fetchall() == [(1, "one")]
    assert connection.sql("SELECT count(*) FROM t JOIN names USING (n)").fetchall() == [(1,)]


def test_the_dataset_of_pyarrow(lake: tidelake.Lake) -> None:
    dataset = lake["t"].to_dataset()
    assert isinstance(dataset, pa.dataset.Dataset)
    assert dataset.schema == lake["t"].to_arrow().schema
    assert dataset.head(3).num_rows == 3
    assert dataset.count_rows() == 79
    assert dataset.to_table(
        columns={"m": pc.field("n") + 1}, filter=pc.field("n") == 1
    ).to_pylist() == [{"m": 2}]
    assert [b.num_rows for b in dataset.to_batches(columns=["n"], filter=pc.field("n") == 1)] == [1]
    assert len(list(dataset.get_fragments())) == 1
    with pytest.raises(Unsupported, match="filter"):
        dataset.filter(pc.field("n") == 1)


EXPRESSIONS = [
    (pc.field("n") == 5, True),
    (pc.field("n") == pa.scalar(5, pa.int32()), True),
    (pc.field("x") > 5, True),
    (pc.field("s") == 'a "quoted" (text) == 5) and', True),
    (pc.field("s") == "line\nbreak\ttab", True),
    (pc.field("odd name") != 1, True),
    (pc.field("(n == 1)") == 1, True),
    (pc.field("d") <= date(2024, 1, 1), True),
    (pc.field("ts") < datetime(2024, 1, 1, 12, 30, 0, 5), True),
    (pc.field("n").isin([1, 2]), True),
    (pc.field("s").isin(["a", 'b"', "c, d"]), True),
    (pc.field("n").is_null(), True),
    (pc.field("n").is_valid() & ~pc.field("b"), True),
    (pc.field("n").is_null(nan_is_null=True), False),
    (pc.field("n").isin([1, None]), False),
    (pc.field("n").isin(list(range(1000))), False),
    (pc.field("n") + 1 == 5, False),
    (pc.field("n") == pc.field("x"), False),
    (pc.is_nan(pc.field("x")), True),
    (pc.field("x") > pc.scalar(None), False),
    (pc.match_substring(pc.field("s"), "a"), False),
]


@pytest.mark.parametrize(("expression", "is_known"), EXPRESSIONS, ids=str)
def test_what_is_understood_is_the_same_expression(
    lake: tidelake.Lake, expression: Any, is_known: bool
) -> None:
    t = lake["t"]
    dataset = t.to_dataset()
    found = as_condition(expression, dataset.schema)
    assert (found is not None) is is_known
    plain = [name for name in dataset.schema.names if name != "x"]
    memory = pa.dataset.dataset(t.to_arrow())
    if found is None and "x" in str(expression):
        with pytest.raises(Unsupported, match="cannot be told in SQL"):
            dataset.to_table(filter=expression)
    elif "x" not in str(expression):
        wanted = memory.to_table(columns=plain, filter=expression)
        assert rows_of(dataset.to_table(columns=plain, filter=expression)) == rows_of(wanted)


def test_random_filters_of_pyarrow(lake: tidelake.Lake) -> None:
    """pyarrow is the oracle, but for floating point, of which NaN means another thing to it."""
    t = lake["t"]
    dataset, memory = t.to_dataset(), pa.dataset.dataset(t.to_arrow())
    chance = random.Random(7)
    names = [name for name in dataset.schema.names if name != "x"]
    values = {
        name: [each for each in t.to_arrow()[name].to_pylist() if each is not None]
        for name in names
    }

    def test() -> Any:
        name = chance.choice(names)
        field, value = pc.field(name), chance.choice(values[name])
        kinds = [field == value, field != value, field.is_null(), field.is_valid()]
        kinds += [field.isin([value, chance.choice(values[name])])]
        if name != "b":
            kinds += [field < value, field >= value]
        return chance.choice(kinds)

    known = 0
    for _ in range(60):
        expression = test()
        for _ in range(chance.randrange(3)):
            other = test()
            expression = chance.choice([expression & other, expression | other])
            if "is_in" not in str(expression):  # a null is not in a list, and not not in it, in SQL
                expression = chance.choice([expression, ~expression])
        known += as_condition(expression, dataset.schema) is not None
        wanted = memory.to_table(columns=["n", "s"], filter=expression)
        found = dataset.to_table(columns=["n", "s"], filter=expression)
        assert rows_of(found) == rows_of(wanted), expression
    assert known > 50


def test_tenants_and_sandboxes_hand_over_rows(lake: tidelake.Lake) -> None:
    lake.create_tenant("acme").append("t", [{"n": n} for n in range(9)], create=True)
    acme = lake.tenant("acme")
    connection = duckdb.connect()
    rows = acme["t"].to_duckdb(connection=connection)
    assert rows.filter("n > 6").fetchall() == [(7,), (8,)]
    assert acme["t"].to_polars(lazy=True).filter(polars.col("n") > 6).collect().height == 2
    assert acme.sql("SELECT n FROM t").to_dataset().count_rows(filter=pc.field("n") > 6) == 2
    with pytest.raises(Unsupported):
        acme["t"].to_duckdb()
    with pytest.raises((Denied, Unsupported, Invalid)):
        acme["t"].to_pyarrow_dataset()
    with pytest.raises(Denied):
        acme.append("stolen", "/etc/passwd", create=True)


def test_files_that_serve_as_they_are(lake: tidelake.Lake) -> None:
    t = lake["t"]
    with pytest.raises(Unsupported, match="deleted"):
        t.to_pyarrow_dataset()
    before = t.known_at(4)
    dataset = before.to_pyarrow_dataset()
    assert isinstance(dataset, pa.dataset.FileSystemDataset)
    assert rows_of(dataset.to_table()) == rows_of(before.to_arrow())
    assert dataset.count_rows(filter=pc.field("n") == 3) == 1
    lake.append("empty", t.limit(0), create=True)
    assert lake["empty"].to_pyarrow_dataset().count_rows() == 0
    plain = [{"n": n, "s": "a"} for n in range(30)]
    u = lake.create_table("u", "n INT, s VARCHAR")
    u.append(plain)
    assert u.to_pyarrow_dataset().to_table().to_pylist() == plain
    for change, reason in (
        ({"add": {"more": "INT"}}, "other columns"),
        ({"rename": {"s": "text"}}, "renamed"),
        ({"widen": {"n": "BIGINT"}}, "widened"),
    ):
        u.evolve(**change)
        with pytest.raises(Unsupported, match=reason):
            u.to_pyarrow_dataset()
        assert u.to_dataset().count_rows() == 30
    lake.set_option("data_inlining_row_limit", 10)
    lake.append("v", plain, create=True)
    lake["v"].append(plain[:2])
    with pytest.raises(Unsupported, match="in the catalog"):
        lake["v"].to_pyarrow_dataset()
    lake["v"].compact()
    assert lake["v"].to_pyarrow_dataset().count_rows() == 32
