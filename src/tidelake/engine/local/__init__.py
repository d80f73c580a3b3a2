"""Work in this process, by DuckDB: `engine` reads, `job` writes."""
