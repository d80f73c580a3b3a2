"""Spark looks for modules with names like this one, and takes the data source in them: so
`format("tidelake")` is known wherever the driver's Python has Tidelake, also to SQL alone.

Spark does so before it reads anything at all with a source in Python. So where something is
missing here, that must not stop others.
"""

from contextlib import suppress

with suppress(ImportError):
    from tidelake.spark.source import TidelakeSource as DefaultSource

__all__ = ["DefaultSource"]
