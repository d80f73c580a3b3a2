"""What time it is, by the clocks that files and lists are dated by. That of this machine may be
wrong, and nobody's files must pay for it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from tidelake.catalog import own_tables
from tidelake.catalog.commit.clock import TOLERANCE, file_time
from tidelake.session.session import Session
from tidelake.store.markers import FOLDER


@dataclass(frozen=True, slots=True)
class Clocks:
    """Now, as the catalog dates what is scheduled, and as the store dates what is written."""

    catalog: datetime
    store: datetime


def clocks(session: Session, *, probe: bool) -> Clocks:
    """The store is asked by writing a small object, unless it is not to be written to."""
    here = datetime.now(UTC)
    if not probe:
        return Clocks(here, here)
    there = _store_time(session)
    return Clocks(catalog_time(session), here if abs(there - here) <= TOLERANCE else there)


def catalog_time(session: Session) -> datetime:
    """By the server's clock, or that of the file system that the catalog is on."""
    if session.database.dialect.clock is None:
        return file_time(session.database.url, datetime.now(UTC))
    with session.reading() as reader:
        return own_tables.clock(reader)


def _store_time(session: Session) -> datetime:
    uri = f"{session.data_path}{FOLDER}clock-{uuid.uuid4()}"
    store = session.local.store
    store.write(uri, b"\n")
    try:
        return store.modified(uri)
    finally:
        store.delete([uri])
