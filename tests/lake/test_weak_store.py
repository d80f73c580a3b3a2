"""A store that is busy, fails or breaks off: what can be had by patience is had, and all else is a
clear error after which nothing has happened."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelake
from tests.servers.store_proxy import WeakStore, now_and_then
from tidelake.errors import Unavailable

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

ROWS = [{"id": n, "v": "x" * 100} for n in range(500)]


@pytest.fixture
def weak(s3_server: "S3Server") -> Iterator[WeakStore]:
    weak = WeakStore(s3_server.endpoint)
    yield weak
    weak.close()


@pytest.fixture
def lake(weak: WeakStore, s3_server: "S3Server", tmp_path: Path) -> Iterator[tidelake.Lake]:
    options: dict[str, Any] = {
        **s3_server.storage_options,
        "endpoint": weak.address,
        "max_retries": 6,
        "retry_timeout": 20,
    }
    place = f"s3://{s3_server.new_bucket()}/lake/"
    url = f"sqlite:///{tmp_path}/lake.db"
    with tidelake.connect(url, place, storage_options=options) as lake:
        lake.create_table("t", "id BIGINT, v VARCHAR").append(ROWS)
        lake.mirror("t")
        yield lake


def test_what_passes_is_waited_for(lake: tidelake.Lake, weak: WeakStore) -> None:
    weak.fault = now_and_then(1, 0.25, "busy", "error")
    table = lake.table("t")
    table.append(ROWS)
    table.delete("id % 2 = 0")
    assert table.to_arrow().num_rows == 500
    lake.compact()
    assert table.to_arrow().num_rows == 500
    weak.fault = lambda _: ""
    assert set(weak.faults) == {"busy", "error"}
    assert lake.verify(deep=True).ok
    assert lake.mirrored("t").diff().status == "ok"


def test_answers_that_break_off(lake: tidelake.Lake, weak: WeakStore) -> None:
    weak.fault = now_and_then(2, 0.15, "cut")
    table = lake.table("t")
    for _ in range(4):
        with suppress(Unavailable):
            assert table.to_arrow().num_rows == 500
    assert "cut" in weak.faults
    weak.fault = lambda _: ""
    assert table.to_arrow().num_rows == 500
    assert lake.verify(deep=True).ok


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["busy", pytest.param("error", marks=pytest.mark.slow)])
def test_what_does_not_pass(lake: tidelake.Lake, weak: WeakStore, fault: str) -> None:
    """No file can be put: no row is there, and the next write is as good as any."""
    before = lake.snapshots()
    weak.fault = lambda method: fault if method in ("PUT", "POST") else ""
    with pytest.raises(Unavailable) as caught:
        lake.table("t").append(ROWS)
    assert caught.value.hint
    assert "\n" not in caught.value.message
    weak.fault = lambda _: ""
    assert lake.snapshots() == before
    assert lake.table("t").count() == 500
    lake.table("t").append(ROWS)
    assert lake.table("t").to_arrow().num_rows == 1000
    assert lake.verify(deep=True).ok
