"""Delta as one of the formats in which tables are mirrored."""

from __future__ import annotations

from collections.abc import Iterable

from tidelake.catalog.database.database import Reader
from tidelake.catalog.inventory import Inventory
from tidelake.delta.mirror import mirror, renew, status, sync
from tidelake.delta.mirror.annex import DeltaMirrorsAnnex
from tidelake.delta.mirror.checks import mirror_rows
from tidelake.delta.mirror.mirror import DeltaMirror
from tidelake.delta.mirror.sync import DeltaMirroring
from tidelake.delta.mirror.tables import DELTA
from tidelake.model.mirror import MirrorStatus
from tidelake.model.names import TableName
from tidelake.model.terms import Terms
from tidelake.session.session import Session
from tidelake.verify.values import Problem


class DeltaFormat:
    name = DELTA
    annex = DeltaMirrorsAnnex()

    def hook(self, session: Session, /) -> DeltaMirroring:
        return DeltaMirroring(session)

    def mirror(
        self, session: Session, name: TableName, /, *, history: bool, terms: Terms
    ) -> DeltaMirror:
        return mirror.mirror(session, name, history=history, terms=terms)

    def mirrored(self, session: Session, name: TableName, /) -> DeltaMirror:
        return mirror.mirror_of(session, name)

    def renew(self, session: Session, table_id: int, /) -> None:
        renew.renew(session, table_id)

    def sync_all(self, session: Session, /) -> None:
        sync.sync_all(session)

    def statuses(self, session: Session, /) -> list[MirrorStatus]:
        return status.statuses(session)

    def check(self, known: Inventory, reader: Reader, /) -> Iterable[Problem]:
        return mirror_rows(known, reader)
