from collections.abc import Callable

import pytest

from tidelake.testing.place import Place

CATALOGS = ("sqlite", "postgresql", "mariadb")


@pytest.fixture(params=CATALOGS)
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    return new_place(request.param)
