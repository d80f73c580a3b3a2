"""A table that foreign files are registered in: by DuckDB, and by the facts found here."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tidelake.engine.parquet.register import found_files
from tidelake.model.change import NewFile
from tidelake.model.file import MappedField
from tidelake.model.names import TableName
from tidelake.model.schema import Column
from tidelake.model.table import PartitionKey, PartitionSpec
from tidelake.testing.duck import duck_connection


@dataclass(frozen=True)
class Stored:
    """Rows of the catalog about one file, without the ids that differ between lakes."""

    mapping: list[tuple[Any, ...]]
    statistics: dict[int, tuple[Any, ...]]
    partition: list[str | None]


@cache
def _duck() -> duckdb.DuckDBPyConnection:
    return duck_connection(extensions=("ducklake", "sqlite_scanner"))


class ForeignTable:
    """A table `t` in a lake of its own. All lakes are open in one DuckDB."""

    _numbers = count()

    def __init__(self, folder: Path, *statements: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._catalog = folder / "lake.db"
        self._name = f"lake_{next(self._numbers)}"
        _duck().execute(
            f"ATTACH 'ducklake:sqlite:{self._catalog}' AS {self._name}"
            f" (DATA_PATH '{folder / 'data'}/')"
        )
        for statement in statements:
            self.rows_in_duckdb(statement)

    def rows_in_duckdb(self, query: str = "FROM t") -> list[tuple[Any, ...]]:
        _duck().execute(f"USE {self._name}")
        return _duck().execute(query).fetchall()

    @property
    def columns(self) -> tuple[Column, ...]:
        with self._lake() as lake:
            return lake.table("t").scan().plan().columns

    @property
    def partitioning(self) -> PartitionSpec | None:
        rows = self._rows(
            "SELECT partition_id, column_id, transform FROM ducklake_partition_column"
            " ORDER BY partition_key_index"
        )
        keys = tuple(PartitionKey(row[1], row[2]) for row in rows)
        return PartitionSpec(rows[0][0], keys) if rows else None

    def found(self, *paths: object, hive: bool = True) -> list[NewFile]:
        """What Tidelake says of the files."""
        return found_files(
            _duck(),
            [str(path) for path in paths],
            self.columns,
            table=TableName("main", "t"),
            partition=self.partitioning,
            hive=hive,
        )

    def added_by_duckdb(self, path: object, options: str = "") -> Stored:
        """What DuckDB keeps of the file when it registers it."""
        options = options and f", {options}"
        self.rows_in_duckdb(f"CALL ducklake_add_data_files('{self._name}', 't', '{path}'{options})")
        return self.stored()

    def stored(self) -> Stored:
        return Stored(
            self._rows(
                "SELECT column_id, source_name, target_field_id, parent_column, is_partition"
                " FROM ducklake_name_mapping ORDER BY column_id"
            ),
            {
                row[0]: row[1:]
                for row in self._rows(
                    "SELECT column_id, column_size_bytes, value_count, null_count, min_value,"
                    " max_value, contains_nan, extra_stats FROM ducklake_file_column_stats"
                )
            },
            [
                row[0]
                for row in self._rows(
                    "SELECT partition_value FROM ducklake_file_partition_value"
                    " ORDER BY partition_key_index"
                )
            ],
        )

    def add(self, files: Iterable[NewFile]) -> None:
        """Put found files into the empty table, row by row, as a commit would."""
        with sqlite3.connect(self._catalog) as catalog:
            for file in files:
                self._add(catalog, file)

    def _add(self, catalog: sqlite3.Connection, file: NewFile) -> None:
        snapshot, version, entry, number = catalog.execute(
            "SELECT snapshot_id + 1, schema_version, next_catalog_id, next_file_id"
            " FROM ducklake_snapshot ORDER BY snapshot_id DESC"
        ).fetchone()
        mapping = None if file.mapping is None else number + 1
        spec = self.partitioning if file.partition_values is not None else None
        _insert(
            catalog,
            "ducklake_snapshot",
            [(snapshot, "2030-01-01 00:00:00+00", version, entry, number + 2)],
        )
        _insert(
            catalog,
            "ducklake_snapshot_changes",
            [(snapshot, "inserted_into_table:1", None, None, None)],
        )
        _insert(
            catalog,
            "ducklake_data_file",
            [
                (
                    *(number, 1, snapshot, None, None, file.path, 0, "parquet"),
                    *(file.rows, file.bytes, file.footer_size, 0, spec.id if spec else None),
                    *(None, mapping, None),
                )
            ],
        )
        if file.mapping is not None:
            _insert(catalog, "ducklake_column_mapping", [(mapping, 1, "map_by_name")])
            _insert(
                catalog,
                "ducklake_name_mapping",
                [(mapping, *row) for row in mapping_rows(file.mapping)],
            )
        _insert(
            catalog,
            "ducklake_file_column_stats",
            [(number, 1, at, *facts) for at, facts in statistics_of(file).items()],
        )
        _insert(
            catalog,
            "ducklake_file_partition_value",
            [(number, 1, at, value) for at, value in enumerate(file.partition_values or ())],
        )
        self._add_table_statistics(catalog, file)

    def _add_table_statistics(self, catalog: sqlite3.Connection, file: NewFile) -> None:
        known = catalog.execute("SELECT count(*) FROM ducklake_table_stats").fetchone()[0]
        assert not known, "one file at a time"
        _insert(catalog, "ducklake_table_stats", [(1, file.rows, file.rows, file.bytes)])
        _insert(
            catalog,
            "ducklake_table_column_stats",
            [
                (1, f.column_id, f.nulls and f.nulls > 0, f.contains_nan, f.min, f.max, None)
                for f in file.columns
            ],
        )

    def rows_in_tidelake(self, where: str | None = None) -> list[tuple[Any, ...]]:
        from tidelake.engine.local.engine import LocalEngine

        with self._lake() as lake:
            plan = lake.table("t").scan(where=where).plan()
            return LocalEngine().read(plan).to_duckdb().fetchall()

    def _lake(self) -> tidelake.Lake:
        return tidelake.connect(f"sqlite:///{self._catalog}", read_only=True)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self._catalog) as catalog:
            return catalog.execute(query).fetchall()


def _insert(catalog: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    for row in rows:
        catalog.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def mapping_rows(mapping: Sequence[MappedField]) -> list[tuple[Any, ...]]:
    """As DuckDB numbers them: parents first, each counted once."""
    rows: list[tuple[Any, ...]] = []

    def walk(fields: Sequence[MappedField], parent: int | None) -> None:
        for field in fields:
            at = len(rows)
            rows.append((at, field.source_name, field.field_id, parent, int(field.is_partition)))
            walk(field.children, at)

    walk(mapping, None)
    return rows


def statistics_of(file: NewFile) -> dict[int, tuple[Any, ...]]:
    return {
        f.column_id: (f.bytes, f.values, f.nulls, f.min, f.max, f.contains_nan, f.extra)
        for f in file.columns
    }


def stored_from(file: NewFile) -> Stored:
    return Stored(
        mapping_rows(file.mapping or ()), statistics_of(file), list(file.partition_values or ())
    )


INT = pa.int32()
Make = Callable[..., ForeignTable]


def written(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def copied(path: Path, query: str, options: str = "") -> Path:
    duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet{options})")
    return path


def inserted(path: Path, columns: str, values: str) -> Path:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE x ({columns})")
    connection.execute(f"INSERT INTO x {values}")
    connection.execute(f"COPY x TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return path


def one(files: list[NewFile]) -> NewFile:
    (file,) = files
    return file


def bounds(file: NewFile) -> list[tuple[str | None, str | None]]:
    return [(facts.min, facts.max) for facts in file.columns]
