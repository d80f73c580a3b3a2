"""Mirrors, imports, files that come, consumers, and whether the lake is whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from tidelake.catalog.read import tables as read
from tidelake.delta.importing import records as imports
from tidelake.history.values import ConsumerState
from tidelake.ingestion import records as ingestion
from tidelake.model.mirror import MirrorStatus
from tidelake.session.caches import Memory
from tidelake.verify import fingerprints
from tidelake.verify.values import VerifyReport
from tidelake.web.code import Snippet
from tidelake.web.site import Ask

_RUNS = 25


class VerifyMemory(Memory):
    """The last looks at the lake since the page was started, newest first."""

    def __init__(self) -> None:
        self.runs: list[VerifyRun] = []


@dataclass(frozen=True, slots=True)
class VerifyRun:
    at: datetime
    report: VerifyReport


@dataclass(frozen=True, slots=True)
class ImportRow:
    table: str
    root: str
    version: int
    snapshot_id: int
    at: datetime


@dataclass(frozen=True, slots=True)
class IngestRow:
    table: str
    run: ingestion.IngestRun


@dataclass(frozen=True, slots=True)
class Activity:
    """All that others do with the lake; a tenant sees none of it."""

    mirrors: tuple[MirrorStatus, ...] = ()
    imports: tuple[ImportRow, ...] = ()
    ingests: tuple[IngestRow, ...] = ()
    consumers: tuple[ConsumerState, ...] = ()
    fingerprints: tuple[tuple[datetime, int], ...] = ()
    runs: tuple[VerifyRun, ...] = ()


def show(ask: Ask) -> Response:
    whole = ask.lake.session.namespace.is_whole
    return ask.page(
        "activity.html",
        whole=whole,
        found=_activity(ask) if whole else Activity(),
        code=_code(ask),
    )


def _activity(ask: Ask) -> Activity:
    session = ask.lake.session
    with session.reading() as reader:
        names = read.every_name(reader)
        imported = imports.every(reader)
        taken = ingestion.newest_runs(reader, _RUNS)
        kept = fingerprints.newest_runs(reader, _RUNS)
    return Activity(
        tuple(ask.lake.mirrors()),
        tuple(
            ImportRow(
                names.get(each.table_id, "?"),
                each.root,
                each.version,
                each.snapshot_id,
                datetime.fromtimestamp(each.committed_at / 1000, UTC),
            )
            for each in imported
        ),
        tuple(IngestRow(names.get(each.table_id, "?"), each) for each in taken),
        tuple(ask.lake.consumers()),
        tuple(kept),
        tuple(session.memory(VerifyMemory).runs),
    )


def verify(ask: Ask, given: dict[str, Any]) -> Response:
    """Look whether the lake is whole; nothing is mended."""
    report = ask.lake.verify(deep=bool(given.get("deep")))
    runs = ask.lake.session.memory(VerifyMemory).runs
    runs.insert(0, VerifyRun(datetime.now(UTC), report))
    del runs[_RUNS:]
    return ask.json({"text": str(report), "ok": report.ok})


def _code(ask: Ask) -> list[Snippet]:
    url = ask.lake.url
    calls = "lake.mirrors()\nlake.consumers()\nprint(lake.verify())"
    opened = f"import tidelake\n\nlake = tidelake.connect({url!r})"
    on_spark = f'import tidelake\n\nlake = tidelake.connect({url!r}, engine="spark", spark=spark)'
    asked = " && ".join(
        f"tidelake --catalog '{url}' {each}" for each in ("mirror status", "consumers", "verify")
    )
    return [
        Snippet("Python", f"{opened}\n{calls}"),
        Snippet("SQL", "-- in the catalog's own database\nSELECT * FROM tidelake_consumer"),
        Snippet("CLI", asked),
        Snippet("Spark", f"{on_spark}\n{calls}"),
    ]
