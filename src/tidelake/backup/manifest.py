"""`backup.json`: written last of all, so that a backup without it is none."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import datetime

from tidelake.backup.values import Manifest
from tidelake.errors import Corrupt, NotFound, Unsupported
from tidelake.store.files import Store

NAME = "backup.json"
CATALOG = "catalog.db"
FILES = "files/"
_FORM = 1


def write_manifest(store: Store, folder: str, manifest: Manifest) -> None:
    said = {"tidelake_backup": _FORM, **asdict(manifest)}
    text = json.dumps(said, indent=1, default=lambda value: value.isoformat())
    store.write(folder + NAME, text.encode())


def read_manifest(store: Store, folder: str) -> Manifest:
    """What is in a backup; NotFound if there is none, or one that was not finished."""
    if not store.exists(folder + NAME):
        half = store.exists(folder + CATALOG)
        raise NotFound(
            f"the backup at {folder} was not finished"
            if half
            else f"there is no backup at {folder}",
            hint=f"a finished one has a file {NAME}; make another with lake.backup(…)",
        )
    try:
        said = json.loads(store.read(folder + NAME))
        form = said.pop("tidelake_backup")
        for name in ("made_at", "snapshot_time"):
            said[name] = datetime.fromisoformat(said[name])
        known = {each.name for each in fields(Manifest)}
        manifest = Manifest(**{name: value for name, value in said.items() if name in known})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(
            f"{folder}{NAME} cannot be read: {error}", hint="restore from another backup"
        ) from error
    if form != _FORM:
        raise Unsupported(
            f"{folder} is a backup of form {form}, and this is Tidelake for form {_FORM}",
            hint="restore it with a newer Tidelake",
        )
    return manifest
