"""The public way to bring a Delta table into a lake."""

from __future__ import annotations

from collections.abc import Sequence

from tidelake.delta.importing import run
from tidelake.delta.values.reports import ImportResult
from tidelake.lake.lake import Lake


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
) -> ImportResult:
    """Make a Delta table a table of the lake. Its files stay where they are, and what they were:
    the lake reads them, and never deletes them. With `take_over` they are handed over to the lake,
    which deletes them when no snapshot needs them any more; the Delta table is broken then.

    `mode` "fast" brings the table as it is, in one snapshot; "full-history" brings every version
    that can still be read, each as a snapshot of its own, with its time. `resume` goes on with an
    import that was broken off, or brings what has come since. All is looked at before anything is
    written: what cannot be read exactly is refused, and nothing has happened.

    A log may name files in other folders, as that of a shallow clone does. It is Denied, unless
    `places` names these folders.
    """
    return run.import_delta(
        lake.session,
        path,
        table,
        mode=mode,
        up_to_version=up_to_version,
        resume=resume,
        take_over=take_over,
        dry_run=dry_run,
        places=(places,) if isinstance(places, str) else tuple(places),
    )
