"""Copies of immutable files on a local disk."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.servers.store_proxy import Request, StoreProxy
from tidelake.errors import Invalid, TidelakeError, Unavailable

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

_FILES = 4
_ROWS = 500


class CountedStore(StoreProxy):
    """Knows for how many objects' bytes it was asked."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.asked: list[str] = []

    def answer(self, request: Request, body: bytes) -> None:
        if request.command == "GET" and "ducklake-" in request.path:
            self.asked.append(request.path)
        self.forward(request, body)

    def taken(self) -> int:
        found, self.asked = len(self.asked), []
        return found


@pytest.fixture
def counted(s3_server: "S3Server") -> Iterator[CountedStore]:
    store = CountedStore(s3_server.endpoint)
    yield store
    store.close()


Opened = Callable[..., tidelake.Lake]


@pytest.fixture
def opened(s3_server: "S3Server", counted: CountedStore, tmp_path: Path) -> Opened:
    """The lake of these tests, with its cache; made by somebody who has none."""
    place = f"s3://{s3_server.new_bucket()}/lake"
    options = {**s3_server.storage_options, "endpoint": counted.address}
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, place, storage_options=options) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        table = lake.create_table("t", {"id": "BIGINT", "x": "TEXT"})
        for number in range(_FILES):
            rows = range(number * _ROWS, (number + 1) * _ROWS)
            table.append([{"id": each, "x": f"x{each}"} for each in rows])
        table.delete("id % 10 = 0")
    counted.taken()

    def opened(**wishes: Any) -> tidelake.Lake:
        given = {"cache_dir": tmp_path / "cache", **wishes}
        return tidelake.connect(url, storage_options=options, **given)

    return opened


def expected() -> list[int]:
    return [each for each in range(_FILES * _ROWS) if each % 10]


def ids(lake: tidelake.Lake, **asked: Any) -> list[int]:
    found = lake.table("t").scan(**asked).to_arrow()
    rows = sorted(zip(found["id"].to_pylist(), found["x"].to_pylist(), strict=True))
    assert all(text == f"x{number}" for number, text in rows)
    return [number for number, _ in rows]


def copies(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache" / "files").rglob("*") if path.is_file())


def test_the_second_read_asks_the_store_for_nothing(
    opened: Opened, counted: CountedStore, tmp_path: Path
) -> None:
    with opened() as lake:
        assert ids(lake) == expected()
        assert counted.taken() == 2 * _FILES  # and their deletes
        assert ids(lake) == expected()
        assert lake.sql("SELECT count(*) AS n FROM t AS a JOIN t AS b USING (id)").to_arrow()[
            "n"
        ].to_pylist() == [len(expected())]
    with opened() as lake:
        assert ids(lake) == expected()
        assert ids(lake, where="id < 20") == [each for each in expected() if each < 20]
        assert ids(lake, known_at=5) == list(range(_FILES * _ROWS))
    assert counted.taken() == 0
    assert len(copies(tmp_path)) == 2 * _FILES
    with opened(cache_dir=None) as lake:
        assert ids(lake) == expected()
    assert counted.taken() > 0


def _turned(data: bytes) -> bytes:
    """One bit of the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "harm",
    [_turned, lambda data: data[:-1], lambda data: data[:0], lambda data: data + b"x"],
    ids=["a bit", "cut", "empty", "longer"],
)
def test_a_damaged_copy_is_fetched_again(
    opened: Opened, counted: CountedStore, tmp_path: Path, harm: Callable[[bytes], bytes]
) -> None:
    with opened() as lake:
        assert ids(lake) == expected()
    counted.taken()
    for path in copies(tmp_path):
        path.write_bytes(harm(path.read_bytes()))
    with opened() as lake:
        assert ids(lake) == expected()
        assert counted.taken() == 2 * _FILES
        assert ids(lake) == expected()
        for path in copies(tmp_path):  # touched while a process has them
            path.write_bytes(harm(path.read_bytes()))
            os.utime(path, (0, 0))
        assert ids(lake) == expected()
        assert counted.taken() == 2 * _FILES
    assert len(copies(tmp_path)) == 2 * _FILES


def test_those_that_were_not_read_for_longest_go_first(
    opened: Opened, counted: CountedStore, tmp_path: Path
) -> None:
    with opened() as lake:
        table = lake.table("t")
        files = table.known_at(5).files()
        room = sum(file.bytes for file in files)
        most = room - 1  # and no read may need more than half of it
    counted.taken()

    def read(number: int) -> int:
        with opened(cache_size=most) as lake:
            first = number * _ROWS
            where = f"id BETWEEN {first} AND {first + _ROWS - 1}"
            assert len(ids(lake, where=where, known_at=5)) == _ROWS
        for path in copies(tmp_path):  # as if that had been a while ago
            facts = path.stat()
            os.utime(path, ns=(facts.st_atime_ns - 10**12, facts.st_mtime_ns))
        return counted.taken()

    assert [read(number) for number in (0, 1, 2, 0)] == [1, 1, 1, 0]
    assert read(3) == 1
    assert [read(number) for number in (0, 2, 3)] == [0, 0, 0]
    assert read(1) == 1
    assert sum(path.stat().st_size for path in copies(tmp_path)) <= most


def test_a_read_of_more_than_fits_stays_with_the_store(
    opened: Opened, counted: CountedStore, tmp_path: Path
) -> None:
    with opened(cache_size=1000) as lake:
        assert ids(lake) == expected()
    assert counted.taken() > 0
    assert copies(tmp_path) == []


def test_what_goes_while_it_is_read(opened: Opened, tmp_path: Path) -> None:
    with opened() as lake:
        reader = lake.table("t").scan().to_batches(100)
        first = reader.read_next_batch()
        relation = lake.table("t").scan().to_duckdb()
        for path in copies(tmp_path):
            path.unlink()
        rest = reader.read_all()
        assert first.num_rows + rest.num_rows == len(expected())
        assert len(relation.fetchall()) == len(expected())
        assert ids(lake) == expected()


def test_links_go_with_their_readers(opened: Opened, tmp_path: Path) -> None:
    with opened() as lake:
        assert ids(lake) == expected()
        held = (tmp_path / "cache").glob("tidelake-scratch-*/*")
        assert [path for path in held if path.is_dir()] == []
    del lake
    assert list((tmp_path / "cache").glob("tidelake-scratch-*")) == []


def test_deleted_files_leave_no_copy(opened: Opened, tmp_path: Path) -> None:
    with opened() as lake:
        assert ids(lake) == expected()
        lake.table("t").compact()
        assert ids(lake) == expected()
        assert len(copies(tmp_path)) > 2 * _FILES
        lake.expire(keep_last=1)
        lake.cleanup(older_than="0 seconds")
        assert len(copies(tmp_path)) == 2  # a file, and its deletes
        assert ids(lake) == expected()


def test_verify_looks_into_the_store(opened: Opened, s3_server: "S3Server", tmp_path: Path) -> None:
    with opened() as lake:
        assert ids(lake) == expected()
        assert lake.verify(deep=True).ok
        file = lake.table("t").files()[0]
        data = lake.session.store.read(file.path)
        lake.session.store.write(file.path, data[:100] + bytes(100) + data[200:])
        assert not lake.verify(deep=True).ok
        assert copies(tmp_path)


def test_files_of_others_are_never_copied(
    opened: Opened, counted: CountedStore, tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened() as lake:
        table = lake.create_table("others", {"n": "BIGINT"})
        home = lake.data_path.replace("/lake/", "/elsewhere/")
        for number in (1, 2):
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table({"n": [number]}), sink)
            lake.session.store.write(f"{home}a.parquet", sink.getvalue().to_pybytes())
            if number == 1:
                table.add_files([f"{home}a.parquet"])
            assert table.to_arrow()["n"].to_pylist() == [number]  # somebody changed it
        assert copies(tmp_path) == []


def test_a_store_that_fails_is_told_of_as_without_a_cache(
    opened: Opened, s3_server: "S3Server"
) -> None:
    with opened() as lake:
        for file in lake.table("t").files():
            lake.session.store.delete([file.path])
        with pytest.raises(TidelakeError, match="missing"):
            ids(lake)


def test_a_folder_that_cannot_be_used(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cache cannot be kept"):
        opened(cache_dir=tmp_path / "file")


@pytest.mark.parametrize("size", [0, -1, "much", True, 1.5])
def test_a_size_that_is_none(opened: Opened, size: object) -> None:
    with pytest.raises(Invalid, match="cache_size"):
        opened(cache_size=size)


def test_where_the_folder_is_named(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELAKE_CACHE_DIR", str(tmp_path / "cache"))
    with opened(cache_dir=None) as lake:
        assert ids(lake) == expected()
    assert len(copies(tmp_path)) == 2 * _FILES
    monkeypatch.chdir(tmp_path)
    Path("tidelake.toml").write_text(
        'catalog = "sqlite:///lake.db"\ncache_dir = "second/cache"\ncache_size = 50_000_000\n'
        "[storage_options]\n"
        + "".join(
            f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}\n"
            for key, value in lake.session.local.options.items()
        )
    )
    with tidelake.connect() as other:
        assert ids(other) == expected()
    assert len(copies(tmp_path / "second")) == 2 * _FILES


def _read_often(url: str, options: dict[str, Any], folder: str, most: int, told: Any) -> None:
    for _ in range(6):
        with tidelake.connect(
            url, storage_options=options, cache_dir=folder, cache_size=most
        ) as lake:
            told.put(ids(lake, known_at=5) == list(range(_FILES * _ROWS)))


def test_many_processes_share_it(opened: Opened, tmp_path: Path) -> None:
    """In a cache that is too small for all, so that they take copies away from each other."""
    with opened() as lake:
        url, options = f"sqlite:///{tmp_path}/lake.db", lake.session.local.options
        most = 2 * sum(file.bytes for file in lake.table("t").files())
    spawned = multiprocessing.get_context("spawn")
    told = spawned.Queue()
    folder = str(tmp_path / "cache")
    working = [
        spawned.Process(target=_read_often, args=(url, options, folder, most, told))
        for _ in range(3)
    ]
    for each in working:
        each.start()
    answers = [told.get(timeout=120) for _ in range(18)]
    for each in working:
        each.join()
    assert all(answers)
    assert list((tmp_path / "cache").glob("tidelake-scratch-*")) == []
