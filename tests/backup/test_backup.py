"""What a backup holds comes back whole: every snapshot, in a catalog of any kind."""

import json
import shutil
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidelake
from tidelake.errors import Corrupt, Invalid, NotFound
from tidelake.testing.agreement import assert_same
from tidelake.testing.oracle import Oracle
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]


def lived(lake: tidelake.Lake) -> None:
    """Files, deletes, small writes of many types, views, tags, settings, a data set, a drop."""
    t = lake.create_table("t", "id BIGINT, name VARCHAR", partition_by=["name"])
    t.append(pa.table({"id": range(300), "name": [f"n{n % 3}" for n in range(300)]}))
    t.delete("id < 20")
    t.update({"name": "'x'"}, where="id = 50")
    kinds = lake.create_table(
        "kinds",
        "b BOOLEAN, i INTEGER, d DOUBLE, c DECIMAL(20, 5), s VARCHAR, x BLOB, day DATE,"
        " ts TIMESTAMP, tz TIMESTAMPTZ, l INTEGER[], st STRUCT(a INTEGER, b VARCHAR)",
    )
    row = {
        "b": True,
        "i": -5,
        "d": 0.1,
        "c": Decimal("123456789.12345"),
        "s": "ä' \\ \" 1",
        "x": b"\x00\xff",
        "day": date(2024, 2, 29),
        "ts": datetime(2024, 1, 1, 1, 1, 1, 5),
        "tz": datetime.fromisoformat("2024-01-01T00:00:00+02:00"),
        "l": [1, None],
        "st": {"a": 1, "b": "y"},
    }
    kinds.append([row, {**row, "b": False, "d": float("inf")}, dict.fromkeys(row)])
    kinds.delete("i IS NULL")
    lake.create_view("v", "SELECT id FROM t WHERE name = 'x'")
    lake.tag("early", 2)
    lake.create_schema("other")
    lake.create_table("other.gone", "n BIGINT").append([{"n": 1}])
    lake.drop("other.gone")
    facts = lake.create_table("facts", "id BIGINT, ts TIMESTAMP", key="id", event_time="ts")
    facts.put({"id": 1, "ts": datetime(2024, 1, 1)})
    facts.rollup("2024-02-01")
    lake.set_option("target_file_size", 10_000_000)
    lake.freeze("s", "SELECT * FROM t", known_at="early")
    t.compact()


def contents(lake: tidelake.Lake) -> dict[str, Any]:
    """All that a lake says, at every snapshot."""
    found: dict[str, Any] = {
        "log": [str(each) for each in lake.log()],
        "tags": [str(each) for each in lake.tags()],
        "sets": [each.facts for each in lake.frozen()],
    }
    for snapshot in lake.snapshots():
        then = lake.known_at(snapshot.snapshot_id)
        found[f"views {snapshot.snapshot_id}"] = [then.view(name).sql for name in then.views()]
        for name in then.tables():
            found[f"{name} {snapshot.snapshot_id}"] = rows_of(then.table(name))
    return found


def rows_of(table: tidelake.Table) -> list[str]:
    rows = table.scan(["rowid", *table.schema.names]).to_arrow()
    return sorted(map(repr, rows.to_pylist()))


@pytest.fixture
def elsewhere(new_place: Callable[[str], Place], tmp_path: Path) -> Callable[[str], Place]:
    """Another place of a kind of catalog."""

    def make(kind: str) -> Place:
        made = new_place(kind)
        if kind in ("sqlite", "duckdb"):
            return Place.at(kind, tmp_path / "again")
        return Place(kind, made.url, tmp_path / "again")

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        *(("sqlite", kind) for kind in KINDS),
        *((kind, "sqlite") for kind in KINDS[1:]),
        ("mariadb", "postgresql"),
        ("duckdb", "mariadb"),
    ],
    indirect=["place"],
)
def test_every_snapshot_comes_back(
    place: Place,
    kind: str,
    elsewhere: Callable[[str], Place],
    tmp_path: Path,
    oracle: Oracle,
) -> None:
    with place.open() as lake:
        lived(lake)
        wanted = contents(lake)
        done = lake.backup(tmp_path / "b", files=True)
        assert (done.snapshot_id, done.missing) == (lake.snapshots()[-1].snapshot_id, ())
        lake.table("t").delete("true")
    shutil.rmtree(place.data)
    other = elsewhere(kind)
    with tidelake.restore(tmp_path / "b", other.url, other.data) as again:
        assert contents(again) == wanted
        assert [str(each) for each in again.verify(deep=True).problems] == []
        again.table("t").append([{"id": 1000, "name": "after"}])
        assert again.table("t").count() == 281
        again.undrop("other.gone")
        assert again.table("other.gone").count() == 1
        again.compact()
        again.expire(keep_last=1)
        again.cleanup("0s")
        assert [str(each) for each in again.verify(deep=True).problems] == []
    if other.ducklake is not None:
        assert_same(other, oracle)


@pytest.mark.slow
def test_the_backup_is_a_lake_itself(place: Place, lake: tidelake.Lake, tmp_path: Path) -> None:
    lived(lake)
    lake.backup(tmp_path / "b")
    with tidelake.connect(f"sqlite:///{tmp_path}/b/catalog.db", read_only=True) as copy:
        assert contents(copy) == contents(lake)


def test_without_files_those_that_are_there_are_taken(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    lived(lake)
    wanted = contents(lake)
    done = lake.backup(tmp_path / "b")
    assert done.bytes > 0
    assert sorted(path.name for path in (tmp_path / "b").rglob("*")) == [
        "backup.json",
        "catalog.db",
    ]
    lost = lake.table("t").files()[0].path
    lake.close()
    place.catalog_file.unlink()
    kept = Path(lost).read_bytes()
    Path(lost).unlink()
    with pytest.raises(NotFound, match=Path(lost).name):
        tidelake.restore(tmp_path / "b", place.url)
    assert not place.catalog_file.exists()
    tidelake.restore(tmp_path / "b", f"sqlite:///{tmp_path}/forced.db", force=True).close()
    Path(lost).write_bytes(kept)
    with tidelake.restore(tmp_path / "b", place.url) as again:
        assert contents(again) == wanted


def test_what_is_there_is_never_overwritten(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    lived(lake)
    lake.backup(tmp_path / "b", files=True)
    with place.refuses(Invalid, "not empty"):
        lake.backup(tmp_path / "b")
    with place.refuses(Invalid, "lie in each other"):
        lake.backup(place.data / "b")
    with place.refuses(Invalid, "a lake already"):
        tidelake.restore(tmp_path / "b", place.url, tmp_path / "new")
    with place.refuses(Invalid, "if a restore broke off there, empty it"):
        tidelake.restore(tmp_path / "b", f"sqlite:///{tmp_path}/new.db", place.data)
    assert not (tmp_path / "new").exists()


def test_a_backup_that_is_not_whole_is_named(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    lived(lake)
    lake.backup(tmp_path / "b", files=True)
    url, data = f"sqlite:///{tmp_path}/new.db", tmp_path / "new"
    with pytest.raises(NotFound, match="no backup"):
        tidelake.restore(tmp_path / "nothing", url, data)
    said = (tmp_path / "b" / "backup.json").read_text()

    def spoiled(**other: Any) -> None:
        text = json.dumps({**json.loads(said), **other})
        (tmp_path / "b" / "backup.json").write_text(text)

    spoiled(digest="0" * 64)
    with pytest.raises(Corrupt, match="digest"):
        tidelake.restore(tmp_path / "b", url, data)
    shutil.rmtree(data)
    spoiled(files={"../../x": 1})
    with pytest.raises(Corrupt, match="outside"):
        tidelake.restore(tmp_path / "b", url, data)
    (tmp_path / "b" / "backup.json").write_text("{")
    with pytest.raises(Corrupt, match="cannot be read"):
        tidelake.restore(tmp_path / "b", url, data)
    (tmp_path / "b" / "backup.json").unlink()
    with pytest.raises(NotFound, match="not finished"):
        tidelake.restore(tmp_path / "b", url, data)


@pytest.mark.slow
def test_back_to_a_moment(
    place: Place, lake: tidelake.Lake, tmp_path: Path, oracle: Oracle
) -> None:
    t = lake.create_table("t", "id BIGINT, name VARCHAR")
    t.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    lake.create_table("dropped", "n BIGINT").append([{"n": 1}])
    lake.create_table("swapped", "n BIGINT").append([{"n": 5}])
    lake.create_view("v", "SELECT id FROM t")
    lake.create_schema("old")
    lake.create_table("old.u", "n BIGINT").append([{"n": 9}])
    lake.freeze("s", "SELECT * FROM t")
    lake.tag("good")
    wanted = {name: rows_of(lake.table(name)) for name in lake.tables()}

    t.evolve(add={"extra": "INTEGER"}, rename={"name": "label"})
    t.append([{"id": 3, "label": "c", "extra": 1}])
    t.delete("id = 1")
    lake.drop("dropped")
    lake.create_table("dropped", "other VARCHAR").append([{"other": "x"}])
    lake.rename("swapped", "elsewhere")
    lake.create_view("v", "SELECT 1 AS n", replace=True)
    lake.create_view("w", "SELECT 2 AS n")
    lake.drop_schema("old", cascade=True)
    lake.create_schema("new")
    lake.create_table("new.t", "n BIGINT").append([{"n": 1}])
    lake.freeze("later", "SELECT * FROM t")
    last = lake.snapshots()[-1].snapshot_id
    lake.backup(tmp_path / "b", files=True)
    other = Place.at("sqlite", tmp_path / "again")
    with tidelake.restore(tmp_path / "b", other.url, other.data, to="good") as again:
        assert {name: rows_of(again.table(name)) for name in again.tables()} == wanted
        assert (again.views(), again.view("v").sql) == (["main.v"], "SELECT id FROM t")
        assert sorted(again.schemas()) == ["frozen", "main", "old"]
        assert [each.name for each in again.frozen()] == ["s"]
        assert again.known_at(last).table("t").count() == 2
        assert [str(each) for each in again.verify(deep=True).problems] == []
    assert_same(other, oracle)


def test_back_to_a_moment_that_is_not_there(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    """Nothing is made, so the same call with another moment is the first."""
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "id BIGINT")
    for number in range(3):
        t.append([{"id": number}])
    lake.backup(tmp_path / "b", files=True)
    url, data = f"sqlite:///{tmp_path}/again.db", tmp_path / "again"
    for wrong in (99, "1999-01-01", "no such tag"):
        with pytest.raises(NotFound):
            tidelake.restore(tmp_path / "b", url, data, to=wrong)
        assert not (tmp_path / "again.db").exists()
        assert not data.exists()
    one, two = (each.time for each in t.snapshots()[1:3])
    with tidelake.restore(tmp_path / "b", url, data, to=one + (two - one) / 2) as again:
        assert again.table("t").to_dicts() == [{"id": 0}]
        assert again.known_at(two).table("t").count() == 2
        assert again.verify(deep=True).ok
        again.table("t").append([{"id": 7}])
    with tidelake.connect(url, data) as again:
        assert again.cleanup(older_than="0 seconds").orphans == 0
        assert again.table("t").count() == 2


@pytest.mark.slow
def test_between_object_stores(s3_server: "S3Server", tmp_path: Path) -> None:
    options = s3_server.storage_options
    lake = tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db",
        data_path=f"s3://{s3_server.new_bucket()}/lake",
        storage_options=options,
    )
    with lake:
        lived(lake)
        wanted = contents(lake)
        path = f"s3://{s3_server.new_bucket()}/backups/one"
        lake.backup(path, files=True)
    for n, place in enumerate((tmp_path / "data", f"s3://{s3_server.new_bucket()}/again")):
        url = f"sqlite:///{tmp_path}/again{n}.db"
        with tidelake.restore(path, url, place, storage_options=options) as again:
            assert contents(again) == wanted
            assert again.verify(deep=True).ok


def test_a_file_is_no_place_for_a_backup(tmp_path):
    (tmp_path / "file").touch()
    with (
        Place.at("sqlite", tmp_path).open() as lake,
        pytest.raises(Invalid, match="file is a file") as told,
    ):
        lake.backup(tmp_path / "file")
    assert "a backup is a folder" in str(told.value.hint)
