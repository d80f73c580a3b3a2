"""The lake as this machine sees it: its catalog, its files, the clocks, and the room that is left.
The one thing that is written is a small file in the data path, which is deleted again."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.cli.checks.finding import Check, attempt
from tidelake.cli.checks.machine import has_extra
from tidelake.errors import Denied, Invalid, TidelakeError

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

_STORES = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    "gs": "gcs",
    **dict.fromkeys(("az", "abfs", "abfss"), "azure"),
}
_APART = timedelta(seconds=5)
_LITTLE, _VERY_LITTLE = 2 * 1024**3, 100 * 1024**2
_LOOKED_AT = 20
"""Tables whose files are looked for, until one has any."""


@dataclass(frozen=True, slots=True)
class LakeChoice:
    """Which lake is meant, as options say it."""

    catalog: str | None
    data_path: str | None
    override_data_path: bool = False


def checks(choice: LakeChoice) -> Iterator[Check]:
    from tidelake.lake.address import resolve

    try:
        resolve(choice.catalog, choice.data_path, None)
    except Invalid as error:
        if error.message == "no catalog was named":
            remedy = "--catalog URL, TIDELAKE_CATALOG, or a file tidelake.toml"
            yield Check("lake", "warn", "none is named", remedy)
        else:
            yield Check("lake", "fail", error.message, error.hint)
        yield from _room({"temporary files": tempfile.gettempdir()})
        return
    try:
        lake = _opened(choice)
    except TidelakeError as error:
        yield Check("catalog", "fail", error.message, error.hint)
        return
    with lake:
        yield from _of_open(lake)


def _opened(choice: LakeChoice) -> Lake:
    """To write if the catalog's file allows it: whether the database does is looked at then."""
    from tidelake.lake.connect import connect

    override = choice.override_data_path
    given = (choice.catalog, choice.data_path)
    with suppress(Denied):
        return connect(*given, create=False, override_data_path=override)
    return connect(*given, read_only=True, override_data_path=override)


def _of_open(lake: Lake) -> Iterator[Check]:
    newest = lake.snapshots()[-1]
    yield Check("catalog", "ok", f"{lake.url} answers: DuckLake 1.0, snapshot {newest.snapshot_id}")
    permission = attempt("permissions", lambda: _permission(lake))
    may_write = permission.status == "ok"
    yield permission
    yield attempt("store", lambda: _store(lake, may_write=may_write))
    yield attempt("clock", lambda: _clock(lake))
    path = lake.session.database.url.path
    places = {"temporary files": tempfile.gettempdir()}
    if path is not None:
        places["catalog"] = str(path.parent)
    if "://" not in lake.data_path:
        places["data path"] = lake.data_path
    yield from _room(places)


def _permission(lake: Lake) -> Check:
    from tidelake.catalog.permission import check_writable

    try:
        check_writable(lake.session.database)
    except Denied as error:
        return Check(
            "permissions", "warn", f"the catalog can only be read: {error.message}", error.hint
        )
    return Check("permissions", "ok", "the catalog can be read and written")


def _store(lake: Lake, *, may_write: bool) -> Check:
    """What is written lies where the lake's own small files lie, and is no table's."""
    from tidelake.store.markers import FOLDER

    place = lake.data_path
    extra = _STORES.get(place.partition("://")[0]) if "://" in place else None
    if extra and not has_extra(extra):
        remedy = f"pip install 'tidelake[{extra}]'"
        return Check("store", "fail", f"{place} needs the extra {extra}", remedy)
    read = _read_one(lake)
    if not may_write:
        return Check("store", "ok", f"{place}: {read}; writing was not tried")
    store, uri = lake.session.local.store, f"{place}{FOLDER}doctor-{uuid.uuid4()}"
    try:
        store.write(uri, b"tidelake doctor\n")
        same = store.read(uri) == b"tidelake doctor\n"
    finally:
        with suppress(TidelakeError, OSError):
            store.delete([uri])
    if not same:
        return Check("store", "fail", f"{uri} was not read as it was written", "check the store")
    told = f"{place}: {read}; a small file was written, read and deleted"
    return Check("store", "ok", told)


def _read_one(lake: Lake) -> str:
    """The size of one data file, which raises if it cannot be reached."""
    for name in lake.tables()[:_LOOKED_AT]:
        for file in lake.table(name).files()[:1]:
            lake.session.local.store.size(file.path)
            return "a data file is there"
    return "no data files yet"


def _clock(lake: Lake) -> Check:
    from tidelake.session.clocks import catalog_time

    before = datetime.now(UTC)
    there = catalog_time(lake.session)
    apart = max(before - there, there - datetime.now(UTC), timedelta())
    if apart > _APART:
        told = f"this machine and the catalog are {apart.total_seconds():,.0f} s apart"
        return Check("clock", "warn", told, "set the clocks by NTP")
    return Check("clock", "ok", "this machine and the catalog agree what time it is")


def _room(places: dict[str, str]) -> Iterator[Check]:
    for name, place in places.items():
        yield attempt(f"space: {name}", lambda n=name, p=place: _room_at(n, p))  # type: ignore[misc]


def _room_at(name: str, place: str) -> Check:
    at = Path(place)
    while not at.exists() and at != at.parent:
        at = at.parent
    free = shutil.disk_usage(at).free
    status = "fail" if free < _VERY_LITTLE else "warn" if free < _LITTLE else "ok"
    told = f"{free / 1024**3:,.1f} GiB are free for {place}"
    remedy = None if status == "ok" else "make room there"
    return Check(f"space: {name}", status, told, remedy)  # type: ignore[arg-type]
