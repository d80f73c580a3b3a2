"""The lake against a log as it lies there: what differs is told, what only looks so is not."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tests.delta import others
from tidelake import Lake
from tidelake.delta.mirror.mirror import DeltaMirror
from tidelake.delta.values.reports import prometheus
from tidelake.errors import Invalid, NotFound, TidelakeWarning
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a history of thirteen versions, a checkpoint among them."""
    folder = tmp_path_factory.mktemp("made")
    with Place.at("sqlite", folder).open() as lake:
        table = lake.create_table("t", "id BIGINT, s VARCHAR")
        lake.mirror("t")
        for n in range(10):
            table.append([{"id": 10 * n + m, "s": f"s{m}"} for m in range(5)])
        table.delete("id % 10 = 3")
        table.rollback(to=4)
        table.append([{"id": 1000, "s": "after"}])
    return folder


@pytest.fixture
def place(made: Path) -> Iterator[Path]:
    """The same lake in the same place, whatever a test does to its files."""
    kept = made.with_name(f"{made.name}-kept")
    shutil.copytree(made, kept)
    yield made
    shutil.rmtree(made)
    kept.rename(made)


@pytest.fixture
def lake(place: Path) -> Iterator[Lake]:
    with tidelake.connect(f"sqlite:///{place}/lake.db") as lake:
        yield lake


@pytest.fixture
def mirror(lake: Lake) -> DeltaMirror:
    return lake.mirrored("t")


def kinds(mirror: DeltaMirror) -> set[str]:
    return {each.kind for each in mirror.diff().findings}


def version_file(mirror: DeltaMirror, version: int) -> Path:
    return others.log_of(mirror.root) / f"{version:020d}.json"


def test_added_removed_and_added_again_is_no_difference(mirror: DeltaMirror) -> None:
    found = mirror.diff()
    assert (found.status, found.exit_code, found.findings) == ("ok", 0, ())
    assert (found.sql_version, found.log_version, found.version_delta) == (13, 13, 0)
    assert found.sql_files == found.log_files > 0
    assert (found.behind, found.lag_seconds) == (0, 0)


def test_a_log_of_checkpoints_alone_is_no_difference(mirror: DeltaMirror) -> None:
    newest = max(others.log_of(mirror.root).glob("*.checkpoint.parquet"))
    for path in others.log_of(mirror.root).glob("*.json"):
        if int(path.stem) <= int(newest.name[:20]):
            path.unlink()
    found = mirror.diff()
    assert (found.status, found.findings) == ("ok", ())


@pytest.mark.parametrize("version", [5, 12])
def test_a_version_that_is_missing(mirror: DeltaMirror, version: int) -> None:
    version_file(mirror, version).unlink()
    found = mirror.diff()
    assert found.exit_code == 2
    assert ("gap", str(version)) in {(each.kind, each.where) for each in found.findings}


def test_the_newest_version_missing_is_only_late(mirror: DeltaMirror) -> None:
    version_file(mirror, 13).unlink()
    found = mirror.diff(lag_threshold_seconds=0)
    assert (found.status, found.exit_code, found.findings) == ("lagging", 3, ())
    assert (found.version_delta, found.behind) == (1, 1)
    assert found.lag_seconds > 0
    assert mirror.diff(lag_threshold_seconds=3600).exit_code == 0


def test_a_log_that_is_ahead_is_no_lag(mirror: DeltaMirror) -> None:
    others.commit(mirror.root)
    found = mirror.diff()
    assert (found.exit_code, found.version_delta) == (2, -1)
    assert {each.kind for each in found.findings} == {"ahead"}


def test_a_version_of_somebody_else(mirror: DeltaMirror) -> None:
    version_file(mirror, 13).unlink()
    others.commit(mirror.root, version=13)
    found = mirror.diff()
    assert found.exit_code == 2
    assert {each.kind for each in found.findings} == {"foreign", "missing in log"}


def test_commits_of_duckdb_are_behind_until_they_are_published(
    lake: Lake, mirror: DeltaMirror, place: Path
) -> None:
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{place}/lake.db' AS l")
        duck.execute("INSERT INTO l.t VALUES (5000, 'duck')")
        duck.execute("DELETE FROM l.t WHERE id = 1000")
    found = mirror.diff(lag_threshold_seconds=0)
    assert (found.status, found.behind, found.findings) == ("lagging", 2, ())
    assert lake.mirrors()[0].behind == 2
    assert lake.delta_versions() == {"main.t": None}
    assert [each.behind for each in lake.sync_mirrors()] == [0]
    assert mirror.diff(lag_threshold_seconds=0).exit_code == 0
    assert lake.delta_versions()["main.t"] == mirror.state.version


def test_files_that_are_missing_or_of_another_size(mirror: DeltaMirror) -> None:
    first, second = (Path(mirror.root, add["path"]) for add in others.shown(mirror.root)[:2])
    first.unlink()
    second.write_bytes(second.read_bytes() + b"x")
    found = mirror.diff()
    assert {(each.kind, each.where) for each in found.findings} == {
        ("missing file", first.name),
        ("size", second.name),
    }
    assert found.file_drift == 2
    assert mirror.diff(max_drift_files=1).exit_code == 2
    assert mirror.diff(max_drift_files=2).exit_code == 0


def rewritten(mirror: DeltaMirror, change: dict[str, object]) -> None:
    """Say something else of a file in the newest version of the log."""
    path = version_file(mirror, 13)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"] |= change
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"stats": '{"numRecords":77}'}, "rows"),
        ({"size": 7}, "size"),
        (
            {
                "deletionVector": {
                    "storageType": "i",
                    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg0@@r3",
                    "sizeInBytes": 34,
                    "cardinality": 1,
                }
            },
            "deletes",
        ),
    ],
)
def test_what_the_log_says_of_a_file(
    mirror: DeltaMirror, change: dict[str, object], kind: str
) -> None:
    rewritten(mirror, change)
    assert kinds(mirror) >= {"foreign", kind}


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, "protocol"),
        ({"metaData": {"id": "x", "schemaString": "{}", "configuration": {}}}, "metadata"),
    ],
)
def test_protocol_and_metadata(mirror: DeltaMirror, action: dict[str, object], kind: str) -> None:
    others.commit(mirror.root, action)
    found = mirror.diff()
    assert {each.kind for each in found.findings} == {"ahead", kind}
    assert found.protocol_drift is (kind == "protocol")
    assert found.metadata_drift is (kind == "metadata")


def test_a_hint_at_a_checkpoint_that_is_not_there(mirror: DeltaMirror) -> None:
    for path in others.log_of(mirror.root).glob("*.checkpoint.parquet"):
        path.unlink()
    assert kinds(mirror) == {"checkpoint"}


def test_a_log_that_cannot_be_read(mirror: DeltaMirror) -> None:
    version_file(mirror, 12).write_text("{")
    found = mirror.diff()
    assert found.exit_code == 2
    assert "unreadable" in {each.kind for each in found.findings}


def test_no_log_at_all(mirror: DeltaMirror) -> None:
    shutil.rmtree(others.log_of(mirror.root))
    assert kinds(mirror) == {"gap"}


def test_a_copy_of_the_log_elsewhere(mirror: DeltaMirror, tmp_path: Path) -> None:
    shutil.copytree(mirror.root, tmp_path / "copy")
    assert mirror.diff(f"{tmp_path}/copy/_delta_log").exit_code == 0
    (tmp_path / "copy" / "_delta_log" / f"{13:020d}.json").unlink()
    found = mirror.diff(f"{tmp_path}/copy", lag_threshold_seconds=0)
    assert (found.status, found.version_delta, found.findings) == ("lagging", 1, ())


def test_prometheus_has_help_and_type_for_every_number(mirror: DeltaMirror) -> None:
    text = prometheus(mirror.diff())
    names = [line.split("{")[0] for line in text.splitlines() if not line.startswith("#")]
    assert names[:5] == [
        "tidelake_mirror_lag_seconds",
        "tidelake_mirror_file_drift",
        "tidelake_mirror_metadata_drift",
        "tidelake_mirror_protocol_drift",
        "tidelake_mirror_version_delta",
    ]
    for name in names:
        assert f"# HELP {name} " in text
        assert f"# TYPE {name} " in text
        assert f'{name}{{table="main.t"}} ' in text


def test_multi_table_commits_make_one_cut(lake: Lake, mirror: DeltaMirror) -> None:
    lake.create_table("u", "id BIGINT")
    lake.mirror("u")
    with lake.transaction() as tx:
        tx.table("t").append([{"id": 1, "s": "both"}])
        tx.table("u").append([{"id": 1}])
    assert tx.result is not None
    cut = lake.delta_versions(tx.result.snapshot_id)
    assert cut == {"main.t": mirror.state.version, "main.u": 1}
    lake.table("t").append([{"id": 2, "s": "more"}])
    assert lake.delta_versions(tx.result.snapshot_id) == cut
    assert lake.delta_versions()["main.t"] == cut["main.t"] + 1  # type: ignore[operator]
    assert lake.delta_versions(3)["main.t"] is not None


def test_what_is_asked_wrongly(lake: Lake, mirror: DeltaMirror) -> None:
    with pytest.raises(Invalid):
        mirror.diff(max_drift_files=-1)
    with pytest.raises(NotFound, match="not mirrored"):
        lake.mirrored("other")


def test_diff_writes_nothing(mirror: DeltaMirror, place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    with tidelake.connect(f"sqlite:///{place}/lake.db", read_only=True) as lake:
        lake.mirrored("t").diff()
    after = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    assert {p: t for p, t in after.items() if "lake.db" not in p.name} == {
        p: t for p, t in before.items() if "lake.db" not in p.name
    }


def test_publishing_is_counted(lake: Lake, place: Path) -> None:
    with tidelake.connect(f"sqlite:///{place}/lake.db") as other:
        before = other.mirrored("t").diff().counts
        assert before.publishes == 14
        other.table("t").append([{"id": 1, "s": "counted"}])
    after = lake.mirrored("t").diff().counts
    assert (after.publishes, after.failures) == (15, 0)
    assert after.seconds > before.seconds > 0


def test_what_fails_is_counted(lake: Lake, mirror: DeltaMirror) -> None:
    log = others.log_of(mirror.root)
    log.rename(log.with_name("away"))
    log.write_text("a file where the log should be")
    with pytest.warns(TidelakeWarning, match="could not be published"):
        lake.table("t").append([{"id": 1, "s": "unseen"}])
    log.unlink()
    log.with_name("away").rename(log)
    assert mirror.status.behind == 1
    mirror.sync()
    found = mirror.diff()
    assert (found.exit_code, found.counts.failures >= 1) == (0, True)
