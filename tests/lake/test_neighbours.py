"""Lakes whose data paths overlap are noticed, and do not take each other's files."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tidelake.errors import Invalid
from tidelake.store.files import Store
from tidelake.testing.duck import duck_connection

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server


@contextmanager
def made(folder: Path, name: str, data: str, **options: object) -> Iterator[tidelake.Lake]:
    url = f"sqlite:///{folder}/{name}.db"
    with tidelake.connect(url, data, **options) as lake:  # type: ignore[arg-type]
        if not lake.tables():
            lake.create_table("t", "i BIGINT").append([{"i": n} for n in range(100)])
        yield lake


def aged(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))


OVERLAPS = ["data/", "data", "data/tenant/", "", "data/../data/", "link/", "link/deeper/"]


@pytest.mark.parametrize("second", OVERLAPS)
def test_a_second_lake_is_refused(tmp_path: Path, second: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    with made(tmp_path, "a", f"{tmp_path}/data/"):
        pass
    with pytest.raises(Invalid, match="another lake") as caught:
        tidelake.connect(f"sqlite:///{tmp_path}/b.db", f"{tmp_path}/{second}")
    assert "share_data_path=True" in str(caught.value)
    with made(tmp_path, "b", f"{tmp_path}/{second}", share_data_path=True) as other:
        assert other.table("t").count() == 100
    with made(tmp_path, "a", f"{tmp_path}/data/"):
        pass


def test_neighbours_are_no_matter(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with made(tmp_path, name, f"{tmp_path}/data/{name}/"):
            pass
    with made(tmp_path, "c", f"{tmp_path}/database/"):
        pass


@pytest.mark.parametrize("second", OVERLAPS)
def test_neither_takes_what_the_other_has(tmp_path: Path, second: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    for name, data in (("a", "data/"), ("b", second)):
        with made(tmp_path, name, f"{tmp_path}/{data}", share_data_path=True):
            pass
    aged(tmp_path)
    for name in ("a", "b"):
        with tidelake.connect(f"sqlite:///{tmp_path}/{name}.db") as lake:
            assert lake.cleanup("0 seconds").files == 0
    for name in ("a", "b"):
        with tidelake.connect(f"sqlite:///{tmp_path}/{name}.db") as lake:
            assert len(lake.table("t").to_arrow()) == 100


@pytest.mark.parametrize("second", ["data/", "data/tenant/", "data/main/", "data/main/t/", "."])
def test_a_lake_of_duckdbs_own_keeps_its_files(tmp_path: Path, second: str) -> None:
    """Nothing says that it is there but its files."""
    with duck_connection() as duck:
        duck.execute(
            f"ATTACH 'ducklake:sqlite:{tmp_path}/b.db' AS b (DATA_PATH '{tmp_path}/data/')"
        )
        duck.execute("CREATE TABLE b.t AS SELECT range AS i FROM range(100)")
    if second in ("data/", "."):
        with pytest.raises(Invalid, match="another lake"):
            tidelake.connect(f"sqlite:///{tmp_path}/a.db", f"{tmp_path}/{second}")
    with made(tmp_path, "a", f"{tmp_path}/{second}", share_data_path=True) as lake:
        if second == "data/":
            with tidelake.connect(f"sqlite:///{tmp_path}/b.db") as other:
                other.table("t").append([{"i": 100}])  # and now it is marked
        aged(tmp_path)
        lake.cleanup()
    with tidelake.connect(f"sqlite:///{tmp_path}/b.db", read_only=True) as other:
        assert len(other.table("t").to_arrow()) >= 100


def test_duckdb_does_not_mind_the_mark(tmp_path: Path) -> None:
    with made(tmp_path, "a", f"{tmp_path}/data/"):
        pass
    (mark,) = (tmp_path / "data" / "_tidelake").iterdir()
    assert json.loads(mark.read_text())["catalog"] == f"sqlite:///{tmp_path}/a.db"
    with duck_connection() as duck:
        duck.execute(f"ATTACH 'ducklake:sqlite:{tmp_path}/a.db' AS a")
        duck.execute("CALL ducklake_delete_orphaned_files('a', cleanup_all => true)")
        duck.execute("CHECKPOINT a")
        assert duck.execute("SELECT count(i) FROM a.t").fetchall() == [(100,)]
    assert mark.exists()


def test_an_older_lake_is_marked_by_its_first_write(tmp_path: Path) -> None:
    with made(tmp_path, "a", f"{tmp_path}/data/"):
        pass
    (mark,) = (tmp_path / "data" / "_tidelake").iterdir()
    mark.unlink()
    with sqlite3.connect(tmp_path / "a.db") as catalog:
        catalog.execute("DELETE FROM ducklake_metadata WHERE key LIKE 'tidelake.%'")
    with made(tmp_path, "a", f"{tmp_path}/data/") as lake:
        assert not mark.exists()
        lake.table("t").append([{"i": 1}])
        assert mark.exists()


def test_the_mark_says_nothing_of_who_may_come_in() -> None:
    from tidelake.catalog.database.address import parse_url

    url = parse_url("postgresql://me:secret@host:5432/lakes?schema=x&sslmode=require")
    assert url.place == "postgresql://host:5432/lakes?schema=x"


def _files(options: dict[str, Any], root: str) -> set[str]:
    """All that lies there but the leases of writers, which come and go."""
    return {each.uri for each in Store(options).walk(root) if "/writer-" not in each.uri}


@pytest.mark.slow
@pytest.mark.parametrize("second", ["lake", "lake/deeper", ""])
def test_in_an_object_store(s3_server: "S3Server", tmp_path: Path, second: str) -> None:
    bucket, options = s3_server.new_bucket(), s3_server.storage_options
    first = f"s3://{bucket}/lake/"
    with made(tmp_path, "a", first, storage_options=options) as a:
        with pytest.raises(Invalid, match="another lake"):
            tidelake.connect(
                f"sqlite:///{tmp_path}/b.db", f"s3://{bucket}/{second}", storage_options=options
            )
        shared = f"s3://{bucket}/{second}"
        with made(tmp_path, "b", shared, storage_options=options, share_data_path=True) as b:
            before = _files(options, first)
            for lake in (a, b):
                assert lake.cleanup("0 seconds").files == 0
            assert _files(options, first) >= before
            assert len(a.table("t").to_arrow()) == len(b.table("t").to_arrow()) == 100
