"""Which features a lake has beside DuckLake. This is the one place that lists them."""

from __future__ import annotations

from tidelake.catalog.annex import Annex
from tidelake.coverage.annex import CoverageAnnex
from tidelake.coverage.from_rows import observers
from tidelake.delta.importing.annex import ImportsAnnex
from tidelake.delta.mirror.annex import DeltaMirrorsAnnex
from tidelake.delta.mirror.sync import DeltaMirroring
from tidelake.event_time.rollups.annex import RollupsAnnex
from tidelake.history.annex import ConsumersAnnex
from tidelake.session.draft import Observers
from tidelake.session.hooks import Hook
from tidelake.session.session import Session
from tidelake.verify.annex import FingerprintsAnnex


class Features:
    """All of them."""

    annexes: tuple[Annex, ...] = (
        CoverageAnnex(),
        ConsumersAnnex(),
        RollupsAnnex(),
        FingerprintsAnnex(),
        DeltaMirrorsAnnex(),
        ImportsAnnex(),
    )

    @property
    def observers(self) -> Observers:
        return observers

    def hooks(self, session: Session, /) -> tuple[Hook, ...]:
        return (DeltaMirroring(session),)


FEATURES = Features()
