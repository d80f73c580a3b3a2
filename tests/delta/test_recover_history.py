"""A lake that comes back from its mirrors' logs has its past: at every snapshot that they tell of
it holds what it held. What they do not tell exactly is left out, and that is said."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.delta import others
from tests.delta.recovery import Witness, lose, recovered, run
from tests.delta.trial import plan_of
from tidelake import Lake
from tidelake.errors import Conflict, NotFound
from tidelake.testing.place import Place

START = datetime(2024, 1, 1)
OLD = Path(__file__).parents[1] / "data" / "lake-0.1" / "data"


@contextmanager
def lived(place: Place, witness: Witness) -> Iterator[Lake]:
    """A lake without rows in its catalog, of which all is noted in the end."""
    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        yield lake
        witness.look(lake)


def rows(*numbers: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "ts": START + timedelta(hours=n), **more} for n in numbers]


@pytest.mark.parametrize("since_ever", [False, True])
def test_all_of_it(place: Place, since_ever: bool) -> None:
    """Every kind of change, several tables in one commit among them."""
    witness = Witness()
    with lived(place, witness) as lake:
        lake.create_schema("ns")
        t = lake.create_table(
            "ns.t",
            "id BIGINT NOT NULL, s VARCHAR, n STRUCT(a INTEGER, b VARCHAR), ts TIMESTAMP NOT NULL",
            key="id",
            event_time="ts",
        )
        u = lake.create_table("u", "id BIGINT, ts TIMESTAMP")
        for n in range(3):
            t.append(rows(*range(10 * n, 10 * n + 10), s="a", n={"a": 1, "b": "b"}))
        t.evolve(rename={"s": "name"})
        witness.look(lake)
        t.compact()
        for name in ("ns.t", "u"):
            lake.mirror(name, history=since_ever)
        with lake.transaction() as tx:
            tx.table("ns.t").delete("id % 4 = 1")
            tx.table("u").append(rows(1, 2))
        t.merge([{"id": 8, "ts": START, "name": "merged"}], on=["id"])
        t.evolve(add={"s": "INTEGER DEFAULT 5"}, drop=["n"])
        t.set_partitioning(["day(ts)"])
        t.append(rows(50, 51, name="after", s=1))
        t.update({"name": "'updated'"}, where="id = 50")
        witness.look(lake)
        t.compact()
        lake.rename("u", "w")
        u = lake.table("w")
        u.append(rows(3))
        version = lake.mirrored("ns.t").state.version
    found, compared = recovered(witness, lose(place))
    assert [each.note for each in found.tables] == [None, None]
    assert [each.first_version for each in found.tables] == [0, 0]
    assert {each.table: each.version for each in found.tables}["ns.t"] == version
    assert compared >= 18 if since_ever else 9
    with place.open() as lake:
        t = lake.table("ns.t")
        t.append(rows(60, name="goes on", s=3))
        assert lake.mirrored("ns.t").diff().exit_code == 0
        assert lake.verify(deep=True).ok


def test_states_of_the_past_are_as_they_were(place: Place) -> None:
    """Known at a time, as of a moment, and what changed in between."""
    answers = []
    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", "id BIGINT, ts TIMESTAMP, x INTEGER", key="id", event_time="ts")
        lake.mirror("t")
        for n in range(5):
            t.append(rows(0, 1, 2, x=n))
            t.delete(f"x = {n - 2}")
        moments = [snapshot.time for snapshot in lake.snapshots()[2:]]
        answers = [_answers(lake, moment) for moment in moments]
        first = lake.snapshots()[2].snapshot_id
        changes = t.changes(first).to_arrow().to_pylist()
    with lose(place).open(share_data_path=True) as lake:
        lake.recover()
        assert [_answers(lake, moment) for moment in moments] == answers
        until = lake.snapshots()[-2].snapshot_id
        assert lake.table("t").changes(first, until).to_arrow().to_pylist() == changes


def _answers(lake: Lake, moment: datetime) -> Any:
    state = lake.known_at(moment).table("t").as_of("2024-02-01").to_arrow().to_pylist()
    return sorted(state, key=lambda row: row["id"])


def test_a_compaction_changes_no_rows_in_the_past_either(place: Place) -> None:
    with place.open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        t = lake.create_table("t", "id BIGINT")
        lake.mirror("t")
        for n in range(4):
            t.append([{"id": n}])
        t.compact()
        t.append([{"id": 9}])
        wanted = t.changes(2).to_arrow().select(["id", "change_type"]).to_pylist()
    with lose(place).open(share_data_path=True) as lake:
        lake.recover()
        found = lake.table("t").changes(2).to_arrow().select(["id", "change_type"]).to_pylist()
        assert found == wanted
        told = [(entry.operation, entry.inserted, entry.deleted) for entry in lake.log()]
        assert told[3:8] == [("append", 1, 0)] * 3 + [("rewrite files", 0, 0), ("append", 1, 0)]


def mirrored(lake: Lake, name: str = "t", count: int = 2) -> tidelake.Table:
    table = lake.create_table(name, "id BIGINT, ts TIMESTAMP")
    lake.mirror(name)
    for n in range(count):
        table.append(rows(n))
    return table


def note_of(found: Any, name: str = "main.t") -> tuple[int, str]:
    (told,) = (each for each in found.tables if each.table == name)
    return told.first_version, told.note or ""


def test_a_log_that_was_stopped_tells_only_what_came_after(place: Place) -> None:
    """In between the table was what no version shows, and another table's log tells of that."""
    witness = Witness()
    with lived(place, witness) as lake:
        t, other = mirrored(lake), mirrored(lake, "other")
        lake.mirrored("t").stop()
        t.append(rows(7))
        other.append(rows(8))
        t.delete("id = 7")
        lake.mirror("t")
        t.append(rows(9))
    found, compared = recovered(witness, lose(place))
    first, note = note_of(found)
    assert (first, note) == (4, "before version 4 the table was what no version shows")
    assert compared > 4


def test_a_log_that_could_not_go_on_tells_only_what_came_after(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        t, other = mirrored(lake), mirrored(lake, "other")
        t.evolve(add={"of_day": "TIME"})
        assert lake.mirrored("t").state.status == "blocked"
        t.append(rows(7))
        other.append(rows(8))
        t.delete("id = 7")
        t.evolve(drop=["of_day"])
        assert lake.mirrored("t").state.status == "active"
    found, _ = recovered(witness, lose(place))
    assert "what no version shows" in note_of(found)[1]


def test_versions_of_others_end_what_is_known(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        t, mirror = mirrored(lake), lake.mirrored("t")
        others.commit(mirror.root, *(others.removed(add) for add in others.shown(mirror.root)))
        t.append(rows(5))
        mirror.reject_foreign()
        t.append(rows(6))
    found, compared = recovered(witness, lose(place))
    assert note_of(found) == (4, "version 3 was written by somebody else")
    assert compared == 2


def test_a_table_in_the_place_of_another_begins_with_itself(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        mirrored(lake)
        mirrored(lake, "other")
        lake.drop("t")
        mirrored(lake)
    found, _ = recovered(witness, lose(place))
    assert "another table" in note_of(found)[1] or "dropped" in note_of(found)[1]


def test_a_table_that_came_back_begins_with_that(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        mirrored(lake)
        mirrored(lake, "other")
        lake.drop("t")
        lake.undrop("t")
        lake.mirror("t")
        lake.table("t").append(rows(5))
    found, _ = recovered(witness, lose(place))
    assert "dropped" in note_of(found)[1]


def test_names_that_were_exchanged(place: Place) -> None:
    """A name that was one table's before is another's."""
    witness = Witness()
    with lived(place, witness) as lake:
        mirrored(lake, "t")
        mirrored(lake, "u")
        for old, new in (("t", "x"), ("u", "t"), ("x", "u")):
            lake.rename(old, new)
        lake.table("t").append(rows(5))
        lake.drop("u")
        mirrored(lake, "u")
    found, compared = recovered(witness, lose(place))
    assert {each.table for each in found.tables} == {"main.t", "main.u"}
    assert compared > 6


def test_files_that_are_gone_cut_the_past_short(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        t = mirrored(lake, count=4)
        witness.look(lake)
        t.compact()
        t.append(rows(9))
        lake.cleanup("0 seconds")
    found, compared = recovered(witness, lose(place))
    first, note = note_of(found)
    assert first == 5
    assert "is missing" in note
    assert compared == 2


def test_old_commits_that_are_gone_cut_the_past_short(tmp_path: Path) -> None:
    place = Place.at("sqlite", tmp_path).tuned(checkpoint_every=3)
    witness = Witness()
    with lived(place, witness) as lake:
        mirrored(lake, count=6)
        root = Path(lake.mirrored("t").root)
    for version in (0, 1, 2):
        (root / "_delta_log" / f"{version:020}.json").unlink()
    found, compared = recovered(witness, lose(place))
    first, note = note_of(found)
    assert (first, note) == (3, "of version 2 only a checkpoint is left")
    assert compared == 4


def test_a_vector_that_cannot_be_read_cuts_the_past_short(place: Place) -> None:
    witness = Witness()
    with lived(place, witness) as lake:
        t = lake.create_table("t", "id BIGINT, ts TIMESTAMP")
        lake.mirror("t")
        t.append([{"id": n} for n in range(40_000)])
        t.delete("hash(id) % 2 = 0")
        t.delete("hash(id) % 3 = 0")
        t.append(rows(7))
        (old, _) = sorted(
            Path(lake.mirrored("t").root).glob("deletion_vector_*.bin"),
            key=lambda path: path.stat().st_mtime_ns,
        )
    old.write_bytes(b"\x01 this is none")
    found, compared = recovered(witness, lose(place))
    assert note_of(found)[0] == 3
    assert compared == 2


def test_a_lake_of_0_1(tmp_path: Path) -> None:
    """Its logs do not know the time to the microsecond."""
    shutil.copytree(OLD, tmp_path / "data")
    log = tmp_path / "data" / "main" / "prices" / "_delta_log"
    said = [json.loads(path.read_text().splitlines()[0]) for path in sorted(log.glob("*.json"))]
    told = {
        each["commitInfo"]["tidelakeSnapshotId"]: each["commitInfo"]["timestamp"] for each in said
    }
    with tidelake.connect(
        f"sqlite:///{tmp_path}/new.db", tmp_path / "data", share_data_path=True
    ) as lake:
        found = lake.recover()
        back = {s.snapshot_id: int(s.time.timestamp() * 1000) for s in lake.snapshots()}
        assert found.snapshots
        assert back.items() >= {at: told[at] for at in back.keys() & told.keys()}.items()
        assert lake.verify(deep=True).ok


def test_without_history(place: Place) -> None:
    with place.open() as lake:
        mirrored(lake)
        last = lake.snapshots()[-1].snapshot_id
    with lose(place).open(share_data_path=True) as lake:
        found = lake.recover(history=False)
        assert (found.snapshots, found.snapshot_id) == (0, last + 1)
        assert [s.snapshot_id for s in lake.snapshots()] == [0, last + 1, last + 2]
        assert lake.table("t").count() == 2
        with pytest.raises(NotFound):
            lake.known_at(last)
        assert lake.mirrored("t").diff().exit_code == 0


def test_what_is_back_comes_back_again(place: Place) -> None:
    """The past that was recovered is recovered once more, with what came since."""
    witness = Witness()
    with lived(place, witness) as lake:
        mirrored(lake, count=3)
    recovered(witness, lose(place))
    with place.open() as lake:
        lake.table("t").delete("id = 1")
        lake.table("t").evolve(rename={"id": "number"})
        witness.look(lake)
    found, compared = recovered(witness, lose(place))
    assert note_of(found) == (0, "")
    assert compared == 6


@pytest.mark.parametrize(("seed", "since_ever"), [(4, True), (12, True), (23, False), (8, False)])
def test_a_few_histories(seed: int, since_ever: bool, tmp_path: Path) -> None:
    place = Place.at("sqlite", tmp_path).tuned(checkpoint_every=3)
    _, compared = run(plan_of(seed, 16), place, lazy=seed % 2 == 0, since_ever=since_ever)
    assert compared > 3


@pytest.mark.slow
@pytest.mark.parametrize("since_ever", [False, True])
@pytest.mark.parametrize("seed", range(100, 130))
def test_many_histories(seed: int, since_ever: bool, tmp_path: Path) -> None:
    place = Place.at("sqlite", tmp_path).tuned(checkpoint_every=3)
    run(plan_of(seed, 30), place, lazy=seed % 2 == 0, since_ever=since_ever)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "mariadb"])
@pytest.mark.parametrize("seed", range(200, 203))
def test_histories_on_other_catalogs(
    kind: str, seed: int, new_place: Callable[[str], Place]
) -> None:
    place = new_place(kind).tuned(checkpoint_every=3)
    other = new_place(kind) if kind != "duckdb" else None
    run(plan_of(seed, 16), place, other=other, since_ever=seed % 2 == 0)


def _killed_at(folder: Path, step: int) -> bool:
    """Whether there was such a step. Whoever comes next finds a lake that is new, or whole."""
    place, witness = Place.at("sqlite", folder), Witness()
    with lived(place, witness) as lake:
        t = mirrored(lake, count=3)
        mirrored(lake, "u")
        t.delete("id = 1")
    command = [sys.executable, "-m", "tests.delta.recovery_victim"]
    done = subprocess.run(
        [*command, lose(place).url, str(place.data), str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (-9, 0), done.stderr
    with place.open(share_data_path=True) as lake:
        whole = len(lake.snapshots()) > 1
        if whole:
            with pytest.raises(Conflict, match="history of its own"):
                lake.recover()
            lake.sync_mirrors()
        else:
            assert lake.tables() == []
        found = replace(_told(folder), snapshot_id=None) if whole else lake.recover()
        last = max(s.snapshot_id for s in lake.snapshots())
        assert witness.check(lake, replace(found, snapshot_id=last - 1)) == 12
        assert lake.verify(deep=True).ok
        assert lake.mirrored("t").diff().exit_code == 0
    return done.returncode == -9


def _told(folder: Path) -> Any:
    with tidelake.connect(
        f"sqlite:///{folder}/aside.db", folder / "data", share_data_path=True
    ) as lake:
        return lake.recover(dry_run=True)


@pytest.mark.parametrize("step", [3, 20, 35])
def test_killed_at_a_step(step: int, tmp_path: Path) -> None:
    _killed_at(tmp_path, step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_step(tmp_path: Path) -> None:
    step = 0
    while _killed_at(tmp_path / str(step), step):
        step += 1
    assert step > 30
