"""SQL over a lake: `run` takes a statement, `query` reads, `writes` and `merge` change rows,
`definitions` do everything else.

A statement is read by DuckDB's own parser (`text`), its tables get plans (`binding`), and the rest
stays as it was written.
"""
