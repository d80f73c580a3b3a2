"""Which features a lake has beside DuckLake. This is the one place that lists them, and it
is looked at when there is something to write: to read, nobody needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake.catalog.annex import Annex
from tidelake.coverage.annex import CoverageAnnex
from tidelake.delta.importing.annex import ImportsAnnex
from tidelake.delta.mirror.annex import DeltaMirrorsAnnex
from tidelake.delta.mirror.sync import DeltaMirroring
from tidelake.event_time.rollups.annex import RollupsAnnex
from tidelake.history.annex import ConsumersAnnex
from tidelake.session.hooks import Hook
from tidelake.verify.annex import FingerprintsAnnex

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

ANNEXES: tuple[Annex, ...] = (
    CoverageAnnex(),
    ConsumersAnnex(),
    RollupsAnnex(),
    FingerprintsAnnex(),
    DeltaMirrorsAnnex(),
    ImportsAnnex(),
)


def hooks_of(lake: Lake) -> tuple[Hook, ...]:
    return (DeltaMirroring(lake),)
