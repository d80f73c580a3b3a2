"""What time it is, by the clocks that files and lists are dated by. That of this machine may be
wrong, and nobody's files must pay for it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tidelake.catalog import own_tables
from tidelake.store.markers import FOLDER

if TYPE_CHECKING:
    from tidelake.session.lake import Lake

TOLERANCE = timedelta(minutes=1)
"""Clocks that differ by less are the same: a store may know seconds only."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Now, as the catalog dates what is scheduled, and as the store dates what is written."""

    catalog: datetime
    store: datetime


def clocks(lake: Lake, *, probe: bool) -> Clocks:
    """The store is asked by writing a small object, unless it is not to be written to."""
    here = datetime.now(UTC)
    if not probe:
        return Clocks(here, here)
    there = _store_time(lake)
    if abs(there - here) <= TOLERANCE:
        there = here
    if lake._database.dialect.clock is None:
        return Clocks(min(here, there), there)
    with lake._reading() as reader:
        return Clocks(own_tables.clock(reader), there)


def _store_time(lake: Lake) -> datetime:
    uri = f"{lake.data_path}{FOLDER}clock-{uuid.uuid4()}"
    store = lake._local.store
    store.write(uri, b"\n")
    try:
        return store.modified(uri)
    finally:
        store.delete([uri])
