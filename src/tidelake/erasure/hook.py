"""What erasures have left undone is done before others clean up."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.catalog.database.database import Writer
from tidelake.erasure.finish import finish_all
from tidelake.model.change import Change
from tidelake.session.session import Session


class _Nothing:
    def beside(self, writer: Writer) -> None:
        """Nothing."""

    def landed(self) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class ErasureHook:
    session: Session

    def commit(self, _: Change) -> _Nothing:
        return _Nothing()

    def before_expiry(self) -> None:
        """Nothing."""

    def before_cleanup(self) -> None:
        finish_all(self.session)
