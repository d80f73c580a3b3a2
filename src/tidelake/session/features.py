"""Which features a lake has beside DuckLake: `lake/wiring.py` lists them, sessions ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tidelake.catalog.annex import Annex
from tidelake.session.draft import Observers
from tidelake.session.formats import MirrorFormat
from tidelake.session.hooks import Hook


class FeatureSet(Protocol):
    @property
    def formats(self) -> tuple[MirrorFormat, ...]: ...

    @property
    def annexes(self) -> tuple[Annex, ...]: ...

    @property
    def observers(self) -> Observers: ...

    def hooks(self, session: Any, /) -> tuple[Hook, ...]: ...


FeatureLoader = Callable[[], FeatureSet]
"""It is asked for when there is something to write, or mirrors are asked for: to read, nobody
needs it."""
