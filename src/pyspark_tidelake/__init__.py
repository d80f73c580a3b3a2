"""Spark looks for modules with names like this one, and takes the data source in them: so
`format("tidelake")` is known wherever the driver's Python has Tidelake, also to SQL alone.
"""

from tidelake.spark.source import TidelakeSource as DefaultSource

__all__ = ["DefaultSource"]
