"""Histories by seed, of Tidelake and DuckDB: what comes back from a backup is what DuckDB read
before, at every snapshot."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tidelake
from tidelake.testing.agreement import assert_same
from tidelake.testing.histories.trial import plan_of, run
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

LENGTH = 10


def _check(seed: int, length: int, place: Place, other: Place, oracle: Oracle) -> None:
    run(plan_of(seed, length), place)
    before = oracle.read(place) if place.ducklake else None
    path = place.folder.parent / "backup"
    with place.open() as lake:
        lake.backup(path, files=True)
        rows = {
            (at.snapshot_id, name): sorted(map(repr, then.table(name).to_arrow().to_pylist()))
            for at in lake.snapshots()
            for then in [lake.known_at(at.snapshot_id)]
            for name in then.tables()
        }
    shutil.rmtree(place.data, ignore_errors=True)
    with tidelake.restore(path, other.url, other.data) as again:
        for (at, name), wanted in rows.items():
            found = again.known_at(at).table(name).to_arrow().to_pylist()
            assert sorted(map(repr, found)) == wanted
        assert [str(each) for each in again.verify(deep=True).problems] == []
    if other.ducklake and before is not None:
        after = oracle.read(other)
        assert after.snapshots == before.snapshots
        assert after.lineage == before.lineage
        assert_same(other, oracle)


def test_a_history(tmp_path: Path, oracle: Oracle) -> None:
    place = Place.at("sqlite", tmp_path / "lake")
    _check(5, 4, place, Place.at("sqlite", tmp_path / "again"), oracle)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(300, 308))
def test_many_histories(seed: int, tmp_path: Path, oracle: Oracle) -> None:
    place = Place.at("sqlite", tmp_path / "lake")
    _check(seed, LENGTH, place, Place.at("sqlite", tmp_path / "again"), oracle)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [400, 401])
@pytest.mark.parametrize(
    ("kind", "to"),
    [
        ("duckdb", "sqlite"),
        ("sqlite", "postgresql"),
        ("postgresql", "sqlite"),
        ("sqlite", "mariadb"),
        ("mariadb", "duckdb"),
    ],
)
def test_other_catalogs(
    seed: int, kind: str, to: str, new_place: Callable[[str], Place], tmp_path: Path, oracle: Oracle
) -> None:
    other = Place.at(to, tmp_path / "again") if to in ("sqlite", "duckdb") else new_place(to)
    other = Place(to, other.url, tmp_path / "again")
    other.folder.mkdir(exist_ok=True)
    _check(seed, LENGTH, new_place(kind), other, oracle)
