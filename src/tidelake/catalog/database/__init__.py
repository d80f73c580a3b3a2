"""Databases that hold catalogs: `database` is what all of them can do, `url` finds the one that is
meant, `sqlite`, `duckdb_file` and `server` are the kinds, `dialects` is how they differ in SQL.
"""
