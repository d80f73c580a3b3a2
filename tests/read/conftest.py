"""Lakes of the corpus, made and read by DuckDB once per run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.read.scripts.script import Script
from tidelake.testing.oracle import Oracle, Truth
from tidelake.testing.place import Place


class Lakes:
    """Makes a lake when a test first asks for it, and keeps it and its truth."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest) -> None:
        self._folder = folder
        self._request = request
        self._kept: dict[tuple[str, str, int], tuple[Place, Truth]] = {}
        self.oracle = Oracle()

    def get(self, script: Script, catalog: str, limit: int) -> tuple[Place, Truth]:
        key = (script.name, catalog, limit)
        if key not in self._kept:
            lake = self.make(script, catalog, limit)
            self._kept[key] = (lake, self.oracle.read(lake))
        return self._kept[key]

    def make(self, script: Script, catalog: str, limit: int) -> Place:
        folder = self._folder / f"{script.name}-{catalog}-{limit}"
        on_a_server = catalog == "postgresql"
        server = self._request.getfixturevalue("postgres_server") if on_a_server else None
        place = Place.at(catalog, folder, server)
        script.make(self.oracle, place, limit)
        return place


@pytest.fixture(scope="session")
def lakes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Lakes]:
    made = Lakes(tmp_path_factory.mktemp("corpus"), request)
    yield made
    made.oracle.close()
