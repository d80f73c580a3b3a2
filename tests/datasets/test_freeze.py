"""A frozen data set has the same rows for ever, and says so if somebody changed it."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tests.cases import every
from tidelake.errors import Denied, Invalid, NotFound, TidelakeWarning
from tidelake.testing.faults import Meanwhile, watch_database
from tidelake.testing.place import Place

KINDS = ["sqlite", "duckdb", "postgresql", "mariadb"]
NAME = "training-2024-03"


def facts(*rows: tuple[int, str, int]) -> list[dict[str, Any]]:
    return [
        {"id": key, "ts": datetime.fromisoformat(moment), "price": price}
        for key, moment, price in rows
    ]


def prices(lake: tidelake.Lake) -> tidelake.Table:
    """Two days, a correction and a late fact: snapshots 2, 3 and 4."""
    t = lake.create_table(
        "prices", "id BIGINT, ts TIMESTAMP, price INTEGER", key="id", event_time="ts"
    )
    t.append(facts((1, "2024-03-01", 10), (2, "2024-03-01", 20), (1, "2024-03-05", 11)))
    t.append(facts((2, "2024-03-04", 21)))
    t.append(facts((1, "2024-03-02", 99), (3, "2024-03-02", 30)))
    return t


def rows_of(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows.to_arrow().to_pylist())


def verdict(lake: tidelake.Lake, **how: Any) -> list[str]:
    return [f"{each.table}: {each.what}" for each in lake.verify(**how).problems]


@pytest.mark.parametrize("place", KINDS, indirect=True)
def test_a_set_is_the_query_at_both_moments(place: Place, lake: tidelake.Lake) -> None:
    t = prices(lake)
    wanted = rows_of(t.known_at(3).as_of("2024-03-04"))
    made = lake.freeze(NAME, "SELECT * FROM prices", as_of="2024-03-04", known_at=3)
    t.append(facts((1, "2024-03-03", 5)))
    t.delete("id = 2")

    assert rows_of(made) == wanted == [(1, *wanted[0][1:]), (2, *wanted[1][1:])]
    assert rows_of(lake.frozen(NAME)) == wanted
    assert rows_of(lake.sql(f'SELECT * FROM frozen."{NAME}"')) == wanted
    assert (made.facts.known_at, made.facts.as_of) == (3, "2024-03-04T00:00:00Z")
    assert (made.rows, made.facts.query) == (2, "SELECT * FROM prices")
    assert [each.facts for each in lake.frozen()] == [made.facts]
    assert made.verify().ok
    assert verdict(lake, deep=True) == []
    lake.drop_frozen(NAME)
    assert lake.frozen() == []
    assert verdict(lake) == []
    lake.undrop(f'frozen."{NAME}"')
    assert [each.facts for each in lake.frozen()] == [made.facts]


def test_whatever_gives_the_rows_the_fingerprint_is_the_same(lake: tidelake.Lake) -> None:
    t = prices(lake)
    t.append(
        pa.table({"id": range(5000), "ts": [datetime(2024, 2, 1)] * 5000, "price": [1] * 5000})
    )
    columns, where = ["id", "price"], "price < 50"
    made = [
        lake.freeze("text", f"SELECT id, price FROM prices WHERE {where}"),
        lake.freeze("query", lake.sql("SELECT id, price FROM prices WHERE price < ?", [50])),
        lake.freeze("scan", t.scan(columns, where)),
        lake.freeze("sorted", f"SELECT id, price FROM prices WHERE {where} ORDER BY id DESC"),
        lake.freeze(
            "pinned", lake.known_at(5).table("prices").scan(columns, tidelake.col("price") < 50)
        ),
    ]
    found = {each.fingerprint for each in made}
    assert len(found) == 1
    other = lake.freeze(
        "other", f"SELECT id, price + (id = 7)::INTEGER AS price FROM prices WHERE {where}"
    )
    assert other.rows == made[0].rows
    assert other.fingerprint not in found
    assert lake.freeze("empty", "SELECT id FROM prices WHERE false").rows == 0
    assert "price < ? [1 = 50]" in made[1].facts.query


def test_a_point_in_time_join_is_frozen(lake: tidelake.Lake) -> None:
    t = prices(lake)
    asked = pa.table({"id": [1, 2], "t": [datetime(2024, 3, 3), datetime(2024, 3, 6)]})
    join = tidelake.asof_join(asked, t, on="id", left_time="t")
    made = lake.freeze("labels", join)
    assert rows_of(made) == rows_of(join)
    with pytest.raises(Invalid, match="own moments"):
        lake.freeze("again", join, known_at=3)


def test_a_frozen_join_tells_what_was_asked_and_no_rows(lake: tidelake.Lake) -> None:
    t = prices(lake)
    labels = [{"id": 1, "t": datetime(2024, 3, 3), "name": "Jane Doe"}] * 2
    for name, left in {
        "dicts": labels,
        "arrow": pa.Table.from_pylist(labels),
        "pandas": pa.Table.from_pylist(labels).to_pandas(),
    }.items():
        join = tidelake.asof_join(left, t, "id", "t", known_at="t", tolerance="5 days")
        with pytest.warns(TidelakeWarning):
            told = lake.freeze(name, join).facts.query
        assert "Jane" not in told
        assert "2 rows" in told
        assert "main.prices" in told
        assert "known_at='t'" in told
        assert "left_time='t'" in told


def test_a_set_cannot_be_written_to(place: Place, lake: tidelake.Lake) -> None:
    prices(lake)
    lake.freeze(NAME, "SELECT * FROM prices")
    table = lake.table(f'frozen."{NAME}"')
    for write in (
        lambda: table.append(facts((9, "2024-01-01", 1))),
        lambda: table.delete("true"),
        lambda: table.update({"price": "0"}),
        lambda: table.overwrite(facts((9, "2024-01-01", 1))),
        lambda: table.evolve(add={"x": int}),
        lambda: table.drop(),
        lambda: table.rollback(1),
        lambda: lake.rename(f'frozen."{NAME}"', "other"),
        lambda: lake.drop_schema("frozen", cascade=True),
        lambda: lake.sql(f'DELETE FROM frozen."{NAME}"'),
    ):
        with place.refuses(Denied, "frozen data set"):
            write()
    with place.refuses(Invalid, "already"):
        lake.freeze(NAME, "SELECT 1 AS n")


@pytest.mark.parametrize(
    ("rows", "moments", "said"),
    [
        ("SELECT id, id FROM prices", {}, "one name"),
        ("DELETE FROM prices", {}, ""),
        ([{"n": 1}], {}, "can be frozen"),
        ("SELECT * FROM prices", {"known_at": 99}, "99"),
        ("SELECT * FROM nothing", {}, "nothing"),
        ("SELECT 1 AS n", {"known_at": 2}, "known_at"),
    ],
)
def test_what_cannot_be_frozen_is_refused(
    place: Place, lake: tidelake.Lake, rows: Any, moments: dict[str, Any], said: str
) -> None:
    prices(lake)
    with place.refuses((Invalid, NotFound), said):
        lake.freeze("s", rows, **moments)
    with place.refuses(Invalid, "twice"):
        lake.freeze("s", lake.table("prices").known_at(2), known_at=3)
    with lake.transaction() as tx, pytest.raises(Invalid, match="transaction"):
        lake.freeze("s", tx.table("prices"))


def test_sets_outlive_all_maintenance(place: Place, lake: tidelake.Lake) -> None:
    t = prices(lake)
    lake.set_option("data_inlining_row_limit", 0)
    t.append(pa.table({"id": range(900), "ts": [datetime(2024, 2, 1)] * 900, "price": [1] * 900}))
    made = [
        lake.freeze(f"s{n}", f"SELECT id, price FROM prices WHERE id % 3 = {n}") for n in range(3)
    ]
    wanted = [rows_of(each) for each in made]
    t.drop()
    lake.compact()
    lake.expire(keep_last=1)
    lake.cleanup("0s")
    assert len(lake.snapshots()) == 1
    with place.duck() as duck:
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
        duck.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        duck.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        assert sorted(duck.execute("FROM lake.frozen.s1").fetchall()) == wanted[1]
    assert [rows_of(each) for each in lake.frozen()] == wanted
    assert verdict(lake, deep=True) == []


CHANGES = {
    "updated": "UPDATE lake.frozen.s SET price = 0 WHERE id = 1",
    "deleted": "DELETE FROM lake.frozen.s WHERE id = 1",
    "inserted": "INSERT INTO lake.frozen.s VALUES (7, 70)",
}


@pytest.mark.parametrize("change", every(3, CHANGES))
def test_what_duckdb_changes_is_named(place: Place, lake: tidelake.Lake, change: str) -> None:
    prices(lake)
    lake.freeze("s", "SELECT id, price FROM prices")
    lake.freeze("t", "SELECT id, price FROM prices")
    with place.duck() as duck:
        duck.execute(CHANGES[change])
    for how in ({}, {"deep": True}):
        found = [each for each in lake.verify(**how).problems if each.check == "data-sets"]
        assert {each.table for each in found} == {"frozen.s"}
        assert all("has changed" in each.what and each.mend for each in found)
    assert not lake.frozen("s").verify().ok
    assert lake.frozen("t").verify().ok
    with place.duck() as duck:
        duck.execute("DROP TABLE lake.frozen.t")
    assert "frozen.t: somebody has dropped" in "\n".join(verdict(lake))


def test_a_file_that_was_changed_is_named(place: Place, lake: tidelake.Lake) -> None:
    """By its rows alone: the catalog counts what it counted before."""
    lake.set_option("data_inlining_row_limit", 0)
    lake.create_table("t", "n BIGINT").append(pa.table({"n": range(100)}))
    lake.freeze("s", "SELECT * FROM t")
    lake.freeze(
        "other",
        "SELECT (CASE n WHEN 3 THEN 4 WHEN 4 THEN 3 ELSE n END) + (n = 50)::INT AS n FROM t",
    )
    (mine,), (theirs,) = (lake.table(f"frozen.{name}").files() for name in ("s", "other"))
    shutil.copyfile(theirs.path, mine.path)
    assert not lake.frozen("s").verify().ok


def test_erasure_reaches_sets(lake: tidelake.Lake) -> None:
    t = prices(lake)
    made = lake.freeze("s", "SELECT id, price FROM prices")
    lake.freeze("of-s", "SELECT sum(price) AS total FROM frozen.s")
    lake.create_table("unrelated", "id BIGINT").append([{"id": 1}])
    assert lake.erase("prices", "id = 2", dry_run=True).data_sets == ("s", "of-s")
    with pytest.raises(Invalid, match="'s', of which 2 rows meet") as told:
        lake.erase("prices", "id = 2", reason="r")
    assert "of-s" in str(told.value)
    lake.erase("unrelated", "id = 1", reason="r")
    assert t.count() == 6

    lake.drop_frozen("of-s")
    with pytest.raises(Invalid, match="was dropped"):
        lake.erase("frozen.s", "id = 2", reason="r")
    lake.expire(keep_last=1)
    result = lake.erase("frozen.s", "id = 2", reason="r")
    assert (result.rows, result.data_sets) == (2, ())
    rebased = lake.frozen("s")
    assert rebased.rows == made.rows - 2
    assert rebased.facts.rebased_at is not None
    assert rebased.fingerprint != made.fingerprint
    lake.erase("prices", "id = 2", reason="r", data_sets=["s"])
    assert [row for row in rows_of(t) if row[0] == 2] == []
    assert verdict(lake, deep=True) == []
    assert lake.freeze("again", "SELECT id, price FROM prices").fingerprint == rebased.fingerprint


def test_what_is_erased_meanwhile_is_not_frozen(place: Place, lake: tidelake.Lake) -> None:
    prices(lake)
    with place.open() as other:
        erase = Meanwhile("write", lambda: other.erase("prices", "id = 2", reason="r"))
        with watch_database(lake, erase):
            made = lake.freeze("s", "SELECT id FROM prices")
        assert erase.happened
        assert {row[0] for row in rows_of(made)} == {1, 3}
        freeze = Meanwhile("write", lambda: other.freeze("t", "SELECT id FROM prices"))
        with watch_database(lake, freeze), pytest.raises(Invalid, match="meanwhile: 't'"):
            lake.erase("prices", "id = 3", reason="r", data_sets=["s"])
        assert freeze.happened
    assert lake.table("prices").count() == 4
    assert verdict(lake, deep=True) == []


def test_export_and_readers(lake: tidelake.Lake, tmp_path: Path) -> None:
    prices(lake)
    made = lake.freeze(NAME, "SELECT id, price FROM prices")
    done = made.export(tmp_path / "out")
    read = duckdb.sql(f"SELECT id, price FROM '{tmp_path}/out/*.parquet'").fetchall()
    assert sorted(read) == rows_of(made)
    assert (done.rows, len(done.paths)) == (6, 1)
    with pytest.raises(Invalid, match="not empty"):
        made.export(tmp_path / "out")
    assert rows_of(made) == sorted(map(tuple, made.to_pandas().to_numpy().tolist()))
    with pytest.raises(NotFound, match=NAME):
        lake.frozen("training")


def test_the_owner_reads_sets_of_tenants_as_theirs(lake: tidelake.Lake, tmp_path: Path) -> None:
    """Also where it has one of that name itself."""
    acme = lake.create_tenant("acme")
    acme.create_table("t", "n BIGINT").append([{"n": 1}, {"n": 2}])
    acme.freeze("s", "SELECT * FROM t")
    (theirs,) = lake.frozen()
    assert (theirs.name, rows_of(theirs)) == ("acme__frozen.s", [(1,), (2,)])
    lake.freeze("s", "SELECT 'mine' AS whose")
    theirs, mine = lake.frozen()
    assert (theirs.name, rows_of(theirs)) == ("acme__frozen.s", [(1,), (2,)])
    assert (mine.name, rows_of(mine)) == ("s", [("mine",)])
    assert theirs.verify().ok
    assert theirs.schema.names == ["n"]
    assert theirs.export(tmp_path / "out").rows == 2
    assert rows_of(acme.frozen("s")) == [(1,), (2,)]


@pytest.mark.slow
def test_a_tenant_has_sets_of_its_own(lake: tidelake.Lake) -> None:
    lake.create_tenant("acme")
    acme, bolt = lake.tenant("acme"), lake.create_tenant("bolt")
    acme.create_table("t", "n BIGINT").append([{"n": 1}, {"n": 2}])
    made = acme.freeze("s", "SELECT * FROM t")
    assert (made.table, rows_of(acme.frozen("s"))) == ("frozen.s", [(1,), (2,)])
    assert bolt.frozen() == []
    with pytest.raises(NotFound):
        bolt.frozen("s")
    assert [each.table for each in lake.frozen()] == ["acme__frozen.s"]
    assert verdict(lake, deep=True) == []
    lake.drop_tenant("acme")
    assert lake.frozen() == []


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_login_of_a_tenant_freezes(lake: tidelake.Lake) -> None:
    """The database lets it have records of its own sets, and see no others."""
    logins = [lake.create_tenant(name, database_role=True) for name in ("acme", "bolt")]
    for login in logins:
        with tidelake.connect(login.url) as tenant:
            tenant.create_table("t", "n BIGINT").append([{"n": 1}, {"n": 2}])
            tenant.freeze("s", "SELECT * FROM t")
            assert rows_of(tenant.frozen("s")) == [(1,), (2,)]
            assert len(tenant.frozen()) == 1
            assert tenant.table("t").clone("u").count() == 2
            with pytest.raises(Denied):
                tenant.table("frozen.s").delete("true")
            tenant.freeze("gone", "SELECT 1 AS n")
            tenant.drop_frozen("gone")
    assert len(lake.frozen()) == 2
    assert verdict(lake, deep=True) == []
