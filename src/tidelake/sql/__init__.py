"""SQL over a lake: `query` reads, `writes` and `merge` change rows, `definitions` everything else.

A statement is read by DuckDB's own parser (`text`), its tables get plans (`binding`), and the rest
stays as it was written.
"""
