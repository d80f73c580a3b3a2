"""A mirror's log, removed and published anew with the history that it had."""

from __future__ import annotations

from tidelake.delta.log.names import LOG
from tidelake.delta.mirror import records as mirrors
from tidelake.delta.mirror import renewal
from tidelake.delta.mirror.sync import sync
from tidelake.session.session import Session
from tidelake.session.short_transactions import run_locked


def renew(session: Session, table_id: int) -> None:
    with session.reading() as reader:
        waiting = renewal.logs_to_remove(reader, table_id)
    for root in {each.root for each in waiting}:
        session.store.delete([found.uri for found in session.store.walk(f"{root}{LOG}")])
    if waiting:
        run_locked(session, renewal.begin_again, table_id)
    with session.reading() as reader:
        known = mirrors.of_table(reader, table_id)
    if known is not None:
        sync(session, table_id)
