"""The only package with rows: runs plans and hands back tables. `protocols` says what an engine can
do; `local` is DuckDB in this process, `spark` is Spark.
"""

from tidelake.engine.protocols import Among, Engine, Job, PlanRelation, Reading

__all__ = ["Among", "Engine", "Job", "PlanRelation", "Reading"]
