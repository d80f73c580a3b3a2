"""DuckDB moves rows from the catalog to files, and what was deleted stays so."""

from typing import Any

import pytest

import tidelake
from tidelake.testing.place import Place

ODD = ["a'b", "é", 'a"b', "a\\b", "tab\t", "\x7f", "🦆", "plain", "a/b", "a%b c=d", "", "NULL"]


@pytest.mark.parametrize("by", ["s", "bucket(4, s)"])
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_flush_of_odd_partition_values(
    place: Place, lake: tidelake.Lake, duck: Any, by: str
) -> None:
    """On PostgreSQL, where text is kept as bytes, DuckDB would not find the file of a deleted row
    whose partition has another text than it shows for these bytes."""
    t = lake.create_table("t", "id INTEGER, s VARCHAR", partition_by=[by])
    with lake.transaction() as tx:
        for n, value in enumerate(ODD):
            tx.table("t").append([{"id": n, "s": value}, {"id": 100 + n, "s": value}])
    t.append([{"id": 200 + n, "s": value} for n, value in enumerate(ODD[:3])])
    t.append([{"id": 300, "s": "plain"}, {"id": 301, "s": None}])
    t.delete("id < 100")
    t.update({"id": "id + 1000"}, where="id = 200")
    at = lake.snapshots()[-1].snapshot_id
    wanted = sorted(t.to_arrow()["id"].to_pylist())
    duck.execute("CALL ducklake_flush_inlined_data('lake')").fetchall()
    found = duck.execute("SELECT list(id ORDER BY id) FROM t").fetchall()[0]
    past = duck.execute(f"SELECT list(id ORDER BY id) FROM t AT (VERSION => {at})").fetchall()[0]
    assert found[0] == past[0] == wanted == sorted(t.to_arrow()["id"].to_pylist())
    assert sorted(t.known_at(at).to_arrow()["id"].to_pylist()) == wanted
    assert lake.verify(deep=True).ok
