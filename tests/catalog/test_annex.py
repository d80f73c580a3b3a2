"""What is kept beside DuckLake hears of all that comes and goes; the catalog names none of it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.catalog.annex import Annex, Execute, HeldFiles, Rows, Since
from tidelake.catalog.database.database import Reader, Writer
from tidelake.errors import Conflict
from tidelake.lake.wiring import FEATURES, Features
from tidelake.model.change import Change, NewFile, TableChange
from tidelake.testing.place import Place

CATALOG = Path(tidelake.__file__).parent / "catalog"


class Listener(Annex):
    """It keeps nothing, and remembers what it has been told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.needed: str | None = None
        self.refuses: Collection[int] = ()
        self.claimed = False

    def told(self, what: str) -> list[Any]:
        return [each[1:] for each in self.heard if each[0] == what]

    def prepare(self, writer: Writer, change: Change, /) -> None:
        assert writer.row("SELECT max(snapshot_id) FROM ducklake_snapshot") is not None
        self.heard.append(("prepare", len(change.tables)))

    def check(self, reader: Reader, change: TableChange, since: Since, /) -> None:
        self.heard.append(("check", change.table.name.name, since.base, since.head))
        if self.claimed:
            raise Conflict("it rests on something else", hint="wait")

    def file_added(self, rows: Rows, table_id: int, file_id: int, file: NewFile, /) -> None:
        self.heard.append(("file_added", table_id, file_id, file.rows))

    def files_gone(
        self, reader: Reader, execute: Execute, table_id: int, file_ids: Collection[int], /
    ) -> None:
        self.heard.append(("files_gone", table_id, sorted(file_ids)))

    def tables_gone(self, writer: Writer, table_ids: Collection[int], /) -> None:
        self.heard.append(("tables_gone", sorted(table_ids)))

    def protect(self, reader: Reader, snapshots: Collection[int], /) -> None:
        if set(snapshots) & set(self.refuses):
            raise Conflict("somebody needs them", hint="wait")

    def snapshots_going(self, writer: Writer, snapshots: Collection[int], /) -> None:
        there = writer.rows("SELECT snapshot_id FROM ducklake_snapshot")
        assert set(snapshots) <= {row[0] for row in there}
        self.heard.append(("snapshots_going", sorted(snapshots)))

    def held(self, reader: Reader, _data_path: str, /) -> HeldFiles:
        return _Held(needed=self.needed)


@dataclass(frozen=True, kw_only=True)
class _Held(HeldFiles):
    needed: str | None = field(default=None)

    def why_needed(self, path: str, /) -> str | None:
        return "the listener likes them" if path == self.needed else None


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def lake(tmp_path: Path, listener: Listener) -> Iterator[tidelake.Lake]:
    class More(Features):
        annexes = (*FEATURES.annexes, listener)

    with Place.at("sqlite", tmp_path).open() as lake:
        lake.session.wired = More
        lake.set_option("data_inlining_row_limit", 0)
        yield lake


def filled(lake: tidelake.Lake) -> int:
    t = lake.create_table("t", {"i": "int"})
    for number in range(3):
        t.append([{"i": number}])
    return t.info.id


def test_it_hears_of_files_that_come_and_are_merged(lake, listener):
    table_id = filled(lake)
    added = listener.told("file_added")
    assert [(each[0], each[2]) for each in added] == [(table_id, 1)] * 3
    assert len(listener.told("prepare")) == 4
    assert lake.table("t").compact().snapshots
    assert listener.told("files_gone") == [(table_id, sorted(each[1] for each in added))]
    assert listener.told("file_added")[3][2] == 3


def test_it_hears_of_snapshots_and_tables_that_go(lake, listener):
    table_id = filled(lake)
    files = [each[1] for each in listener.told("file_added")]
    lake.drop("t")
    lake.expire(keep_last=1)
    assert listener.told("snapshots_going") == [([0, 1, 2, 3, 4],)]
    assert listener.told("files_gone") == [(table_id, files)]
    assert listener.told("tables_gone") == [([table_id],)]


def test_what_it_needs_stays(lake, listener):
    filled(lake)
    listener.refuses = [2]
    with pytest.raises(Conflict, match="somebody needs them"):
        lake.expire(keep_last=1)
    assert listener.told("snapshots_going") == []
    listener.refuses = ()
    (listener.needed, *_) = (file.path for file in lake.table("t").files())
    lake.drop("t")
    lake.expire(keep_last=1)
    done = lake.cleanup(older_than="0 seconds")
    assert done.files == 2
    assert [(each.reason, each.files) for each in done.kept] == [("the listener likes them", 1)]
    assert Path(listener.needed).exists()


def test_it_can_refuse_a_commit_that_others_have_overtaken(lake, listener):
    filled(lake)
    tx = lake.transaction()
    tx.table("t").delete("i = 0")
    other = lake.create_table("u", {"i": "int"})
    other.append([{"i": 7}])
    listener.claimed = True
    with pytest.raises(Conflict, match="rests on something else"):
        tx.commit()
    assert listener.told("check") == [("t", 4, 6)]
    assert lake.table("t").count() == 3


def test_the_catalog_names_none():
    texts = {path: path.read_text() for path in CATALOG.rglob("*.py")}
    assert len(texts) > 30
    for name in (name for annex in FEATURES.annexes for name in annex.tables):
        assert name.startswith("tidelake_")
        assert [path.name for path, text in texts.items() if f'"{name}"' in text] == []


def test_no_two_have_one_table():
    names = [name for annex in FEATURES.annexes for name in annex.tables]
    assert len(set(names)) == len(names)
    for annex in FEATURES.annexes:
        assert set(annex.spans) | set(annex.paths) <= set(annex.tables)
