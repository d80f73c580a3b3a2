"""What others put into a mirror's log is found out, never written over, and taken over or back."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tidelake
from tests.delta import others
from tests.delta.readers import delta_rs
from tidelake import Lake
from tidelake.delta.mirror.mirror import DeltaMirror
from tidelake.errors import Conflict, Invalid, Unsupported
from tidelake.testing.faults import watch_database
from tidelake.testing.place import Place

SCHEMA = pa.schema({"id": pa.int64(), "s": pa.string()})


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


@pytest.fixture
def mirror(lake: Lake) -> DeltaMirror:
    table = lake.create_table("t", "id BIGINT, s VARCHAR")
    table.append([{"id": n, "s": f"s{n}"} for n in range(5)])
    found = lake.mirror("t")
    table.append([{"id": n, "s": f"s{n}"} for n in range(5, 10)])
    table.delete("id = 3")
    return found


def ids(lake: Lake) -> list[int]:
    return sorted(lake.table("t").to_arrow()["id"].to_pylist())


def logged(mirror: DeltaMirror, version: int | None = None) -> list[int]:
    return sorted(delta_rs(mirror.root, version)["id"].to_pylist())


def rows(*numbers: int) -> list[dict[str, object]]:
    return [{"id": number, "s": "theirs"} for number in numbers]


def check_whole(lake: Lake, mirror: DeltaMirror) -> None:
    assert logged(mirror) == ids(lake)
    assert mirror.status.status == "active"
    assert str(mirror.diff()).startswith("main.t: ok")
    lake.table("t").append([{"id": 99, "s": "later"}])
    assert logged(mirror) == ids(lake)
    assert mirror.diff().exit_code == 0


def test_a_foreign_version_stops_the_mirror_and_is_left_alone(
    lake: Lake, mirror: DeltaMirror
) -> None:
    theirs = others.commit(mirror.root, others.added(mirror.root, "x.parquet", rows(100), SCHEMA))
    written = (others.log_of(mirror.root) / f"{theirs:020d}.json").read_bytes()
    lake.table("t").append([{"id": 10, "s": "ours"}])
    assert mirror.status.status == "drifted"
    assert f"{theirs:020d}.json was written by somebody else" in str(mirror.status.reason)
    assert others.newest(mirror.root) == theirs
    assert (others.log_of(mirror.root) / f"{theirs:020d}.json").read_bytes() == written
    assert mirror.diff().exit_code == 2


@pytest.mark.parametrize("noticed", [False, True])
def test_reject_takes_back_what_came_and_what_went(
    lake: Lake, mirror: DeltaMirror, noticed: bool
) -> None:
    ours = others.shown(mirror.root)
    came = others.added(mirror.root, "x.parquet", rows(100), SCHEMA)
    theirs = others.commit(mirror.root, others.removed(ours[0]), came)
    others.commit(mirror.root, others.added(mirror.root, "y.parquet", rows(101), SCHEMA))
    if noticed:
        lake.table("t").append([{"id": 10, "s": "ours"}])
    before = ids(lake)
    mirror.reject_foreign()
    assert ids(lake) == before
    assert 100 in logged(mirror, theirs)
    check_whole(lake, mirror)


@pytest.mark.slow
@pytest.mark.parametrize("noticed", [False, True])
def test_accept_does_the_same_in_the_lake(lake: Lake, mirror: DeltaMirror, noticed: bool) -> None:
    ours = [add for add in others.shown(mirror.root) if "deletionVector" in add]
    came = others.added(mirror.root, "x.parquet", rows(100, 101), SCHEMA)
    others.commit(mirror.root, others.removed(ours[0]), came)
    expected = logged(mirror)
    if noticed:
        lake.table("t").append([{"id": 10, "s": "ours"}])
    done = mirror.accept_foreign()
    assert (done.inserted, done.deleted) == (2, 4)
    assert ids(lake) == sorted(expected + [10] * noticed)
    check_whole(lake, mirror)


def test_accept_takes_over_deletion_vectors(lake: Lake, mirror: DeltaMirror) -> None:
    plain = next(add for add in others.shown(mirror.root) if "deletionVector" not in add)
    masked = next(add for add in others.shown(mirror.root) if "deletionVector" in add)
    vector = masked["deletionVector"]
    others.commit(mirror.root, others.removed(plain), {"add": {**plain, "deletionVector": vector}})
    expected = logged(mirror)
    assert len(expected) == len(ids(lake)) - 1
    mirror.accept_foreign()
    assert ids(lake) == expected
    check_whole(lake, mirror)


def test_accept_again_after_it_was_interrupted_changes_no_row_twice(
    lake: Lake, mirror: DeltaMirror
) -> None:
    """After the lake has followed, and before the log goes on."""
    others.commit(mirror.root, others.removed(others.shown(mirror.root)[0]))
    expected = logged(mirror)
    said: list[str] = []

    def kill(what: str, table: str) -> None:
        if what == "write" and "ducklake_snapshot" in said:
            raise KeyboardInterrupt
        said.append(table)

    with watch_database(lake, kill), pytest.raises(KeyboardInterrupt):
        mirror.accept_foreign()
    assert ids(lake) == expected
    mirror.accept_foreign()
    assert ids(lake) == expected
    check_whole(lake, mirror)


def test_accept_refuses_what_it_cannot_tell(lake: Lake, mirror: DeltaMirror) -> None:
    others.commit(mirror.root, others.removed(others.shown(mirror.root)[0]))
    lake.table("t").compact()
    before = ids(lake)
    with pytest.raises(Conflict, match="no longer as it was"):
        mirror.accept_foreign()
    assert ids(lake) == before
    mirror.reject_foreign()
    check_whole(lake, mirror)


def test_accept_refuses_other_columns(lake: Lake, mirror: DeltaMirror) -> None:
    import json

    first = (others.log_of(mirror.root) / f"{0:020d}.json").read_text().splitlines()
    metadata = next(json.loads(line) for line in first if "metaData" in line)
    metadata["metaData"]["schemaString"] = '{"type":"struct","fields":[]}'
    others.commit(mirror.root, metadata)
    with pytest.raises(Unsupported, match="changed the columns"):
        mirror.accept_foreign()
    assert {each.kind for each in mirror.diff().findings} == {"ahead", "metadata"}
    mirror.reject_foreign()
    check_whole(lake, mirror)


def test_without_foreign_versions_there_is_nothing_to_choose(
    lake: Lake, mirror: DeltaMirror
) -> None:
    for choice in (mirror.accept_foreign, mirror.reject_foreign):
        with pytest.raises(Invalid, match="nobody else"):
            choice()


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["accept", "reject"])
def test_a_catalog_from_a_backup_waits_for_a_choice(tmp_path: Path, choice: str) -> None:
    url, data = f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data"
    with tidelake.connect(url, data_path=data) as lake:
        table = lake.create_table("t", "id BIGINT, s VARCHAR")
        mirror = lake.mirror("t")
        table.append([{"id": n, "s": "a"} for n in range(3)])
    shutil.copy(tmp_path / "lake.db", tmp_path / "backup.db")
    with tidelake.connect(url) as lake:
        lake.table("t").append([{"id": 3, "s": "lost"}])
        lake.table("t").delete("id = 0")
        lost = ids(lake)
    shutil.copy(tmp_path / "backup.db", tmp_path / "lake.db")
    with tidelake.connect(url) as lake:
        mirror = lake.mirrored("t")
        assert {each.kind for each in mirror.diff().findings} >= {"ahead"}
        ahead = others.newest(mirror.root)
        lake.table("t").append([{"id": 7, "s": "since"}])
        assert mirror.status.status == "drifted"
        assert "restored from a backup" in str(mirror.status.reason)
        assert others.newest(mirror.root) == ahead
        if choice == "accept":
            mirror.accept_foreign()
            assert ids(lake) == sorted([*lost, 7])
        else:
            mirror.reject_foreign()
            assert ids(lake) == [0, 1, 2, 7]
        check_whole(lake, mirror)


def test_stopped_and_started_again_it_goes_on_in_its_log(lake: Lake, mirror: DeltaMirror) -> None:
    mirror.stop()
    left = others.newest(mirror.root)
    table = lake.table("t")
    table.append([{"id": 20, "s": "unseen"}])
    table.delete("id = 1")
    assert (mirror.status.status, mirror.status.behind) == ("stopped", 2)
    assert others.newest(mirror.root) == left
    again = lake.mirror("t")
    assert again.state.delta_id == mirror.state.delta_id
    assert others.newest(mirror.root) > left
    check_whole(lake, again)


def test_a_log_that_others_went_on_with_is_not_started_again(
    lake: Lake, mirror: DeltaMirror
) -> None:
    mirror.stop()
    others.commit(mirror.root, others.added(mirror.root, "x.parquet", rows(100), SCHEMA))
    with pytest.raises(Conflict, match="is not as it was left"):
        lake.mirror("t")
    mirror.reject_foreign()
    check_whole(lake, lake.mirror("t"))


def test_without_its_tables_in_the_catalog_a_mirror_finds_its_log(
    tmp_path: Path, lake: Lake, mirror: DeltaMirror
) -> None:
    import sqlite3

    delta_id, root, left = mirror.state.delta_id, mirror.root, others.newest(mirror.root)
    with sqlite3.connect(tmp_path / "lake.db") as catalog:
        for name in ("", "_commit", "_file"):
            catalog.execute(f"DROP TABLE tidelake_mirror{name}")
    again = lake.mirror("t")
    assert (again.state.delta_id, again.root) == (delta_id, root)
    assert others.newest(root) == left
    check_whole(lake, again)


def test_the_log_of_another_table_is_not_taken(tmp_path: Path, lake: Lake) -> None:
    table = lake.create_table("u", "id BIGINT")
    theirs = lake.create_table("v", "id BIGINT")
    theirs.append([{"id": 1}])
    root = lake.mirror("v").root
    shutil.copytree(others.log_of(root), Path(table.info.path, "_delta_log"))
    with pytest.raises(Conflict, match="has a Delta log already"):
        lake.mirror("u")
