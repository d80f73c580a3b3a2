"""Where an existing file lies: folders that spell values, and the partition it belongs to."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from tests.engine.parquet.foreign import INT, Make, bounds, one, stored_from, written
from tidelake.errors import Invalid, Unsupported
from tidelake.model.change import NewFile


class TestFolders:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "folder", "value"),
        [
            ("INTEGER", "007", "7"),
            ("DATE", "2024-01-01", "2024-01-01"),
            ("VARCHAR", "a%20b", "a b"),
            ("VARCHAR", "", ""),
            ("TIMESTAMP", "2024-01-01%2010%3A00%3A00", "2024-01-01 10:00:00"),
            ("DECIMAL(9,3)", "1.5", "1.500"),
            ("INTEGER", "__HIVE_DEFAULT_PARTITION__", None),
        ],
    )
    def test_values_as_duckdb_reads_them(
        self, kind: str, folder: str, value: str | None, table: Make, tmp_path: Path
    ) -> None:
        path = written(tmp_path / f"p={folder}" / "x.parquet", {"k": pa.array([1, 2], INT)})
        for more in ([], ["ALTER TABLE t SET PARTITIONED BY (p)"]):
            theirs, ours = (table(f"k INTEGER, p {kind}", *more) for _ in "ab")
            file = one(ours.found(path))
            assert stored_from(file) == theirs.added_by_duckdb(path)
            assert file.partition_values == ((value,) if more else None)
            ours.add([file])
            expected = theirs.rows_in_duckdb()
            assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == expected
            assert len(expected) == 2

    def test_floats_are_exact_when_a_folder_spells_them(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "p=1.50" / "x.parquet", {"k": pa.array([1], INT)})
        facts = one(table("k INTEGER, p DOUBLE").found(path)).columns[1]
        assert (facts.min, facts.max, facts.contains_nan) == ("1.5", "1.5", False)
        path = written(tmp_path / "p=nan" / "x.parquet", {"k": pa.array([1], INT)})
        facts = one(table("k INTEGER, p DOUBLE").found(path)).columns[1]
        assert (facts.min, facts.max, facts.contains_nan) == (None, None, True)

    def test_booleans(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "p=true" / "x.parquet", {"k": pa.array([1], INT)})
        ours = table("k INTEGER, p BOOLEAN", "ALTER TABLE t SET PARTITIONED BY (p)")
        file = one(ours.found(path))
        assert file.partition_values == ("true",)
        assert bounds(file)[1] == ("1", "1")
        ours.add([file])
        assert ours.rows_in_duckdb("FROM t WHERE p") == ours.rows_in_tidelake("p") == [(1, True)]

    def test_their_names_match_in_any_case(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "Year=2024" / "x.parquet", {"k": pa.array([1], INT)})
        ours = table("k INTEGER, year INTEGER")
        ours.add(ours.found(path))
        assert ours.rows_in_duckdb() == ours.rows_in_tidelake() == [(1, 2024)]

    def test_a_column_that_is_in_the_file_as_well(self, table: Make, tmp_path: Path) -> None:
        values = {"k": pa.array([1, 2], INT), "p": pa.array([7, 7], INT)}
        path = written(tmp_path / "p=7" / "x.parquet", values)
        ours = table("k INTEGER, p INTEGER", "ALTER TABLE t SET PARTITIONED BY (p)")
        file = one(ours.found(path))
        assert not any(field.is_partition for field in file.mapping or ())
        assert file.partition_values == ("7",)
        wrong = written(tmp_path / "p=8" / "x.parquet", values)
        with pytest.raises(Invalid, match=r"p=8.*other values.*hive=False"):
            ours.found(wrong)
        assert one(ours.found(wrong, hive=False)).partition_values == ("7",)

    def test_a_folder_that_is_no_value_of_the_column(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "p=x" / "x.parquet", {"k": pa.array([1], INT)})
        with pytest.raises(Invalid, match="column p has values that are no INTEGER"):
            table("k INTEGER, p INTEGER").found(path)

    @pytest.mark.parametrize("folder", ["NULL", ""])
    def test_texts_that_readers_take_for_different_things(
        self, folder: str, table: Make, tmp_path: Path
    ) -> None:
        path = written(tmp_path / f"p={folder}" / "x.parquet", {"k": pa.array([1], INT)})
        with pytest.raises(Unsupported, match="__HIVE_DEFAULT_PARTITION__"):
            table("k INTEGER, p INTEGER").found(path)

    def test_switched_off(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "p=7" / "x.parquet", {"k": pa.array([1], INT)})
        ours = table("k INTEGER, p INTEGER")
        file = one(ours.found(path, hive=False))
        ours.add([file])
        assert ours.rows_in_tidelake() == ours.rows_in_duckdb() == [(1, None)]


class TestPartitions:
    MOMENTS = (dt.datetime(2024, 3, 15, 1), dt.datetime(2024, 3, 15, 9))

    def found(self, table: Make, tmp_path: Path, by: str, values: pa.Array) -> NewFile:
        path = written(tmp_path / "x.parquet", {"ts": values})
        return one(table("ts TIMESTAMP", f"ALTER TABLE t SET PARTITIONED BY ({by})").found(path))

    def test_statistics_can_pin_them_down(self, table: Make, tmp_path: Path) -> None:
        by = "year(ts), month(ts), day(ts)"
        file = self.found(table, tmp_path, by, pa.array(self.MOMENTS, pa.timestamp("us")))
        assert file.partition_values == ("2024", "3", "15")

    @pytest.mark.parametrize("by", ["ts", "hour(ts)"])
    def test_rows_of_several_partitions_belong_to_none(
        self, by: str, table: Make, tmp_path: Path
    ) -> None:
        values = pa.array(self.MOMENTS, pa.timestamp("us"))
        assert self.found(table, tmp_path, by, values).partition_values is None

    def test_the_same_month_of_two_years_is_not_one_partition(
        self, table: Make, tmp_path: Path
    ) -> None:
        values = pa.array([dt.datetime(2023, 3, 1), dt.datetime(2024, 3, 1)], pa.timestamp("us"))
        assert self.found(table, tmp_path, "month(ts)", values).partition_values is None

    def test_nulls_beside_values_are_two_partitions(self, table: Make, tmp_path: Path) -> None:
        values = pa.array([self.MOMENTS[0], None], pa.timestamp("us"))
        assert self.found(table, tmp_path, "year(ts)", values).partition_values is None
        nulls = pa.array([None, None], pa.timestamp("us"))
        assert self.found(table, tmp_path, "year(ts)", nulls).partition_values == (None,)

    def test_a_file_of_no_partition_is_read_like_others(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1, 2], INT)})
        ours = table("k INTEGER", "ALTER TABLE t SET PARTITIONED BY (k)")
        ours.add(ours.found(path))
        for k in (1, 2):
            assert ours.rows_in_duckdb(f"FROM t WHERE k = {k}") == [(k,)]
            assert ours.rows_in_tidelake(f"k = {k}") == [(k,)]

    def test_buckets(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([34, 34], INT)})
        ours = table("k INTEGER", "ALTER TABLE t SET PARTITIONED BY (bucket(16, k))")
        file = one(ours.found(path))
        assert file.partition_values == (str(2017239379 % 16),)
        ours.add([file])
        assert ours.rows_in_duckdb("FROM t WHERE k = 34") == [(34,), (34,)]
        assert ours.rows_in_tidelake("k = 34") == [(34,), (34,)]

    def test_several_buckets_would_be_lost_to_duckdb(self, table: Make, tmp_path: Path) -> None:
        path = written(tmp_path / "x.parquet", {"k": pa.array([1, 2], INT)})
        ours = table("k INTEGER", "ALTER TABLE t SET PARTITIONED BY (bucket(16, k))")
        with pytest.raises(Unsupported, match="several buckets"):
            ours.found(path)
