"""A format beside Delta takes a line of wiring: this one writes a line of text for each commit."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tidelake.catalog.annex import Annex, Rows
from tidelake.catalog.database.database import Reader, Writer
from tidelake.catalog.inventory import Inventory
from tidelake.catalog.read import snapshots
from tidelake.delta.mirror.mirror import DeltaMirror
from tidelake.errors import Invalid, NotFound
from tidelake.lake.wiring import Features
from tidelake.model.change import Change, NewFile
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.settings import MIRROR_TAG, mirror_formats
from tidelake.model.terms import Terms
from tidelake.session.formats import MirrorFormat, TableMirror
from tidelake.session.replay import write
from tidelake.session.session import Session
from tidelake.testing.place import Place
from tidelake.verify.values import Problem
from tidelake.write.mirror_tag import set_mirror_tag

LINES = "lines"


class LinesMirror:
    """The file `lines.txt` in the folder of a table: the snapshots that it has been through."""

    def __init__(self, session: Session, name: TableName) -> None:
        self._session = session
        self._name = name
        self.name = str(name)
        self.root = session.newest_info(name).path
        self.file = Path(self.root) / "lines.txt"

    def snapshots(self) -> list[int]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    @property
    def status(self) -> MirrorStatus:
        last, count = self.snapshots()[-1], len(self.snapshots())
        return MirrorStatus(self.name, LINES, "active", None, self.root, count, count, last, 0, 0.0)

    def sync(self) -> None:
        with self._session.reading() as reader:
            head = snapshots.head_id(reader)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as file:
            file.write(f"{head}\n")

    def stop(self) -> None:
        change = partial(set_mirror_tag, name=self._name, kind=LINES, mirrored=False)
        write(self._session, change)


class LinesAnnex(Annex):
    def __init__(self) -> None:
        self.rows = 0

    def file_added(self, rows: Rows, table_id: int, file_id: int, file: NewFile, /) -> None:
        self.rows += file.rows


class LinesHook:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.names: list[TableName] = []

    def commit(self, change: Change) -> "LinesHook":
        found = (table.after for table in change.tables if table.after is not None)
        self.names = [each.name for each in found if LINES in mirror_formats(each.tags)]
        return self

    def beside(self, writer: Writer) -> None: ...

    def landed(self) -> None:
        for name in self.names:
            LinesMirror(self.session, name).sync()

    def before_expiry(self) -> None: ...

    def before_cleanup(self) -> None: ...


class LinesFormat:
    name = LINES

    def __init__(self) -> None:
        self.annex = LinesAnnex()

    def hook(self, session: Session, /) -> LinesHook:
        return LinesHook(session)

    def mirror(
        self, session: Session, name: TableName, /, *, history: bool, terms: Terms
    ) -> LinesMirror:
        tag = partial(set_mirror_tag, name=name, kind=LINES, mirrored=True)
        write(session, tag, terms=terms)
        return LinesMirror(session, name)

    def mirrored(self, session: Session, name: TableName, /) -> LinesMirror:
        if LINES not in mirror_formats(session.newest_info(name).tags):
            raise NotFound(f"{name} is not mirrored", hint="mirror it")
        return LinesMirror(session, name)

    def _all(self, session: Session) -> Iterator[LinesMirror]:
        with session.reading() as reader:
            names = [name for _, name in session.view.names(reader, session.at(reader), "table")]
        for name in names:
            if LINES in mirror_formats(session.newest_info(name).tags):
                yield LinesMirror(session, name)

    def sync_all(self, session: Session, /) -> None:
        for each in self._all(session):
            each.sync()

    def statuses(self, session: Session, /) -> list[MirrorStatus]:
        return [each.status for each in self._all(session)]

    def check(self, known: Inventory, reader: Reader, /) -> Iterator[Problem]:
        yield Problem("lines", "it has only lines", "write a better format")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Any]:
    class More(Features):
        formats: tuple[MirrorFormat, ...] = (*Features.formats, LinesFormat())  # the line of wiring

    with Place.at("sqlite", tmp_path).open() as lake:
        lake.session.wired = More
        lake.create_table("t", {"i": "int"})
        yield lake


def test_it_gets_commits_beside_delta(lake: tidelake.Lake) -> None:
    delta = lake.mirror("t")
    lines: TableMirror = lake.mirror("t", LINES)
    assert isinstance(delta, DeltaMirror)
    assert isinstance(lines, LinesMirror)
    assert lake.table("t").tags[MIRROR_TAG] == "delta,lines"
    begun = lines.snapshots()
    done = lake.table("t").append([{"i": 1}, {"i": 2}])
    assert lines.snapshots() == [*begun, done.snapshot_id]
    assert delta.status.snapshot_id == done.snapshot_id
    assert vars(lake.session.mirror_format(LINES).annex) == {"rows": 2}
    found = lake.mirrors()
    assert [(each.table, each.kind) for each in found] == [
        ("main.t", "delta"),
        ("main.t", LINES),
    ]
    assert lake.sync_mirrors() != found
    assert lines.snapshots()[-2:] == [done.snapshot_id] * 2
    assert [each.check for each in lake.verify().problems] == ["lines"]


def test_each_is_stopped_by_itself(lake: tidelake.Lake) -> None:
    lake.mirror("t", LINES)
    with pytest.raises(NotFound, match=r"main\.t is not mirrored"):
        lake.mirrored("t")
    delta = lake.mirror("t")
    lake.mirrored("t", LINES).stop()
    lake.table("t").append([{"i": 1}])
    assert [each.kind for each in lake.mirrors()] == ["delta"]
    assert delta.status.behind == 0
    with pytest.raises(NotFound):
        lake.mirrored("t", LINES)


def test_new_tables_can_have_both(lake: tidelake.Lake) -> None:
    lake.set_option("tidelake.mirror", "delta,lines")
    lake.create_table("u", {"i": "int"})
    assert [(each.table, each.kind) for each in lake.mirrors()] == [
        ("main.u", "delta"),
        ("main.u", LINES),
    ]


@pytest.mark.parametrize("kind", ["iceberg", "Delta", "delta,lines", ""])
def test_formats_that_are_not_there(lake: tidelake.Lake, kind: str) -> None:
    for call in (lake.mirror, lake.mirrored):
        with pytest.raises(
            Invalid, match=rf"unknown kind of mirror '{kind}'.*there are: delta, lines"
        ):
            call("t", kind)
    for text in ("iceberg", "delta,iceberg", "delta, lines"):
        with pytest.raises(Invalid, match="unknown kind of mirror"):
            lake.set_option("tidelake.mirror", text)
