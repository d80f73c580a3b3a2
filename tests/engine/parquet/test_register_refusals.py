"""Existing files that a table cannot have, and what is said about them."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.parquet.foreign import INT, Make, copied, one, written
from tidelake.errors import Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing.duck import duck_connection

MISFITS = {
    "narrower integer": ("INTEGER", "1::BIGINT"),
    "signed into unsigned": ("UBIGINT", "1::INTEGER"),
    "unsigned of the same width": ("INTEGER", "1::UINTEGER"),
    "a number into text": ("VARCHAR", "1"),
    "text into a number": ("INTEGER", "'1'"),
    "double into float": ("FLOAT", "1::DOUBLE"),
    "integer into double": ("DOUBLE", "1"),
    "fewer digits": ("DECIMAL(8,2)", "1::DECIMAL(9,2)"),
    "fewer whole digits": ("DECIMAL(9,4)", "1::DECIMAL(9,2)"),
    "smaller scale": ("DECIMAL(18,1)", "1::DECIMAL(9,2)"),
    "nanoseconds into microseconds": ("TIMESTAMP", "TIMESTAMP_NS '2024-01-01'"),
    "microseconds into milliseconds": ("TIMESTAMP_MS", "TIMESTAMP '2024-01-01'"),
    "a zone dropped": ("TIMESTAMP", "TIMESTAMPTZ '2024-01-01'"),
    "a zone invented": ("TIMESTAMPTZ", "TIMESTAMP '2024-01-01'"),
    "bytes into text": ("VARCHAR", "'a'::BLOB"),
    "text into JSON": ("JSON", "'a'"),
    "a struct into a number": ("INTEGER", "{'a': 1}"),
    "a number into a list": ("INTEGER[]", "1"),
    "a list into a struct": ("STRUCT(a INTEGER)", "[1]"),
    "inside a struct": ("STRUCT(a INTEGER)", "{'a': 1::BIGINT}"),
    "inside a list": ("INTEGER[]", "[1::BIGINT]"),
    "inside a map": ("MAP(VARCHAR, INTEGER)", "MAP {'a': 1::BIGINT}"),
    "a struct into a variant": ("VARIANT", "1::VARIANT"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_types_that_do_not_fit_are_refused(name: str, table: Make, tmp_path: Path) -> None:
    kind, value = MISFITS[name]
    path = copied(tmp_path / "x.parquet", f"SELECT {value} AS c")
    with pytest.raises(Invalid, match=r"column c.* is .*, and main\.t has it as"):
        table(f"c {kind}").found(path)


def test_nanoseconds_that_arrow_writes_are_not_cut(table: Make, tmp_path: Path) -> None:
    moment = pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ns", "UTC"))
    clock = pa.array([dt.time(1)], pa.time64("ns"))
    path = written(tmp_path / "x.parquet", {"c": moment})
    with pytest.raises(Unsupported, match="timestamptz in nanoseconds"):
        table("c TIMESTAMPTZ").found(path)
    path = written(tmp_path / "x.parquet", {"c": clock})
    with pytest.raises(Unsupported, match="time in nanoseconds"):
        table("c TIME").found(path)


def test_decimals_wider_than_any_column_are_not_read_as_floats(table: Make, tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", {"c": pa.array([1], pa.decimal256(50, 2))})
    with pytest.raises(Invalid, match=r"decimal\(50,2\)"):
        table("c DOUBLE").found(path)


def test_microseconds_beyond_the_reach_of_nanoseconds(table: Make, tmp_path: Path) -> None:
    path = copied(tmp_path / "x.parquet", "SELECT TIMESTAMP '3000-01-01' c")
    with pytest.raises(Invalid, match="3000-01-01"):
        table("c TIMESTAMP_NS").found(path)


def test_shapes_of_old_geoparquet_are_refused(table: Make, tmp_path: Path) -> None:
    """DuckDB reads them as shapes, and cannot make bytes of them."""
    query = "SELECT 'POINT(1 2)'::GEOMETRY AS g"
    old = copied(tmp_path / "old.parquet", query, ", GEOPARQUET_VERSION 'V1'")
    for kind in ("BLOB", "GEOMETRY"):
        with pytest.raises(Unsupported, match="geometry of an old form"):
            table(f"g {kind}").found(old)
    new = copied(tmp_path / "new.parquet", query, ", GEOPARQUET_VERSION 'V2'")
    ours = table("g GEOMETRY")
    ours.add(ours.found(new))
    assert len(ours.rows_in_duckdb()) == 1
    assert ours.rows_in_duckdb() == ours.rows_in_tidelake()


class TestColumns:
    def test_an_extra_one(self, table: Make, tmp_path: Path) -> None:
        path = copied(tmp_path / "x.parquet", "SELECT 1 k, 2 z, {'a': 1} s")
        with pytest.raises(Invalid, match=r"has columns that main\.t has not: z .*evolve"):
            table("k INTEGER, s STRUCT(a INTEGER)").found(path)
        path = copied(tmp_path / "x.parquet", "SELECT 1 k, {'a': 1, 'z': 2} s")
        with pytest.raises(Invalid, match=r"s\.z"):
            table("k INTEGER, s STRUCT(a INTEGER)").found(path)

    def test_a_missing_one_that_is_required(self, table: Make, tmp_path: Path) -> None:
        path = copied(tmp_path / "x.parquet", "SELECT 1 k")
        with pytest.raises(Invalid, match="has no column need"):
            table("k INTEGER, need INTEGER NOT NULL").found(path)

    def test_two_of_one_name(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1], INT), "K": pa.array([1], INT)})
        with pytest.raises(Invalid, match="more than one column called k"):
            table("k INTEGER").found(path)


class TestRequiredColumns:
    def test_nulls_are_refused(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1, None], INT)})
        with pytest.raises(Invalid, match="column k has nulls"):
            table("k INTEGER NOT NULL").found(path)

    def test_nulls_that_nobody_counted_are_refused(self, table: Make, tmp_path: Path) -> None:
        values = {"k": pa.array([1, 2], INT)}
        path = written(tmp_path / "x.parquet", values, write_statistics=False)
        with pytest.raises(Invalid, match="column k may have nulls"):
            table("k INTEGER NOT NULL").found(path)

    def test_a_schema_without_nulls_needs_no_counts(self, table: Make, tmp_path: Path) -> None:
        schema = pa.schema([pa.field("k", INT, nullable=False)])
        path = tmp_path / "x.parquet"
        pq.write_table(pa.table({"k": [1, 2]}, schema), path, write_statistics=False)
        assert one(table("k INTEGER NOT NULL").found(path)).rows == 2

    def test_structs_are_judged_by_what_is_in_them(self, table: Make, tmp_path: Path) -> None:
        null = written(tmp_path / "null.parquet", {"s": pa.array([{"a": 1, "b": 2}, None])})
        columns = "s STRUCT(a BIGINT, b BIGINT) NOT NULL"
        with pytest.raises(Invalid, match="column s may have nulls"):
            table(columns).found(null)
        full = written(tmp_path / "full.parquet", {"s": pa.array([{"a": 1, "b": None}])})
        assert one(table(columns).found(full)).rows == 1

    def test_a_folder_of_nulls(self, table: Make, tmp_path: Path) -> None:
        folder = tmp_path / "p=__HIVE_DEFAULT_PARTITION__"
        path = written(folder / "x.parquet", {"k": pa.array([1], INT)})
        with pytest.raises(Invalid, match="column p has nulls"):
            table("k INTEGER, p INTEGER NOT NULL").found(path)


class TestUnreadable:
    @pytest.fixture
    def good(self, tmp_path: Path) -> Path:
        return written(tmp_path / "good.parquet", {"k": pa.array([1], INT)})

    def refused(self, table: Make, good: Path, bad: Path) -> TidelakeError:
        with pytest.raises(TidelakeError) as caught:
            table("k INTEGER").found(good, bad)
        assert str(bad) in caught.value.message
        assert caught.value.hint
        return caught.value

    def test_missing(self, table: Make, good: Path, tmp_path: Path) -> None:
        assert isinstance(self.refused(table, good, tmp_path / "none.parquet"), NotFound)

    @pytest.mark.parametrize("data", [b"", b"k,v\n1,2\n" * 9])
    def test_not_parquet(self, data: bytes, table: Make, good: Path, tmp_path: Path) -> None:
        bad = tmp_path / "bad.parquet"
        bad.write_bytes(data)
        assert isinstance(self.refused(table, good, bad), Invalid)

    def test_cut_short(self, table: Make, good: Path, tmp_path: Path) -> None:
        bad = tmp_path / "cut.parquet"
        for end in (-1, -8, -40):
            bad.write_bytes(good.read_bytes()[:end])
            assert isinstance(self.refused(table, good, bad), Invalid)

    def test_a_broken_footer(self, table: Make, good: Path, tmp_path: Path) -> None:
        data = good.read_bytes()
        size = int.from_bytes(data[-8:-4], "little")
        bad = tmp_path / "broken.parquet"
        bad.write_bytes(data[: -8 - size] + b"\xff" * size + data[-8:])
        assert isinstance(self.refused(table, good, bad), Invalid)

    def test_encrypted(self, table: Make, good: Path, tmp_path: Path) -> None:
        bad = tmp_path / "secret.parquet"
        connection = duck_connection(extensions=["httpfs"])
        connection.execute("PRAGMA add_parquet_key('key', '0123456789112345')")
        config = "{footer_key: 'key'}"
        connection.execute(f"COPY (SELECT 1 k) TO '{bad}' (ENCRYPTION_CONFIG {config})")
        assert isinstance(self.refused(table, good, bad), Unsupported)

    def test_listed_twice(self, table: Make, good: Path) -> None:
        with pytest.raises(Invalid, match="twice"):
            table("k INTEGER").found(good, f"file://{good}")
