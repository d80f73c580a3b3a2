"""Which features a lake has beside DuckLake. This is the one place that lists them."""

from __future__ import annotations

from tidelake.catalog.annex import Annex
from tidelake.coverage.annex import CoverageAnnex
from tidelake.delta.importing.annex import ImportsAnnex
from tidelake.delta.mirror.annex import DeltaMirrorsAnnex
from tidelake.event_time.rollups.annex import RollupsAnnex
from tidelake.history.annex import ConsumersAnnex
from tidelake.verify.annex import FingerprintsAnnex

ANNEXES: tuple[Annex, ...] = (
    CoverageAnnex(),
    ConsumersAnnex(),
    RollupsAnnex(),
    FingerprintsAnnex(),
    DeltaMirrorsAnnex(),
    ImportsAnnex(),
)
