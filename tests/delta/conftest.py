"""Lakes of these tests, and readers of Delta."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelake
from tests.delta.readers import Readers
from tidelake.delta.mirror import publish as publishing


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
