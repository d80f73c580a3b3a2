"""Help for testing against Tidelake: the DuckDB reference and, in time, behaviour suites."""
