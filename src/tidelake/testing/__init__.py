"""Help for testing what is built on Tidelake, and Tidelake itself (docs/testing.md).

`place` is where a lake of a test is, on any kind of catalog; `duck` opens DuckDB with its own
ducklake extension, the reference; `oracle` is what DuckDB reads from a lake, `agreement` whether
Tidelake reads the same; `histories` are random ones; `faults` breaks what connects a lake with its
database; `fake_engine` is the smallest engine.
"""
