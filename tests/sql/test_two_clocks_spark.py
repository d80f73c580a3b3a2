"""Moments, parameters and views in SQL on Spark: the answers of the local engine."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tidelake
from tests.sql.texts import EVIL
from tests.sql.two_clocks import Facts, day, pairs, periods, state
from tidelake.errors import Invalid, TidelakeError, Unsupported

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, spark: object) -> Iterator[Facts]:
    path = tmp_path_factory.mktemp("clocks_spark")
    local = Facts(path)
    local.fill()
    for name, sql in VIEWS.items():
        local.lake.create_view(name, sql)
    on_spark = Facts(path, engine="spark", spark=spark)
    on_spark.snapshots = local.snapshots
    yield on_spark
    on_spark.lake.close()
    local.lake.close()


VIEWS = {
    "counted": "SELECT id, count(*) AS n, max(v) FILTER (WHERE v > 3) AS m FROM facts GROUP BY ALL",
    "ranked": "SELECT id, v FROM facts QUALIFY row_number() OVER (PARTITION BY id ORDER BY v) = 1",
    "shaped": "SELECT id || '!' AS id, v / 2 AS half, coalesce(v, -1) AS c, strftime(ts, '%Y-%m')"
    " AS d, ts::DATE AS day FROM facts WHERE id ILIKE 'A%' OR ts >= TIMESTAMP '2024-01-05'",
    "picked": "SELECT * EXCLUDE (gone) FROM facts AT (VERSION => 4) ORDER BY v NULLS FIRST LIMIT 3",
    "renamed": "SELECT x.a, x.b FROM (VALUES (1, 'p'), (2, 'q\\\\')) x(a, b)",
}  # fmt: skip
CLAUSES = [
    "FOR VALID_TIME AS OF '2024-01-03 12:00:00' VERSION AS OF {}",
    "VERSION AS OF {} FOR VALID_TIME AS OF TIMESTAMP '2024-01-03 12:00:00' AS x",
    "AS x FOR VALID_TIME AS OF timestamp '2024-01-03 12:00:00' AT (VERSION => {})",
    "x FOR SYSTEM_VERSION AS OF {} FOR VALID_TIME AS OF CAST('2024-01-03 12:00' AS TIMESTAMP)",
    "FOR SYSTEM_TIME AS OF 'second' x for valid_time as of DATE '2024-01-03' + INTERVAL 12 HOUR",
    "FOR VALID_TIME AS OF '2024-01-03 12:00:00' /* FOR */ VERSION AS OF {}",
]


@pytest.mark.parametrize("clause", CLAUSES)
def test_spellings(place: Facts, clause: str) -> None:
    own = clause.format(place.snapshots[2])
    assert place.rows(f"SELECT id, v FROM facts {own} WHERE v > 1") == pairs(state(day(2.5), 2))


@pytest.mark.slow
def test_two_moments_in_one_query(place: Facts) -> None:
    query = (
        "WITH facts AS (SELECT * FROM facts FOR VALID_TIME AS OF $early)"
        " SELECT a.id, a.v, b.v FROM facts a LEFT JOIN main.facts FOR VALID_TIME AS OF $late"
        " VERSION AS OF $n b ON a.id = b.id WHERE a.v < $most"
        " AND EXISTS (SELECT 1 FROM plain p WHERE p.id = a.id AND p.name <> $other)"
    )
    given = {
        "early": day(2.5),
        "late": "2024-01-05",
        "n": place.snapshots[1],
        "most": 25,
        "other": "}'",
    }
    assert place.rows(query, given) == [("a", 20, 4)]
    assert place.rows("SELECT id, v FROM facts WHERE v = 4", as_of=day(4)) == []
    assert place.rows("SELECT id, v FROM facts", as_of=day(4)) == pairs(state(day(4), 3))
    assert place.rows("SELECT count(*) FROM facts", known_at="second") == [(6,)]
    with pytest.raises(Invalid, match=r"main\.plain has no key"):
        place.lake.sql("SELECT * FROM plain FOR VALID_TIME AS OF '2024-01-01'")
    with pytest.raises(Unsupported, match="CONTAINED"):
        place.lake.sql("SELECT * FROM facts FOR SYSTEM_TIME CONTAINED IN ('2024', '2025')")


def test_a_range_of_valid_time(place: Facts) -> None:
    query = "SELECT id, v, valid_from, valid_to FROM facts FOR VALID_TIME FROM $a TO $b AS f"
    found = place.rows(query, {"a": day(2), "b": day(4)})
    assert found == periods(day(2), day(4), 3)


VALUES: list[tuple[Any, str]] = [
    (5, "INTEGER"),
    (-(2**40), "BIGINT"),
    (2**70, "HUGEINT"),
    (1.5, "DOUBLE"),
    (True, "BOOLEAN"),
    (None, '"NULL"'),
    (Decimal("1.50"), "DECIMAL(3,2)"),
    (Decimal("1E+3"), "DECIMAL(4,0)"),
    (b"\x00\xff", "BLOB"),
    (date(2024, 2, 29), "DATE"),
    (time(1, 2, 3, 4), "TIME"),
    (datetime(2024, 3, 31, 2, 30, 0, 123456), "TIMESTAMP"),
    (
        datetime(2024, 3, 15, 14, 30, tzinfo=timezone(timedelta(hours=5))),
        "TIMESTAMP WITH TIME ZONE",
    ),
    *((text, "VARCHAR") for text in EVIL),
]


def check_values(lake: tidelake.Lake) -> None:
    names = [f"$v{n} AS v{n}, typeof($v{n}) AS k{n}" for n in range(len(VALUES))]
    given = {f"v{n}": value for n, (value, _) in enumerate(VALUES)}
    (found,) = lake.sql(f"SELECT {', '.join(names)}", given).to_arrow().to_pylist()
    for n, (value, kind) in enumerate(VALUES):
        assert (found[f"v{n}"], found[f"k{n}"]) == (value, kind)
    (row,) = lake.sql("SELECT ? AS a, ? + ? AS b, '?' AS c", ["x", 1, 2]).to_arrow().to_pylist()
    assert row == {"a": "x", "b": 3, "c": "?"}
    assert lake.sql("SELECT 1 FROM facts WHERE id = ? LIMIT ?", ["a", 1]).count() == 1


def test_every_value(place: Facts) -> None:
    check_values(place.lake)
    with pytest.raises(Invalid, match="no value for b"):
        place.lake.sql("SELECT $a, $b", {"a": 1})
    with pytest.raises(Invalid):
        place.lake.sql("SELECT :a", {"a": 1})
    with pytest.raises(Unsupported, match="no Spark type holds"):
        place.lake.sql("SELECT $a AS a FROM facts", {"a": timedelta(1)}).count()
    with pytest.raises(Invalid, match="mixes kinds"):
        place.lake.sql("SELECT ?, $a", [1, 2])


@pytest.mark.slow
def test_times_are_utc_whatever_the_zone_of_the_session(place: Facts, spark: Any) -> None:
    zone = "spark.sql.session.timeZone"
    spark.conf.set(zone, "Asia/Kolkata")
    try:
        for clause in CLAUSES:
            own = clause.format(place.snapshots[2])
            found = place.rows(f"SELECT id, v FROM facts {own}")
            assert found == pairs(state(day(2.5), 2))
        query = "SELECT id FROM facts FOR VALID_TIME AS OF $t WHERE ts = $ts"
        assert place.rows(query, {"t": day(2.5), "ts": day(2)}) == [("a",)]
        (row,) = place.rows("SELECT CAST(? AS VARCHAR), CAST(? AS DATE)", [day(2.5), day(2.9)])
        assert row == ("2024-01-03 12:00:00", date(2024, 1, 3))
    finally:
        spark.conf.set(zone, "UTC")


def test_on_connect_too(place: Facts, spark_connect: object) -> None:
    lake = tidelake.connect(
        place.lake.url, data_path=place.lake.data_path, engine="spark", spark=spark_connect
    )
    with lake:
        check_values(lake)
        query = "SELECT id, v FROM facts FOR VALID_TIME AS OF $t VERSION AS OF $n WHERE v > $low"
        found = lake.sql(query, {"t": day(2.5), "n": place.snapshots[2], "low": 2}).to_arrow()
        assert found.to_pylist() == [{"id": "a", "v": 20}]
        assert lake.sql("SELECT * FROM counted").count() == 3


@pytest.mark.slow
def test_views_give_what_they_give_locally(place: Facts) -> None:
    then = "FOR VALID_TIME AS OF '2024-01-05' AS q"
    sources = ["fixed", "nested", *VIEWS, f"seen {then}", f"counted {then}"]
    with tidelake.connect(place.lake.url, data_path=place.lake.data_path) as local:
        for source in sources:
            expected = local.sql(f"SELECT * FROM {source}").to_arrow()
            found = place.lake.sql(f"SELECT * FROM {source}").to_arrow()
            assert found.column_names == expected.column_names
            rows = [sorted(map(repr, table.to_pylist())) for table in (found, expected)]
            assert rows[0] == rows[1], source


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT to_days(v) AS v FROM facts", "no Spark type holds"),
        ("SELECT * FROM facts POSITIONAL JOIN plain", "POSITIONAL JOIN is not supported on Spark"),
        ("SELECT * FROM facts, LATERAL (SELECT facts.v + 1 AS w)", "on Spark"),
        ("SELECT (SELECT max(name) FROM plain p WHERE p.id > f.id) AS n FROM facts f", "on Spark"),
        ("SELECT * FROM facts USING SAMPLE 3", "a sample is not supported on Spark"),
    ],
)
def test_what_cannot_be_the_same_is_refused(place: Facts, sql: str, message: str) -> None:
    with pytest.raises(TidelakeError, match=message) as caught:
        place.lake.sql(sql).to_arrow()
    assert caught.value.hint


@pytest.mark.slow
def test_writes(tmp_path: Path, spark: object) -> None:
    place = Facts(tmp_path, engine="spark", spark=spark)
    place.fill()
    lake, text = place.lake, " ".join(EVIL)
    lake.sql("INSERT INTO plain VALUES (?, ?)", ["x", text])
    assert place.rows("SELECT name FROM plain WHERE name = ?", [text]) == [(text,)]
    update = "UPDATE plain SET name = concat($n, $n) WHERE name = $n AND id = $id"
    assert lake.sql(update, {"n": text, "id": "x"}).rows == 1
    assert place.rows("SELECT id FROM plain WHERE name = ?", [text * 2]) == [("x",)]
    lake.sql(
        "MERGE INTO plain USING (SELECT id, $n AS name FROM facts WHERE v > $low) s"
        " ON plain.id = s.id WHEN MATCHED AND plain.name <> $n THEN UPDATE SET name = s.name",
        {"n": text, "low": 10},
        as_of=day(2.5),
    )
    assert place.rows("SELECT id FROM plain WHERE name = ?", [text]) == [("a",), ("b",)]
    assert lake.sql("DELETE FROM plain WHERE name = ? OR id = ?", [text * 2, "c"]).rows == 2
    lake.sql(
        "CREATE TABLE kept AS SELECT id, v, $t AS t FROM facts FOR VALID_TIME AS OF $t"
        " VERSION AS OF $n",
        {"t": day(2.5), "n": place.snapshots[2]},
    )
    assert place.rows("SELECT id, v FROM kept WHERE t = $t", {"t": day(2.5)}) == pairs(
        state(day(2.5), 2)
    )
    lake.close()


@pytest.mark.slow
def test_what_duckdb_tells_of_tables(place: Facts) -> None:
    """DESCRIBE, SUMMARIZE and SHOW TABLES give what they give locally."""
    valid = "FOR VALID_TIME AS OF TIMESTAMP '2024-01-04'"
    with tidelake.connect(place.lake.url, data_path=place.lake.data_path) as local:
        for statement in (
            "DESCRIBE facts",
            f"DESCRIBE facts {valid}",
            "DESCRIBE facts FOR SYSTEM_TIME ALL",
            "SELECT column_name FROM (DESCRIBE facts) WHERE \"null\" = 'NO'",
            f"DESCRIBE SELECT id, v AS w FROM facts {valid}",
            "SUMMARIZE facts",
            f"SUMMARIZE SELECT id, v FROM facts {valid}",
            "SUMMARIZE SELECT * FROM plain WHERE id = 'nobody'",
            "SHOW TABLES",
            "SHOW ALL TABLES",
        ):
            here = local.sql(statement).to_arrow()
            there = place.lake.sql(statement).to_arrow()
            assert there.to_pylist() == here.to_pylist(), statement
        assert place.lake.sql("DESCRIBE facts").to_spark().count() == 4
