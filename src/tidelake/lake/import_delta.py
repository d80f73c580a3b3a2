"""The public way to bring a Delta table into a lake, and to see whether it is still the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory

from tidelake.delta.importing import run
from tidelake.delta.importing.diff import diff, import_names
from tidelake.delta.importing.location import LogLocation
from tidelake.delta.values.reports import ImportDiff, ImportResult
from tidelake.lake.connect import connect
from tidelake.lake.lake import Lake
from tidelake.model.misfit import with_misfits_named
from tidelake.model.terms import Terms
from tidelake.plan.scan import ScanPlan
from tidelake.scratch import Scratch


@with_misfits_named
def import_delta(
    lake: Lake,
    path: str,
    table: str,
    *,
    mode: str = "fast",
    up_to_version: int | None = None,
    resume: bool = False,
    take_over: bool = False,
    dry_run: bool = False,
    places: Sequence[str] = (),
    log_dir: str | None = None,
    table_location: str | None = None,
    author: str | None = None,
    message: str | None = None,
) -> ImportResult:
    """Make a Delta table a table of the lake. Its files stay where they are, and what they were:
    the lake reads them, and never deletes them. With `take_over` they are handed over to the lake,
    which deletes them when no snapshot needs them any more; the Delta table is broken then.

    `mode` "fast" brings the table as it is, in one snapshot; "full-history" brings every version
    that can still be read, each as a snapshot of its own, with its time. `resume` goes on with an
    import that was broken off, or brings what has come since. Everything is checked before anything
    is written. A table that cannot be read exactly is refused.

    A log may name files in other folders, as that of a shallow clone does. It is Denied, unless
    `places` names these folders. Where the log and the files were parted, `log_dir` says where the
    log is (the folder of its files, or the one that it is in), or `table_location` where the files
    are that it names. `author` and `message` stand in the log of the lake instead of what the Delta
    log says of its versions.
    """
    return run.import_delta(
        lake.session,
        LogLocation(path, log_dir, table_location),
        table,
        mode=mode,
        up_to_version=up_to_version,
        resume=resume,
        take_over=take_over,
        dry_run=dry_run,
        places=_several(places),
        terms=Terms(author=author, message=message),
    )


@with_misfits_named
def diff_delta(
    lake: Lake,
    table: str,
    path: str | None = None,
    *,
    log_dir: str | None = None,
    table_location: str | None = None,
    places: Sequence[str] = (),
    lag_threshold_seconds: float = 0.0,
) -> ImportDiff:
    """Compare a table that was imported with the Delta log it came from, or with a copy of it at
    `path`: what the log had at the version that was imported against what the lake has now. The
    status is "ok", "drift" if columns or rows differ, "lagging" if they are the same and the log
    has gone on for longer than `lag_threshold_seconds`. Changes nothing.
    """
    session, name = lake.session, lake.session.namespace.parse(table)
    location = LogLocation(path or "", log_dir, table_location)
    with ExitStack() as aside:

        def rows_of_log(place: LogLocation, version: int) -> ScanPlan:
            other = aside.enter_context(_lake_aside(lake)).session
            run.import_delta(other, place, "log", up_to_version=version, places=_several(places))
            return other.plan(other.namespace.parse("log"), None)

        return diff(session, name, location, rows_of_log, lag_threshold_seconds)


def diff_every_import(lake: Lake, lag_threshold_seconds: float = 0.0) -> list[ImportDiff]:
    """As `diff_delta`, of all tables that were imported."""
    return [
        diff_delta(lake, name, lag_threshold_seconds=lag_threshold_seconds)
        for name in import_names(lake.session)
    ]


@contextmanager
def _lake_aside(lake: Lake) -> Iterator[Lake]:
    """A lake that nobody else has, in a folder that goes with it."""
    place, options = Scratch(), lake.session.local.options
    with (
        TemporaryDirectory(dir=place.path or None) as folder,
        connect(f"sqlite:///{folder}/log.db", storage_options=options) as other,
    ):
        yield other


def _several(places: str | Sequence[str]) -> tuple[str, ...]:
    return (places,) if isinstance(places, str) else tuple(places)
