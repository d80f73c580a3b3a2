"""The first cut in SQL keeps every file that the exact judgement keeps, on each database."""

import sqlite3
from collections.abc import Callable, Iterator

import duckdb
import pytest
from hypothesis import given, note
from sqlalchemy import create_engine, text

from tests.conditions import Case, cases, fill, matches
from tidelake.catalog.database.backends import BACKENDS
from tidelake.catalog.database.dialect import Dialect
from tidelake.catalog.read.narrow import StatisticsRule, statistics_rules
from tidelake.model.predicate import Compare, Opaque, col
from tidelake.model.schema import Column, Schema
from tidelake.model.statistics import ColumnStats, may_match

Judge = Callable[[ColumnStats, list[StatisticsRule]], bool]


def _create(kind: str) -> str:
    types = f"min_value {kind}, max_value {kind}, null_count BIGINT, value_count BIGINT"
    return f"CREATE TABLE stats({types}, contains_nan {{}})"


def _question(rules: list[StatisticsRule]) -> str:
    return f"SELECT count(*) FROM stats s WHERE {' AND '.join(f'({r.keep_sql})' for r in rules)}"


def _row(stats: ColumnStats) -> list[object]:
    return [stats.min, stats.max, stats.null_count, stats.value_count, stats.contains_nan]


@pytest.fixture(scope="module")
def sqlite_judge() -> Iterator[Judge]:
    connection = sqlite3.connect(":memory:")
    connection.execute(_create("VARCHAR").format("BIGINT"))

    def judge(stats: ColumnStats, rules: list[StatisticsRule]) -> bool:
        connection.execute("DELETE FROM stats")
        connection.execute("INSERT INTO stats VALUES (?, ?, ?, ?, ?)", _row(stats))
        return connection.execute(_question(rules)).fetchone() == (1,)

    yield judge
    connection.close()


@pytest.fixture(scope="module")
def duckdb_judge() -> Iterator[Judge]:
    connection = duckdb.connect()
    connection.execute(_create("VARCHAR").format("BOOLEAN"))

    def judge(stats: ColumnStats, rules: list[StatisticsRule]) -> bool:
        connection.execute("DELETE FROM stats")
        connection.execute("INSERT INTO stats VALUES (?, ?, ?, ?, ?)", _row(stats))
        return connection.execute(_question(rules)).fetchone() == (1,)

    yield judge
    connection.close()


def _server_judge(url: str, create: str) -> Iterator[Judge]:
    engine = create_engine(url)
    names = ["min_value", "max_value", "null_count", "value_count", "contains_nan"]
    insert = text(f"INSERT INTO stats VALUES ({', '.join(':' + name for name in names)})")
    with engine.connect() as connection:
        connection.execute(text(create))

        def judge(stats: ColumnStats, rules: list[StatisticsRule]) -> bool:
            connection.execute(text("DELETE FROM stats"))
            connection.execute(insert, dict(zip(names, _row(stats), strict=True)))
            return connection.execute(text(_question(rules))).scalar_one() == 1

        yield judge
        connection.rollback()
    engine.dispose()


@pytest.fixture(scope="module")
def postgresql_judge(postgres_server) -> Iterator[Judge]:
    url = postgres_server.new_database().replace("postgresql://", "postgresql+psycopg://")
    yield from _server_judge(url, _create("VARCHAR").format("BOOLEAN"))


@pytest.fixture(scope="module")
def mysql_judge(mariadb_server) -> Iterator[Judge]:
    url = mariadb_server.new_database().replace("mysql://", "mysql+pymysql://")
    kind = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    yield from _server_judge(url + "?charset=utf8mb4", _create(kind).format("TINYINT"))


@pytest.fixture(scope="module")
def local() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


def _check(local: duckdb.DuckDBPyConnection, kind: str, judge: Judge, case: Case) -> None:
    stats = fill(local, case)
    for predicate in case.predicates:
        rules = statistics_rules(predicate, case.schema, BACKENDS[kind].dialect, alias="s")
        if not rules:
            continue
        note(f"{predicate.sql()} on {stats}: {rules}")
        wanted = may_match(predicate, case.schema, {case.column.id: stats})
        kept = judge(stats, rules)
        assert kept or not matches(local, predicate.sql())
        assert kept or not wanted


@given(case=cases())
def test_sqlite_keeps_what_may_match(local, sqlite_judge, case):
    _check(local, "sqlite", sqlite_judge, case)


@given(case=cases())
def test_duckdb_keeps_what_may_match(local, duckdb_judge, case):
    _check(local, "duckdb", duckdb_judge, case)


@given(case=cases())
def test_postgresql_keeps_what_may_match(local, postgresql_judge, case):
    _check(local, "postgresql", postgresql_judge, case)


@given(case=cases())
def test_mysql_keeps_what_may_match(local, mysql_judge, case):
    _check(local, "mysql", mysql_judge, case)


@pytest.fixture(params=BACKENDS)
def kind_of_database(request) -> str:
    return str(request.param)


@pytest.fixture
def dialect(kind_of_database) -> Dialect:
    return BACKENDS[kind_of_database].dialect


@pytest.fixture
def judge(kind_of_database, request) -> Judge:
    return request.getfixturevalue(f"{kind_of_database}_judge")


def _schema(kind: str) -> Schema:
    return Schema((Column(7, "x", kind),))


PRUNED = [
    ("int64", col("x") > 101, ColumnStats("1", "100", 0, 9)),
    ("int64", col("x") == 7, ColumnStats("8", "9", 0, 9)),
    ("int64", col("x").is_in([1, 2, 30]), ColumnStats("8", "9", 0, 9)),
    ("int64", col("x").is_in(range(1000)), ColumnStats("-90", "-80", 0, 9)),
    ("int64", col("x").is_null(), ColumnStats("8", "9", 0, 9)),
    ("int64", col("x").is_not_null(), ColumnStats(None, None, 9, 0)),
    ("int64", (col("x") < 3) | (col("x") > 20), ColumnStats("8", "9", 0, 9)),
    ("int64", ~(col("x") <= 20), ColumnStats("8", "9", 0, 9)),
    ("decimal(9,2)", col("x") < 0, ColumnStats("0.01", "9.00", 0, 9)),
    ("float64", col("x") > 3, ColumnStats("1.5", "2.5", 0, 9, False)),
    ("float64", col("x") < 1, ColumnStats("1.5", "2.5", 0, 9, True)),
    ("date", col("x") > "2020-01-02", ColumnStats("2020-01-01", "2020-01-01", 0, 9)),
    ("timestamp", col("x") < "2020-01-01", ColumnStats("2020-01-01 00:00:01", None, 0, 9)),
    (
        "timestamptz",
        col("x") >= "2020-01-01 10:00:00",
        ColumnStats(None, "2020-01-01 09:59:59.5+00", 0, 9),
    ),
    ("varchar", col("x") == "ab", ColumnStats("b", "z", 0, 9)),
    ("varchar", col("x") > "a", ColumnStats("A", "Z", 0, 9)),
    ("varchar", col("x").starts_with("b%"), ColumnStats("aa", "az", 0, 9)),
    ("varchar", col("x").like("é%"), ColumnStats("a", "z", 0, 9)),
    (
        "uuid",
        col("x") == "f79c3e09-677c-4bbd-a479-3f349cb785e7",
        ColumnStats(None, "e79c3e09-677c-4bbd-a479-3f349cb785e7", 0, 9),
    ),
]


@pytest.mark.parametrize(("kind", "predicate", "stats"), PRUNED)
def test_what_is_clearly_outside_is_cut(dialect, judge, kind, predicate, stats):
    assert not judge(stats, statistics_rules(predicate, _schema(kind), dialect))


KEPT = [
    ("int64", col("x") > 0, ColumnStats("false", "true", 0, 9)),
    ("int64", col("x") < 0, ColumnStats("false", "true", 0, 9)),
    ("int64", col("x") > 5, ColumnStats(None, None, None, None)),
    ("float64", col("x") > 1e30, ColumnStats("1.5", "inf", 0, 9, False)),
    ("float64", col("x") < -1e30, ColumnStats("-inf", "1.5", 0, 9, False)),
    ("float64", col("x") > 1e30, ColumnStats("1.5", "1e+300", 0, 9, False)),
    ("float64", col("x") > 3, ColumnStats("1.5", "2.5", 0, 9, True)),
    ("float64", col("x") > 3, ColumnStats("1.5", "2.5", 0, 9, None)),
    ("float64", col("x") > 3, ColumnStats("nan", "nan", 0, 9, False)),
    ("float64", col("x") > 0.1, ColumnStats("0.1", "0.1", 0, 9, False)),
    ("date", col("x") > "2020-01-02", ColumnStats(None, "12345-01-01", 0, 9)),
    ("date", col("x") > "2020-01-02", ColumnStats(None, "infinity", 0, 9)),
    ("date", col("x") < "2020-01-02", ColumnStats("0044-03-15 (BC)", None, 0, 9)),
    ("date", col("x") < "0001-01-02", ColumnStats("9044-03-15 (BC)", None, 0, 9)),
    ("date", col("x") < "2020-01-02", ColumnStats("-infinity", None, 0, 9)),
    ("timestamp", col("x") >= "2020-01-01 00:00:00", ColumnStats(None, "2020-01-01", 0, 9)),
    ("timestamp", col("x") <= "2020-01-01", ColumnStats("2020-01-01 00:00:00", None, 0, 9)),
    (
        "timestamp",
        col("x") <= "2020-01-01 00:00:00.7",
        ColumnStats("2020-01-01 00:00:00.5", None, 0, 9),
    ),
    (
        "timestamptz",
        col("x") <= "2020-01-01 00:00:00",
        ColumnStats("2020-01-01 00:00:00+00", None, 0, 9),
    ),
    ("timestamp", col("x") >= "2020-01-01", ColumnStats(None, "12345-01-01 00:00:00", 0, 9)),
    ("timestamp", col("x") <= "0001-01-02", ColumnStats("9044-03-15 (BC) 00:00:00", None, 0, 9)),
    ("timestamptz", col("x") >= "2020-01-02", ColumnStats(None, "2020-01-01 23:00:00", 0, 9)),
    ("timestamptz", col("x") >= "2020-01-02", ColumnStats(None, "2020-01-01 23:00:00-08", 0, 9)),
    ("varchar", col("x").starts_with("ab"), ColumnStats("abz", "b", 0, 9)),
    ("varchar", col("x") == "\U0001f600:a%'\\", ColumnStats("\uffff", "\U0001f601", 0, 9)),
]


@pytest.mark.parametrize(("kind", "predicate", "stats"), KEPT)
def test_what_may_match_is_kept(dialect, judge, kind, predicate, stats):
    rules = statistics_rules(predicate, _schema(kind), dialect)
    assert rules
    assert judge(stats, rules)


@pytest.mark.parametrize("kind", ["int64", "float64", "date", "timestamptz", "varchar", "uuid"])
def test_no_text_in_the_statistics_is_an_error(dialect, judge, kind):
    values = {"int64": 5, "float64": 1.5, "varchar": "a'b"}
    literal = values.get(
        kind, "2020-01-01" if kind != "uuid" else "0" * 8 + "-0000" * 3 + "-" + "0" * 12
    )
    rules = statistics_rules(col("x") == literal, _schema(kind), dialect)
    assert rules
    for odd in ["", "-", ".", "1e999", "9" * 400, "x", "é", "'", "%", "0x10", " 1", "1-2", "nan"]:
        judge(ColumnStats(odd, odd, 0, 1), rules)


@pytest.mark.parametrize("kind", ["varchar", "uuid", "date", "timestamptz"])
def test_postgresql_compares_text_byte_by_byte_whatever_its_locale(kind):
    literal = "f79c3e09-677c-4bbd-a479-3f349cb785e7" if kind == "uuid" else "2020-01-01"
    (rule,) = statistics_rules(col("x") >= literal, _schema(kind), BACKENDS["postgresql"].dialect)
    assert '(max_value) COLLATE "C" >= ' in rule.keep_sql


def test_conjuncts_on_one_column_are_one_rule():
    schema = Schema((Column(1, "a", "int64"), Column(2, "b", "varchar"), Column(3, "c", "blob")))
    predicate = col("a").between(1, 5) & (col("b") > "x") & Opaque("a + 1 > 2", frozenset({"a"}))
    rules = statistics_rules(
        predicate & (col("c") > b"a") & (col("a") != 3), schema, BACKENDS["sqlite"].dialect
    )
    assert [rule.column_id for rule in rules] == [1, 2]


@pytest.mark.parametrize(
    "predicate",
    [
        (col("a") > 1) | (col("b") > "x"),
        ~((col("a") > 1) & (col("b") > "x")),
        col("a") != 5,
        Compare("a", "=", None),
        col("rowid") > 5,
        col("b").like("%x"),
        col("b") == "a\0b",
        col("a") > float("inf"),
        col("a").is_in([1, float("nan")]),
    ],
)
def test_what_one_column_cannot_decide_is_left_alone(predicate):
    schema = Schema((Column(1, "a", "int64"), Column(2, "b", "varchar")))
    assert statistics_rules(predicate, schema, BACKENDS["sqlite"].dialect) == []
