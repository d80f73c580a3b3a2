"""Parameters of SQL: bound as what they are, whatever they hold; the same on both engines."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

import tidelake
from tests.sql.texts import EVIL
from tidelake.errors import Invalid, TidelakeError

VALUES: list[Any] = [
    True,
    0,
    -5,
    2**40,
    2**70,
    -(2**100),
    1.5,
    -0.1,
    1e300,
    float("inf"),
    Decimal("1.50"),
    Decimal("1E+3"),
    Decimal("-0.001"),
    b"",
    b"\x00\xff'\\",
    date(2024, 2, 29),
    datetime(2024, 3, 15, 14, 30, 0, 123456),
    datetime(1, 1, 1),
    datetime(2024, 3, 15, 14, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    time(1, 2, 3, 4),
    timedelta(days=-1, seconds=3, microseconds=5),
    UUID("12345678-1234-5678-1234-567812345678"),
    None,
    *EVIL,
]


def made(path: Path) -> tidelake.Lake:
    lake = tidelake.connect(f"sqlite:///{path}/c.db", data_path=f"{path}/d/")
    lake.sql("CREATE TABLE t (i INTEGER, s VARCHAR)")
    lake.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tidelake.Lake]:
    with made(tmp_path) as lake:
        yield lake


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tidelake.Lake]:
    with made(tmp_path_factory.mktemp("parameters")) as lake:
        yield lake


def rows(lake: tidelake.Lake, query: str, *more: Any) -> list[tuple[Any, ...]]:
    found = lake.sql(query, *more).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT s FROM t WHERE i = ?", [2]),
        ("SELECT s FROM t WHERE i = ?::INTEGER", ("2",)),
        ("SELECT s FROM t WHERE i = $1", [2]),
        ("SELECT s FROM t WHERE i = $2 AND $1 = 5", [5, 2]),
        ("SELECT s FROM t WHERE i = $n AND i < $n + 1", {"n": 2}),
        ("SELECT s FROM t WHERE i IN (?, ?) AND s <> ?", [2, 3, "three"]),
        ("SELECT s FROM (SELECT * FROM t WHERE i > $order) WHERE i < $b", {"order": 1, "b": 3}),
        ("SELECT s FROM t ORDER BY i LIMIT ? OFFSET ?", [1, 1]),
        ("WITH q AS (SELECT ? AS n) SELECT s FROM t, q WHERE i = q.n", [2]),
        ("SELECT CASE WHEN i = ? THEN ? END FROM t WHERE i = ?", [2, "two", 2]),
        ("SELECT s FROM t WHERE s LIKE ? || '%' AND '?' = ?", ["tw", "?"]),
        ("SELECT ['a', 'two'][1:?][2]", [2]),
        ("SELECT {'a': ?}.a", ["two"]),
    ],
)
def test_each_way_of_writing_them(reading: tidelake.Lake, query: str, given: Any) -> None:
    assert rows(reading, query, given) == [("two",)]


def test_every_value_is_what_duckdb_makes_of_it(reading: tidelake.Lake) -> None:
    query = "SELECT $v AS v, typeof($v) AS k"
    with duckdb.connect() as plain:
        plain.execute("SET TimeZone = 'UTC'")
        for value in VALUES:
            found = reading.sql(query, {"v": value}).to_duckdb().fetchall()
            own = Decimal(format(value, "f")) if isinstance(value, Decimal) else value
            assert found == plain.execute(query, {"v": own}).fetchall()
            assert found[0][0] == value


def test_all_the_ways_out(reading: tidelake.Lake) -> None:
    text = "SELECT i, s, i AS i, $big::HUGEINT AS h FROM t WHERE i < $n ORDER BY 1"
    query = reading.sql(text, {"n": 3, "big": 2**100})
    for _ in range(2):
        assert query.count() == 2
        assert query.to_arrow().column_names == ["i", "s", "i", "h"]
        assert query.to_pandas().iloc[:, 1].tolist() == ["one", "two"]
        assert sum(batch.num_rows for batch in query.to_batches()) == 2
        assert query.to_duckdb().fetchall()[0] == (1, "one", 1, 2**100)
    assert reading.sql("SELECT i FROM t WHERE s = ?", ["one"]).to_polars()["i"].to_list() == [1]
    odd = reading.sql("SELECT TIMETZ '01:02:03+01' AS z, ? AS x", [5]).to_pandas()
    assert odd["x"].tolist() == [5]


def test_parameters_skip_files_too(lake: tidelake.Lake) -> None:
    lake.set_option("data_inlining_row_limit", 0)
    for start in (100, 200):
        lake.sql(f"INSERT INTO t SELECT i, 'x' FROM range({start}, {start + 50}) r(i)")

    def files(query: str, *more: Any) -> int:
        return len(next(iter(lake.sql(query, *more).tables.values())).files)

    assert files("SELECT * FROM t") == 2
    assert files("SELECT * FROM t WHERE i > $n", {"n": 180}) == 1
    assert files("SELECT * FROM t WHERE i BETWEEN ? AND ?", [-5, 120]) == 1
    assert files("SELECT * FROM t WHERE s = ?", ["it's"]) == 0


@pytest.mark.parametrize(
    ("query", "given", "message"),
    [
        ("SELECT ?", None, "0 values for 1 parameters"),
        ("SELECT ?, ?", [1], "1 values for 2 parameters"),
        ("SELECT ?", [1, 2], "2 values for 1 parameters"),
        ("SELECT $2", [1], "1 values for 2 parameters"),
        ("SELECT 1", [1], "1 values for 0 parameters"),
        ("SELECT $a, $b", {"a": 1}, "no value for b"),
        ("SELECT $a", None, "no value for a"),
        ("SELECT $a", {"a": 1, "z": 2}, "no parameter named z"),
        ("SELECT $a", {"z": 2}, "no value for a and no parameter named z"),
        ("SELECT 1", {"z": 2}, "no parameter named z"),
        ("SELECT $a", [1], "parameters have names: a"),
        ("SELECT ?", {"a": 1}, "have no names"),
        ("SELECT ?, $1", [1, 2], "mixes kinds"),
        ("SELECT ?, $a", {"a": 1}, "mixes kinds"),
        ("SELECT $1, $a", [1, 2], "mixes kinds"),
        ("SELECT ?", "x", "neither a list nor a dict"),
        ("SELECT ?", 5, "neither a list nor a dict"),
        ("SELECT ?", {1, 2}, "neither a list nor a dict"),
        ("SELECT ?", [[[1, 2]]], r"parameter 1: \[1, 2\] \(list\)"),
        ("SELECT $x", {"x": object}, "parameter x: "),
        ("SELECT $x", {"x": Decimal("NaN")}, "parameter x: NaN"),
        ("SELECT $x", {"x": "\ud800"}, "parameter x: .* Unicode"),
        ("CREATE VIEW v AS SELECT ?", [1], "CREATE VIEW takes no parameters"),
        ("CREATE VIEW v AS SELECT ?", None, "0 values for 1"),
        ("CREATE TABLE u (i INTEGER)", [1], "CREATE TABLE takes no parameters"),
        ("DROP TABLE t", {"a": 1}, "DROP TABLE takes no parameters"),
        ("SELECT * FROM ?", ["t"], "syntax error at or near"),
        ("SELECT * FROM t FOR VALID_TIME AS OF ?", [5], "names no time"),
        ("SELECT * FROM t VERSION AS OF ?", [None], "names no moment"),
        ("SELECT * FROM t VERSION AS OF ?", [True], "names no moment"),
        ("SELECT * FROM t VERSION AS OF ?", [datetime(2024, 1, 1)], "nor a tag"),
    ],
)
def test_what_does_not_fit_is_named(
    reading: tidelake.Lake, query: str, given: Any, message: str
) -> None:
    with pytest.raises(Invalid, match=message) as caught:
        reading.sql(query, given).to_arrow()
    assert caught.value.hint
    assert reading.tables() == ["main.t"]
    assert reading.views() == []


@pytest.mark.parametrize("text", ["\n".join(EVIL), EVIL[1], EVIL[-1]])
def test_texts_stay_texts_in_every_statement(lake: tidelake.Lake, text: str) -> None:
    lake.sql("INSERT INTO t VALUES (?, ?), (?, upper(?))", [10, text, 11, text])
    assert rows(lake, "SELECT s FROM t WHERE i = 10 AND s = ?", [text]) == [(text,)]
    assert lake.sql("UPDATE t SET s = $s || $s WHERE s = $s AND i = $i", {"s": text, "i": 10}).rows
    assert rows(lake, "SELECT i FROM t WHERE i < 11 AND s = ?", [text * 2]) == [(10,)]
    merge = (
        "MERGE INTO t USING (SELECT 10 AS i, $s AS s UNION ALL SELECT 12, $other) q ON t.i = q.i"
        " WHEN MATCHED AND t.s = $s || $s THEN UPDATE SET s = q.s || $end"
        " WHEN NOT MATCHED THEN INSERT (i, s) VALUES (q.i, q.s || $end)"
    )
    assert lake.sql(merge, {"s": text, "other": "new", "end": text}).rows == 2
    assert rows(lake, "SELECT i FROM t WHERE i < 11 AND s = ?", [text * 2]) == [(10,)]
    assert rows(lake, "SELECT s FROM t WHERE i = ?", [12]) == [("new" + text,)]
    lake.sql("CREATE TABLE u AS SELECT i, ? AS s FROM t WHERE s = ? AND i < 11", [text, text * 2])
    assert rows(lake, "SELECT * FROM u") == [(10, text)]
    assert lake.sql("DELETE FROM t WHERE s = ? AND i = ?", [text * 2, 10]).rows == 1
    assert lake.sql("SELECT * FROM t").count() == 5


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BOOLEAN", True),
        ("HUGEINT", -(2**52)),
        ("UBIGINT", 2**63),
        ("DOUBLE", -0.1),
        ("DOUBLE", float("inf")),
        ("DECIMAL(38, 10)", Decimal("-1234567890.0123456789")),
        ("BLOB", b"\x00\xff'\\"),
        ("DATE", date(2024, 2, 29)),
        ("TIMESTAMP", datetime(2024, 3, 15, 14, 30, 0, 123456)),
        ("TIMESTAMPTZ", datetime(2024, 3, 15, 14, 30, 0, 1, tzinfo=UTC)),
        ("TIME", time(1, 2, 3, 4)),
        ("INTERVAL", timedelta(days=-1, seconds=3, microseconds=5)),
        ("UUID", UUID("12345678-1234-5678-1234-567812345678")),
        ("VARCHAR", None),
    ],
)
def test_every_type_is_written_exactly(lake: tidelake.Lake, kind: str, value: Any) -> None:
    lake.sql(f"CREATE TABLE x (n INTEGER, v {kind})")
    lake.sql("INSERT INTO x VALUES (1, ?), (2, NULL)", [value])
    lake.sql("UPDATE x SET v = $v WHERE n = 2 AND v IS DISTINCT FROM $v", {"v": value})
    both = lake.sql("SELECT v FROM x WHERE v IS NOT DISTINCT FROM $v", {"v": value}).to_duckdb()
    assert both.fetchall() == [(value,), (value,)]
    assert lake.sql("DELETE FROM x WHERE v IS NOT DISTINCT FROM ?", [value]).rows == 2


def test_negative_numbers_do_not_become_comments(lake: tidelake.Lake) -> None:
    assert lake.sql("UPDATE t SET i = i -? WHERE i = -?", [-5, -1]).rows == 1
    assert rows(lake, "SELECT i FROM t WHERE s = 'one'") == [(6,)]
    assert rows(lake, "SELECT -$1, i -$1 FROM t WHERE i = 6", [-2]) == [(2, 8)]


@pytest.mark.parametrize("name", ['t"; DROP TABLE t; --', "t WHERE 1 = 1 --", "'t'", "../t"])
def test_names_of_tables_are_only_names(lake: tidelake.Lake, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    with pytest.raises(TidelakeError):
        lake.sql(f"SELECT * FROM {quoted}")
    lake.sql(f"CREATE TABLE {quoted} AS SELECT ? AS x", [name])
    assert rows(lake, f"SELECT x FROM {quoted} VERSION AS OF ?", [3]) == [(name,)]
    assert lake.table("t").count() == 3


def test_moments_can_be_parameters(lake: tidelake.Lake) -> None:
    lake.sql("DELETE FROM t WHERE i = ?", [1])
    lake.tag("before", 2)
    query = "SELECT count(*) FROM t {} WHERE i < ?"
    when = lake.snapshots()[2].time
    for clause in ("VERSION AS OF ?", "AT (VERSION => ?)", "FOR SYSTEM_TIME AS OF ?"):
        for moment in (2, "2", "before"):
            assert rows(lake, query.format(clause), [moment, 3]) == [(2,)]
    for clause in ("TIMESTAMP AS OF ?", "AT (TIMESTAMP => ?)", "FOR SYSTEM_TIME AS OF ?"):
        for moment in (when, when.isoformat(), when.replace(tzinfo=None)):
            assert rows(lake, query.format(clause), [moment, 3]) == [(2,)]
    later = "SELECT count(*) FROM t TIMESTAMP AS OF $t + INTERVAL 1 HOUR x WHERE x.i < $n"
    assert rows(lake, later, {"t": when, "n": 3}) == [(1,)]


def test_in_a_transaction(lake: tidelake.Lake) -> None:
    with lake.transaction() as tx:
        tx.sql("INSERT INTO t VALUES (?, ?)", [4, "four"])
        assert tx.sql("SELECT s FROM t WHERE i = ?", [4]).count() == 1
    assert rows(lake, "SELECT s FROM t WHERE i = ?", [4]) == [("four",)]


@pytest.mark.parametrize("given", [[1, 3], (3, 1), {1, 3}, range(1, 4, 2), [], [None, 3]])
@pytest.mark.parametrize(
    "condition",
    ["id IN ?", "id NOT IN ?", "id = ANY(?)", "list_contains(?, id)", "len([x FOR x IN ?]) = id"],
)
def test_a_list_means_what_it_means_in_duckdb(
    reading: tidelake.Lake, condition: str, given: Any
) -> None:
    query = f"SELECT id FROM t WHERE {condition} ORDER BY id"
    with duckdb.connect() as duck:
        duck.execute("CREATE TABLE t AS SELECT unnest([1, 2, 3, 4, NULL]) AS id")
        expected = duck.execute(query, [list(given)]).fetchall()
    rows = reading.sql("SELECT unnest([1, 2, 3, 4, NULL]) AS id").to_arrow()
    reading.append("of_lists", rows, create=True)
    found = reading.sql(query.replace("FROM t", "FROM of_lists"), [given]).to_dicts()
    reading.drop("of_lists")
    assert [(row["id"],) for row in found] == expected


def test_lists_stand_beside_other_values(lake: tidelake.Lake) -> None:
    t = lake.create_table("few", "id BIGINT, s VARCHAR")
    t.append([{"id": n, "s": EVIL[n]} for n in range(5)])
    for where, given in {
        "id > ? AND id IN ? AND id < ?": [1, [1, 2, 3, 4], 4],
        "id > $1 AND id IN $2 AND id < $3": [1, [1, 2, 3, 4], 4],
        "id IN $1 AND id > $2 AND id < $3": [[1, 2, 3, 4], 1, 4],
        "id IN $ids AND id > $low AND id < $high": {"ids": [1, 2, 3, 4], "low": 1, "high": 4},
        "s IN $texts AND id IN $ids": {
            "texts": [EVIL[n % len(EVIL)] for n in (2, 3)],
            "ids": [2, 3],
        },
    }.items():
        assert lake.sql(f"SELECT id FROM few WHERE {where}", given).count() == 2, where
    assert lake.sql("UPDATE few SET s = ? WHERE id IN ?", ["x", [0, 1]]).updated == 2
    assert lake.sql("DELETE FROM few WHERE id IN ? AND s = ?", [[0, 1, 2], "x"]).deleted == 2
    for wrong in ([[1], 2], [[[1]]], [[object()]], []):
        with pytest.raises(Invalid):
            lake.sql("SELECT * FROM few WHERE id IN ?", wrong).count()


def test_a_list_after_in_skips_files(lake: tidelake.Lake) -> None:
    t = lake.create_table("apart", "id BIGINT")
    for begin in (0, 100, 200):
        t.append([{"id": begin + n} for n in range(30)])
    (told,) = lake.sql("EXPLAIN SELECT * FROM apart WHERE id IN ?", [[101, 102]]).to_dicts()
    assert (told["files"], told["total_files"]) == (1, 3)
