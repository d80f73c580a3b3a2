"""A lake that Tidelake 0.1 made opens as it was, and goes on from there."""

import importlib.util
import json
import shutil
import sqlite3
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tidelake
from tests.delta.agreement import assert_agree
from tests.delta.readers import Readers
from tidelake.catalog.read import registrations, tags, zones
from tidelake.duck import open_duckdb
from tidelake.lake.wiring import FEATURES
from tidelake.testing.duck import duck_connection

OLD = Path(__file__).parents[1] / "data" / "lake-0.1"


def as_it_was_made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lake_of_0_1", OLD / "make.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


MADE = as_it_was_made()
ANSWERS: dict[str, Any] = json.loads((OLD / "answers.json").read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the lake is now."""
    shutil.copytree(OLD / "data", tmp_path / "data")
    with sqlite3.connect(tmp_path / "lake.db") as catalog:
        catalog.executescript((OLD / "catalog.sql").read_text().replace("{folder}", str(tmp_path)))
    return tmp_path


@pytest.fixture
def in_duckdb(tmp_path: Path) -> str:
    """The same lake as 0.1 made it with a catalog in a DuckDB file."""
    shutil.copytree(OLD / "duckdb" / "data", tmp_path / "data")
    with open_duckdb(str(tmp_path / "lake.duckdb")) as catalog:
        text = (OLD / "duckdb" / "catalog.sql").read_text()
        catalog.execute(text.replace("{folder}", str(tmp_path)))
    return f"duckdb:///{tmp_path}/lake.duckdb"


def opened(folder: Path, **options: Any) -> tidelake.Lake:
    return tidelake.connect(f"sqlite:///{folder}/lake.db", **options)


def rows_of(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "lake.db") as catalog:
        return catalog.execute(sql).fetchall()


def own_tables(folder: Path) -> set[str]:
    found = rows_of(folder, "SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found if name.startswith("tidelake_")}


@pytest.mark.parametrize("read_only", [True, False])
def test_reading_tells_what_it_told_then_and_changes_nothing(folder, read_only):
    before = (folder / "lake.db").read_bytes()
    with opened(folder, read_only=read_only) as lake:
        assert MADE.answers(lake) == ANSWERS
        (mirror,) = lake.mirrors()
        assert (mirror.kind, mirror.status, mirror.version, mirror.behind) == (
            "delta",
            "active",
            3,
            0,
        )
        assert [tag.name for tag in lake.tags()] == ["before-the-end"]
        assert [(each.name, each.snapshot_id) for each in lake.consumers()] == [("billing", 3)]
        assert len(lake.table("facts").rollups()) == 1
        report = lake.verify(deep=True)
        assert report.ok, str(report)
    assert (folder / "lake.db").read_bytes() == before


@pytest.mark.parametrize("read_only", [True, False])
def test_a_catalog_in_a_duckdb_file_too(in_duckdb, read_only):
    with tidelake.connect(in_duckdb, read_only=read_only) as lake:
        assert MADE.answers(lake) == ANSWERS
        assert [(each.status, each.version) for each in lake.mirrors()] == [("active", 3)]
        assert [tag.name for tag in lake.tags()] == ["before-the-end"]
        assert lake.verify(deep=True).ok, str(lake.verify(deep=True))
        assert_both_clocks(lake)
    if not read_only:
        with tidelake.connect(in_duckdb) as lake:
            lake.table("facts").put([{"k": 1, "at": MADE.START + timedelta(days=9), "v": "new"}])
            lake.table("prices").append(MADE.prices(7))
            lake.compact()
            assert_both_clocks(lake)
            assert lake.verify(deep=True).ok, str(lake.verify(deep=True))


def test_both_clocks_with_its_rollup_and_its_inlined_rows(folder):
    with sqlite3.connect(folder / "lake.db") as catalog:
        inlined = catalog.execute("SELECT count(*) FROM ducklake_inlined_data_2_2").fetchone()
    assert inlined == (7,)
    with opened(folder) as lake:
        assert_both_clocks(lake)


def assert_both_clocks(lake: tidelake.Lake) -> None:
    """States of the facts by event time, as they were known before the late one came and after."""
    facts = lake.table("facts")
    assert len(facts.rollups()) == 1
    late = max(int(said.rpartition(" ")[2]) for said in ANSWERS if said.startswith("facts at"))
    for hours, day in ((1, 0), (36, 1), (60, 2)):
        state = facts.as_of(MADE.START + timedelta(hours=hours))
        known = {1: f"1.{day}", 2: f"2.{day}"}
        assert values(state) == {**known, 3: "late"}
        assert values(state.known_at(late - 1)) == known


def values(state: tidelake.Table) -> dict[int, str]:
    return {row["k"]: row["v"] for row in state.to_arrow().to_pylist()}


def test_an_append_goes_to_its_mirror(folder):
    with opened(folder) as lake, Readers() as readers:
        lake.table("prices").append(MADE.prices(7))
        assert assert_agree(lake, "prices", readers) == 4
        assert lake.table("prices").coverage("a").covered == 6 * 3 + 5 + 6
        report = lake.verify(deep=True, fingerprint=True)
        assert report.ok, str(report)
    with opened(folder) as lake:
        (mirror,) = lake.mirrors()
        assert (mirror.published, mirror.status, mirror.behind) == (4, "active", 0)
    assert rows_of(folder, "SELECT table_id, format FROM tidelake_mirror") == [(1, "delta")]


def test_what_was_decided_upon_and_not_known_to_be_published_is(folder):
    log = folder / "data/main/prices/_delta_log"
    (log / f"{3:020}.json").unlink()
    with opened(folder) as lake:
        lake.sync_mirrors()
        assert lake.mirrors()[0].published == 3
        with Readers() as readers:
            assert assert_agree(lake, "prices", readers) == 3


def test_upkeep_of_all_kinds(folder):
    with opened(folder) as lake:
        lake.compact()
        with pytest.raises(tidelake.errors.Conflict, match="'billing'"):
            lake.expire(keep_last=2)
        lake.consumer("billing").drop()
        lake.expire(keep_last=2)
        lake.cleanup(older_than="0 seconds")
        report = lake.verify(deep=True)
        assert report.ok, str(report)
        with Readers() as readers:
            shown = readers.read(lake.mirrors()[0].root)
        assert {len(rows) for _, rows in shown.values()} == {52}


def test_0_1_can_still_write_to_a_mirror_that_was_brought_up(folder):
    """Not everybody has the new version at once."""
    with opened(folder) as lake:
        lake.table("prices").append(MADE.prices(7))
    with sqlite3.connect(folder / "lake.db") as catalog:
        catalog.execute("INSERT INTO tidelake_mirror_commit (table_id, version) VALUES (1, 5)")
    formats = rows_of(folder, "SELECT DISTINCT format FROM tidelake_mirror_commit")
    assert formats == [("delta",)]


def test_duckdb_reads_it_before_and_after(folder):
    def theirs() -> list[int]:
        with duck_connection() as duck:
            duck.execute(f"ATTACH 'ducklake:sqlite:{folder}/lake.db' AS lake (READ_ONLY)")
            return [
                duck.sql(f"SELECT * FROM lake.{name}").fetchall() for name in ("prices", "facts")
            ]

    assert list(map(len, theirs())) == [52, 7]
    with opened(folder) as lake:
        lake.table("prices").append(MADE.prices(7))
    assert list(map(len, theirs())) == [64, 7]


def test_without_all_that_is_kept_beside_it_the_lake_is_whole(folder):
    """Which tables these are, annexes say."""
    known = {tags.TABLE, zones.TABLE, registrations.TABLE}
    known |= {name for annex in FEATURES.annexes for name in annex.tables}
    there = own_tables(folder)
    assert len(there) >= 12
    assert there <= known
    with sqlite3.connect(folder / "lake.db") as catalog:
        for name in there:
            catalog.execute(f"DROP TABLE {name}")
    with opened(folder) as lake:
        assert MADE.answers(lake) == ANSWERS
        report = lake.verify(deep=True)
        assert report.ok, str(report)
        lake.table("facts").put([{"k": 9, "at": MADE.START, "v": "more"}])
        assert lake.table("facts").count() == 8
