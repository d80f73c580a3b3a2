"""A lake from a backup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelake.backup.bring_back import Backup, check_empty
from tidelake.backup.manifest import CATALOG
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.lake.address import Address, resolve
from tidelake.lake.connect import Wishes, load_features, open_lake
from tidelake.lake.data_path import absolute, check_usable, checked_data_path
from tidelake.lake.lake import Lake
from tidelake.model.misfit import with_misfits_named
from tidelake.session.neighbours import mark
from tidelake.store.files import Store


@with_misfits_named
def restore(
    path: str | Path,
    catalog: str | None = None,
    data_path: str | Path | None = None,
    *,
    to: int | str | date | None = None,
    storage_options: Mapping[str, str] | None = None,
    force: bool = False,
) -> Lake:
    """The lake of a backup, in an empty catalog of any kind: every snapshot, tag, view, setting
    and row as it was. Files come to `data_path`, by default where they were; a backup that has
    none takes those that are there, and names what is missing, unless `force` says that it does
    not matter. Nothing that is there is overwritten.

    With `to`, a snapshot id, a time or a tag, its tables and views are brought back to what they
    were, as further commits: what came later stays in the past of the lake."""
    settings = resolve(catalog, data_path, storage_options)
    backup = Backup(Store(settings.storage_options), path)
    given = settings.data_path
    place = absolute(checked_data_path(backup.manifest.data_path if given is None else given))
    check_usable(place)
    database = Database(parse_url(settings.catalog, settings.folder))
    try:
        check_empty(database)
        if to is None:
            backup.bring_files(place, force=force)
            backup.bring_catalog(database, place, load_features().annexes)
        else:
            with _aside(backup, settings, place) as lake:
                backup.bring_rewound(lake.session, database, to, force=force)
    finally:
        database.close()
    return _marked(open_lake(settings, Wishes()))


@contextmanager
def _aside(backup: Backup, settings: Address, place: str) -> Iterator[Lake]:
    """The lake of the backup in a folder that goes with it: so nobody finds it half rewound."""
    with TemporaryDirectory(prefix="tidelake-restore-") as folder:
        aside = replace(settings, catalog=f"sqlite:///{folder}/{CATALOG}", data_path=place)
        database = Database(parse_url(aside.catalog))
        try:
            backup.bring_catalog(database, place, load_features().annexes)
        finally:
            database.close()
        with open_lake(aside, Wishes()) as lake:
            lake.session.is_marked = True
            yield lake


def _marked(lake: Lake) -> Lake:
    try:
        mark(lake.session)
    except BaseException:
        lake.close()
        raise
    return lake
