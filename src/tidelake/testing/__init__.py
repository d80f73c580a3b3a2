"""Help for testing what is built on Tidelake, and Tidelake itself.

`duck` opens DuckDB with its own ducklake extension, the reference; `place` is where a lake of a
test is, on any kind of catalog; `faults` breaks what connects a lake with its database.
"""
