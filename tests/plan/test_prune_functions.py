"""Skipping files never loses a row, whatever the condition is made of.

Every scalar function of DuckDB stands in random conditions, under NOT, IS TRUE, CASE and coalesce,
over files that are all NULL, half NULL, NaN, of one value, or empty, with and without
partitions. DuckDB without any files says which rows are right.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import duckdb
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.duck_functions import COLUMNS, condition, functions, rows
from tidelake.errors import Invalid
from tidelake.testing.place import Place

KINDS = ("null", "half", "nan", "one", "same", "any", "null", "half")
PARTITIONS = {
    "flat": [],
    "flag": ["z"],
    "text": ["s"],
    "buckets": ["bucket(4, i)", "month(ts)"],
    "float": ["f"],
}


@dataclass(frozen=True)
class Files:
    """Of a lake, and what DuckDB says of their rows."""

    lake: tidelake.Lake
    oracle: duckdb.DuckDBPyConnection
    files: dict[int, frozenset[int]]
    """The ids of the rows of each data file."""

    def wanted(self, where: str) -> set[int] | None:
        """The rows that meet a condition; None if DuckDB refuses it."""
        try:
            found = self.oracle.execute(f"SELECT id FROM t WHERE {where}").fetchall()
        except duckdb.Error:
            return None
        return {row for (row,) in found}

    def lost(self, where: str, wanted: set[int]) -> set[int]:
        """Wanted rows of files that the plan leaves out."""
        kept = {file.id for file in self.lake.table("t").scan(where=where).files()}
        return wanted - set().union(*(rows for file, rows in self.files.items() if file in kept))


def _files(root: Path, partition_by: list[str]) -> Files:
    random = Random(str(partition_by))
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    oracle = duckdb.connect()
    oracle.execute("SET TimeZone = 'UTC'")
    oracle.execute(f"CREATE TABLE t ({columns})")
    lake = Place.at("sqlite", root).open()
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", columns, partition_by=partition_by)
    for place, kind in enumerate(KINDS):
        made = ", ".join(rows(random, kind, place * 100))
        lake.sql(f"INSERT INTO t VALUES {made}")
        oracle.execute(f"INSERT INTO t VALUES {made}")
    if not partition_by:
        empty = root / "empty.parquet"
        oracle.execute(f"COPY (FROM t LIMIT 0) TO '{empty}'")
        table.add_files([str(empty)])
    read = {
        file.id: frozenset(pq.read_table(file.path, columns=["id"])["id"].to_pylist())
        for file in table.scan().files()
    }
    return Files(lake, oracle, read)


@pytest.fixture(scope="module", params=PARTITIONS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return _files(tmp_path_factory.mktemp("lake"), PARTITIONS[request.param])


def _conditions(place: Files, random: Random, share: float) -> Iterator[tuple[str, set[int]]]:
    """Conditions that DuckDB takes, with the rows that meet them: so many for each function."""
    known = functions(place.oracle)
    for function in random.choices(known, k=round(len(known) * share)):
        where = condition(function, random)
        wanted = place.wanted(where)
        if wanted is not None:
            yield where, wanted


def _losses(place: Files, random: Random, share: float) -> list[str]:
    found, refused, judged = [], 0, 0
    for where, wanted in _conditions(place, random, share):
        judged += 1
        try:
            if place.lost(where, wanted):
                found.append(where)
        except Invalid:
            refused += 1
    assert refused < judged / 10, f"{refused} of {judged} refused"
    return found


def test_no_file_is_skipped_that_has_a_wanted_row(place: Files) -> None:
    assert _losses(place, Random(1), 0.05) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_file_is_skipped_that_has_a_wanted_row_at_length(place: Files, seed: int) -> None:
    assert _losses(place, Random(seed + 100), 3) == []


class _Undone(Exception):
    pass


def _answers(place: Files, where: str) -> dict[str, object]:
    """What every way to use a condition makes of it."""
    table = place.lake.table("t")
    query = place.lake.sql(f"SELECT id FROM t WHERE {where}")
    found: dict[str, object] = {
        "scan": set(table.scan(columns=["id"], where=where).to_arrow()["id"].to_pylist()),
        "sql": set(query.to_arrow()["id"].to_pylist()),
        "count": table.scan(where=where).count(),
    }
    with suppress(_Undone), place.lake.transaction() as tx:
        found["update"] = tx.table("t").update({"id": "id + 1000"}, where=where).updated
        raise _Undone
    with suppress(_Undone), place.lake.transaction() as tx:
        found["delete"] = tx.table("t").delete(where).deleted
        left = tx.table("t").scan(columns=["id"]).to_arrow()["id"].to_pylist()
        found["left"] = set(left)
        raise _Undone
    return found


def _differences(place: Files, random: Random, share: float) -> list[tuple[str, dict[str, object]]]:
    everything = place.wanted("true")
    assert everything is not None
    found = []
    for where, wanted in _conditions(place, random, share):
        count = len(wanted)
        right = {
            "scan": wanted,
            "sql": wanted,
            "count": count,
            "update": count,
            "delete": count,
            "left": everything - wanted,
        }
        with suppress(Invalid):
            got = _answers(place, where)
            if got != right:
                found.append((where, {way: got[way] for way in got if got[way] != right[way]}))
    return found


def test_every_way_to_use_a_condition_gives_the_same_rows(place: Files) -> None:
    assert _differences(place, Random(7), 0.005) == []


@pytest.mark.slow
def test_every_way_to_use_a_condition_gives_the_same_rows_at_length(place: Files) -> None:
    assert _differences(place, Random(8), 0.3) == []


@pytest.mark.parametrize("partition_by", [[], ["i"], ["bucket(2, i)"]])
def test_not_before_what_is_never_null(tmp_path: Path, partition_by: list[str]) -> None:
    lake = Place.at("sqlite", tmp_path).open()
    lake.set_option("data_inlining_row_limit", 0)
    table = lake.create_table("t", "id INT, i INT", partition_by=partition_by)
    table.append([{"id": n, "i": None} for n in range(20)])
    table.append([{"id": 20 + n, "i": n % 2} for n in range(20)])
    for where, right in {
        "NOT coalesce(i > 0, false)": 30,
        "(i > 0) IS NOT TRUE": 30,
        "NOT (CASE WHEN i > 0 THEN true ELSE false END)": 30,
        "NOT (ifnull(i, 0) = 5)": 40,
        "NOT (concat(i, 'x') = 'x1')": 40,
        "NOT (i > 0)": 10,
    }.items():
        assert table.scan(where=where).count() == right
        assert lake.sql(f"SELECT id FROM t WHERE {where}").count() == right
    assert table.update({"id": 0}, where="(i > 0) IS NOT TRUE").updated == 30
    assert table.delete("NOT coalesce(i > 0, false)").deleted == 30
    assert table.count() == 10
