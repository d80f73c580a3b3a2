"""What users try by reflex."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import numpy
import pandas
import polars
import pyarrow as pa
import pytest

import tidelake
from tidelake import col
from tidelake.errors import Invalid, NotFound, TidelakeWarning

ROWS = [{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": "c"}]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db") as lake:
        lake.create_table("t", "n INT, s VARCHAR").append(ROWS)
        lake.create_table("empty", "n INT, s VARCHAR")
        yield lake


def test_tables_by_name(lake: tidelake.Lake) -> None:
    assert lake["t"].count() == 3
    assert "t" in lake
    assert "main.t" in lake
    assert "other" not in lake
    assert "nowhere.t" not in lake
    lake.create_view("v", "SELECT 1 AS n")
    assert not lake.exists("v")
    with pytest.raises(TypeError):
        list(lake)  # type: ignore[call-overload]
    with lake.transaction() as tx:
        tx.create_table("fresh", "n INT")
        assert "fresh" in tx
        assert "fresh" not in lake
        assert tx["fresh"].count() == 0
    assert "t" not in lake.known_at(0)


def test_a_table_is_made_like_a_table_a_scan_or_a_query(lake: tidelake.Lake) -> None:
    for n, like in enumerate(
        (lake["t"], lake["t"].scan(["s"]), lake.sql("SELECT n + 1 AS m FROM t"))
    ):
        with pytest.warns(TidelakeWarning, match="wrote none of its rows"):
            made = lake.create_table(f"like_{n}", like)
        assert made.count() == 0
        assert made.column_types() == like.column_types()
        filled = lake.create_table(f"filled_{n}", like, rows=True)
        assert filled.to_dicts() == like.to_dicts()
        assert tidelake.is_compatible(like, filled)
    assert lake.create_table("none", lake["empty"]).schema.names == ["n", "s"]


def test_columns_by_name(lake: tidelake.Lake) -> None:
    schema = lake["t"].schema
    assert "n" in schema
    assert "N" in schema  # as in SQL
    assert "m" not in schema
    assert schema.column("s") in schema
    assert schema.column("s") not in lake.create_table("u", "n INT").schema
    assert 3 not in schema
    with pytest.raises(NotFound, match=r'order_by\("n DESC"\)'):
        lake["t"].order_by("n", "desc").to_dicts()


def test_rows_as_python_has_them(lake: tidelake.Lake) -> None:
    assert lake["t"].to_dicts() == ROWS
    assert lake["t"].scan(where=col("n").isin([1, 3])).to_dicts() == [ROWS[0], ROWS[2]]
    assert lake.sql("SELECT * FROM t WHERE n = 2").to_dicts() == ROWS[1:2]
    with pytest.raises(Invalid, match="one name"):
        lake.sql("SELECT n, n FROM t").to_dicts()
    assert len(lake["t"]) == 3
    assert len(lake["t"].scan(where="n > 1")) == 2
    assert lake["empty"]
    assert len(lake["empty"]) == 0


def test_others_take_rows_as_they_are(lake: tidelake.Lake) -> None:
    t = lake["t"]
    for rows in (t, t.scan(), lake.sql("SELECT * FROM t")):
        assert pa.table(rows).to_pylist() == ROWS
        assert polars.DataFrame(rows).to_dicts() == ROWS
        assert duckdb.sql("SELECT sum(n) FROM rows").fetchall() == [(6,)]
    assert pa.table(lake["empty"]).column_names == ["n", "s"]


def test_own_writes_take_rows_as_they_are(lake: tidelake.Lake) -> None:
    t, other = lake["t"], lake["empty"]
    other.append(t)
    other.append(t.scan(where="n = 1"))
    other.append(lake.sql("SELECT n + 10 AS n FROM t WHERE n = 3"))
    assert sorted(row["n"] for row in other.to_dicts()) == [1, 1, 2, 3, 13]
    t.append(t)
    assert len(t) == 6
    t.delete("n > 1")
    t.overwrite(t.scan())
    assert t.to_dicts() == [ROWS[0]] * 2
    other.overwrite([{"n": 1, "s": "old"}])
    other.merge(lake.sql("SELECT DISTINCT n, s FROM t"), on="n")
    assert other.to_dicts() == [ROWS[0]]


def test_rows_of_a_transaction_are_taken_in_it(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        tx["t"].append([{"n": 4, "s": "d"}])
        tx["empty"].append(tx["t"])
        assert len(tx["empty"]) == 4
    assert sorted(row["n"] for row in lake["empty"].to_dicts()) == [1, 2, 3, 4]


def test_a_table_is_created_if_it_is_not_there(lake: tidelake.Lake) -> None:
    before = len(lake.snapshots())
    assert lake.create_table("t", "other INT", if_not_exists=True).to_dicts() == ROWS
    assert len(lake.snapshots()) == before
    with pytest.raises(Invalid, match="already"):
        lake.create_table("t", "other INT")
    with lake.transaction() as tx:
        tx.create_table("fresh", "n INT", if_not_exists=True)
        assert tx.create_table("fresh", "m INT", if_not_exists=True).schema.names == ["n"]
    lake.create_view("v", "SELECT 1 AS n")
    with pytest.raises(Invalid, match="view"):
        lake.create_table("v", "n INT", if_not_exists=True)


def test_what_a_table_was_declared_as(lake: tidelake.Lake) -> None:
    t = lake.create_table(
        "p",
        "s VARCHAR, ts TIMESTAMP, x INT",
        key="s",
        event_time="ts",
        entity="s",
        bucket="1h",
        overlap="reject",
    )
    lake["p"].evolve(rename={"s": "symbol"})
    assert (t.key, t.event_time) == (("symbol",), "ts")
    assert t.coverage_settings is not None
    assert t.coverage_settings.entity == ("symbol",)
    assert (t.coverage_settings.bucket, t.coverage_settings.overlap) == ("1h", "reject")
    plain = lake["t"]
    assert (plain.key, plain.event_time, plain.coverage_settings) == ((), None, None)


def test_options_that_hold(lake: tidelake.Lake) -> None:
    name = "data_inlining_row_limit"
    assert lake.options()[name] == "10"
    lake.create_schema("other")
    lake.create_table("other.t", "n INT")
    lake.set_option(name, 20)
    lake.set_option(name, 30, schema="other")
    lake.set_option(name, 40, table="t")
    assert lake.options()[name] == "20"
    assert lake.options(schema="other")[name] == "30"
    assert lake.options(table="other.t")[name] == "30"
    assert lake.options(table="t")[name] == "40"
    assert lake.options(table="empty")[name] == "20"
    assert "encrypted" not in lake.options()


FRAMES = {
    "pandas": pandas.DataFrame(ROWS),
    "polars": polars.DataFrame(ROWS),
    "arrow": pa.Table.from_pylist(ROWS),
}


def test_a_table_is_created_with_its_first_rows(lake: tidelake.Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,s\n1,a\n2,\n3,c\n")
    given = {
        **FRAMES,
        "dicts": ROWS,
        "table": lake["t"],
        "scan": lake["t"].scan(),
        "query": lake.sql("SELECT * FROM t"),
        "reader": pa.Table.from_pylist(ROWS).to_reader(),
        "path": str(path),
        "paths": [path],
    }
    for name, data in given.items():
        before = len(lake.snapshots())
        done = lake.append(f"new_{name}", data, create=True, sort_by="n", message=name)
        assert (done.rows, len(lake.snapshots())) == (3, before + 1), name
        found = lake[f"new_{name}"]
        assert found.to_dicts() == ROWS, name
        assert found.sorting
        assert lake.log()[-1].message == name
    assert lake.append("new_dicts", ROWS, create=True, key="n").rows == 3
    assert len(lake["new_dicts"]) == 6


def test_append_by_name(lake: tidelake.Lake) -> None:
    assert lake.append("t", ROWS[:1]).inserted == 1
    with pytest.raises(NotFound):
        lake.append("new", ROWS)
    with pytest.raises(Invalid, match="only for a table that it creates"):
        lake.append("t", ROWS, key="n")
    with pytest.raises(Invalid, match="takes no 'kye'"):
        lake.append("t", ROWS, create=True, kye="n")  # type: ignore[call-arg]
    with pytest.raises(Invalid, match="cannot be told"):
        lake.append("new", (row for row in ROWS), create=True)
    lake.create_view("v", "SELECT 1 AS n")
    with pytest.raises(Invalid, match="view"):
        lake.append("v", ROWS, create=True)
    with lake.transaction() as tx:
        tx.append("in_tx", ROWS, create=True)
        tx.append("in_tx", ROWS, create=True)
        assert len(tx["in_tx"]) == 6
    assert len(lake["in_tx"]) == 6
    first = lake.append("daily", ROWS, create=True, once="day-1")
    again = lake.append("daily", ROWS, create=True, once="day-1")
    assert again.duplicate
    assert again.snapshot_id == first.snapshot_id
    assert len(lake["daily"]) == 3


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_columns_and_it_is_said_that_its_rows_stay_behind(
    lake: tidelake.Lake, kind: str
) -> None:
    frame = FRAMES[kind]
    with pytest.warns(UserWarning, match="wrote none of its rows"):
        assert len(lake.create_table("warned", frame)) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(lake.create_table("silent", frame, rows=False)) == 0
        assert len(lake.create_table("nothing", frame[:0])) == 0
        assert lake.create_table("whole", frame, rows=True, key="n").to_dicts() == ROWS
        assert len(lake.create_table("whole", frame, rows=True, if_not_exists=True)) == 3
        assert len(lake.create_table("schema", pa.schema([("n", pa.int32())]))) == 0
        with pytest.raises(Invalid):  # nothing was taken, so there is nothing to warn of
            lake.create_table("whole", frame)
    assert lake["whole"].key == ("n",)


def test_a_few_rows_in_an_order(lake: tidelake.Lake) -> None:
    t = lake["t"]
    for rows in (t, t.scan(), lake.sql("SELECT * FROM t WHERE n < ?", [9]), t.changes(columns="n")):
        assert len(rows.head(2)) == 2
        assert len(rows.limit(99)) == 3
        assert rows.limit(0).to_dicts() == []
        assert [row["n"] for row in rows.order_by("n DESC").limit(2).to_dicts()] == [3, 2]
        assert [row["n"] for row in rows.limit(2).order_by("n desc").to_dicts()] == [2, 1]
        assert rows.limit(2).limit(5).count() == 2
    assert [row["s"] for row in t.order_by("s desc").to_dicts()] == ["c", "a", None]
    assert [row["s"] for row in t.order_by("s NULLS FIRST").to_dicts()] == [None, "a", "c"]
    assert [row["n"] for row in t.scan(where="n > 1").order_by("S", "n").to_dicts()] == [3, 2]
    assert polars.DataFrame(t.order_by("n desc"))["n"].to_list() == [3, 2, 1]
    assert pa.table(t.head(1)).to_pylist() == ROWS[:1]
    assert t.head(numpy.int64(1)).count() == 1
    lake["empty"].append(t.order_by("n desc").limit(1))
    assert lake["empty"].to_dicts() == ROWS[2:]
    for wrong in (-1, True, "3", 1.5):
        with pytest.raises(Invalid, match="no number of rows"):
            t.limit(wrong)
    with pytest.raises(NotFound, match="no column 'x' to order by"):
        t.order_by("x").to_arrow()
    with pytest.raises(NotFound, match="to order by"):
        t.order_by("n; DROP TABLE t").to_arrow()
    with pytest.raises(Invalid, match="names no column"):
        t.order_by()


def test_columns_with_odd_names_in_an_order(lake: tidelake.Lake) -> None:
    odd = ["n desc", 'a"b', "x.y", "nulls first"]
    lake.append("odd", [dict.fromkeys(odd, 1), dict.fromkeys(odd, 2)], create=True)
    for name in odd:
        for order, found in ((name, [1, 2]), (f"{name} DESC", [2, 1])):
            assert [row[name] for row in lake["odd"].order_by(order).to_dicts()] == found


@pytest.fixture
def people(lake: tidelake.Lake) -> tidelake.Table:
    people = [
        {"id": 1, "who": {"name": "Ann", "home": {"city": "Ulm", "since": datetime(2024, 1, 1)}}},
        {"id": 2, "who": {"name": "Bob", "home": None}},
        {"id": 3, "who": None},
    ]
    lake.append("people", people, create=True)
    return lake["people"]


def test_fields_of_structs(people: tidelake.Table) -> None:
    found = people.scan(columns=["id", "who.name", "WHO.home.city"])
    assert found.to_dicts() == [
        {"id": 1, "who.name": "Ann", "WHO.home.city": "Ulm"},
        {"id": 2, "who.name": "Bob", "WHO.home.city": None},
        {"id": 3, "who.name": None, "WHO.home.city": None},
    ]
    assert found.limit(1).to_dicts() == found.to_dicts()[:1]
    assert found.count() == 3
    assert people.scan(columns=["who.name", "who"], where="id = 1").to_dicts()[0]["who"]["name"]
    assert people.order_by("who.name desc").to_dicts()[0]["id"] == 2
    for condition, ids in (
        (col("who.name") == "Ann", [1]),
        (col("who.NAME").isin(["Ann", "Bob"]), [1, 2]),
        (col("who.home.city").starts_with("U") | (col("id") == 3), [1, 3]),
        (col("who.home").is_null(), [2, 3]),
        (~col("who.name").like("A%"), [2]),
        (col("who.home.since") >= datetime(2024, 1, 1), [1]),
    ):
        assert [row["id"] for row in people.scan(["id"], condition).to_dicts()] == ids
        assert people.scan(where=condition).count() == len(ids)
    assert people.delete(col("who.name") == "Bob").deleted == 1


def test_fields_that_are_not_there(people: tidelake.Table) -> None:
    people.evolve(add={"l": "STRUCT(x INT)[]", '"a.b"': "INT"})
    for wrong in ("who.x", "id.x", "l.x", "nobody.x", "who.", "who.name.x"):
        with pytest.raises((NotFound, Invalid), match=r"no column|not a column"):
            people.scan(columns=[wrong]).to_arrow()
        with pytest.raises((NotFound, Invalid), match=r"no column|not a column"):
            people.scan(where=col(wrong) == 1).to_arrow()
    assert people.scan(columns=["a.b"]).to_arrow().column_names == ["a.b"]
    with pytest.raises(Invalid, match="twice"):
        people.scan(columns=["who.name", "who.name"]).to_arrow()


def test_who_did_it_is_told_of_every_write(lake: tidelake.Lake) -> None:
    lake.set_option("data_inlining_row_limit", 0, author="ann")
    lake["t"].append(ROWS, author="bob", message="more")
    lake["t"].append(ROWS, author="bob", message="more")
    assert lake["t"].compact(author="cid", message="nightly").snapshots
    lake.tag("kept", author="dan")
    lake.untag("kept", author="eve")
    lake.expire(keep_last=1, author="fay")
    lake.cleanup(older_than="0s", author="gus")
    told = {(each.action, each.actor) for each in lake.audit()}
    expected = {
        ("set option", "ann"),
        ("tag", "dan"),
        ("untag", "eve"),
        ("expire", "fay"),
        ("cleanup", "gus"),
    }
    assert told >= expected
    last = lake.log()[-1]
    assert (last.author, last.message) == ("cid", "nightly")


def test_who_did_it_is_told_of_what_else_changes_a_lake(
    lake: tidelake.Lake, tmp_path: Path
) -> None:
    rows = [{"k": "a", "ts": datetime(2024, month, 1)} for month in (1, 2, 3)]
    lake.append("facts", rows, create=True, key="k", event_time="ts")
    lake["facts"].rollup(every="1mo", author="ann", message="monthly")
    assert (lake.log()[-1].author, lake.log()[-1].message) == ("ann", "monthly")
    assert lake["facts"].drop_rollups(policy=True, author="bob")
    assert lake.log()[-1].author == "bob"
    mirror = lake.mirror("t", author="cid", message="for readers of Delta")
    assert "cid" in {each.author for each in lake.log()}
    mirror.stop(author="dan")
    assert lake.log()[-1].author == "dan"
    tidelake.import_delta(lake, mirror.root, "theirs", author="eve", message="once")
    assert (lake.log()[-1].author, lake.log()[-1].message) == ("eve", "once")
    lake.create_tenant("acme", author="fay", message="new").close()
    lake.set_quota("acme", tidelake.Quota(files=9), author="gus")
    lake.set_retention("acme", "30d", author="hal")
    lake.share("t", "acme", author="ivy")
    lake.share("t", author="joe")
    lake.unshare("t", author="kim")
    lake.drop_tenant("acme", author="leo", message="gone")
    assert (lake.log()[-1].author, lake.log()[-1].message) == ("leo", "gone")
    moved = tmp_path / "moved"
    Path(lake.data_path).rename(moved)
    lake.move(moved, author="mia")
    told = {(each.action, each.actor, each.tenant) for each in lake.audit()}
    assert told >= {
        ("create tenant", "fay", "acme"),
        ("set quota", "gus", "acme"),
        ("set retention", "hal", "acme"),
        ("share", "ivy", "acme"),
        ("share", "joe", None),
        ("unshare", "kim", None),
        ("drop tenant", "leo", "acme"),
        ("move", "mia", None),
    }


def test_who_asks_for_as_of_of_a_plain_table_is_told_of_known_at(lake: tidelake.Lake) -> None:
    asked = "SELECT * FROM t FOR VALID_TIME AS OF TIMESTAMP '2024-01-01'"
    for ask in (
        lambda: lake["t"].as_of("2024-01-01"),
        lambda: lake["t"].scan(as_of="2024-01-01"),
        lambda: lake.sql("SELECT * FROM t", as_of="2024-01-01").to_arrow(),
        lambda: lake.sql(asked).to_arrow(),
    ):
        with pytest.raises(Invalid) as refused:
            ask()
        assert "known_at" in str(refused.value.hint)


def test_what_may_be_there_already_or_no_longer(lake: tidelake.Lake) -> None:
    lake.create_schema("a", if_not_exists=True)
    done = lake.create_schema("A", if_not_exists=True)
    assert done.operation == "nothing" or str(done).startswith("nothing to do")
    lake.create_table("a.t", {"x": int})
    lake.create_view("a.v", "FROM a.t")
    before = lake.snapshots()[-1].snapshot_id
    assert lake.drop("a.nope", if_exists=True).snapshot_id == before
    with pytest.raises(NotFound):
        lake.drop("a.nope")
    assert lake.drop_schema("nope", if_exists=True).snapshot_id == before
    with pytest.raises(Invalid):
        lake.drop_schema("a", if_exists=True)
    lake.drop("a.v", if_exists=True)
    lake.drop("a.t", if_exists=True)
    with lake.transaction() as tx:
        tx.create_schema("b", if_not_exists=True)
        tx.create_schema("b", if_not_exists=True)
        tx.create_table("b.t", {"x": int})
        tx.drop("b.t", if_exists=True)
        tx.drop("b.t", if_exists=True)
        tx.drop_schema("b", if_exists=True)
        tx.drop_schema("b", if_exists=True)
    lake.drop_schema("a", if_exists=True)
    assert lake.schemas() == ["main"]
