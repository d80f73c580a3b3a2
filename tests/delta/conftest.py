"""Lakes of these tests, and readers of Delta."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tests.delta.readers import Readers
from tidelake.testing.place import Place


@pytest.fixture(scope="package")
def readers() -> Iterator[Readers]:
    with Readers() as both:
        yield both


@pytest.fixture
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tidelake.Lake]:
    """Parametrized: with these limits."""
    limits = getattr(request, "param", {})
    with Place.at("sqlite", tmp_path).tuned(**limits).open() as lake:
        lake.set_option("data_inlining_row_limit", 0)
        yield lake
