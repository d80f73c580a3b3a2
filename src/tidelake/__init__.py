"""Tidelake: a lakehouse with two clocks, for Python and Spark.

import tidelake

lake = tidelake.connect("sqlite:///lake.db", data_path="lake_data/")
lake.table("prices").known_at(3).to_pandas()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelake import errors

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.coverage.values.interval import Interval
    from tidelake.join.feature import Feature
    from tidelake.lake.asof_join import asof_join
    from tidelake.lake.columns import is_compatible
    from tidelake.lake.connect import connect
    from tidelake.lake.import_delta import diff_delta, import_delta
    from tidelake.lake.ingest import ingest
    from tidelake.lake.lake import Lake
    from tidelake.lake.restore import restore
    from tidelake.lake.scan import Scan
    from tidelake.lake.table import Table
    from tidelake.model.literal import lit
    from tidelake.model.predicate import col
    from tidelake.model.sandbox import Sandbox
    from tidelake.model.snapshot import Snapshot
    from tidelake.tenants.values import Quota

__version__ = "0.2.0"

__all__ = [
    "Calendar",
    "Coverage",
    "Feature",
    "Interval",
    "Lake",
    "Quota",
    "Sandbox",
    "Scan",
    "Snapshot",
    "Table",
    "__version__",
    "asof_join",
    "col",
    "connect",
    "diff_delta",
    "errors",
    "import_delta",
    "ingest",
    "is_compatible",
    "lit",
    "restore",
]

_HOMES = {
    "Calendar": "tidelake.coverage.values.calendar",
    "Coverage": "tidelake.coverage.answer",
    "Feature": "tidelake.join.feature",
    "Interval": "tidelake.coverage.values.interval",
    "Lake": "tidelake.lake.lake",
    "Quota": "tidelake.tenants.values",
    "Sandbox": "tidelake.model.sandbox",
    "Scan": "tidelake.lake.scan",
    "Snapshot": "tidelake.model.snapshot",
    "Table": "tidelake.lake.table",
    "asof_join": "tidelake.lake.asof_join",
    "col": "tidelake.model.predicate",
    "connect": "tidelake.lake.connect",
    "diff_delta": "tidelake.lake.import_delta",
    "import_delta": "tidelake.lake.import_delta",
    "ingest": "tidelake.lake.ingest",
    "is_compatible": "tidelake.lake.columns",
    "lit": "tidelake.model.literal",
    "restore": "tidelake.lake.restore",
}


def __getattr__(name: str) -> object:
    """Import on first use: `import tidelake` alone stays fast and pulls in no engine."""
    from importlib import import_module

    if name == "spark":
        return import_module("tidelake.spark")
    if name not in _HOMES:
        from tidelake.model.reflexes import OF_MODULE, no_such_name

        raise no_such_name("the module tidelake", name, OF_MODULE.get(name), None)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
