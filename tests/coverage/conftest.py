"""The same lakes as for the tests of writes."""

from tests.write.conftest import _duckdb, agree, duck, lake, new_place, oracle, place

__all__ = ["_duckdb", "agree", "duck", "lake", "new_place", "oracle", "place"]
