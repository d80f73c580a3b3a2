"""Small objects in a data path that say whose it is: `_tidelake/lake-<id>.json`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from tidelake.errors import Denied
from tidelake.store.files import Store, StoredObject, is_local, same_place

FOLDER = "_tidelake/"
_NAME = re.compile(rf"(.*/){FOLDER}lake-([0-9a-f-]{{36}})\.json")


@dataclass(frozen=True, slots=True)
class Marker:
    """`folder` is the data path of the lake."""

    uri: str
    folder: str
    lake_id: str


def place(data_path: str, lake_id: str) -> str:
    return f"{data_path}{FOLDER}lake-{lake_id}.json"


def put(store: Store, data_path: str, lake_id: str, catalog: str) -> None:
    said = {"lake_id": lake_id, "catalog": catalog}
    store.write(place(data_path, lake_id), (json.dumps(said) + "\n").encode())


def at(store: Store, folder: str) -> list[Marker]:
    """Those of lakes whose data path a folder is; its URI ends in a slash."""
    return among(store.walk(f"{folder}{FOLDER}"))


def above(store: Store, folder: str) -> list[Marker]:
    """Those of lakes whose data paths a folder lies in. What may not be looked at has none."""
    found = []
    for parent in _parents(folder):
        with suppress(Denied):
            found += at(store, parent)
    return found


def among(found: Iterable[StoredObject]) -> list[Marker]:
    named = (_NAME.fullmatch(each.uri) for each in found)
    return [Marker(name[0], name[1], name[2]) for name in named if name is not None]


def _parents(folder: str) -> Iterator[str]:
    if is_local(folder):
        path = same_place(folder)
        while (parent := os.path.dirname(path)) != path:  # noqa: PTH120
            yield parent if parent.endswith("/") else f"{parent}/"
            path = parent
        return
    scheme, _, rest = folder.partition("://")
    bucket, *parts = rest.strip("/").split("/")
    for count in range(len(parts)):
        yield "/".join([f"{scheme}://{bucket}", *parts[:count], ""])
