"""Opening a lake, or creating it where there is none."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.catalog import create as create_lake
from tidelake.catalog import identity
from tidelake.catalog.database.address import parse_url
from tidelake.catalog.database.database import Database
from tidelake.catalog.database.url import CatalogUrl
from tidelake.catalog.read import tables as read
from tidelake.catalog.read import tags
from tidelake.engine.local.engine import LocalEngine
from tidelake.errors import Invalid, NotFound, TidelakeWarning
from tidelake.lake.address import Address, blame_file, resolve
from tidelake.lake.cache import file_cache
from tidelake.lake.data_path import absolute, check_usable
from tidelake.lake.guest import as_guest
from tidelake.lake.lake import Lake
from tidelake.model.address import mask_secrets
from tidelake.model.misfit import with_misfits_named
from tidelake.model.sandbox import Confinement, Sandbox
from tidelake.model.tag import Tag
from tidelake.model.tuning import Tuning
from tidelake.session.features import FeatureSet
from tidelake.session.session import Session
from tidelake.store.files import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENGINES = ("local", "spark")
_OWN = ("ducklake_", "tidelake_", "sqlite_")
_SHOWN = 5


@with_misfits_named
def connect(
    url: str | None = None,
    data_path: str | Path | None = None,
    *,
    read_only: bool = False,
    engine: str = "local",
    spark: SparkSession | None = None,
    storage_options: Mapping[str, str] | None = None,
    create: bool | None = None,
    override_data_path: bool = False,
    share_data_path: bool = False,
    temp_directory: str | None = None,
    cache_dir: str | Path | None = None,
    cache_size: int | None = None,
    sandbox: bool | Sandbox = False,
) -> Lake:
    """Open a lake, or create it where there is none.

    `url` is a catalog address: `sqlite:///lake.db`, `duckdb:///…`, `postgresql://…`, `mysql://…`,
    or DuckDB's own `ducklake:…`. Without one, TIDELAKE_CATALOG counts, then the nearest
    tidelake.toml in the working folder or above it. With `create` False no lake is created; with
    True one is created even in a database file that has other tables.

    `data_path` is needed to create a lake on a database server; an embedded catalog defaults to a
    folder beside it. For a lake that exists it must be the lake's own, unless
    `override_data_path` says that its files are elsewhere this time. A new lake is refused where
    another has its files, above or below, unless `share_data_path` says that both are to be there.

    Data that does not fit into memory goes into a private folder below `temp_directory`, by default
    below TIDELAKE_TEMP_DIRECTORY or where the system keeps temporary files.

    Files read from an object store are copied to `cache_dir`, by default TIDELAKE_CACHE_DIR, up to
    `cache_size` bytes. Without such a folder no copies are made.

    With `sandbox` SQL reaches nothing but the lake: its relations, functions that are known to be
    harmless, files below its data path. Each query has a process of its own, with a limit of
    memory, time and rows; `Sandbox(…)` sets others.
    """
    wishes = Wishes(
        read_only=read_only,
        engine=engine,
        spark=spark,
        create=create,
        override_data_path=override_data_path,
        share_data_path=share_data_path,
        temp_directory=temp_directory,
        cache_dir=cache_dir,
        cache_size=cache_size,
        sandbox=sandbox,
    )
    return open_lake(resolve(url, data_path, storage_options), wishes)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a lake is to be opened, as `connect` says it; and, for tests, within which limits."""

    read_only: bool = False
    engine: str = "local"
    spark: SparkSession | None = None
    create: bool | None = None
    override_data_path: bool = False
    share_data_path: bool = False
    temp_directory: str | None = None
    cache_dir: str | Path | None = None
    cache_size: int | None = None
    sandbox: bool | Sandbox = False
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if not isinstance(self.sandbox, bool | Sandbox):
            raise Invalid(
                f"sandbox={self.sandbox!r} is none", hint="give True, or a tidelake.Sandbox(…)"
            )
        if self.engine not in _ENGINES:
            raise Invalid(
                f"there is no engine {self.engine!r}", hint="use engine='local' or 'spark'"
            )


def open_lake(settings: Address, wishes: Wishes) -> Lake:
    """The lake at an address."""
    with blame_file(settings):
        address = parse_url(settings.catalog, settings.folder)
        database = Database(address, read_only=wishes.read_only, tuning=wishes.tuning)
        try:
            exists = _is_lake(database)
            if not exists:
                _create(database, settings, wanted=wishes.create, share=wishes.share_data_path)
            given = wishes.temp_directory
            temp = settings.temp_directory if given is None else str(given)
            path, encrypted, marked = _checked_lake(database, settings, wishes)
            local = _engine(settings, wishes, temp, _confinement(wishes, path))
            session = Session(
                database,
                path,
                local,
                wishes.engine,
                wishes.spark,
                encrypted=encrypted,
                wired=load_features,
            )
            session.is_marked = marked
            if not exists:
                from tidelake.session.neighbours import mark

                mark(session)
            return Lake(as_guest(session, wishes.sandbox))
        except BaseException:
            database.close()
            raise


def _is_lake(database: Database) -> bool:
    """To look into an SQLite file that is not there would be to make it."""
    if database.url.path is not None and not database.url.path.exists():
        return False
    with database.reading() as reader:
        return create_lake.is_lake(reader)


def _confinement(wishes: Wishes, data_path: str) -> Confinement | None:
    if wishes.sandbox is False:
        return None
    return Confinement.around(Sandbox() if wishes.sandbox is True else wishes.sandbox, data_path)


def _engine(
    settings: Address, wishes: Wishes, temp: str | None, walls: Confinement | None
) -> LocalEngine:
    if walls is None:
        cache = file_cache(settings, wishes.cache_dir, wishes.cache_size)
        return LocalEngine(settings.storage_options, temp, cache=cache)
    from tidelake.engine.cell.engine import CellEngine

    return CellEngine(settings.storage_options, temp, walls)


def _checked_lake(database: Database, settings: Address, wishes: Wishes) -> tuple[str, bool, bool]:
    """Where its files are, whether they are encrypted, and whether that place is marked."""
    with database.reading() as reader:
        info = read.lake_info(reader)
        lost = tags.lost_tags(reader)
        marked = identity.marked_path(reader)
    path = stored = absolute(info.data_path)
    if settings.data_path is not None:
        override = wishes.override_data_path or settings.override_data_path
        path = _checked(absolute(settings.data_path), stored, override, settings.said)
    if wishes.engine == "local":
        check_usable(path)
    _report(lost)
    return path, info.encrypted, marked == path


def load_features() -> FeatureSet:
    """All features that write are imported when the first of them is needed."""
    from tidelake.lake.wiring import FEATURES

    return FEATURES


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
        stacklevel=5,
    )


def _create(database: Database, settings: Address, *, wanted: bool | None, share: bool) -> None:
    if database.read_only or wanted is False:
        how = "read_only=True" if database.read_only else "create=False"
        raise NotFound(
            f"there is no lake at {database.url}",
            hint=f"create it with `tidelake init`, or connect without {how}",
        )
    place = absolute(_place(database.url, settings))
    check_usable(place)
    if wanted is None:
        _check_empty(database)
    if not share:
        from tidelake.session.neighbours import check_free

        try:
            check_free(Store(settings.storage_options), place)
        except Invalid:
            if _is_lake(database):  # somebody else has just made it, and marked the place
                return
            raise
    create_lake.create_lake(database, place)


def _place(url: CatalogUrl, settings: Address) -> str:
    if settings.data_path is not None:
        return settings.data_path
    if url.path is None:
        raise Invalid(
            f"a new lake at {url} needs a place for its files",
            hint="pass data_path='s3://bucket/lake' or a folder",
        )
    return f"{url.path}.files"


def _check_empty(database: Database) -> None:
    """A database file with tables of somebody's own is not taken for a lake's by mistake. On a
    server others are normal."""
    if database.url.path is None or not database.url.path.exists():
        return
    with database.reading() as reader:
        names = sorted({row[0] for row in reader.rows(reader.dialect.every_column)})
    others = [name for name in names if not name.startswith(_OWN)]
    if others:
        raise Invalid(
            f"{database.url} is no lake, and has tables of its own: {', '.join(others[:_SHOWN])}",
            hint="name another file; with create=True the lake's tables are added beside them",
        )


def _checked(given: str, stored: str, override: bool, remedy: str) -> str:
    if given != stored and not override:
        there = mask_secrets(given)
        raise Invalid(
            f"the lake's data path is {mask_secrets(stored)}, not {there}",
            hint=f"{remedy}; if the files were moved to {there}, write that down once with"
            f" tidelake move --data-path {there} (in Python lake.move), or pass"
            " override_data_path=True for this time",
        )
    return given
