"""Lakes that are whole are said to be, whatever was done to them and wherever they are kept."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tidelake.errors import NotFound
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

CATALOGS = ["sqlite", "duckdb", "postgresql", "mariadb"]


@pytest.fixture(params=CATALOGS)
def home(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    return new_place(request.param)


def whole(lake: tidelake.Lake, after: object = None) -> None:
    """Quick and deep checks find nothing, and no past state has changed."""
    report = lake.verify(deep=True, fingerprint=True)
    assert report.ok, f"after {after}:\n{report}"


def steps(lake: tidelake.Lake, folder: Path) -> Iterator[Callable[[], Any]]:
    """One of each thing that Tidelake does to a lake."""
    yield lambda: lake.create_schema("s")
    yield lambda: lake.create_table(
        "s.t", "id INTEGER, v DOUBLE, n STRUCT(a INTEGER, l VARCHAR[])", partition_by=["id"]
    )
    t = lake.table("s.t")
    yield lambda: t.append([{"id": 1, "v": 1.5, "n": None}, {"id": 2, "v": float("nan"), "n": {}}])
    yield lambda: t.append({"id": i % 3, "v": i / 7, "n": {"a": i, "l": ["x"]}} for i in range(300))
    yield lambda: t.delete("v > 40")
    yield lambda: t.delete("v BETWEEN 10 AND 11")
    yield lambda: t.update({"v": "v + 1"}, where="id = 1")
    yield lambda: t.merge([{"id": 7, "v": 0.0, "n": None}], on="id")
    yield lambda: t.evolve(add={"w": "BIGINT"}, rename={"v": "x"}, widen={"id": "BIGINT"})
    yield lambda: t.append([{"id": 9, "x": -0.0, "n": None, "w": 5}])
    yield lambda: t.set_partitioning(["w"])
    yield lambda: t.append({"id": i, "x": None, "n": None, "w": i} for i in range(50))
    yield lambda: t.set_partitioning([])
    yield lambda: lake.tag("here")
    yield lambda: t.overwrite([{"id": 1, "x": 1.0, "n": None, "w": 1}], where="id = 1")
    yield lambda: lake.rename("s.t", "u")
    u = lake.table("s.u")
    yield lambda: u.compact()
    yield lambda: lake.create_table("b", "a BIGINT", partition_by=["bucket(4, a)"])
    yield lambda: lake.table("b").append({"a": i} for i in range(40))
    yield lambda: lake.create_table("m", "a BIGINT")
    pq.write_table(pa.table({"a": [1, 2, None]}), folder / "m.parquet")
    yield lambda: lake.table("m").add_files([str(folder / "m.parquet")])
    yield lambda: lake.table("m").delete("a = 1")
    yield lambda: lake.drop("m")
    yield lambda: lake.table("s.u").rollback(to="here")
    yield lambda: lake.expire(keep_last=5)
    yield lambda: lake.cleanup(older_than="0 seconds", orphans=False)
    yield lambda: lake.compact()


def test_whatever_we_do_a_lake_stays_whole(home, tmp_path):
    with tidelake.connect(home.url, f"{home.data}/") as lake:
        whole(lake)
        for number, step in enumerate(steps(lake, tmp_path)):
            step()
            if number % 3 == 0:
                report = lake.verify()
                assert report.ok, f"after step {number}:\n{report}"
            if number % 9 == 0:
                whole(lake, f"step {number}")
        whole(lake)
        report = lake.verify(tables=["s.u"])
    assert report.ok
    assert report.checked["tables"] == 1


def test_a_name_that_never_was_is_refused(tmp_path):
    lake = tidelake.connect(f"sqlite:///{tmp_path}/lake.db")
    with lake, pytest.raises(NotFound, match="never"):
        lake.verify(tables=["nothing"])


def test_duckdbs_two_delete_files_are_reported(tmp_path):
    """A flush of deletes from a file that has been rewritten leaves two that count at once."""
    with Place.at("sqlite", tmp_path).open() as lake:
        with duck_connection() as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/lake.db' AS lake")
            duck.execute("USE lake")
            duck.execute("CREATE TABLE t AS SELECT i FROM range(100) r(i)")
            duck.execute("DELETE FROM t WHERE i < 20")
            duck.execute("DELETE FROM t WHERE i = 50")
            assert lake.verify(deep=True).ok
            rewrite = "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)"
            duck.execute(rewrite).fetchall()
            assert lake.verify(deep=True, fingerprint=True).ok
            duck.execute("CALL ducklake_flush_inlined_data('lake')").fetchall()
        report = lake.verify(deep=True, fingerprint=True)
        assert {problem.check for problem in report.problems} == {"delete-overlap"}, str(report)
