"""Statistics that we write are believed by DuckDB: what they skip must not be there.

Every question is asked of the lake, where files and even whole answers come from statistics, and
of a copy of all rows in DuckDB's memory, where nothing is known of them.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.cases import every
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
LONG = "x" * 5000

VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "int8": ["-128", "127", "0"],
    "int16": ["-32768", "32767", "0"],
    "int32": ["-2147483648", "2147483647", "9", "10"],
    "int64": ["-9223372036854775808", "9223372036854775807", "9", "10"],
    "uint8": ["0", "255", "9", "10"],
    "uint16": ["0", "65535"],
    "uint32": ["0", "4294967295"],
    "uint64": ["0", "18446744073709551615", "9223372036854775808"],
    "float32": ["nan", "inf", "-inf", "-0.0", "0.0", "1.5", "16777216"],
    "float64": ["nan", "inf", "-inf", "-0.0", "0.0", "5e-324", "1.7976931348623157e308", "0.1"],
    "decimal(4,1)": ["-999.9", "999.9", "0.0", "10.0", "9.0"],
    "decimal(18,3)": ["-999999999999999.999", "0.001", "10"],
    "decimal(38,10)": ["-9999999999999999999999999999.9999999999", "0.0000000001", "10", "9"],
    "date": ["0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 (BC)", "12345-01-01"],
    "time": ["00:00:00", "23:59:59.999999", "24:00:00"],
    "timestamp": ["0001-01-01 00:00:00", "infinity", "-infinity", "2024-01-01 00:00:00.000001"],
    "timestamptz": ["1969-12-31 23:59:59.999999+00", "infinity", "2024-01-01 00:00:00+14"],
    "timestamp_s": ["1969-12-31 23:59:59", "2024-01-01 00:00:00"],
    "timestamp_ms": ["1969-12-31 23:59:59.999", "2024-01-01 00:00:00.001"],
    "timestamp_ns": ["1969-12-31 23:59:59.999999999", "2024-01-01 00:00:00.000000001"],
    "interval": ["1 month", "29 days", "720 hours", "1 second"],
    "varchar": ["", " ", "a", "A", "é", "日本", "NULL", "nan", "9", "10", LONG, f"{LONG}y"],
    "json": ['{"a": 1}', "null", "[]", '""'],
    "blob": ["", "\\x00", "\\xFF\\xFF", "abc"],
    "uuid": [
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "80000000-0000-0000-0000-000000000000",
    ],
}


class Asked:
    """A table `t` of (id, v) in the lake, and a copy `c` of it in memory."""

    def __init__(self, place: Place, lake: tidelake.Lake, duck: Duck, kind: str) -> None:
        self.place, self.lake, self.duck = place, lake, duck
        self.table = lake.create_table("t", {"id": "int64", "v": kind})
        self.kind = self.table.schema.column("v").duckdb_type

    def rows(self, values: list[str | None], start: int) -> Any:
        """Arrow rows of these texts."""
        return self.duck.sql(f"SELECT * FROM ({self.sql(values, start)})").to_arrow_table()

    def sql(self, values: list[str | None], start: int) -> str:
        """A query for rows of these texts."""
        texts = [f"CAST({'NULL' if v is None else _text(v)} AS {self.kind})" for v in values]
        return " UNION ALL ".join(
            f"SELECT CAST({start + n} AS BIGINT) AS id, {text} AS v" for n, text in enumerate(texts)
        )

    def check(self, values: list[str]) -> None:
        """At the newest snapshot, and DuckDB also at one before it."""
        newest = self.lake.snapshots()[-1].snapshot_id
        for at in (newest // 2 + 1, newest):
            self._copy(at)
            for question in self._questions(values if at == newest else values[:2]):
                expected = self.duck.execute(question.replace("{}", "memory.c")).fetchall()
                moment = f"t AT (VERSION => {at})" if at < newest else "t"
                got = self.duck.execute(question.replace("{}", f"lake.{moment}")).fetchall()
                assert repr(got) == repr(expected), (at, question)
        self._check_ours(values)
        self._check_table_statistics()

    def check_newest(self, value: str) -> None:
        """One value, right after it was written."""
        self._copy(self.lake.snapshots()[-1].snapshot_id)
        text = f"CAST({_text(value)} AS {self.kind})"
        for question in (
            f"SELECT id FROM {{}} WHERE v = {text} ORDER BY id",
            "SELECT min(v), max(v), count(v) FROM {}",
        ):
            expected = self.duck.execute(question.replace("{}", "memory.c")).fetchall()
            assert self.duck.execute(question.replace("{}", "lake.t")).fetchall() == expected
        assert self.table.scan(where=f"v = {text}").count()
        self._check_table_statistics()

    def _copy(self, at: int) -> None:
        """Rows without any filter, so that nothing is skipped."""
        self.duck.execute(
            f"CREATE OR REPLACE TABLE memory.c AS SELECT * FROM lake.t AT (VERSION => {at})"
        )

    def _questions(self, values: list[str]) -> Iterator[str]:
        for where in self._conditions(values):
            yield f"SELECT id FROM {{}} WHERE {where} ORDER BY id"
        yield "SELECT count(*), count(v) FROM {}"
        if self.kind not in ("FLOAT", "DOUBLE"):  # of -0.0 and 0.0 either is the least
            yield "SELECT min(v), max(v) FROM {}"
        yield "SELECT min(id), max(id) FROM {}"

    def _conditions(self, values: list[str]) -> Iterator[str]:
        yield from ("v IS NULL", "v IS NOT NULL")
        for value in values:
            text = f"CAST({_text(value)} AS {self.kind})"
            yield f"v = {text}"
            yield f"v > {text}"
            yield f"v <= {text}"
        ends = [f"CAST({_text(value)} AS {self.kind})" for value in (values[0], values[-1])]
        yield f"v IN ({', '.join(ends)})"
        if self.kind in ("FLOAT", "DOUBLE"):
            yield from ("isnan(v)", "v > 1", "v = 0", "v < 0")

    def _check_ours(self, values: list[str]) -> None:
        for where in self._conditions(values):
            sql = f"SELECT id FROM memory.c WHERE {where} ORDER BY id"
            expected = [row[0] for row in self.duck.execute(sql).fetchall()]
            got = self.table.scan(["id"], where=where).to_arrow()["id"].to_pylist()
            assert sorted(got) == expected, where

    def _check_table_statistics(self) -> None:
        """Never narrower than what the table holds; no row at all means unknown."""
        known = self.place.catalog(
            "SELECT contains_null, contains_nan, min_value, max_value"
            " FROM ducklake_table_column_stats WHERE column_id = 2"
        )
        if not known or self.kind in ("BLOB", "INTERVAL"):
            return
        null, nan, low, high = known[0]
        floats = self.kind in ("FLOAT", "DOUBLE")
        number = "AND NOT isnan(v)" if floats else ""
        inside = f"v < CAST($low AS {self.kind}) OR v > CAST($high AS {self.kind})"
        outside = self.duck.execute(
            f"SELECT count(*) FROM memory.c WHERE ({inside}) {number}", {"low": low, "high": high}
        )
        assert outside.fetchall() == [(0,)]
        nulls = self.duck.execute("SELECT count(*) FROM memory.c WHERE v IS NULL").fetchall()[0]
        assert null or nulls == (0,)
        if floats:
            nans = self.duck.execute("SELECT count(*) FROM memory.c WHERE isnan(v)").fetchall()[0]
            assert nan or nans == (0,)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


Ask = Callable[[str], Asked]


@pytest.fixture
def asked(place: Place, lake: tidelake.Lake, duck: Duck) -> Ask:
    return lambda kind: Asked(place, lake, duck, kind)


@pytest.mark.parametrize("kind", every(4, VALUES))
def test_every_type_is_found_again_however_it_was_written(asked: Ask, kind: str) -> None:
    it = asked(kind)
    t, values = it.table, VALUES[kind]
    middle = values[len(values) // 2]
    t.append(it.rows([middle], 0))
    t.append(it.rows([middle, *values[:2]] * 10, 100))
    t.append(it.rows([None, *values], 200))
    it.duck.execute(f"INSERT INTO lake.t {it.sql(values[1:], 300)}")
    t.append(it.rows([None] * 20, 400))
    text = f"CAST({_text(values[0])} AS {it.kind})"
    t.update({"v": text}, where="id IN (0, 105, 301, 405)")
    t.merge(it.rows([values[-1], None, *values[:1] * 15], 100), on="id")
    path = it.place.folder / "found.parquet"
    it.duck.execute(f"COPY ({it.sql([None, *values], 500)}) TO '{path}' (FORMAT parquet)")
    if kind != "timestamp_s":  # which no Parquet file holds
        t.add_files(str(path))
    t.delete("id = 200 OR id BETWEEN 110 AND 120")
    it.check(values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int64", "float64", "varchar", "timestamptz", "decimal(18,3)"])
def test_bounds_grow_with_every_way_of_writing(asked: Ask, kind: str) -> None:
    """One new extreme with every write, so that any that is not widened shows."""
    it = asked(kind)
    moments = [f"20{n:02}-01-01 00:00:00+00" for n in range(10, 20)]
    values = moments if kind == "timestamptz" else [str(n) for n in range(90, 110)]
    half = len(values) // 2
    pairs = zip(values[half:], reversed(values[:half]), strict=True)
    wide = iter([value for pair in pairs for value in pair])
    t = it.table
    t.append(it.rows([next(wide)] * 20, 0))
    for n, write in enumerate(
        [
            lambda v, n: t.append(it.rows([v], n)),
            lambda v, n: t.append(it.rows([v] * 20, n)),
            lambda v, _: t.update({"v": f"CAST({_text(v)} AS {it.kind})"}, where="id = 5"),
            lambda v, _: t.update({"v": f"CAST({_text(v)} AS {it.kind})"}, where="id < 18"),
            lambda v, _: t.merge(it.rows([v], 7), on="id"),
            lambda v, _: t.merge(it.rows([v] * 30, 0), on="id"),
            lambda v, n: it.duck.execute(f"INSERT INTO lake.t {it.sql([v], n)}"),
            lambda v, n: t.overwrite(it.rows([v], n), where=f"id = {n}"),
        ],
        1,
    ):
        new = next(wide)
        write(new, n * 100)
        it.check_newest(new)


def test_columns_without_a_value_learn_of_the_first(asked: Ask) -> None:
    it = asked("varchar")
    t = it.table
    t.append(it.rows([None], 0))
    t.append(it.rows([None] * 20, 10))
    it.check(["x"])
    t.append(it.rows(["m"], 50))
    it.duck.execute(f"INSERT INTO lake.t {it.sql(['z'], 60)}")
    t.append(it.rows(["a"] * 20, 70))
    it.check(["x", "m", "z", "a"])


def test_text_with_zero_bytes(asked: Ask) -> None:
    it = asked("varchar")
    t = it.table
    texts = ["a\0b", "\0", "a", "b"]
    t.append([{"id": n, "v": text} for n, text in enumerate(texts)])
    t.append([{"id": n + 10, "v": text} for n, text in enumerate(texts * 5)])
    for text, count in (("a", 6), ("b", 6)):
        assert t.scan(where=f"v = '{text}'").count() == count
        sql = f"SELECT count(*) FROM lake.t WHERE v = '{text}'"
        assert it.duck.execute(sql).fetchall() == [(count,)]
    it._copy(it.lake.snapshots()[-1].snapshot_id)
    for condition in ("v = chr(0)", "v = 'a' || chr(0) || 'b'", "v >= chr(0)", "v > 'a'"):
        sql = f"SELECT id FROM {{}} WHERE {condition} ORDER BY id"
        expected = it.duck.execute(sql.format("memory.c")).fetchall()
        assert len(t.scan(where=condition).to_arrow()) == len(expected)
        if "chr" not in condition:  # of those DuckDB cannot ask its catalog
            assert it.duck.execute(sql.format("lake.t")).fetchall() == expected


@pytest.mark.slow
def test_leaves_of_nested_columns(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table(
        "t",
        "id BIGINT, s STRUCT(a INTEGER, d STRUCT(x DOUBLE)), l INTEGER[], m MAP(VARCHAR, INTEGER)",
    )

    def row(n: int, value: int | None) -> dict[str, Any]:
        inner = None if value is None else float(value)
        return {
            "id": n,
            "s": {"a": value, "d": {"x": inner}} if n % 3 else None,
            "l": [value, None] if n % 2 else [],
            "m": {"k": value} if value else {},
        }

    t.append([row(1, 5)])
    t.append([row(n, n) for n in range(20)])
    duck.execute("INSERT INTO lake.t VALUES (100, {a: -5, d: {x: -5}}, [-5], MAP {'z': -5})")
    t.append([row(n, None) for n in range(20)])
    t.update({"s": "{'a': 1000, 'd': {'x': 1000}}", "l": "[1000]"}, where="id = 100")
    t.merge([row(n, 2000) for n in range(15, 40)], on="id")
    newest = lake.snapshots()[-1].snapshot_id
    for at in (3, newest):
        duck.execute(
            f"CREATE OR REPLACE TABLE memory.c AS SELECT * FROM lake.t AT (VERSION => {at})"
        )
        for where in (
            *(f"s.a {op} {v}" for op in ("=", ">", "<=") for v in (-5, 0, 5, 19, 1000, 2000)),
            *(f"s.d.x {op} {v}" for op in ("=", ">", "<=") for v in (-5, 5, 19, 1000, 2000)),
            *(f"list_contains(l, {v})" for v in (-5, 5, 1000, 2000)),
            *(f"m['{k}'] = {v}" for k, v in (("k", 5), ("z", -5), ("k", 2000))),
            *(
                f"{leaf} IS {no}NULL"
                for leaf in ("s", "s.a", "s.d.x", "l[1]")
                for no in ("", "NOT ")
            ),
        ):
            expected = duck.execute(f"SELECT id FROM memory.c WHERE {where} ORDER BY id").fetchall()
            sql = f"SELECT id FROM lake.t AT (VERSION => {at}) WHERE {where} ORDER BY id"
            assert duck.execute(sql).fetchall() == expected, where
            if at == newest:
                mine = t.scan(["id"], where=where).to_arrow()["id"].to_pylist()
                assert sorted(mine) == [row[0] for row in expected], where


def test_columns_that_were_added_later(lake: tidelake.Lake, duck: Duck) -> None:
    t = lake.create_table("t", "id BIGINT")
    t.append([{"id": n} for n in range(20)])
    t.evolve(add={"n": "INTEGER DEFAULT 50", "m": "INTEGER"})
    t.append([{"id": n, "n": n, "m": n} for n in range(100, 120)])
    duck.execute("INSERT INTO lake.t VALUES (200, -1, 999)")
    t.append([{"id": 300, "n": 5000}])
    duck.execute("CREATE OR REPLACE TABLE memory.c AS SELECT * FROM lake.t")
    for question in (
        *(f"count(*) FROM {{}} WHERE n {op} {v}" for op in "=<>" for v in (-1, 50, 110, 5000)),
        *(f"count(*) FROM {{}} WHERE m {op} {v}" for op in "=<>" for v in (-1, 50, 110, 999)),
        "count(*) FROM {} WHERE n IS NULL",
        "count(*) FROM {} WHERE m IS NULL",
        "min(n), max(n), min(m), max(m) FROM {}",
    ):
        expected = duck.execute(f"SELECT {question.replace('{}', 'memory.c')}").fetchall()
        assert duck.execute(f"SELECT {question.replace('{}', 'lake.t')}").fetchall() == expected, (
            question
        )


def test_files_are_really_skipped(lake: tidelake.Lake, duck: Duck) -> None:
    """Statistics that say nothing would pass every other test."""
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", {f"c{n}": kind for n, kind in enumerate(_SKIPPABLE)})
    for year in range(2000, 2010):
        values = (_SKIPPABLE[kind](year) for kind in _SKIPPABLE)
        t.append([{f"c{n}": value for n, value in enumerate(values)}])
    for n, kind in enumerate(_SKIPPABLE):
        name = t.schema.column(f"c{n}").duckdb_type
        where = f"c{n} = CAST('{_SKIPPABLE[kind](2005)}' AS {name})"
        assert len(t.scan(where=where).files()) == 1, kind
        plan = duck.execute(f"EXPLAIN ANALYZE SELECT * FROM lake.t WHERE {where}").fetchall()
        assert "Total Files Read: 1" in plan[0][1], (kind, plan[0][1])


_SKIPPABLE: dict[str, Callable[[int], Any]] = {
    "int32": lambda year: year,
    "uint64": lambda year: year,
    "float64": lambda year: year + 0.5,
    "decimal(10,2)": lambda year: Decimal(f"{year}.25"),
    "varchar": lambda year: f"text {year}",
    "date": lambda year: f"{year}-01-01",
    "timestamp": lambda year: f"{year}-01-01 10:00:00",
    "timestamptz": lambda year: f"{year}-01-01 10:00:00+00",
    "uuid": lambda year: f"0000{year}-0000-4000-8000-000000000000",
}


@pytest.mark.parametrize("place_of_nan", [0, 150_000, 299_999])
def test_a_nan_is_found_in_whichever_row_group_it_is(
    place: Place, lake: tidelake.Lake, duck: Duck, place_of_nan: int
) -> None:
    """DuckDB 1.5 tells of the last one alone, and would pass over the others."""
    kinds = {"plain": "v DOUBLE", "nested": "s STRUCT(x FLOAT)", "listed": "l DOUBLE[]"}
    table = lake.create_table("t", f"id BIGINT, {', '.join(kinds.values())}")
    nan = f"CASE WHEN i = {place_of_nan} THEN 'nan'::DOUBLE ELSE 1 END"
    rows = f"SELECT i AS id, {nan} AS v, {{x: {nan}::FLOAT}} AS s, [{nan}] AS l"
    table.append(duck.sql(f"{rows} FROM range(300000) t(i)").to_arrow_table())
    for where in ("v > 2", "v = 'nan'::DOUBLE", "s.x > 2", "isnan(s.x)", "l[1] > 2"):
        assert table.scan(["id"], where=where).to_dicts() == [{"id": place_of_nan}]
        assert duck.execute(f"SELECT id FROM lake.t WHERE {where}").fetchall() == [(place_of_nan,)]
    assert lake.verify(deep=True).ok


def test_a_file_without_nan_is_passed_over(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "id BIGINT, v DOUBLE")
    table.append(duckdb.sql("SELECT i AS id, i / 7 AS v FROM range(300000) t(i)").to_arrow_table())
    assert table.scan(where="v > 1e9").files() == []


def test_small_batches_become_one_row_group(lake: tidelake.Lake) -> None:
    table = lake.create_table("t", "id BIGINT, v DOUBLE")
    batches = [
        pa.record_batch({"id": [n], "v": [float("nan") if n < 5 else 1.0]}) for n in range(30)
    ]
    table.append(pa.Table.from_batches(batches))
    assert [pq.read_metadata(file.path).num_row_groups for file in table.files()] == [1]
    assert table.scan(where="v > 2").count() == 5


def test_files_of_one_commit_with_different_columns(tmp_path: Path) -> None:
    """Each keeps the statistics of its own columns."""
    place = Place.at("sqlite", tmp_path)
    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        with lake.transaction() as tx:
            one = tx.create_table("one", {"x": "int64"})
            two = tx.create_table("two", {"s": "varchar", "d": "date"})
            for value in (5, 6):
                one.append([{"x": value}])
            two.append([{"s": "a", "d": None}])
            one.evolve(add={"y": "int32"})
            one.append([{"x": 7, "y": 1}])
            two.append([{"s": "b", "d": None}])
    found = place.catalog(
        "SELECT t.table_name, f.row_id_start, s.column_id, s.null_count, s.min_value, s.max_value"
        " FROM ducklake_file_column_stats s JOIN ducklake_data_file f USING (data_file_id)"
        " JOIN ducklake_table t ON t.table_id = s.table_id AND f.table_id = s.table_id"
        " ORDER BY 1, 2, 3"
    )
    assert found == [
        ("one", 0, 1, 0, "5", "5"),
        ("one", 1, 1, 0, "6", "6"),
        ("one", 2, 1, 0, "7", "7"),
        ("one", 2, 2, 0, "1", "1"),
        ("two", 0, 1, 0, "a", "a"),
        ("two", 0, 2, 1, None, None),
        ("two", 1, 1, 0, "b", "b"),
        ("two", 1, 2, 1, None, None),
    ]
