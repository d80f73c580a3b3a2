"""Proof that DuckDB can keep a DuckLake somewhere."""

from collections.abc import Callable

import duckdb


def round_trip(
    connect: Callable[[], duckdb.DuckDBPyConnection],
    catalog: str,
    data_path: str,
    *,
    prepare: str | None = None,
) -> None:
    """Write with one connection, close it, and read with another."""
    attach = f"ATTACH 'ducklake:{catalog}' AS lake (DATA_PATH '{data_path}')"
    with connect() as writer:
        writer.execute(prepare or "")
        writer.execute(attach)
        writer.execute("CREATE TABLE lake.t AS SELECT range AS i FROM range(100)")
        writer.execute("DELETE FROM lake.t WHERE i >= 90")
        writer.execute("DETACH lake")
    with connect() as reader:
        reader.execute(prepare or "")
        reader.execute(attach)
        assert reader.sql("SELECT count(*), sum(i) FROM lake.t").fetchone() == (90, 4005)
        assert reader.sql("SELECT count(*) FROM lake.t AT (VERSION => 1)").fetchone() == (100,)
