"""Work on Spark: `engine` reads, `job` writes, `query` runs DuckDB's SQL so that it means the
same.
"""
