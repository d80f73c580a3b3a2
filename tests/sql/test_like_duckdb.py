"""SQL on the local engine is DuckDB's: the same rows, names and types as plain DuckDB gives."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

import tidelake
from tests.duck_statements import COLUMNS, CONDITIONS, EXPRESSIONS, OTHERS, ROWS, STATEMENTS
from tidelake.duck import has_new_trees, open_duckdb
from tidelake.errors import Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing.place import Place

Answer = tuple[list[str], list[str], list[str]]
VIEWS = """
SELECT s FROM t WHERE s ~ 'N1'
SELECT n.b.c, timestamptz '2024-01-01 00:00:00+02'::date AS d FROM t
SELECT id, list_filter(l, x -> x > 1) AS l FROM t WHERE NOT s !~ 'N.*' -- the end
FROM t SELECT id, time '10:00'::varchar AS x QUALIFY row_number() OVER (ORDER BY id) < 3
WITH c AS (FROM u) FROM c WHERE v GLOB 's*'
""".strip().split("\n")
EVERY_VERSION = {
    "s ~ 'N1'": [1],
    "s !~ 'N1'": [2, 4, 5],
    "i // 0 IS NULL AND i % 0 IS NULL AND mod(i, 0) IS NULL": [1, 2, 3, 4, 5],
    "len(list_filter([i, 1], x -> x = 1)) = 2": [1],
}
"""Conditions that a newer DuckDB reads otherwise, left to itself; and the rows that fulfil them."""
BROKEN = {
    "selec * from t": 'syntax error at or near "selec"',
    "SELECT FROM WHERE": "syntax error at or near",
    "SELECT * FROM t WHERE": "syntax error at ",
    "SELECT id FROM t WHERE i = = 7": 'syntax error at or near "="',
}


@dataclass(frozen=True)
class Both:
    lake: tidelake.Lake
    duck: duckdb.DuckDBPyConnection

    def expected(self, sql: str) -> Answer | None:
        try:
            return _answer(self.duck.sql(sql))
        except duckdb.Error:
            return None

    def ids(self, where: str) -> list[int] | None:
        try:
            rows = self.duck.execute(f"SELECT id FROM t WHERE {where}\n").fetchall()
        except duckdb.Error:
            return None
        return sorted(row for (row,) in rows)


def _answer(relation: duckdb.DuckDBPyRelation) -> Answer:
    rows = sorted(map(repr, relation.fetchall()))
    return relation.columns, [str(kind) for kind in relation.types], rows


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    root: Path = tmp_path_factory.mktemp("lake")
    with (
        open_duckdb() as duck,
        Place.at("sqlite", root).open() as lake,
    ):
        lake.set_option("data_inlining_row_limit", 0)
        made = {"t": (COLUMNS, ROWS), **{name: (c, (r,)) for name, (c, r) in OTHERS.items()}}
        for name, (columns, rows) in made.items():
            lake.create_table(name, columns)
            duck.execute(f"CREATE TABLE {name} ({columns})")
            for row in rows:
                lake.sql(f"INSERT INTO {name} VALUES {row}")
                duck.execute(f"INSERT INTO {name} VALUES {row}")
        yield Both(lake, duck)


def _differences(both: Both, statements: list[str]) -> list[tuple[str, object, object]]:
    found = []
    for sql in statements:
        expected = both.expected(sql)
        try:
            got: object = _answer(both.lake.sql(sql).to_duckdb())
        except (TidelakeError, duckdb.Error) as error:
            got = str(error)
        if got != expected and (expected is not None or not isinstance(got, str)):
            found.append((sql, got, expected))
    return found


@pytest.mark.slow
def test_expressions(both: Both) -> None:
    shown = [each for each in EXPRESSIONS if not (has_new_trees() and each.startswith("b'"))]
    written = [f"SELECT {each} FROM t" for each in shown]
    assert _differences(both, written) == []


@pytest.mark.slow
def test_statements(both: Both) -> None:
    assert _differences(both, STATEMENTS) == []


def _asked(conditions: list[str]) -> list[str]:
    return [f"SELECT id, {each.split('--')[0]} AS c FROM t WHERE {each}" for each in conditions]


@pytest.mark.slow
def test_conditions_in_queries(both: Both) -> None:
    assert _differences(both, _asked(CONDITIONS[::4])) == []


@pytest.mark.slow
def test_conditions_in_queries_at_length(both: Both) -> None:
    assert _differences(both, _asked(CONDITIONS)) == []


@pytest.mark.slow
def test_conditions_in_scans(both: Both) -> None:
    table = both.lake.table("t")
    for where in CONDITIONS:
        expected = both.ids(where)
        if expected is None or "t.n" in where:
            continue
        got = sorted(table.scan(columns=["id"], where=where).to_arrow()["id"].to_pylist())
        assert got == expected, where


class _Undone(Exception):
    pass


def _written(both: Both, where: str) -> tuple[int, int, int, int]:
    found = []
    with suppress(_Undone), both.lake.transaction() as tx:
        found.append(tx.table("t").update({"id": 0}, where=where).updated)
        found.append(tx.table("t").delete("id = 0").deleted)
        raise _Undone
    with suppress(_Undone), both.lake.transaction() as tx:
        found.append(tx.sql(f"UPDATE t SET i = -i WHERE {where}").updated)
        raise _Undone
    with suppress(_Undone), both.lake.transaction() as tx:
        found.append(tx.sql(f"DELETE FROM t WHERE {where}").deleted)
        raise _Undone
    first, second, third, fourth = found
    return first, second, third, fourth


def _check_writes(both: Both, conditions: list[str]) -> None:
    for where in conditions:
        expected = both.ids(where)
        if expected is not None and "t.n" not in where:
            assert _written(both, where) == (len(expected),) * 4, where


def test_conditions_in_writes(both: Both) -> None:
    _check_writes(both, CONDITIONS[:3] + CONDITIONS[27:29])


@pytest.mark.slow
def test_conditions_in_writes_at_length(both: Both) -> None:
    _check_writes(both, CONDITIONS)


def test_values_that_are_set(both: Both) -> None:
    """An UPDATE computes what a SELECT does."""
    for value in (
        "CASE WHEN s ~ 'N1' THEN 'full' END",
        "timestamptz '2024-01-01 00:00:00+02'::date::varchar",
        "n.b.d",
        "list_filter(w, x -> x ~ 'N.')[1]",
        "time '10:00'::varchar",
    ):
        expected = sorted(map(repr, both.duck.execute(f"SELECT id, {value} FROM t").fetchall()))
        for write in ("table", "sql"):
            with suppress(_Undone), both.lake.transaction() as tx:
                if write == "sql":
                    tx.sql(f"UPDATE t SET s = {value}")
                else:
                    tx.table("t").update({"s": value})
                got = tx.sql("SELECT id, s FROM t").to_duckdb().fetchall()
                assert sorted(map(repr, got)) == expected, value
                raise _Undone


@pytest.mark.parametrize("sql", VIEWS)
def test_views(both: Both, sql: str) -> None:
    both.lake.create_view("v", sql, replace=True)
    assert both.lake.view("v").sql == sql
    assert _answer(both.lake.sql("FROM v").to_duckdb()) == both.expected(sql)


@pytest.mark.parametrize(("where", "ids"), EVERY_VERSION.items())
def test_the_same_in_every_version_of_duckdb(both: Both, where: str, ids: list[int]) -> None:
    """Views of a lake are older than the DuckDB that is installed, or newer."""
    both.lake.create_view("v", f"SELECT id FROM t WHERE {where}", replace=True)
    for query in ("FROM v", f"SELECT id FROM t WHERE {where}"):
        rows = both.lake.sql(query).to_duckdb().fetchall()
        assert sorted(id_ for (id_,) in rows) == ids
    assert sorted(both.lake.table("t").scan(where=where).to_arrow()["id"].to_pylist()) == ids


def test_nulls_make_the_same_columns_in_every_version_of_duckdb(both: Both) -> None:
    with suppress(_Undone), both.lake.transaction() as tx:
        tx.sql("CREATE TABLE made AS SELECT NULL AS a, [NULL] AS b")
        assert [column.duckdb_type for column in tx.table("made").schema] == [
            "INTEGER",
            "INTEGER[]",
        ]
        raise _Undone


@pytest.mark.parametrize("sql", ["TABLE u", "DESCRIBE t", "SUMMARIZE u", "FROM (DESC main.t)"])
def test_tables_without_a_place_in_the_tree(both: Both, sql: str) -> None:
    """DuckDB does not say where they stand, or its next version no longer does."""
    assert _answer(both.lake.sql(sql).to_duckdb()) == both.expected(sql)


DECLARED = (
    "id BIGINT NOT NULL, k VARCHAR DEFAULT 'o''x', v DOUBLE DEFAULT 1.5, n DECIMAL(9, 2) NOT NULL,"
    ' ts TIMESTAMP DEFAULT now(), l STRUCT(a INTEGER, "b c" VARCHAR)[]'
)


@pytest.mark.parametrize("asked", ["DESCRIBE declared", "desc main.declared", "SHOW declared"])
def test_what_is_declared_of_columns_is_described(both: Both, asked: str) -> None:
    with suppress(_Undone), both.lake.transaction() as tx:
        tx.sql(f"CREATE TABLE declared ({DECLARED})")
        both.duck.execute(f"CREATE OR REPLACE TABLE declared ({DECLARED})")
        for sql in (asked, f"SELECT column_name FROM ({asked}) WHERE \"null\" = 'NO'"):
            assert tx.sql(sql).to_duckdb().fetchall() == both.duck.sql(sql).fetchall()
        raise _Undone


def test_bits_are_shown_or_refused(both: Both) -> None:
    assert both.lake.sql("SELECT '101'::BIT::VARCHAR AS b").to_duckdb().fetchall() == [("101",)]
    if has_new_trees():
        with pytest.raises(Unsupported) as refused:
            both.lake.sql("SELECT b'101'")
        assert "'101'::BIT" in str(refused.value.hint)


def test_what_only_a_newer_duckdb_can_say_is_refused(both: Both) -> None:
    """DuckDB 1.5 cannot read it, and 2 does not show it."""
    with pytest.raises(TidelakeError, match=r"NEAREST|syntax error"):
        both.lake.sql("SELECT t.id FROM t JOIN u EXACT NEAREST 2 BY DISTANCE abs(t.i - u.k)")


def test_inserted_queries(both: Both) -> None:
    """INSERT takes a query as it is."""
    with suppress(_Undone), both.lake.transaction() as tx:
        tx.sql("INSERT INTO u (v, k) SELECT s, i FROM t WHERE s ~ 'N1' OR s GLOB 'N1?'")
        tx.sql("WITH c AS (SELECT 5 AS k) INSERT INTO u BY NAME FROM c")
        tx.sql("INSERT INTO u VALUES (6, time '10:00'::varchar, DEFAULT), (?, $$x$$, NULL)", [8])
        got = tx.sql("SELECT k, v FROM u WHERE k NOT IN (7, 9) ORDER BY ALL").to_arrow().to_pylist()
        assert [tuple(row.values()) for row in got] == [
            (-3, "N12"),
            (1, "N1"),
            (1, "one"),
            (5, None),
            (6, "10:00:00"),
            (8, "x"),
        ]
        raise _Undone


def test_merges_mean_what_duckdb_means(both: Both) -> None:
    with suppress(_Undone), both.lake.transaction() as tx:
        tx.sql(
            "MERGE INTO u AS x USING (SELECT i AS k, s AS v FROM t WHERE s ~ 'N.*') AS y"
            " ON x.k = y.k"
            " WHEN MATCHED AND y.v ~ 'N' THEN DELETE"
            " WHEN MATCHED AND CASE WHEN y.v !~ 'N' THEN x.v ~ 'o.e' END THEN"
            " UPDATE SET v = timestamptz '2024-01-01 00:00:00+02'::date::varchar"
            " WHEN NOT MATCHED THEN INSERT (k, v) VALUES (y.k, y.v || ?)",
            ["!"],
        )
        got = tx.sql("SELECT k, v FROM u WHERE k < 7 ORDER BY k").to_arrow().to_pylist()
        assert [tuple(row.values()) for row in got] == [(-3, "N12!"), (1, "2023-12-31")]
        raise _Undone


@pytest.mark.parametrize(("sql", "said"), BROKEN.items())
def test_what_cannot_be_read_is_told_in_the_words_of_duckdb(
    both: Both, sql: str, said: str
) -> None:
    with pytest.raises(Invalid) as told:
        both.lake.sql(sql)
    assert said in told.value.message
    assert "sqlglot" not in str(told.value)


@pytest.mark.parametrize(
    "sql", ["BEGIN", "BEGIN TRANSACTION", "COMMIT", "ROLLBACK", "START TRANSACTION"]
)
def test_transactions_are_pointed_to(both: Both, sql: str) -> None:
    with pytest.raises(Unsupported) as told:
        both.lake.sql(sql)
    assert "lake.transaction()" in str(told.value.hint)


def test_unknown_tables_are_named(both: Both) -> None:
    with pytest.raises(NotFound):
        both.lake.sql("SELECT * FROM nothing")


def test_a_pivot_names_its_columns(both: Both) -> None:
    with pytest.raises(Unsupported, match="name the values"):
        both.lake.sql("PIVOT e ON yr USING sum(q1)")
