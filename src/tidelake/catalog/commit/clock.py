"""What time a commit bears. The clock of this machine may be wrong; that of a server, or of the
file system that the catalog is on, is asked where there is one."""

from __future__ import annotations

import secrets
import warnings
from datetime import UTC, datetime, timedelta

from tidelake.catalog.database.database import Reader
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import TidelakeWarning

TOLERANCE = timedelta(minutes=1)
"""Clocks that differ by less are the same."""
_NEAR = timedelta(hours=1)
"""So soon after the last snapshot a clock cannot be far ahead."""
_LONG = timedelta(days=366)


def file_time(url: CatalogUrl, here: datetime) -> datetime:
    """The time by the file system that a catalog is on; `here` where that is the same, or there
    is none to ask."""
    if url.path is None:
        return here
    probe = url.path.with_name(f".{url.path.name}.clock-{secrets.token_hex(8)}")
    try:
        probe.touch(exist_ok=False)
        there = datetime.fromtimestamp(probe.stat().st_mtime, UTC)
        probe.unlink()
    except OSError:
        return here
    return here if abs(there - here) <= TOLERANCE else there


def file_clock(reader: Reader, url: CatalogUrl, last: datetime, here: datetime) -> datetime:
    """Now, for a commit that follows one of `last`, where there is no server. Only a clock that
    is well ahead of that can do harm."""
    if here - last <= _NEAR:
        return here
    now = file_time(url, here)
    _check_alike(here, now)
    if now - last > _LONG and not _is_imported(reader):
        _warn(f"{_days(now - last)} have passed since the last commit, of {last.isoformat()}")
    return now


def _is_imported(reader: Reader) -> bool:
    """Whether the newest snapshot has its time from elsewhere."""
    row = reader.row(
        "SELECT commit_extra_info FROM ducklake_snapshot_changes ORDER BY snapshot_id DESC LIMIT 1"
    )
    return row is not None and '"delta"' in (row[0] or "")


def check_past(last: datetime, now: datetime) -> None:
    """Tell of a newest snapshot that is in the future."""
    if last - now > _NEAR:
        _warn(
            f"the newest snapshot is of {last.isoformat()}, {_days(last - now)} from now, and so is"
            " this commit: reads known at a time before that do not see it. Set"
            " ducklake_snapshot.snapshot_time to when that snapshot was made"
        )


def _check_alike(here: datetime, there: datetime) -> None:
    if here != there:
        _warn(
            f"the clock of this machine says {here.isoformat()}, that of the file system with the"
            f" catalog {there.isoformat()}: the commit goes by the latter"
        )


def _days(span: timedelta) -> str:
    days = span // timedelta(days=1)
    return f"{days:,} days" if days else f"{span // timedelta(minutes=1)} minutes"


def _warn(said: str) -> None:
    warnings.warn(f"{said}. Is a clock wrong?", TidelakeWarning, stacklevel=2)
