"""The only room with rows: runs a `ScanPlan` and hands back tables."""

from tidelake.engine.protocols import Engine, Job, Reading

__all__ = ["Engine", "Job", "Reading"]
