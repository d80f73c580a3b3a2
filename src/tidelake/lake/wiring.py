"""Which features a lake has beside DuckLake. This is the one place that lists them."""

from __future__ import annotations

from tidelake.catalog.annex import Annex
from tidelake.coverage.annex import CoverageAnnex
from tidelake.coverage.from_rows import observers
from tidelake.datasets.annex import DataSetsAnnex
from tidelake.delta.importing.annex import ImportsAnnex
from tidelake.delta.mirror.format import DeltaFormat
from tidelake.erasure.hook import ErasureHook
from tidelake.event_time.rollups.annex import RollupsAnnex
from tidelake.history.annex import ConsumersAnnex
from tidelake.ingestion.annex import IngestionAnnex
from tidelake.session.draft import Observers
from tidelake.session.formats import MirrorFormat
from tidelake.session.hooks import Hook
from tidelake.session.once_annex import OnceAnnex
from tidelake.session.session import Session
from tidelake.tenants.quota import QuotaHook
from tidelake.tenants.retention import RetentionAnnex
from tidelake.tenants.share import SharesAnnex
from tidelake.verify.annex import FingerprintsAnnex

_ANNEXES = (
    CoverageAnnex(),
    ConsumersAnnex(),
    RollupsAnnex(),
    FingerprintsAnnex(),
    ImportsAnnex(),
    OnceAnnex(),
    IngestionAnnex(),
    RetentionAnnex(),
    SharesAnnex(),
    DataSetsAnnex(),
)


class Features:
    """All of them."""

    formats: tuple[MirrorFormat, ...] = (DeltaFormat(),)

    @property
    def annexes(self) -> tuple[Annex, ...]:
        return (*_ANNEXES, *(each.annex for each in self.formats))

    @property
    def observers(self) -> Observers:
        return observers

    def hooks(self, session: Session, /) -> tuple[Hook, ...]:
        own = (QuotaHook(session), ErasureHook(session))
        return (*own, *(each.hook(session) for each in self.formats))


FEATURES = Features()
