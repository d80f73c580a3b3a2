from collections.abc import Callable
from pathlib import Path

import pytest

from tests.histories.place import Place, place

SERVERS = {"postgresql": "postgres_server", "mariadb": "mariadb_server"}


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Makes a place for a lake on a kind of catalog."""

    def make(kind: str) -> Place:
        server = request.getfixturevalue(SERVERS[kind]) if kind in SERVERS else None
        return place(kind, tmp_path, server)

    return make
