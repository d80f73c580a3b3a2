"""Lakes of these tests, and readers of Delta."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tidelake
from tests.delta.readers import Readers
from tests.histories.place import Place, place
from tidelake.delta.mirror import publish as publishing

_SERVERS = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}


@pytest.fixture(scope="package")
def readers() -> Iterator[Readers]:
    with Readers() as both:
        yield both


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints after every few versions."""
    monkeypatch.setattr(publishing, "EVERY", 3)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", str(tmp_path / "data")) as lake:
        lake.set_option("data_inlining_row_limit", 0)
        yield lake


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Makes an address for a lake that does not exist yet, on a kind of catalog."""

    def make(kind: str) -> Place:
        server = request.getfixturevalue(_SERVERS[kind]) if kind in _SERVERS else None
        return place(kind, tmp_path, server)

    return make
