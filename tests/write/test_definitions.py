"""Schemas, tables and views: declared by us, seen and altered by DuckDB, kept in the past."""

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import tidelake
from tests import cases
from tidelake.errors import Invalid, NotFound
from tidelake.testing.agreement import assert_same_now, past, rows
from tidelake.testing.place import Place

Agree = Callable[[], None]
Duck = duckdb.DuckDBPyConnection
MANY = 50

TYPES = {
    "boolean": "true",
    "int8": "-5",
    "int16": "-5",
    "int32": "-5",
    "int64": "-5",
    "uint8": "5",
    "uint16": "5",
    "uint32": "5",
    "uint64": "18446744073709551615",
    "float32": "1.5",
    "float64": "-0.1",
    "decimal(4,1)": "1.5",
    "decimal(38,10)": "12345678901234567890.0123456789",
    "date": "DATE '2024-02-29'",
    "time": "TIME '12:34:56.789'",
    "timetz": "TIMETZ '12:34:56+00'",
    "timestamp": "TIMESTAMP '2024-02-29 12:00:00.123456'",
    "timestamptz": "TIMESTAMPTZ '2024-02-29 12:00:00.123456+05'",
    "timestamp_s": "TIMESTAMP_S '2024-02-29 12:00:00'",
    "timestamp_ms": "TIMESTAMP_MS '2024-02-29 12:00:00.123'",
    "timestamp_ns": "TIMESTAMP_NS '2024-02-29 12:00:00.123456789'",
    "interval": "INTERVAL '1 month 2 days 3 seconds'",
    "varchar": "'it''s é'",
    "json": """'{"a": 1}'""",
    "blob": "BLOB '\\x00\\xFF'",
    "uuid": "UUID '6f1c2c1e-0000-4000-8000-000000000001'",
    "STRUCT(a INTEGER, b VARCHAR[])": "{'a': 1, 'b': ['x', NULL]}",
    "INTEGER[]": "[1, NULL]",
    "MAP(VARCHAR, DOUBLE)": "MAP {'k': 1.5}",
}


@pytest.fixture
def every(lake: tidelake.Lake) -> tidelake.Table:
    return lake.create_table("every", {f"c{n}": kind for n, kind in enumerate(TYPES)})


def test_every_type_is_declared_as_duckdb_declares_it(
    lake: tidelake.Lake, every: tidelake.Table, duck: Duck, agree: Agree
) -> None:
    kinds = ", ".join(f"c{n} {c.duckdb_type}" for n, c in enumerate(every.schema))
    duck.execute(f"CREATE TABLE theirs ({kinds})")
    described = [duck.execute(f"DESCRIBE {name}").fetchall() for name in ("every", "theirs")]
    assert described[0] == described[1]
    values = ", ".join(TYPES.values())
    duck.execute(f"INSERT INTO every VALUES ({values})")
    duck.execute(f"INSERT INTO every SELECT {values} FROM range({MANY})")
    every.update({f"c{n}": value for n, value in enumerate(TYPES.values())}, where="c4 = -5")
    pairs = zip(every.schema, TYPES.values(), strict=True)
    same = [f"{c.name} IS NOT DISTINCT FROM CAST({v} AS {c.duckdb_type})" for c, v in pairs]
    counted = duck.execute(f"SELECT count(*) FROM every WHERE {' AND '.join(same)}")
    assert counted.fetchall() == [(MANY + 1,)]
    agree()


def test_declarations_are_there_for_duckdb(lake: tidelake.Lake, duck: Duck, agree: Agree) -> None:
    lake.create_schema("s")
    t = lake.create_table(
        "s.t",
        "id BIGINT NOT NULL COMMENT 'who', v VARCHAR DEFAULT 'it''s', n INTEGER DEFAULT 1 + 2,"
        " ts TIMESTAMP",
        comment="what it's for",
        partition_by=["day(ts)", "bucket(4, id)"],
        sort_by=["v DESC NULLS FIRST", "id"],
    )
    duck.execute("INSERT INTO s.t (id, ts) VALUES (1, '2024-01-05')")
    duck.execute(f"INSERT INTO s.t (id, ts) SELECT range, '2024-02-05' FROM range({MANY})")
    t.append([{"id": 2, "ts": None}])
    t.append(pa.table({"id": range(MANY)}))
    assert {(r["v"], r["n"]) for r in rows(t)} == {("it's", 3)}
    with pytest.raises(duckdb.ConstraintException):
        duck.execute("INSERT INTO s.t (v) VALUES ('x')")
    comments = duck.execute(
        "SELECT comment FROM duckdb_tables() WHERE table_name = 't' UNION ALL"
        " SELECT comment FROM duckdb_columns() WHERE table_name = 't' AND comment IS NOT NULL"
    ).fetchall()
    assert comments == [("what it's for",), ("who",)]
    t.set_comment(None)
    t.evolve(comment={"id": None, "v": "new"})
    assert lake.known_at(2).table("s.t").comment == "what it's for"
    comments = duck.execute(
        "SELECT comment FROM duckdb_tables() WHERE table_name = 't' UNION ALL"
        " SELECT comment FROM duckdb_columns() WHERE table_name = 't' AND comment IS NOT NULL"
    ).fetchall()
    assert comments == [(None,), ("new",)]
    agree()


SETTINGS: dict[str, Any] = {
    "key": ["id"],
    "event_time": "ts",
    "tombstone": "gone",
    "entity": ["id"],
    "bucket": "1m",
    "overlap": "skip",
}


def test_settings_follow_columns_that_duckdb_renames(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    t = lake.create_table("t", "v VARCHAR, id BIGINT, ts TIMESTAMP, gone BOOLEAN", **SETTINGS)
    assert t.tags == {
        "tidelake.key": "[2]",
        "tidelake.event_time": "3",
        "tidelake.tombstone": "4",
        "tidelake.entity": "[2]",
        "tidelake.bucket": "1m",
        "tidelake.overlap": "skip",
    }
    assert [c.name for c in t.schema if not c.nullable] == ["id", "ts"]
    tags = t.tags
    duck.execute("ALTER TABLE t RENAME id TO who")
    duck.execute("ALTER TABLE t RENAME TO u")
    t = lake.table("u")
    assert t.tags == tags
    t.evolve(rename={"ts": "happened"}, add={"more": "int32"})
    assert t.tags == tags
    row = {"who": 1, "happened": "2024-01-01 00:00:00", "v": "a"}
    t.append([row])
    t.merge([{**row, "v": "b"}])
    assert [r["v"] for r in rows(t)] == ["b"]
    with place.refuses(Invalid, "event time needs it"):
        t.evolve(drop="who")
    with place.refuses(Invalid):
        t.append([{"v": "no key"}])
    agree()


@pytest.mark.slow
def test_renaming_dropping_and_starting_again(
    lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    lake.create_schema("s")
    t = lake.create_table("t", "id BIGINT")
    t.append([{"id": 1}])
    t.append(pa.table({"id": range(MANY)}))
    lake.rename("t", "T2")
    lake.rename("t2", "s.t3")
    with pytest.raises(NotFound):
        t.count()
    lake.table("s.t3").append([{"id": 2}])
    assert lake.table("s.t3").count() == MANY + 2
    duck.execute("INSERT INTO s.t3 SELECT 7")
    lake.create_table("t", "other VARCHAR").append([{"other": "x"}])
    before = past(lake)
    with lake.transaction() as tx:
        tx.drop("t")
        again = tx.create_table("t", "id DOUBLE")
        again.append([{"id": 1.5}])
        assert rows(again) == [{"id": 1.5}]
        tx.drop("s.t3")
        tx.create_table("s.t3", "n INT").append(pa.table({"n": range(MANY)}))
        tx.rename("s.t3", "s.t4")
    assert rows(lake.table("t")) == [{"id": 1.5}]
    assert lake.tables() == ["main.t", "s.t4"]
    lake.drop_schema("s", cascade=True)
    lake.table("t").drop()
    assert (lake.tables(), lake.schemas()) == ([], ["main"])
    after = past(lake)
    assert {at: after[at] for at in before} == before
    agree()


def test_dropping_a_schema_with_something_in_it(place: Place, lake: tidelake.Lake) -> None:
    lake.create_schema("s")
    lake.create_table("s.t", "id BIGINT")
    lake.create_view("s.v", "SELECT id FROM s.t")
    with place.refuses(Invalid, "s.t"):
        lake.drop_schema("s")
    lake.drop_schema("S", cascade=True)
    assert (lake.tables(), lake.views(), lake.schemas()) == ([], [], ["main"])
    with lake.transaction() as tx:
        tx.create_schema("s")
        tx.create_table("s.t", "id BIGINT").append([{"id": 5}])
        tx.create_view("s.v", "SELECT id + 1 AS id FROM s.t")
        assert rows(tx.sql("SELECT id FROM s.v")) == [{"id": 6}]
    with lake.transaction() as tx:
        tx.drop_schema("s", cascade=True)
        tx.create_schema("s")
        tx.create_table("s.t", "n VARCHAR").append([{"n": "again"}])
    assert rows(lake.table("s.t")) == [{"n": "again"}]
    assert lake.views() == []


def test_views(place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree) -> None:
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append([{"id": n, "v": "x"} for n in range(5)])
    lake.create_view("w", "SELECT id, v FROM t WHERE id > 2")
    lake.create_view("named", "SELECT id, v FROM w", columns=["a", "b c"])
    first = rows(lake.sql('SELECT a, "b c" FROM named'))
    assert first == [{"a": 3, "b c": "x"}, {"a": 4, "b c": "x"}]
    assert duck.execute("FROM named ORDER BY a").fetchall() == [(3, "x"), (4, "x")]
    with place.refuses(Invalid, "already"):
        lake.create_view("w", "SELECT 1 AS a")
    created = lake.snapshots()[-1].snapshot_id
    lake.create_view("w", "SELECT id, 'new' AS v FROM t WHERE id = 0", replace=True)
    assert rows(lake.sql("SELECT * FROM w")) == [{"id": 0, "v": "new"}]
    assert duck.execute("FROM w").fetchall() == [(0, "new")]
    assert rows(lake.known_at(created).sql("SELECT count(*) AS n FROM w")) == [{"n": 2}]
    with place.refuses(NotFound):
        lake.create_view("broken", "SELECT * FROM nowhere")
    with place.refuses(Invalid):
        lake.create_view("broken", "DROP TABLE t")
    for circle in ("SELECT * FROM w", 'SELECT a AS id, "b c" AS v FROM named'):
        with place.refuses(Invalid, "main.w"):
            lake.create_view("w", circle, replace=True)
    duck.execute("CREATE VIEW theirs AS SELECT max(id) AS m FROM t")
    assert rows(lake.sql("SELECT m FROM theirs")) == [{"m": 4}]
    lake.drop("named")
    lake.drop("theirs")
    assert lake.views() == ["main.w"]
    assert duck.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == [
        ("w",)
    ]
    agree()


@pytest.fixture
def nested(lake: tidelake.Lake) -> tidelake.Table:
    """Rows in the catalog and in a file."""
    t = lake.create_table(
        "t",
        "id BIGINT NOT NULL, n INTEGER, f FLOAT, s STRUCT(a INTEGER, b VARCHAR),"
        " l STRUCT(x SMALLINT)[], m MAP(VARCHAR, STRUCT(y INTEGER)), gone VARCHAR",
    )
    row = {"n": 1, "f": 0.5, "s": {"a": 1, "b": "b"}, "l": [{"x": 1}, None], "gone": "g"}
    t.append([{"id": 0, **row, "m": {"k": {"y": 1}}}])
    t.append([{"id": n, **row, "m": {"k": {"y": n}}} for n in range(1, MANY)])
    t.append([{"id": MANY}])
    return t


EVOLUTIONS: dict[str, dict[str, Any]] = {
    "add": {"add": {"x": "INTEGER"}},
    "add with a default": {"add": {"x": "VARCHAR DEFAULT 'it''s'", "y": "DOUBLE DEFAULT 1.5"}},
    "add required": {"add": {"x": "INTEGER NOT NULL DEFAULT 5"}},
    "add a struct": {"add": {"x": "STRUCT(a INTEGER, b VARCHAR[])"}},
    "drop": {"drop": ["gone", "m"]},
    "rename": {"rename": {"n": "N", "gone": "still here"}},
    "swap": {"rename": {"n": "f", "f": "n"}},
    "replace": {"drop": "gone", "add": {"gone": "BIGINT"}},
    "widen": {"widen": {"n": "BIGINT", "f": "DOUBLE"}},
    "allow nulls": {"nullable": {"id": True}},
    "forbid nulls": {"nullable": {"id": False}},
    "default": {"default": {"n": 7, "gone": "it's"}},
    "order": {"order": ["gone", "id"]},
    "add inside": {"add": {"s.c": "DOUBLE", "l.element.z": "VARCHAR", "m.value.w": "DATE"}},
    "drop inside": {"drop": ["s.b"]},
    "rename inside": {"rename": {"s.a": "A2", "l.element.x": "xx", "m.value.y": "yy"}},
    "widen inside": {"widen": {"s.a": "BIGINT", "l.element.x": "INTEGER", "m.value.y": "BIGINT"}},
    "all at once": {
        "rename": {"gone": "kept"},
        "drop": ["s.b"],
        "widen": {"n": "BIGINT"},
        "add": {"gone": "DATE", "s.b": "DOUBLE"},
        "comment": {"n": "wider"},
        "order": ["n"],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("changes", cases.every(3, EVOLUTIONS.values(), EVOLUTIONS))
def test_columns_evolve_over_rows_in_files_and_catalog(
    lake: tidelake.Lake, nested: tidelake.Table, duck: Duck, agree: Agree, changes: dict[str, Any]
) -> None:
    before = past(lake)
    nested.evolve(**changes)
    _go_on(nested, duck)
    after = past(lake)
    assert {at: after[at] for at in before} == before
    if len(changes) > 2:
        agree()
    else:
        assert_same_now(lake, duck)


def test_a_default_that_is_empty(lake: tidelake.Lake, duck: Duck, agree: Agree) -> None:
    t = lake.create_table("t", "id BIGINT, x VARCHAR DEFAULT ''")
    t.append([{"id": 1}])
    t.append([{"id": n} for n in range(2, 2 + MANY)])
    t.append(pa.table({"id": [100]}))
    lake.sql("INSERT INTO t (id) VALUES (101)")
    duck.execute("INSERT INTO t (id) VALUES (102)")
    assert set(t.to_arrow()["x"].to_pylist()) == {""}
    agree()


def _go_on(t: tidelake.Table, duck: Duck) -> None:
    """Writes by both to a table whose columns have changed."""
    t.append([{"id": 100}])
    t.append([{"id": n} for n in range(101, 101 + MANY)])
    duck.execute("INSERT INTO t (id) VALUES (200)")
    duck.execute(f"INSERT INTO t (id) SELECT 201 + range FROM range({MANY})")
    t.update({"id": "id + 1000"}, where="id IN (0, 5, 50, 100, 105, 200, 205)")
    duck.execute("DELETE FROM t WHERE id IN (1, 1050, 101, 1200, 201)")
    duck.execute("UPDATE t SET id = id + 1 WHERE id = 1100")
    t.merge([{"id": 2}, {"id": 1101}, {"id": 3000}], on="id")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_columns_evolve_on_postgresql(
    lake: tidelake.Lake, nested: tidelake.Table, duck: Duck, agree: Agree
) -> None:
    nested.evolve(**EVOLUTIONS["all at once"])
    _go_on(nested, duck)
    agree()


@pytest.mark.slow
def test_columns_evolve_together_with_rows(
    lake: tidelake.Lake, nested: tidelake.Table, duck: Duck, agree: Agree
) -> None:
    before = past(lake)
    with lake.transaction() as tx:
        t = tx.table("t")
        t.append([{"id": 300, "gone": "in the old columns"}])
        t.append(pa.table({"id": range(301, 301 + MANY)}))
        t.evolve(rename={"gone": "kept"}, add={"x": "INTEGER DEFAULT 3"}, drop="f")
        t.append([{"id": 400, "kept": "in the new ones", "x": 4}])
        t.update({"x": "x + 1"}, where="id >= 300")
        t.evolve(widen={"x": "BIGINT"}, add={"s.c": "VARCHAR"})
        t.append([{"id": 500, "x": 2**40, "s": {"a": 1, "c": "c"}}])
        t.delete("id = 301")
        seen = rows(t, "id")
    assert rows(lake.table("t"), "id") == seen
    assert {r["x"] for r in seen} == {3, 4, 5, 2**40}
    assert [r["kept"] for r in seen if r["id"] in (300, 400)] == [
        "in the old columns",
        "in the new ones",
    ]
    _go_on(lake.table("t"), duck)
    after = past(lake)
    assert {at: after[at] for at in before} == before
    agree()


@pytest.mark.slow
def test_duckdb_alters_what_we_made_and_we_go_on(
    lake: tidelake.Lake, nested: tidelake.Table, duck: Duck, agree: Agree
) -> None:
    for statement in (
        "ALTER TABLE t ADD COLUMN x INTEGER DEFAULT 9",
        "ALTER TABLE t RENAME gone TO kept",
        "ALTER TABLE t ALTER n TYPE BIGINT",
        "ALTER TABLE t DROP COLUMN f",
        "ALTER TABLE t ADD COLUMN s.c VARCHAR",
        "ALTER TABLE t RENAME s.a TO aa",
        "ALTER TABLE t DROP COLUMN s.b",
        "ALTER TABLE t ALTER id DROP NOT NULL",
        "ALTER TABLE t ALTER kept SET DEFAULT 'theirs'",
        "COMMENT ON TABLE t IS 'theirs'",
        "COMMENT ON COLUMN t.n IS 'theirs'",
    ):
        duck.execute(statement)
    t = lake.table("t")
    assert (t.comment, t.schema.column("n").comment) == ("theirs", "theirs")
    t.append([{"id": None, "s": {"aa": 5, "c": "c"}}])
    assert [(r["x"], r["kept"]) for r in rows(t) if r["id"] is None] == [(9, "theirs")]
    t.delete("id IS NULL")
    t.evolve(nullable={"id": False})
    _go_on(t, duck)
    agree()


def test_what_would_lose_something_is_refused(place: Place, nested: tidelake.Table) -> None:
    nested.set_partitioning("n")
    nested.set_sorting("f")
    for changes, why in (
        ({"drop": "n"}, "partitioning"),
        ({"drop": "f"}, "sort order"),
        ({"nullable": {"gone": False}}, "nulls"),
        ({"widen": {"n": "SMALLINT"}}, "n"),
        ({"widen": {"f": "INTEGER"}}, "f"),
        ({"widen": {"s": "VARCHAR"}}, "s"),
    ):
        with place.refuses(Invalid, why):
            nested.evolve(**changes)


@pytest.mark.slow
def test_partitioning_and_sorting_from_now_on(
    lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    t = lake.create_table("t", "id BIGINT, p VARCHAR, ts TIMESTAMP")
    more = pa.table({"id": range(20), "p": ["a", "b"] * 10})
    t.append(more)
    t.set_partitioning(["p"])
    t.append(more)
    duck.execute("INSERT INTO t SELECT range, ['a', 'b'][range % 2 + 1], NULL FROM range(20)")
    t.set_sorting(["id DESC"])
    t.set_partitioning(["year(ts)", "p"])
    t.append(more)
    duck.execute(
        "INSERT INTO t SELECT range, ['a', 'b'][range % 2 + 1], TIMESTAMP '2024-01-01'"
        " FROM range(20)"
    )
    assert len(t.files()) == 9
    assert [len(f.partition_values) for f in t.files()] == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    for where in ("p = 'a'", "p = 'a' AND ts >= TIMESTAMP '2024-01-01'", "ts IS NULL"):
        sql = f"SELECT count(*) FROM t WHERE {where}"
        assert duck.execute(sql).fetchall()[0] == (t.scan(where=where).count(),)
    t.set_partitioning([])
    t.set_sorting([])
    t.append(more)
    duck.execute("INSERT INTO t SELECT range, 'c', NULL FROM range(20)")
    t.delete("id < 5")
    t.update({"p": "'z'"}, where="p = 'c'")
    assert t.count() == 15 * 7
    agree()


def test_buckets_are_refused_where_duckdb_would_not_find_old_rows(
    place: Place, lake: tidelake.Lake, duck: Duck, agree: Agree
) -> None:
    t = lake.create_table("t", "id BIGINT")
    t.set_partitioning("bucket(4, id)")
    t.append(pa.table({"id": range(MANY)}))
    assert duck.execute("SELECT count(*) FROM t WHERE id = 7").fetchall() == [(1,)]
    t.set_partitioning([])
    with place.refuses(Invalid, "bucket"):
        t.set_partitioning("bucket(8, id)")
    agree()


def test_compatible_schemas_are_those_that_evolve(lake: tidelake.Lake) -> None:
    old = lake.create_table("t", "id BIGINT NOT NULL, n INTEGER, v VARCHAR").schema
    t = lake.table("t")
    t.append([{"id": 1, "n": 1, "v": "x"}])
    t.evolve(widen={"n": "BIGINT"}, add={"x": "DOUBLE"})
    verdict = tidelake.is_compatible(old, t.schema)
    assert verdict
    assert t.append(lake.known_at(1).table("t").to_arrow()).rows == 0
    assert tidelake.is_compatible(old, "id BIGINT NOT NULL, n SMALLINT, v VARCHAR").reasons
    assert not tidelake.is_compatible(old, "id BIGINT NOT NULL, n SMALLINT, v VARCHAR")
    assert not tidelake.is_compatible(t.schema, old, mode="full")
    with pytest.raises(Invalid):
        tidelake.is_compatible(old, t.schema, mode="sideways")


def test_ids_of_columns_that_never_were(lake: tidelake.Lake, agree: Callable[[], None]) -> None:
    """A column that comes and goes in one transaction leaves nothing that the next could find."""
    with lake.transaction() as tx:
        t = tx.create_table("t", "a BIGINT, b BIGINT")
        t.append([{"a": n, "b": n * 100} for n in range(30)])
        t.evolve(drop=["b"])
    t = lake.table("t")
    t.evolve(add={"c": "int64"})
    assert t.to_arrow()["c"].null_count == 30
    with lake.transaction() as tx:
        t = tx.table("t")
        t.evolve(add={"s": "STRUCT(x INTEGER, y INTEGER)"})
        t.append([{"a": n, "s": {"x": 5, "y": 6}} for n in range(30)])
        t.append([{"a": 99, "s": {"x": 5, "y": 6}}])
        t.evolve(drop=["s.y"])
    t = lake.table("t")
    t.evolve(add={"s.z": "int32"})
    assert [row["s"] for row in t.to_arrow().to_pylist() if row["s"]] == [{"x": 5, "z": None}] * 31
    assert lake.verify(deep=True).ok
    agree()


def test_columns_reordered_before_they_are_there(
    lake: tidelake.Lake, agree: Callable[[], None]
) -> None:
    with lake.transaction() as tx:
        t = tx.create_table("t", "a BIGINT, b VARCHAR, s STRUCT(x INTEGER, y INTEGER)")
        t.evolve(order=["s", "b", "a"])
        t.append([{"a": 1, "b": "x", "s": None}])
    assert lake.table("t").schema.names == ["s", "b", "a"]
    assert rows(lake.table("t")) == [{"s": None, "b": "x", "a": 1}]
    agree()


def test_a_column_that_files_lack_has_its_type_inside_a_transaction(lake: tidelake.Lake) -> None:
    """DuckDB takes NULL, joined to bytes, for a number."""
    t = lake.create_table("t", "k BIGINT, s STRUCT(a INTEGER)")
    t.append([{"k": n, "s": {"a": n}} for n in range(40)])
    with lake.transaction() as tx:
        inside = tx.table("t")
        inside.evolve(add={"b": "BLOB"})
        found = inside.to_arrow()
    assert found.schema == t.to_arrow().schema
    assert found["b"].type == "binary"
    assert found["b"].null_count == 40
