"""Files that are not the lake's own are never deleted, whatever is done to their tables."""

from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelake
from tests.upkeep.names import named
from tidelake.store.files import Store
from tidelake.testing.agreement import rows
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

SCHEDULE = "ducklake_files_scheduled_for_deletion"
BOTH = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)


def table(first: int) -> pa.Table:
    return pa.table({"i": list(range(first, first + 20))})


def written(path: Path, first: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(first), path)
    return path


def let_all_go(lake: tidelake.Lake, name: str) -> None:
    """Everything that takes files away, one after the other."""
    t = lake.table(name)
    t.delete("i % 3 = 0")
    t.compact()
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")
    t.overwrite(table(900))
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")
    lake.drop(name)
    lake.expire(keep_last=1)
    lake.cleanup("0 seconds")


@BOTH
def test_registered_files_stay(place: Place, lake: tidelake.Lake, tmp_path: Path) -> None:
    found = [written(tmp_path / "raw" / f"{n}.parquet", 100 * n) for n in range(3)]
    inside = written(place.data / "main" / "t" / "mine.parquet", 300)
    t = lake.create_table("t", "i BIGINT")
    t.add_files([str(path) for path in (*found, inside)])
    t.append(table(400))
    let_all_go(lake, "t")
    assert all(path.exists() for path in (*found, inside))
    assert not [path for path in place.files() if "ducklake-" in path]


def delta(root: str, options: dict[str, str] | None = None) -> None:
    for n in range(3):
        deltalake.write_deltalake(root, table(100 * n), mode="append", storage_options=options)
    deltalake.DeltaTable(root, storage_options=options).delete("i = 101")


@BOTH
@pytest.mark.parametrize("mode", ["fast", "full-history"])
def test_an_imported_delta_table_stays_whole(
    place: Place, lake: tidelake.Lake, tmp_path: Path, mode: str
) -> None:
    root = str(tmp_path / "theirs")
    delta(root)
    tidelake.import_delta(lake, root, "t", mode=mode)
    let_all_go(lake, "t")
    for version in range(4):
        assert deltalake.DeltaTable(root, version=version).to_pyarrow_table().num_rows > 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fast", "full-history"])
def test_an_imported_delta_table_stays_whole_in_an_object_store(
    s3_server: "S3Server", tmp_path: Path, mode: str
) -> None:
    bucket, options = s3_server.new_bucket(), s3_server.storage_options
    root = f"s3://{bucket}/theirs"
    flags = {name: str(value).lower() for name, value in options.items() if value in (True, False)}
    allowed = {**options, **flags, "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    delta(root, allowed)
    with tidelake.connect(
        f"sqlite:///{tmp_path}/lake.db", f"s3://{bucket}/lake/", storage_options=options
    ) as lake:
        tidelake.import_delta(lake, root, "t", mode=mode)
        let_all_go(lake, "t")
        left = [each.uri for each in Store(options).walk(f"s3://{bucket}/lake/")]
    assert [uri for uri in left if "_tidelake/" not in uri] == []
    theirs = deltalake.DeltaTable(root, storage_options=allowed)
    assert theirs.to_pyarrow_table().num_rows == 59


def test_what_was_handed_over_goes(place: Place, lake: tidelake.Lake, tmp_path: Path) -> None:
    found = written(tmp_path / "raw" / "x.parquet")
    lake.create_table("t", "i BIGINT").add_files(str(found), take_over=True)
    delta(root := str(tmp_path / "theirs"))
    tidelake.import_delta(lake, root, "d", take_over=True)
    live = [Path(file.path) for file in lake.table("d").files()]
    with place.open() as again:
        for name in ("t", "d"):
            let_all_go(again, name)
    assert not found.exists()
    assert live
    assert not any(path.exists() for path in live)
    assert place.catalog("SELECT count(*) FROM tidelake_registered_file") == [(0,)]


def test_a_log_hands_over_nothing_of_others(lake: tidelake.Lake, tmp_path: Path) -> None:
    """As that of a shallow clone, whose files are another table's."""
    delta(str(tmp_path / "source"))
    (tmp_path / "clone" / "_delta_log").mkdir(parents=True)
    for log in (tmp_path / "source" / "_delta_log").glob("*.json"):
        told = log.read_text().replace('"path":"', '"path":"../source/')
        (tmp_path / "clone" / "_delta_log" / log.name).write_text(told)
    places = [str(tmp_path / "source")]
    tidelake.import_delta(lake, str(tmp_path / "clone"), "t", take_over=True, places=places)
    let_all_go(lake, "t")
    assert deltalake.DeltaTable(str(tmp_path / "source")).to_pyarrow_table().num_rows == 59


def test_files_that_are_called_as_ours_and_are_not(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection
) -> None:
    """They lie in the data path, so that the sweep sees them once nothing names them."""
    ours = written(place.data / "main" / "t" / named("by us"))
    theirs = written(place.data / "main" / "t" / named("by DuckDB"), 100)
    t = lake.create_table("t", "i BIGINT")
    t.add_files(str(ours))
    duck.execute(f"CALL ducklake_add_data_files('lake', 't', '{theirs}')")
    let_all_go(lake, "t")
    lake.create_table("t", "i BIGINT")
    assert lake.cleanup("0 seconds").orphans == 0
    assert ours.exists()
    assert theirs.exists()


@BOTH
def test_duckdb_deletes_only_what_we_schedule(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    found = [written(tmp_path / "raw" / f"{n}.parquet", 100 * n) for n in range(3)]
    t = lake.create_table("t", "i BIGINT")
    t.add_files([str(path) for path in found])
    t.compact()
    lake.drop("t")
    lake.expire(keep_last=1)
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert all(path.exists() for path in found)


def test_what_duckdb_schedules_is_struck_off_if_it_is_not_ours(
    place: Place, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    found = [written(tmp_path / "raw" / f"{n}.parquet", 100 * n) for n in range(3)]
    t = lake.create_table("t", "i BIGINT")
    t.add_files([str(path) for path in found])
    duck.execute("CALL ducklake_merge_adjacent_files('lake')")
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(3,)]
    would = lake.cleanup("0 seconds", dry_run=True)
    result = lake.cleanup()
    assert (result.files, would.files) == (0, 0)
    (kept,) = result.kept
    assert (kept.files, "not the lake's own" in kept.reason) == (3, True)
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(0,)]
    duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
    assert all(path.exists() for path in found)
    assert t.count() == 60


def forged(place: Place, path: str, relative: int, file_id: int = 900) -> None:
    place.catalog(
        f"INSERT INTO {SCHEDULE} VALUES (?, ?, ?, '2020-01-01 00:00:00+00')",
        file_id,
        path,
        relative,
    )


@pytest.mark.parametrize(
    "spelled",
    ["{home}/{name}", "file://{home}/{name}", "../../home/{name}", "main/../../../home/{name}"],
)
def test_a_row_that_names_another_place_deletes_nothing(
    place: Place, lake: tidelake.Lake, tmp_path: Path, spelled: str
) -> None:
    home = tmp_path / "home"
    path = written(home / named("precious"))
    spelling = spelled.format(home=home, name=path.name)
    forged(place, spelling, int(spelling.startswith((".", "main"))))
    assert lake.cleanup().files == 0
    assert path.exists()
    assert place.catalog(f"SELECT count(*) FROM {SCHEDULE}") == [(0,)]


def test_links_lead_nowhere(place: Place, lake: tidelake.Lake, tmp_path: Path) -> None:
    lake.create_table("t", "i BIGINT").append(table(0))
    path = written(tmp_path / "home" / named("precious"))
    folder = place.data / "main" / "t"
    (folder / "p=1").symlink_to(tmp_path / "home")
    (folder / named("link")).symlink_to(path)
    forged(place, f"main/t/p=1/{path.name}", 1)
    forged(place, f"main/t/{named('link')}", 1, 901)
    assert lake.cleanup("0 seconds").files == 0
    assert path.exists()
    assert (folder / named("link")).exists()


def test_a_handed_over_file_goes_by_its_own_name_only(
    place: Place, lake: tidelake.Lake, tmp_path: Path
) -> None:
    found, other = (written(tmp_path / "raw" / f"{n}.parquet") for n in "xy")
    t = lake.create_table("t", "i BIGINT")
    t.add_files(str(found), take_over=True)
    (file,) = t.files()
    forged(place, str(other), 0, file.id)
    assert lake.cleanup().files == 0
    assert other.exists()
    assert t.to_arrow() == table(0)


def test_registered_twice(lake: tidelake.Lake, tmp_path: Path) -> None:
    """In two lakes, of which one lets go of it."""
    found = written(tmp_path / "raw" / "x.parquet")
    other = tidelake.connect(f"sqlite:///{tmp_path}/other.db", f"{tmp_path}/other/")
    for each in (lake, other):
        each.create_table("t", "i BIGINT").add_files(str(found))
    let_all_go(lake, "t")
    assert other.table("t").count() == 20
    assert len(rows(other.table("t"))) == 20
