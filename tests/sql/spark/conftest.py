"""A lake with rows of every type, for conditions."""

from collections.abc import Iterator

import pytest

import tidelake
from tests.sql.spark.rows import fill


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fill(tmp_path_factory.mktemp("conditions"))


@pytest.fixture(scope="module")
def lake(url: str) -> Iterator[tidelake.Lake]:
    with tidelake.connect(url, read_only=True) as opened:
        yield opened
