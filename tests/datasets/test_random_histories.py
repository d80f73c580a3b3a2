"""Histories by seed, of Tidelake and DuckDB: a clone and a data set of any table at any snapshot
are that table then, and stay so whatever DuckDB tidies up."""

from pathlib import Path
from random import Random

import pytest

from tidelake.errors import TidelakeError
from tidelake.testing.agreement import assert_same
from tidelake.testing.histories.trial import plan_of, run
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

LENGTH = 10


def _check(seed: int, length: int, place: Place, oracle: Oracle) -> None:
    run(plan_of(seed, length), place)
    draw = Random(seed)
    wanted: dict[str, list[str]] = {}
    with place.open() as lake:
        moments = [
            (at.snapshot_id, name)
            for at in lake.snapshots()
            for name in lake.known_at(at.snapshot_id).tables()
        ]
        for at, name in draw.sample(moments, min(len(moments), 8)):
            then = lake.known_at(at).table(name)
            columns = ["rowid", *then.schema.names]
            rows = sorted(map(repr, then.scan(columns).to_arrow().to_pylist()))
            source = lake.table(name) if name in lake.tables() else None
            made = f"clone_{len(wanted)}"
            if source is None:
                continue
            try:
                source.known_at(at).clone(made)
            except TidelakeError as error:
                raise AssertionError(f"{name} at {at}: {error}") from error
            clone = lake.table(made)
            assert [(c.name, c.type) for c in clone.schema] == [
                (c.name, c.type) for c in then.schema
            ]
            assert sorted(map(repr, clone.scan(columns).to_arrow().to_pylist())) == rows
            wanted[f"main.{made}"] = rows
            frozen = lake.freeze(made, source.known_at(at))
            assert frozen.rows == len(rows)
        assert [str(each) for each in lake.verify(deep=True).problems] == []
    assert_same(place, oracle)
    oracle.run(
        place,
        "CALL ducklake_merge_adjacent_files('lake');"
        "CALL ducklake_expire_snapshots('lake', older_than => now());"
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true);",
    )
    with place.open() as lake:
        for name, rows in wanted.items():
            table = lake.table(name)
            found = table.scan(["rowid", *table.schema.names]).to_arrow().to_pylist()
            assert sorted(map(repr, found)) == rows
        assert all(each.verify().ok for each in lake.frozen())


@pytest.mark.parametrize("seed", [5])
def test_a_history(seed: int, tmp_path: Path, oracle: Oracle) -> None:
    _check(seed, 4, Place.at("sqlite", tmp_path / "lake"), oracle)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(500, 510))
def test_many_histories(seed: int, tmp_path: Path, oracle: Oracle) -> None:
    _check(seed, LENGTH, Place.at("sqlite", tmp_path / "lake"), oracle)
