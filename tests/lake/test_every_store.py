"""A lake does the same in every object store: S3 by several servers, Google's, Azure's."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pytest

import tidelake
from tests.servers.stores import STORES, StoreServer
from tidelake.errors import Denied, Invalid, Unavailable
from tidelake.store.files import Store
from tidelake.testing import canonical

_CASES = [
    pytest.param(name, marks=[] if name == "seaweedfs" else [pytest.mark.stores]) for name in STORES
]
pytestmark = pytest.mark.xdist_group("stores")


@pytest.fixture(scope="module", params=_CASES)
def server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    server = STORES[request.param]()
    yield server
    server.stop()


@pytest.fixture
def place(server: StoreServer) -> str:
    return f"{server.new_place()}/a lake/"


@pytest.fixture
def lake(server: StoreServer, place: str, tmp_path: Path) -> Iterator[tidelake.Lake]:
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, place, storage_options=server.storage_options) as lake:
        yield lake


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[tidelake.Lake]:
    """A lake on this machine's disk."""
    with tidelake.connect(f"sqlite:///{tmp_path}/twin.db") as lake:
        yield lake


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {"id": n, "k": f"a/b ü#{n % 3}", "ts": f"2024-03-{n % 28 + 1:02d}"}
        for n in range(first, last)
    ]


def live(lake: tidelake.Lake) -> None:
    """Every kind of write, with rows in files, and upkeep that leaves no snapshot changed."""
    lake.set_option("data_inlining_row_limit", 5)
    table = lake.create_table(
        "t",
        "id BIGINT NOT NULL, k VARCHAR, ts TIMESTAMP NOT NULL",
        partition_by=["k"],
        key="id",
        event_time="ts",
    )
    table.append(rows(0, 300))
    table.append(rows(300, 303))
    table.delete("id BETWEEN 10 AND 60")
    table.update({"k": "'changed'"}, where="id IN (100, 101)")
    table.overwrite(rows(200, 220), where="id BETWEEN 200 AND 230")
    table.merge(rows(290, 320), on="id")
    table.evolve(add={"more": "DOUBLE"})
    table.append([{**row, "more": 1.5} for row in rows(400, 460)])
    table.rollup(as_of="2024-03-20")
    with lake.transaction() as tx:
        tx.table("t").append(rows(500, 520))
        tx.create_table("u", "id BIGINT").append([{"id": n} for n in range(50)])
    lake.compact()


def seen(lake: tidelake.Lake) -> list[Any]:
    found: list[Any] = []
    for snapshot in lake.snapshots():
        past = lake.known_at(snapshot.snapshot_id)
        found += [(name, canonical.rows(past.table(name).to_arrow())) for name in past.tables()]
    found.append(canonical.rows(lake.table("t").as_of("2024-03-21").to_arrow()))
    return found


@pytest.mark.slow
def test_the_same_as_on_a_disk(lake: tidelake.Lake, twin: tidelake.Lake) -> None:
    live(lake)
    live(twin)
    assert seen(lake) == seen(twin)
    assert lake.verify(deep=True).ok
    lake.expire(older_than="0 seconds")
    assert lake.cleanup(older_than="0 seconds").files > 0
    assert seen(lake)[-1] == seen(twin)[-1]
    assert lake.verify(deep=True).ok


def test_mirror_and_import(lake: tidelake.Lake, server: StoreServer, tmp_path: Path) -> None:
    table = lake.create_table("t", "id BIGINT, v VARCHAR")
    mirror = lake.mirror("t")
    lake.set_option("data_inlining_row_limit", 0)
    table.append([{"id": n, "v": f"v{n}"} for n in range(100)])
    table.delete("id < 10")
    table.evolve(rename={"v": "w"})
    assert mirror.diff().behind == 0
    assert mirror.status.status == "active"
    place = mirror.root
    if server.scheme == "s3":  # delta-rs knows no emulators of the others by address
        options = {f"aws_{k}": str(v) for k, v in server.storage_options.items()}
        read = deltalake.DeltaTable(place, storage_options=options)
        rows = deltalake.QueryBuilder().register("t", read).execute("SELECT w FROM t").read_all()
        assert rows.num_rows == 90
    url = f"sqlite:///{tmp_path}/other.db"
    where = lake.data_path.rstrip("/") + "-other/"
    with tidelake.connect(url, where, storage_options=server.storage_options) as other:
        tidelake.import_delta(other, place, "t")
        assert other.table("t").count() == 90


def test_of_many_one_creates(server: StoreServer, place: str) -> None:
    if not server.is_atomic:
        pytest.skip("this server lets two create an object now and then")
    store = Store(server.storage_options)
    for number in range(3):
        with ThreadPoolExecutor(4) as pool:
            tries = [
                pool.submit(store.create, f"{place}{number}.json", bytes([n])) for n in range(4)
            ]
        assert sorted(each.result() for each in tries) == [False, False, False, True]
        winner = next(n for n, each in enumerate(tries) if each.result())
        assert store.read(f"{place}{number}.json") == bytes([winner])


def test_wrong_keys(lake: tidelake.Lake, server: StoreServer, tmp_path: Path) -> None:
    if not server.checks_keys:
        pytest.skip("this server takes any key")
    lake.create_table("t", "id BIGINT").append([{"id": n} for n in range(100)])
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, storage_options=server.wrong_options) as other:
        with pytest.raises(Denied, match="storage_options"):
            other.table("t").to_arrow()
        with pytest.raises(Denied, match="storage_options"):
            other.table("t").append([{"id": n} for n in range(100)])
    assert lake.table("t").count() == 100


def test_keys_of_other_stores(lake: tidelake.Lake, server: StoreServer, tmp_path: Path) -> None:
    """One set of options serves several stores; what no store knows is refused."""
    lake.create_table("t", "id BIGINT").append([{"id": n} for n in range(100)])
    others = {"aws_region": "eu-1", "google_bearer_token": "x", "azure_storage_use_emulator": "no"}
    own = {"s3": "aws_", "gs": "google_", "az": "azure_"}[server.scheme]
    more = {key: value for key, value in others.items() if not key.startswith(own)}
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, storage_options={**more, **server.storage_options}) as other:
        assert other.table("t").to_arrow().num_rows == 100
    nonsense = {"nonsense": "x", **server.storage_options}
    with tidelake.connect(url, storage_options=nonsense) as other, pytest.raises(Invalid):
        other.session.store.read(lake.table("t").files()[0].path)


def test_a_store_that_goes_away(lake: tidelake.Lake, server: StoreServer, tmp_path: Path) -> None:
    """Nothing is committed while it is gone, and it goes on when it is back."""
    table = lake.create_table("t", "id BIGINT")
    table.append([{"id": n} for n in range(100)])
    before = lake.snapshots()[-1].snapshot_id
    options = {**server.storage_options, "max_retries": 1, "retry_timeout": 1}
    nowhere = {
        key: "http://127.0.0.1:1/x" if "endpoint" in key or "base_url" in key else value
        for key, value in options.items()
    }
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, storage_options=nowhere) as other, pytest.raises(Unavailable):
        other.table("t").append([{"id": n} for n in range(100)])
    assert lake.snapshots()[-1].snapshot_id == before
    table.append([{"id": n} for n in range(100)])
    assert table.count() == 200
