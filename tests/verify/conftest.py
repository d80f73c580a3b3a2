"""A lake with something of everything, to be damaged in one place at a time."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place


@dataclass(frozen=True)
class Patient:
    """A copy of the lake in a folder of its own. `{t}` in SQL stands for the id of table t."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def open(self, **options: Any) -> tidelake.Lake:
        url = f"sqlite:///{self.folder}/lake.db"
        return tidelake.connect(url, f"{self.data}/", override_data_path=True, **options)

    def sql(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / "lake.db")) as catalog, catalog:
            rows = catalog.execute("SELECT table_name, table_id FROM ducklake_table").fetchall()
            return catalog.execute(statement.format(**dict(rows))).fetchall()

    def path(self, table: str, *, kind: str = "data_file", last: bool = False) -> Path:
        """The first or last file of a table."""
        order = "DESC" if last else "ASC"
        (path, relative) = self.sql(
            f"SELECT path, path_is_relative FROM ducklake_{kind}"
            f" WHERE table_id = {{{table}}} ORDER BY begin_snapshot {order}, path LIMIT 1"
        )[0]
        return self.data / "main" / table / path if relative else Path(path)

    def rewrite(self, path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
        """Another Parquet file in the place of one, and the catalog told its size."""
        table = change(pq.read_table(path, partitioning=None))
        pq.write_table(table, path)
        raw = path.read_bytes()
        footer = int.from_bytes(raw[-8:-4], "little")
        for kind in ("data_file", "delete_file"):
            self.sql(
                f"UPDATE ducklake_{kind} SET file_size_bytes = {len(raw)}, footer_size = {footer}"
                f" WHERE path LIKE '%{path.name}'"
            )


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    with Place.at("sqlite", folder).open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        _by_us(lake, folder)
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake")
        duck.execute("USE lake")
        _by_duckdb(duck)
    return folder


def _by_us(lake: tidelake.Lake, folder: Path) -> None:
    t = lake.create_table("t", "id INTEGER, v VARCHAR, n STRUCT(a INTEGER, l DOUBLE[])")
    for start in (0, 100):
        nested = [{"a": i, "l": [i / 2, None]} for i in range(100)]
        rows = {"id": range(start, start + 100), "v": [f"v{i}" for i in range(100)], "n": nested}
        t.append(pa.table(rows, schema=None))
    t.delete("id = 3")
    t.delete("id IN (4, 5)")
    t.evolve(rename={"v": "w"})
    t.append([{"id": 500, "w": "x", "n": None}])
    p = lake.create_table("p", "k INTEGER, x DOUBLE", partition_by=["k"])
    p.append({"k": 1, "x": float(i)} for i in range(9))
    p.append([{"k": 2, "x": float("nan")}, {"k": 2, "x": None}, {"k": 2, "x": -0.0}])
    lake.create_table("mapped", "a INTEGER, b VARCHAR")
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]}), folder / "m.pq")
    lake.table("mapped").add_files([str(folder / "m.pq")])
    lake.tag("first", known_at=2)
    with lake.consumer("billing", since=2):
        pass


def _by_duckdb(duck: Any) -> None:
    duck.execute("CREATE TABLE merged (i INTEGER)")
    for value in (1, 2, 3):
        duck.execute(f"INSERT INTO merged VALUES ({value})")
    duck.execute("CALL ducklake_merge_adjacent_files('lake', 'merged')").fetchall()
    duck.execute("CALL lake.set_option('data_inlining_row_limit', 10)").fetchall()
    duck.execute("CREATE TABLE small (i INTEGER, s VARCHAR)")
    duck.execute("INSERT INTO small VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    duck.execute("UPDATE small SET s = 'z' WHERE i = 2")
    duck.execute("CREATE TABLE f AS SELECT i FROM range(50) r(i)")
    duck.execute("DELETE FROM f WHERE i = 7")
    duck.execute("CREATE TABLE gone (i INTEGER)")
    duck.execute("DROP TABLE gone")
    duck.execute("CREATE VIEW seen AS SELECT id FROM t")


@pytest.fixture
def patient(healthy: Path, tmp_path: Path) -> Patient:
    shutil.copytree(healthy, tmp_path / "lake")
    return Patient(tmp_path / "lake")
