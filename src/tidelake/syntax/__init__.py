"""SQL as DuckDB reads it."""
