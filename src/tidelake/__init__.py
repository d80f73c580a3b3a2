"""Tidelake: a lakehouse with two clocks, for Python and Spark.

import tidelake

lake = tidelake.connect("sqlite:///lake.db", data_path="lake_data/")
lake.table("prices").known_at(3).to_pandas()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelake import errors

if TYPE_CHECKING:
    from tidelake.model.calendar import Calendar
    from tidelake.model.interval import Interval
    from tidelake.model.literal import lit
    from tidelake.model.predicate import col
    from tidelake.model.snapshot import Snapshot
    from tidelake.session.asof_join import asof_join
    from tidelake.session.compatible import is_compatible
    from tidelake.session.coverage import Coverage
    from tidelake.session.import_delta import import_delta
    from tidelake.session.lake import Lake
    from tidelake.session.opening import connect
    from tidelake.session.scan import Scan
    from tidelake.session.table import Table

__version__ = "0.1.0"

__all__ = [
    "Calendar",
    "Coverage",
    "Interval",
    "Lake",
    "Scan",
    "Snapshot",
    "Table",
    "__version__",
    "asof_join",
    "col",
    "connect",
    "errors",
    "import_delta",
    "is_compatible",
    "lit",
]

_HOMES = {
    "Calendar": "tidelake.model.calendar",
    "Coverage": "tidelake.session.coverage",
    "Interval": "tidelake.model.interval",
    "Lake": "tidelake.session.lake",
    "Scan": "tidelake.session.scan",
    "Snapshot": "tidelake.model.snapshot",
    "Table": "tidelake.session.table",
    "asof_join": "tidelake.session.asof_join",
    "col": "tidelake.model.predicate",
    "connect": "tidelake.session.opening",
    "import_delta": "tidelake.session.import_delta",
    "is_compatible": "tidelake.session.compatible",
    "lit": "tidelake.model.literal",
}


def __getattr__(name: str) -> Any:
    """Import on first use: `import tidelake` alone stays fast and pulls in no engine."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelake' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
