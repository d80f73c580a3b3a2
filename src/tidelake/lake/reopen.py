"""A copy of a lake, here or in another process: not its connections, but how to open it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelake.catalog.database.database import Database
from tidelake.catalog.database.url import CatalogUrl
from tidelake.engine.local.engine import LocalEngine
from tidelake.engine.spark.session import active_session

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

Reopening = tuple[Callable[..., "Lake"], tuple[Any, ...]]


def how_to_reopen(lake: Lake) -> Reopening:
    """As pickle wants it. What is needed to open the lake goes along, passwords and keys too; a
    Spark session does not."""
    lake._check_not_closed()
    database = lake._database
    pinned = (lake._snapshot_id, lake.encrypted, lake.is_marked)
    opened = (database.url, database.read_only, lake.data_path, lake._local, lake._engine_name)
    return reopened, (*opened, *pinned)


def reopened(
    url: CatalogUrl,
    read_only: bool,
    data_path: str,
    local: LocalEngine,
    engine: str,
    snapshot_id: int | None,
    encrypted: bool,
    is_marked: bool,
) -> Lake:
    """The catalog is not asked before something is read."""
    from tidelake.lake.lake import Lake

    database = Database(url, read_only=read_only)
    lake = Lake(database, data_path, local, engine, None, snapshot_id, encrypted=encrypted)
    lake._has_moved = True
    lake.is_marked = is_marked
    return lake


def engine_of(name: str, *, has_moved: bool) -> str:
    """Executors have no Spark session, and what was opened for Spark is read there all the same."""
    return "local" if has_moved and name == "spark" and active_session() is None else name
