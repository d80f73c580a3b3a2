"""Whatever things are called, nothing is read, written or deleted outside of the data path."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelake
from tidelake.errors import TidelakeError
from tidelake.testing.place import Place

_PIECES = (
    "..",
    "../",
    "../../outside",
    "/",
    "//",
    "\\",
    "..\\",
    "%2e%2e%2f",
    "%2F",
    "%00",
    "file:///tmp/x",
    "s3://bucket/x",
    "~",
    "$HOME",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "=",
    "a=b",
    "'",
    '"',
    ";",
    "\n",
    "\0",
    "\u202e",
    "\uff0e\uff0e\uff0f",
    "\u2024\u2024/",
    "\u0430cme",
    "CON",
    ".",
    ".hidden",
    "_delta_log",
    "_tidelake",
    "tenants/acme",
    "x" * 255,
    "ä" * 130,
    "-rf",
)
_NAMES = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), min_size=1, max_size=4).map(
    "".join
)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _World:
    """A lake in a folder, beside which lies something that must not be touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sentinel = folder / "outside"
        self.sentinel.mkdir()
        (self.sentinel / "kept.parquet").write_bytes(b"kept")
        (folder / "kept.parquet").write_bytes(b"kept")
        self.home = folder / "home"
        self.home.mkdir()

    def connect(self) -> tidelake.Lake:
        url = f"sqlite:///{self.home}/lake.db"
        return tidelake.connect(url, data_path=f"{self.home}/data/")

    def check(self) -> None:
        assert {each.name for each in self.folder.iterdir()} == {"outside", "kept.parquet", "home"}
        assert [each.name for each in self.sentinel.iterdir()] == ["kept.parquet"]
        assert (self.sentinel / "kept.parquet").read_bytes() == b"kept"
        assert (self.folder / "kept.parquet").read_bytes() == b"kept"
        beside = {each.name.removeprefix("lake.db") for each in self.home.iterdir()} - {"data"}
        assert beside <= {"", "-wal", "-shm", "-journal"}, beside
        for place, _, files in os.walk(self.home / "data"):
            assert not [each for each in files if Path(place, each).is_symlink()]


def _try(doing: Any) -> Any:
    """What is refused is refused by one of our errors, and by no other."""
    with suppress(TidelakeError):
        return doing()


def _live(lake: tidelake.Lake, names: list[str], value: str) -> None:
    schema, table, column = names
    full = f"{_quoted(schema)}.{_quoted(table)}"
    _try(lambda: lake.set_option("data_inlining_row_limit", 0))
    _try(lambda: lake.create_schema(schema))
    made = _try(lambda: lake.create_table(full, {column: "VARCHAR"}, partition_by=_quoted(column)))
    if made is None:
        made = lake.create_table("plain", {"p": "VARCHAR"}, partition_by="p")
        column = "p"
    done = _try(lambda: made.append([{column: value}, {column: "other"}]))
    if done is not None:
        assert sorted(made.to_arrow()[column].to_pylist()) == sorted([value, "other"])
    _try(lambda: made.delete(tidelake.col(column) == value))
    _try(lambda: made.set_comment(value))
    _try(lambda: lake.tag(value))
    _try(lambda: lake.set_option(value, value))
    _try(lambda: lake.table(value))
    _try(lambda: lake.create_tenant(value))
    _try(lambda: lake.mirror(made.name))
    _try(lambda: made.compact())
    _try(lambda: made.drop())
    _try(lambda: lake.untag(value))
    _try(lambda: lake.expire(keep_last=1))
    _try(lambda: lake.cleanup(older_than="0 seconds"))


def _check_lake(names: list[str], value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = _World(Path(folder))
        with world.connect() as lake:
            _live(lake, names, value)
        world.check()


@settings(max_examples=12, deadline=None)
@given(names=st.lists(_NAMES, min_size=3, max_size=3), value=_NAMES)
def test_no_name_leads_outside(names: list[str], value: str) -> None:
    _check_lake(names, value)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(names=st.lists(_NAMES, min_size=3, max_size=3), value=_NAMES)
def test_no_name_leads_outside_at_length(names: list[str], value: str) -> None:
    _check_lake(names, value)


_LEADS_OUT = [
    "../../../../outside/kept.parquet",
    "../../kept.parquet",
    "a/../../../../kept.parquet",
]


@pytest.mark.parametrize("path", _LEADS_OUT)
@pytest.mark.parametrize("kind", ["ducklake_data_file", "ducklake_table", "ducklake_schema"])
def test_no_row_of_the_catalog_leads_outside(tmp_path: Path, path: str, kind: str) -> None:
    """Rows that somebody else wrote into the catalog."""
    place = Place.at("sqlite", tmp_path)
    outside = place.data.parent.parent / "kept.parquet"
    pq.write_table(pa.table({"x": [42]}), outside)
    before = outside.read_bytes()
    with place.open() as lake:
        lake.create_table("t", "x BIGINT").append(pa.table({"x": range(1000)}))
    place.catalog(f"UPDATE {kind} SET path = ?, path_is_relative = 1", path)
    with place.open() as lake:
        with pytest.raises(TidelakeError):
            lake.table("t").to_arrow()
        for attempt in (
            lambda: lake.table("t").append(pa.table({"x": range(1000)})),
            lambda: lake.table("t").delete("x < 500"),
            lambda: lake.table("t").compact(),
            lambda: lake.drop("t"),
            lambda: lake.expire(keep_last=1),
            lambda: lake.cleanup(older_than="0 seconds"),
        ):
            _try(attempt)
    assert outside.read_bytes() == before
