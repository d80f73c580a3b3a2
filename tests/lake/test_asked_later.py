"""Scans and queries see the lake as it is when rows are asked for, and none once it is closed."""

import pytest

import tidelake
from tidelake.errors import Invalid
from tidelake.testing.place import Place


@pytest.fixture
def lake(tmp_path):
    with Place.at("sqlite", tmp_path).open() as lake:
        yield lake


def test_a_query_and_a_scan_see_what_came_after_they_were_made(lake):
    table = lake.create_table("t", "a INT")
    table.append([{"a": 1}])
    query, scan = (
        lake.sql("SELECT a FROM t WHERE a > $least ORDER BY a", {"least": 0}),
        table.scan(),
    )
    then = lake.sql("SELECT a FROM t", known_at=lake.snapshots()[-1].snapshot_id)
    table.append([{"a": 2}])
    assert query.to_arrow()["a"].to_pylist() == [1, 2]
    assert scan.count() == query.count() == len(query.to_pandas()) == 2
    table.append([{"a": a} for a in range(3, 40)])
    table.compact()
    assert query.count() == scan.count() == 39
    assert then.count() == 1
    assert lake.known_at(2).sql("SELECT a FROM t").count() == 1


def test_a_query_in_a_transaction_sees_its_later_writes(lake):
    lake.create_table("t", "a INT").append([{"a": 1}])
    with lake.transaction() as tx:
        query, scan = tx.sql("SELECT a FROM t"), tx.table("t").scan()
        tx.table("t").append([{"a": 2}])
        lake.table("t").append([{"a": 3}])
        assert query.count() == scan.count() == 2
    for late in (query, scan):
        with pytest.raises(Invalid, match="this transaction is over"):
            late.to_arrow()


def test_a_column_that_has_gone_is_missed_by_both(lake):
    table = lake.create_table("t", "a INT, b INT")
    query, scan = lake.sql("SELECT b FROM t"), table.scan(columns=["b"])
    table.evolve(drop="b")
    for late in (query, scan):
        with pytest.raises(tidelake.errors.TidelakeError, match="b"):
            late.to_arrow()


def test_nothing_is_read_from_a_closed_lake(lake):
    table = lake.create_table("t", "a INT")
    table.append([{"a": 1}])
    query, scan = lake.sql("SELECT a FROM t"), table.scan()
    lake.close()
    for late in (query, scan):
        for ask in (late.count, late.to_arrow, late.to_pandas, late.to_batches, late.to_duckdb):
            with pytest.raises(Invalid, match="this lake has been closed"):
                ask()


def test_a_query_with_moments_of_its_own_is_asked_again(lake):
    table = lake.create_table("t", "a INT")
    table.append([{"a": 1}])
    query = lake.sql("SELECT n.a AS now, o.a AS old FROM t n, t AT (VERSION => 2) o")
    table.append([{"a": 2}])
    assert sorted(query.to_arrow()["now"].to_pylist()) == [1, 2]
    assert query.to_arrow()["old"].to_pylist() == [1, 1]
