"""Many who write and publish at once: one log, without gaps, that readers can always read."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.concurrency.crowd import together
from tests.delta.agreement import assert_agree
from tests.delta.publishers import publish_on, read_on, then_stop, write_on
from tests.delta.readers import Readers
from tidelake.delta.log.read import list_log
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror.sync import sync
from tidelake.testing.place import Place

WRITERS = 3


def _race(url: str, data: str, stop: Path, root: str, count: int) -> dict[int, list[int]]:
    """Six processes, one of which reads."""
    writers = [
        partial(then_stop, partial(write_on, url, data, who, count, None), stop, WRITERS)
        for who in range(WRITERS)
    ]
    others = [
        partial(publish_on, url, data, stop, None, compacts=compacts) for compacts in (False, True)
    ]
    *_, seen = together(*writers, *others, partial(read_on, root, stop))
    return seen  # type: ignore[no-any-return]


def _assert_seen(lake: tidelake.Lake, seen: dict[int, list[int]]) -> None:
    with lake.session.reading() as reader:
        known = mirrors.known_versions(reader, lake.table("t").info.id)
    for version, keys in seen.items():
        at: Any = known[version][0]
        assert keys == sorted(lake.known_at(at).table("t").to_arrow()["k"].to_pylist())


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("sqlite", 8),
        pytest.param("sqlite", 60, marks=pytest.mark.slow),
        pytest.param("postgresql", 40, marks=pytest.mark.slow),
        pytest.param("mariadb", 20, marks=pytest.mark.slow),
    ],
)
def test_six_publishers_and_a_reader(
    kind: str, count: int, new_place: Callable[[str], Place], tmp_path: Path, readers: Readers
) -> None:
    place = new_place(kind)
    with tidelake.connect(place.url, str(place.data)) as lake:
        table = lake.create_table("t", "k BIGINT")
        mirror = lake.mirror("t")
        seen = _race(place.url, str(place.data), tmp_path / "stop", table.info.path, count)
        mirror.sync()
        assert mirror.state.status == "active"
        assert_agree(lake, "t", readers)
        _assert_seen(lake, seen)
        assert len(seen) > 1
        assert table.count() == WRITERS * (count - count // 4)


@pytest.mark.slow
def test_racing_publishers_on_s3(tmp_path: Path, s3_server: Any) -> None:
    """Of those that put a version there, one wins; the others find that it is theirs."""
    options = {name: str(value) for name, value in s3_server.storage_options.items()}
    url, data = f"sqlite:///{tmp_path}/lake.db", f"s3://{s3_server.new_bucket()}/lake/"
    with tidelake.connect(url, data, storage_options=options) as lake:
        table = lake.create_table("t", "k BIGINT")
        lake.mirror("t")
        together(*(partial(write_on, url, data, who, 4, options) for who in range(3)))
        found = sync(lake.session, table.info.id)
        assert found is not None
        assert (found.status, found.published) == ("active", found.version)
        log = list_log(lake.session.local.store, table.info.path)
        assert sorted(log.commits) == list(range(found.version + 1))
        with lake.session.reading() as reader:
            assert sorted(mirrors.known_versions(reader, table.info.id)) == sorted(log.commits)
        assert table.count() == 9
