"""The store: objects that are listed, looked at, written and deleted, here and far away."""

import errno
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidelake.errors import Corrupt, Denied, Invalid, NotFound, TidelakeError, Unavailable
from tidelake.store.failures import reporting
from tidelake.store.files import Store

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

FILES = [
    "a.parquet",
    "notes.txt",
    "odd [1].parquet",
    "p=a%20b/x.parquet",
    "p=c/deep/y.parquet",
    "_p=1/z.parquet",
    "_temporary/half.parquet",
    ".hidden.parquet",
    "_delta_log/1.checkpoint.parquet",
]


@pytest.fixture(params=["here", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, str]]:
    """A store, and a folder in it with the files above."""
    if request.param == "here":
        store, root = Store(), f"{tmp_path}/data/"
    else:
        server: S3Server = request.getfixturevalue("s3_server")
        store, root = Store(server.storage_options), f"s3://{server.new_bucket()}/data/"
    for name in FILES:
        store.write(root + name, name.encode())
    return store, root


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a.parquet", ["a.parquet"]),
        ("odd [1].parquet", ["odd [1].parquet"]),
        ("odd [[]?].parquet", ["odd [1].parquet"]),
        ("p=a%20b", ["p=a%20b/x.parquet"]),
        ("p=*/*.parquet", ["p=a%20b/x.parquet"]),
        ("p=[!a]/**/*.parquet", ["p=c/deep/y.parquet"]),
        ("p=[b-d]/deep/?.parquet", ["p=c/deep/y.parquet"]),
        ("**/y.*", ["p=c/deep/y.parquet"]),
        ("*.txt", ["notes.txt"]),
        ("_temporary/*", ["_temporary/half.parquet"]),
        (
            "",
            [
                "_p=1/z.parquet",
                "a.parquet",
                "odd [1].parquet",
                "p=a%20b/x.parquet",
                "p=c/deep/y.parquet",
            ],
        ),
    ],
)
def test_listing(place: tuple[Store, str], pattern: str, names: list[str]) -> None:
    store, root = place
    assert store.listed(root + pattern) == [root + name for name in names]


def test_a_folder_with_or_without_a_slash(place: tuple[Store, str]) -> None:
    store, root = place
    assert store.listed(root.rstrip("/")) == store.listed(root)


@pytest.mark.parametrize("pattern", ["none.parquet", "none/", "a.par", "*.csv", "p=c/*.parquet"])
def test_nothing_there(place: tuple[Store, str], pattern: str) -> None:
    store, root = place
    with pytest.raises(NotFound, match="there are no files at"):
        store.listed(root + pattern)


def test_what_is_written_is_there_until_it_is_deleted(place: tuple[Store, str]) -> None:
    store, root = place
    uri = root + "new folder/x é.bin"
    assert not store.exists(uri)
    with pytest.raises(NotFound, match="x é"):
        store.size(uri)
    store.write(uri, b"one")
    store.write(uri, b"other")
    assert (store.exists(uri), store.size(uri), store.read(uri)) == (True, 5, b"other")
    store.delete([uri, uri, root + "never"])
    assert not store.exists(uri)
    with pytest.raises(Corrupt, match="missing"):
        store.read(uri)
    assert store.exists(root + "a.parquet")


def test_walking_finds_every_object(place: tuple[Store, str]) -> None:
    store, root = place
    begun = datetime.now(UTC) - timedelta(minutes=5)
    found = list(store.walk(root))
    assert sorted(each.uri for each in found) == sorted(root + name for name in FILES)
    assert all(each.bytes == len(each.uri.removeprefix(root)) for each in found)
    assert all(begun < each.modified < begun + timedelta(minutes=10) for each in found)
    assert [each.uri for each in store.walk(f"{root}p=c/")] == [f"{root}p=c/deep/y.parquet"]
    assert list(store.walk(f"{root}none/")) == []


def test_a_local_uri_is_walked_too(tmp_path: Path) -> None:
    store, root = Store(), f"file://{tmp_path}/"
    store.write(f"{tmp_path}/a%20 b/x.parquet", b"1")
    (found,) = store.walk(root)
    assert store.read(found.uri) == b"1"


def test_sizes_of_many(place: tuple[Store, str]) -> None:
    store, root = place
    uris = [root + name for name in FILES]
    assert store.sizes([*uris, f"{root}none"]) == {
        uri: len(name) for uri, name in zip(uris, FILES, strict=True)
    }


def test_deleting_many_at_once(place: tuple[Store, str]) -> None:
    store, root = place
    uris = [root + name for name in FILES]
    store.delete([*uris[1:], f"{root}none", *uris[1:3]])
    assert [each.uri for each in store.walk(root)] == uris[:1]


def test_a_folder_is_no_object(place: tuple[Store, str]) -> None:
    store, root = place
    assert not store.exists(root + "p=c")


def test_local_names_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").touch()
    monkeypatch.chdir(tmp_path)
    for pattern in ("a.parquet", "*.parquet", ".", f"file://{tmp_path}/a.parquet"):
        assert Store().listed(pattern) == [f"{tmp_path}/a.parquet"]


def test_a_pattern_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"\*\* between slashes"):
        Store().listed(f"{tmp_path}/**.parquet")


def test_without_access(s3_server: "S3Server") -> None:
    uri = f"s3://{s3_server.new_bucket()}/x"
    store = Store({**s3_server.storage_options, "secret_access_key": "wrong"})
    for refused in (
        lambda: store.listed(uri),
        lambda: store.exists(uri),
        lambda: store.write(uri, b""),
        lambda: store.delete([uri]),
        lambda: list(store.walk(uri)),
        lambda: store.sizes([uri]),
    ):
        with pytest.raises(Denied, match="storage_options"):
            refused()


def test_a_folder_where_a_file_should_go(tmp_path: Path) -> None:
    with pytest.raises(TidelakeError, match="cannot write"):
        Store().write(str(tmp_path), b"")
    (tmp_path / "file").touch()
    with pytest.raises(TidelakeError, match="cannot write"):
        Store().write(f"{tmp_path}/file/below", b"")


def test_a_full_disk_and_a_folder_of_somebody_else() -> None:
    with (
        pytest.raises(Unavailable, match="cannot write /data/x: the disk is full") as full,
        reporting("write", "/data/x"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert full.value.hint == "free some space, then try again"
    with (
        pytest.raises(Denied, match="may not write /data/x") as closed,
        reporting("write", "/data/x"),
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    assert closed.value.hint == "check the permissions of the file and its folder"
