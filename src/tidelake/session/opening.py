"""Opening a lake, or creating it where there is none."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidelake.catalog import create, identity, read, tags
from tidelake.catalog.database import Database
from tidelake.catalog.url import parse_url
from tidelake.engine.local import LocalEngine
from tidelake.errors import Invalid, NotFound, TidelakeWarning
from tidelake.model.tag import Tag
from tidelake.session.lake import Lake
from tidelake.session.neighbours import check_free, mark
from tidelake.session.settings import Settings, resolve
from tidelake.store.files import Store

_ENGINES = ("local", "spark")


def connect(
    url: str | None = None,
    data_path: str | None = None,
    *,
    read_only: bool = False,
    engine: str = "local",
    spark: Any = None,
    storage_options: Mapping[str, str] | None = None,
    override_data_path: bool = False,
    share_data_path: bool = False,
    temp_directory: str | None = None,
) -> Lake:
    """Open a lake, or create it where there is none.

    `url` is a catalog address (`sqlite:///lake.db`, `duckdb:///…`, `postgresql://…`,
    `mysql://…`, or DuckDB's own `ducklake:…`); without one TIDELAKE_CATALOG and then
    ./tidelake.toml are asked. `data_path` is needed to create a lake on a database server;
    an embedded catalog defaults to a folder beside it. For a lake that exists it must be
    the lake's own, unless `override_data_path` says that the files have moved. A new lake is
    refused where another has its files, above or below, unless `share_data_path` says that both
    are to be there. What does not fit into memory goes into a private folder below
    `temp_directory`, by default below TIDELAKE_TEMP_DIRECTORY or where the system keeps temporary
    files.
    """
    if engine not in _ENGINES:
        raise Invalid(f"there is no engine {engine!r}", hint="use engine='local' or 'spark'")
    settings = resolve(url, None if data_path is None else str(data_path), storage_options)
    database = Database(parse_url(settings.catalog), read_only=read_only)
    try:
        with database.reading() as reader:
            exists = create.is_lake(reader)
        if not exists:
            _create(database, settings, share=share_data_path)
        with database.reading() as reader:
            info = read.lake_info(reader)
            lost = tags.lost(reader) if exists else []
            marked = identity.marked_path(reader)
        stored = absolute(info.data_path)
        path = stored
        if exists and settings.data_path is not None:
            path = _checked(absolute(settings.data_path), stored, override_data_path)
        _report(lost)
        local = LocalEngine(
            settings.storage_options,
            settings.temp_directory if temp_directory is None else str(temp_directory),
        )
        lake = Lake(database, path, local, engine, spark, encrypted=info.encrypted)
        lake.is_marked = marked == path
        if not exists:
            mark(lake)
        return lake
    except BaseException:
        database.close()
        raise


def _report(lost: Sequence[Tag]) -> None:
    """We never expire what is tagged; others do not know of tags."""
    if not lost:
        return
    listed = ", ".join(f"{tag.name!r} (snapshot {tag.snapshot_id})" for tag in lost)
    warnings.warn(
        f"somebody else has expired snapshots that are tagged: {listed}. Restore the catalog and"
        " its files from a backup if you need them, or forget the tags with lake.untag(…);"
        " expire with Tidelake, which keeps what is tagged",
        TidelakeWarning,
        stacklevel=3,
    )


def absolute(data_path: str) -> str:
    """A data path as it is used: complete, with a slash at the end."""
    if "://" not in data_path:
        data_path = str(Path(data_path).expanduser().absolute())
    return data_path if data_path.endswith("/") else f"{data_path}/"


def _create(database: Database, settings: Settings, *, share: bool) -> None:
    data_path = settings.data_path
    if database.read_only:
        raise NotFound(
            f"there is no lake at {database.url}",
            hint="connect without read_only=True to create it",
        )
    if data_path is None:
        if database.url.path is None:
            raise Invalid(
                f"a new lake at {database.url} needs a place for its files",
                hint="pass data_path='s3://bucket/lake' or a folder",
            )
        data_path = f"{database.url.path}.files"
    place = absolute(data_path)
    if not share:
        check_free(Store(settings.storage_options), place)
    create.create_lake(database, place)


def _checked(given: str, stored: str, override: bool) -> str:
    if given != stored and not override:
        raise Invalid(
            f"the lake's data path is {stored}, not {given}",
            hint="leave data_path out; if the files were moved, pass override_data_path=True",
        )
    return given
