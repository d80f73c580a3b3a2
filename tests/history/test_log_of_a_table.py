"""The log of a table, some of it and all of it; and what was declared over time."""

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "duckdb", "postgresql", "mariadb"], indirect=True)
def test_the_newest_entries_are_the_end_of_all(lake):
    tables = [lake.create_table(f"t{number}", "x INTEGER") for number in range(12)]
    for turn in range(3):
        for table in tables[::5]:
            table.append([{"x": turn}])
    tables[0].delete("x = 1")
    lake.rename("t10", "renamed")
    for name in ("t0", "t1", "renamed"):
        whole = lake.table(name).log()
        assert all(name in str(each.tables) or "t10" in str(each.tables) for each in whole)
        for limit in (1, 2, 3, 100):
            assert lake.table(name).log(limit) == whole[-limit:]
    assert [each.operation for each in lake.table("t0").log()][-1] == "delete"


def test_the_log_tells_what_duckdb_did_whoever_asks_for_how_much(lake, duck):
    duck.execute("CREATE TABLE d (x INTEGER)")
    for number in range(4):
        duck.execute(f"INSERT INTO d SELECT range FROM range({20 + number})")
    duck.execute("DELETE FROM d WHERE x < 15")
    duck.execute("INSERT INTO d SELECT range FROM range(30)")
    whole = lake.log()
    assert [each.inserted for each in whole][-6:] == [20, 21, 22, 23, 0, 30]
    assert whole[-2].deleted == 60
    for limit in (1, 2, 4):
        assert lake.log(limit) == whole[-limit:]


def test_what_was_declared_is_told_step_by_step(lake, duck):
    table = lake.create_table("t", "x INTEGER, y VARCHAR")
    table.append([{"x": 1, "y": "a"}])
    table.evolve(rename={"y": "z"})
    duck.execute("ALTER TABLE t ADD COLUMN w DOUBLE")
    table.set_partitioning(["x"])
    table.evolve(drop="w")
    told = [(each.snapshot_id, [d.kind for d in each.differences]) for each in table.schema_log()]
    assert told == [
        (1, ["table created"]),
        (3, ["column renamed"]),
        (4, ["column added"]),
        (5, ["partitioning changed"]),
        (6, ["column dropped"]),
    ]
    assert [each.snapshot_id for each in table.known_at(3).schema_log()] == [1, 3]
