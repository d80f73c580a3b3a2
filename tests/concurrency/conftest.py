from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.place import Place

CATALOGS = ("sqlite", "postgresql", "mariadb")


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Makes an address for a lake that does not exist yet, on a kind of catalog."""

    def make(kind: str) -> Place:
        data_path = f"{tmp_path}/files/"
        if kind in ("sqlite", "duckdb"):
            return Place(kind, f"{kind}:///{tmp_path}/lake.db", data_path)
        name = "postgres_server" if kind == "postgresql" else "mariadb_server"
        server: Any = request.getfixturevalue(name)
        return Place(kind, server.new_database(), data_path)

    return make


@pytest.fixture(params=CATALOGS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    return new_place(request.param)
