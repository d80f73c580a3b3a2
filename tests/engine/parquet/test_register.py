"""Existing Parquet files: what is found in them, compared with what DuckDB finds and reads."""

import datetime as dt
import math
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from tests.engine.parquet.foreign import (
    INT,
    Make,
    bounds,
    copied,
    inserted,
    one,
    stored_from,
    written,
)
from tidelake.engine.parquet.register import found_files
from tidelake.errors import Invalid, NotFound, Unsupported
from tidelake.model.names import TableName
from tidelake.testing.duck import duck_connection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.s3 import S3Server


SAME_AS_DUCKDB = {
    "integers": (
        "a TINYINT, b SMALLINT, c INTEGER, d BIGINT, e UTINYINT, f USMALLINT, g UINTEGER,"
        " h UBIGINT",
        "VALUES (-1, 2, 3, 4, 5, 6, 7, 18446744073709551615),"
        " (1, -2, -3, -4, 200, 60000, 4000000000, 0),"
        " (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    ),
    "decimals": (
        "a DECIMAL(4,2), b DECIMAL(18,3), c DECIMAL(38,2)",
        "VALUES (-1.25, 10, 123456789012345678.12), (9, 9, -9)",
    ),
    "moments": (
        "a DATE, b TIME, c TIMESTAMP, d TIMESTAMPTZ, e TIMESTAMP_MS, f TIMESTAMP_NS",
        "VALUES ('0044-03-15 (BC)', '10:00:00.5', 'infinity', '1900-01-01 00:00:00.123456+00',"
        " '2024-01-01 00:00:00.001', '2024-01-01 00:00:00.000000001'), ('2024-01-01', '09:00:00',"
        " '10000-01-01', '2024-01-01 00:00:00+02', '1969-01-01', '1969-01-01')",
    ),
    "texts": (
        "a VARCHAR, b UUID",
        "VALUES ('abc', '00000000-0000-0000-0000-00000000000a'),"
        " ('é', 'f0000000-0000-0000-0000-00000000000a'), ('', NULL)",
    ),
    "intervals": ("a INTERVAL", "VALUES (INTERVAL 3 DAY)"),
    "all nulls": ("a INTEGER, b VARCHAR", "VALUES (NULL, NULL)"),
    "row groups": (
        "a INTEGER, b VARCHAR",
        "SELECT i - 50000, CASE WHEN i % 2 = 0 THEN NULL ELSE 'v' || i END FROM range(10000) r(i)",
    ),
    "nested": (
        "k INTEGER, s STRUCT(a INTEGER, b STRUCT(c VARCHAR, d INTEGER[])), l STRUCT(x INTEGER)[],"
        " m MAP(VARCHAR, INTEGER)",
        "VALUES (1, {'a': 1, 'b': {'c': 'x', 'd': [1, NULL]}}, [{'x': 1}], MAP {'k': 1}),"
        " (2, NULL, NULL, NULL)",
    ),
}


@pytest.mark.parametrize("name", SAME_AS_DUCKDB)
def test_the_same_as_duckdb_stores(name: str, table: Make, tmp_path: Path) -> None:
    columns, values = SAME_AS_DUCKDB[name]
    path = inserted(tmp_path / "x.parquet", columns, values)
    theirs, ours = table(columns), table(columns)
    file = one(ours.found(path))
    assert stored_from(file) == theirs.added_by_duckdb(path)
    ours.add([file])
    assert ours.rows_in_duckdb() == theirs.rows_in_duckdb() == ours.rows_in_tidelake()


def test_names_match_in_any_order_and_case(table: Make, tmp_path: Path) -> None:
    columns = "a INTEGER, b STRUCT(x INTEGER, y VARCHAR)"
    path = copied(tmp_path / "x.parquet", "SELECT {'Y': 'y', 'X': 1} AS \"B\", 1 AS \"A\"")
    theirs, ours = table(columns), table(columns)
    file = one(ours.found(path))
    assert stored_from(file) == theirs.added_by_duckdb(path)
    ours.add([file])
    expected = [(1, {"x": 1, "y": "y"})]
    assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == expected


def test_narrower_types_in_the_text_of_the_wider(table: Make, tmp_path: Path) -> None:
    """DuckDB keeps the text that the file's own type has."""
    narrow = "a SMALLINT, b DECIMAL(4,1), c TIMESTAMP_MS, d UINTEGER, e TIMESTAMP, f FLOAT"
    wide = "a BIGINT, b DECIMAL(18,4), c TIMESTAMP, d BIGINT, e TIMESTAMP_NS, f DOUBLE"
    values = "VALUES (9, 1.5, '2024-01-01 00:00:00.001', 4000000000, '2024-01-01', 0.5),"
    values += " (10, 0.5, '2023-01-01', 1, '2024-01-02', 1.5)"
    path = inserted(tmp_path / "x.parquet", narrow, values)
    theirs, ours = table(wide), table(wide)
    file = one(ours.found(path))
    stored = theirs.added_by_duckdb(path)
    assert stored.statistics[2][3:5] == ("0.5", "1.5")
    assert bounds(file) == [
        ("9", "10"),
        ("0.5000", "1.5000"),
        ("2023-01-01 00:00:00", "2024-01-01 00:00:00.001"),
        ("1", "4000000000"),
        ("2024-01-01 00:00:00", "2024-01-02 00:00:00"),
        (None, None),
    ]
    ours.add([file])
    assert ours.rows_in_duckdb() == theirs.rows_in_duckdb() == ours.rows_in_tidelake()


def test_integers_wider_than_parquet_has(table: Make, tmp_path: Path) -> None:
    path = inserted(tmp_path / "x.parquet", "a BIGINT, b UBIGINT", "VALUES (-1, 1), (2, 2)")
    ours = table("a HUGEINT, b UHUGEINT")
    file = one(ours.found(path))
    assert bounds(file) == [(None, None)] * 2
    ours.add([file])
    assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(-1, 1), (2, 2)]


NESTED = {
    "k": pa.array([1, 2, 3], INT),
    "l": pa.array([[1, None], [], None], pa.list_(INT)),
    "ll": pa.array([[[1], []], [None], None], pa.list_(pa.list_(pa.int64()))),
    "s": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": None}, None]),
}
NESTED_COLUMNS = "k INTEGER, l INTEGER[], ll BIGINT[][], s STRUCT(a BIGINT, b VARCHAR)"


@pytest.mark.parametrize("writer", ["pyarrow", "pyarrow, old names", "polars"])
def test_nested_columns_of_other_writers(writer: str, table: Make, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    if writer == "polars":
        pl.DataFrame(pa.table(NESTED)).write_parquet(path)
    else:
        written(path, NESTED, use_compliant_nested_type=writer == "pyarrow")
    theirs, ours = table(NESTED_COLUMNS), table(NESTED_COLUMNS)
    file = one(ours.found(path))
    assert stored_from(file) == theirs.added_by_duckdb(path)
    ours.add([file])
    expected = list(zip(*(column.to_pylist() for column in NESTED.values()), strict=True))
    assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == expected


def test_maps_of_pyarrow(table: Make, tmp_path: Path) -> None:
    values = pa.array([[("a", 1), ("b", None)], [], None], pa.map_(pa.string(), INT))
    path = written(tmp_path / "x.parquet", {"m": values})
    theirs, ours = table("m MAP(VARCHAR, INTEGER)"), table("m MAP(VARCHAR, INTEGER)")
    file = one(ours.found(path))
    assert stored_from(file) == theirs.added_by_duckdb(path)
    ours.add([file])
    assert ours.rows_in_tidelake() == [({"a": 1, "b": None},), ({},), (None,)]


def test_sizes_are_those_of_the_file(table: Make, tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", {"k": pa.array([1, 2], INT)})
    file = one(table("k INTEGER").found(path))
    data = path.read_bytes()
    assert (file.path, file.rows, file.bytes) == (str(path), 2, len(data))
    assert file.footer_size == int.from_bytes(data[-8:-4], "little")


class TestWhereDuckDBIsLessCareful:
    def test_floats_have_no_bounds_because_nan_is_above_them(
        self, table: Make, tmp_path: Path
    ) -> None:
        path = written(tmp_path / "x.parquet", {"x": pa.array([1.0, math.nan, None, 2.0])})
        theirs, ours = table("x DOUBLE"), table("x DOUBLE")
        assert theirs.added_by_duckdb(path).statistics[1][3:5] == ("1.0", "2.0")
        file = one(ours.found(path))
        assert (file.columns[0].min, file.columns[0].max) == (None, None)
        assert file.columns[0].contains_nan is None
        assert (file.columns[0].values, file.columns[0].nulls) == (3, 1)
        ours.add([file])
        greatest = "SELECT max(x) FROM t"
        assert math.isnan(ours.rows_in_duckdb(greatest)[0][0])

    def test_floats_without_values_have_no_nan(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"x": pa.array([None, None], pa.float64())})
        facts = one(table("x DOUBLE").found(path)).columns[0]
        assert (facts.values, facts.nulls, facts.contains_nan) == (0, 2, False)

    def test_booleans_are_written_as_inserts_write_them(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"b": pa.array([True, False, None])})
        theirs, ours = table("b BOOLEAN"), table("b BOOLEAN")
        assert theirs.added_by_duckdb(path).statistics[1][3:5] == ("false", "true")
        file = one(ours.found(path))
        assert bounds(file) == [("0", "1")]
        ours.add([file])
        assert ours.rows_in_duckdb("FROM t WHERE b") == [(True,)]

    def test_texts_that_polars_has_cut_are_no_bounds(self, table: Make, tmp_path: Path) -> None:
        path = tmp_path / "x.parquet"
        long = pl.Series(["x" * 200, "y" * 200])
        pl.DataFrame({"s": long, "short": ["a", "b"]}).write_parquet(path)
        theirs, ours = table("s VARCHAR, short VARCHAR"), table("s VARCHAR, short VARCHAR")
        assert theirs.added_by_duckdb(path).statistics[1][3:5] == ("x" * 64, "y" * 63 + "z")
        assert bounds(one(ours.found(path))) == [(None, None), ("a", "b")]

    def test_texts_that_are_whole_are_bounds_however_long(
        self, table: Make, tmp_path: Path
    ) -> None:
        path = written(tmp_path / "x.parquet", {"s": pa.array(["x" * 200, "y" * 200])})
        assert bounds(one(table("s VARCHAR").found(path))) == [("x" * 200, "y" * 200)]

    def test_texts_with_nul_blobs_and_json_have_no_bounds(
        self, table: Make, tmp_path: Path
    ) -> None:
        path = copied(tmp_path / "x.parquet", "SELECT 'a' || chr(0) s, 'a'::BLOB b, '[]'::JSON j")
        file = one(table("s VARCHAR, b BLOB, j JSON").found(path))
        assert bounds(file) == [(None, None)] * 3
        assert [facts.values for facts in file.columns] == [1, 1, 1]

    def test_row_groups_of_nothing_but_nulls_hide_no_bounds(
        self, table: Make, tmp_path: Path
    ) -> None:
        values = "SELECT CASE WHEN i > 5000 THEN i END FROM range(10000) r(i)"
        path = inserted(tmp_path / "x.parquet", "a INTEGER", values)
        assert table("a INTEGER").added_by_duckdb(path).statistics[1][3:5] == (None, None)
        assert bounds(one(table("a INTEGER").found(path))) == [("5001", "9999")]

    def test_nulls_in_lists_of_structs_are_counted_twice_by_duckdb(
        self, table: Make, tmp_path: Path
    ) -> None:
        columns = "l STRUCT(x INTEGER, y DOUBLE)[]"
        values = "VALUES ([{'x': 1, 'y': 'nan'}, NULL]), (NULL)"
        path = inserted(tmp_path / "x.parquet", columns, values)
        theirs, ours = table(columns), table(columns)
        assert theirs.added_by_duckdb(path).statistics[3][1:5] == (0, 3, "1", "1")
        x, y = one(ours.found(path)).columns
        assert (x.values, x.nulls, x.min, x.max) == (None, None, "1", "1")
        assert (y.values, y.nulls, y.contains_nan) == (None, None, None)

    def test_a_file_without_statistics(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1], INT)}, write_statistics=False)
        facts = one(table("k INTEGER").found(path)).columns[0]
        assert (facts.values, facts.nulls, facts.min, facts.max) == (None, None, None, None)

    def test_missing_columns_have_the_statistics_of_their_defaults(
        self, table: Make, tmp_path: Path
    ) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1, 2], INT)})
        columns = "k INTEGER, d DECIMAL(9,2) DEFAULT 7, e VARCHAR, s STRUCT(a INTEGER), f DOUBLE"
        theirs, ours = table(columns), table(columns)
        stored = theirs.added_by_duckdb(path, "allow_missing => true")
        assert stored.statistics.keys() == {1}
        file = one(ours.found(path))
        assert stored_from(file).mapping == stored.mapping
        assert stored_from(file).statistics == {
            **stored.statistics,
            2: (0, 2, 0, "7.00", "7.00", None, None),
            3: (0, 0, 2, None, None, None, None),
            5: (0, 0, 2, None, None, None, None),
            6: (0, 0, 2, None, None, False, None),
        }
        ours.add([file])
        assert ours.rows_in_duckdb() == theirs.rows_in_duckdb() == ours.rows_in_tidelake()

    def test_missing_fields_of_a_struct(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"s": pa.array([{"a": 1}, None])})
        more = (
            "ALTER TABLE t ADD COLUMN s.z INTEGER",
            "ALTER TABLE t ADD COLUMN s.y INT DEFAULT 9",
        )
        ours = table("s STRUCT(a BIGINT)", *more)
        file = one(ours.found(path))
        ours.add([file])
        z, y = file.columns[1:]
        assert (z.values, z.nulls) == (0, None)
        assert (y.values, y.nulls, y.min) == (None, None, None)
        expected = [({"a": 1, "z": None, "y": 9},), (None,)]
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == expected

    def test_columns_of_nothing_but_nulls_fit_everywhere(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"v": pa.nulls(2), "k": pa.array([1, 2], INT)})
        with pytest.raises(duckdb.Error, match="Expected VARCHAR, found type INTEGER"):
            table("v VARCHAR, k INTEGER").added_by_duckdb(path)
        ours = table("v VARCHAR, k INTEGER")
        file = one(ours.found(path))
        assert (file.columns[0].values, file.columns[0].nulls) == (0, 2)
        ours.add([file])
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(None, 1), (None, 2)]

    def test_lists_whose_groups_have_other_names_are_read(
        self, table: Make, tmp_path: Path
    ) -> None:
        lists = {"l": pa.array([[1, None], None], pa.list_(INT))}
        data = written(tmp_path / "x.parquet", lists, store_schema=False).read_bytes()
        path = tmp_path / "other.parquet"
        path.write_bytes(data.replace(b"\x04list", b"\x04bags"))
        theirs, ours = table("l INTEGER[]"), table("l INTEGER[]")
        theirs.added_by_duckdb(path)
        assert theirs.rows_in_duckdb() == [([None, None],), (None,)]
        ours.add(ours.found(path))
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [([1, None],), (None,)]

    def test_int96_has_counts_and_no_bounds(self, table: Make, tmp_path: Path) -> None:
        moments = pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("us"))
        path = tmp_path / "x.parquet"
        written(path, {"ts": moments}, use_deprecated_int96_timestamps=True)
        for kind in ("TIMESTAMP", "TIMESTAMP_NS"):
            ours = table(f"ts {kind}")
            file = one(ours.found(path))
            assert bounds(file) == [(None, None)]
            ours.add([file])
            assert ours.rows_in_tidelake() == ours.rows_in_duckdb()
        assert len(ours.rows_in_duckdb()) == 2

    def test_bounds_without_a_known_order_are_no_bounds(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"s": pa.array(["a", "b"])})
        assert bounds(one(table("s VARCHAR").found(path))) == [("a", "b")]
        data = path.read_bytes()
        order = b"\x1c\x1c\x00\x00"  # a list of one union, in which the first choice is made
        assert data.count(order) == 1
        other = tmp_path / "other.parquet"
        other.write_bytes(data.replace(order, b"\x1c\x2c\x00\x00"))
        assert bounds(one(table("s VARCHAR").found(other))) == [(None, None)]


class TestFieldIds:
    IDS = "{k: 1, s: {__duckdb_field_id: 2, a: 3}, l: {__duckdb_field_id: 4, element: 5}}"
    COLUMNS = "k INTEGER, s STRUCT(a INTEGER), l INTEGER[]"
    QUERY = "SELECT 1 k, {'a': 2} s, [3] l"

    def test_those_of_the_table_need_no_mapping(self, table: Make, tmp_path: Path) -> None:
        path = copied(tmp_path / "x.parquet", self.QUERY, f", FIELD_IDS {self.IDS}")
        ours = table(self.COLUMNS)
        file = one(ours.found(path))
        assert file.mapping is None
        ours.add([file])
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(1, {"a": 2}, [3])]

    @pytest.mark.parametrize(
        "ids",
        [
            IDS.replace("k: 1", "k: 9"),
            IDS.replace("a: 3", "a: 4").replace(
                "l: {__duckdb_field_id: 4", "l: {__duckdb_field_id: 6"
            ),
            IDS.replace(", element: 5", ""),
            "{k: 1}",
        ],
    )
    def test_others_are_mapped_by_name(self, ids: str, table: Make, tmp_path: Path) -> None:
        path = copied(tmp_path / "x.parquet", self.QUERY, f", FIELD_IDS {ids}")
        ours = table(self.COLUMNS)
        file = one(ours.found(path))
        assert file.mapping is not None
        ours.add([file])
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(1, {"a": 2}, [3])]


def test_many_files_at_once_each_with_its_own_facts(table: Make, tmp_path: Path) -> None:
    paths = [
        written(tmp_path / f"{n}.parquet", {"k": pa.array([n, n + 1], INT)}) for n in range(30)
    ]
    files = table("k INTEGER").found(*reversed(paths))
    assert [file.path for file in files] == [str(path) for path in reversed(paths)]
    assert [bounds(file)[0][0] for file in files] == [str(n) for n in reversed(range(30))]


def test_files_without_rows_are_left_out(table: Make, tmp_path: Path) -> None:
    empty = written(tmp_path / "empty.parquet", {"k": pa.array([], INT)})
    none = copied(tmp_path / "none.parquet", "SELECT 1::INTEGER k WHERE false")
    assert table("k INTEGER NOT NULL").found(empty, none) == []
    with pytest.raises(Invalid):
        table("k VARCHAR").found(empty)


def test_odd_names(table: Make, tmp_path: Path) -> None:
    path = written(tmp_path / "o'dd [1]*?.parquet", {'a "b"': pa.array([1], INT)})
    ours = table('"A ""b""" INTEGER')
    ours.add(ours.found(path))
    assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(1,)]


def test_files_in_an_object_store(table: Make, s3_server: "S3Server") -> None:
    bucket = s3_server.new_bucket()
    connection = duck_connection(extensions=["httpfs"])
    connection.execute(s3_server.duckdb_secret)
    path = f"s3://{bucket}/p=a%20b/x.parquet"
    connection.execute(f"COPY (SELECT 1 k) TO '{path}'")
    columns = table("k INTEGER, p VARCHAR").columns
    name = TableName("main", "t")
    file = one(found_files(connection, [path], columns, table=name, partition=None))
    assert (file.path, file.rows, bounds(file)) == (path, 1, [("1", "1"), ("a b", "a b")])
    none = f"s3://{bucket}/none.parquet"
    with pytest.raises(NotFound, match="none"):
        found_files(connection, [path, none], columns, table=name, partition=None)


@pytest.mark.slow
@pytest.mark.spark
def test_files_of_spark_old_and_new(spark: "SparkSession", table: Make, tmp_path: Path) -> None:
    rows = spark.sql(
        "SELECT 1 AS k, array(1, null) AS l, array(1, 2) AS solid, map('a', 1) AS m,"
        " array(named_struct('x', 1, 'y', 'z')) AS s, timestamp_ntz'2024-01-01 00:00:00' AS n,"
        " cast(1.5 AS decimal(9,2)) AS d, binary('b') AS b"
    )
    columns = (
        "k INTEGER, l INTEGER[], solid INTEGER[], m MAP(VARCHAR, INTEGER),"
        " s STRUCT(x INTEGER, y VARCHAR)[], n TIMESTAMP, d DECIMAL(9,2), b BLOB"
    )
    for name, legacy in (("new", "false"), ("old", "true")):
        folder = tmp_path / name
        spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
        rows.coalesce(1).write.parquet(str(folder))
        ours = table(columns)
        ours.add(ours.found(next(folder.glob("*.parquet"))))
        (found,) = ours.rows_in_tidelake()
        assert [found] == ours.rows_in_duckdb()
        assert found[:5] == (1, [1, None], [1, 2], {"a": 1}, [{"x": 1, "y": "z"}])
    single = spark.sql("SELECT array(named_struct('x', 1)) AS s")
    single.coalesce(1).write.parquet(str(tmp_path / "single"))
    spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
    with pytest.raises(Unsupported, match="old form"):
        table("s STRUCT(x INTEGER)[]").found(next((tmp_path / "single").glob("*.parquet")))
