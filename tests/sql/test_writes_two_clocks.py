"""SQL that writes: what it reads can be asked for moments, and facts go through the same door."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.sql.two_clocks import Facts, day, pairs, state
from tidelake.errors import Invalid, TidelakeError, Unsupported

THEN = "FOR VALID_TIME AS OF TIMESTAMP '2024-01-03 12:00:00'"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Facts]:
    made = Facts(tmp_path)
    made.fill()
    yield made
    made.lake.close()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    made = Facts(tmp_path_factory.mktemp("untouched"))
    made.fill()
    yield made
    made.lake.close()


def test_what_is_read_can_be_asked_for_moments(place: Facts) -> None:
    lake, second = place.lake, place.snapshots[2]
    then = pairs(state(day(2.5), 2))
    lake.sql(f"CREATE TABLE kept AS SELECT id, v FROM facts {THEN} VERSION AS OF {second}")
    assert place.rows("SELECT * FROM kept") == then
    lake.sql(f"INSERT INTO kept SELECT id, v FROM facts AS f {THEN} AT (VERSION => ?)", [second])
    assert place.rows("SELECT * FROM kept") == sorted(then * 2)
    lake.sql("DELETE FROM kept")
    lake.sql("WITH q AS (SELECT id, v FROM facts) INSERT INTO kept FROM q", as_of=day(2.5))
    assert place.rows("SELECT * FROM kept") == pairs(state(day(2.5), 3))
    merge = (
        "MERGE INTO kept USING (SELECT id, v FROM facts {} WHERE v < 30) s ON kept.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )
    lake.sql(merge.format(f"{THEN} VERSION AS OF {second}"))
    assert place.rows("SELECT * FROM kept") == then
    lake.sql(merge.format(""), as_of=day(3))
    assert place.rows("SELECT * FROM kept") == [("a", 20), ("b", 25), ("c", 3)]
    lake.sql("CREATE OR REPLACE TABLE kept AS FROM seen", as_of=day(1))
    assert place.rows("SELECT * FROM kept") == [("a", 1)]


def test_facts_through_sql(place: Facts) -> None:
    lake = place.lake
    state_then = f"SELECT id, v FROM facts {THEN}"
    lake.sql("INSERT INTO facts (id, ts, v) VALUES ($id, $ts, $v)",
             {"id": "d", "ts": datetime(2024, 1, 2), "v": 7})  # fmt: skip
    assert ("d", 7) in place.rows(state_then)
    lake.sql("UPDATE facts SET gone = true, v = NULL WHERE id = ? AND ts = ?", ["d", day(1)])
    assert not [row for row in place.rows(state_then) if row[0] == "d"]
    lake.sql("DELETE FROM facts WHERE id = 'a' AND ts = ?", [day(2)])
    assert ("a", 1) in place.rows(state_then)
    lake.sql(
        "MERGE INTO facts USING (SELECT 'b' AS id, TIMESTAMP '2024-01-03 12:00' AS ts, 26 AS v) s"
        " ON facts.id = s.id AND facts.ts = s.ts WHEN MATCHED THEN UPDATE SET v = s.v"
    )
    assert place.rows(state_then) == [("a", 1), ("b", 26)]
    for missing in ("INSERT INTO facts (id, v) VALUES ('x', 1)", "UPDATE facts SET ts = NULL"):
        with pytest.raises(Invalid, match="ts"):
            lake.sql(missing)
    assert place.rows(state_then) == [("a", 1), ("b", 26)]


def test_a_transaction_sees_its_own_facts(place: Facts) -> None:
    with place.lake.transaction() as tx:
        tx.sql("INSERT INTO facts VALUES ('a', ?, 99, false)", [day(2)])
        query = f"SELECT v FROM facts {THEN} WHERE id = 'a'"
        assert tx.sql(query).to_arrow()["v"].to_pylist() == [99]
        before = f"{query.replace(THEN, f'{THEN} VERSION AS OF {place.snapshots[3]}')}"
        assert tx.sql(before).to_arrow()["v"].to_pylist() == [20]
        assert tx.sql("SELECT v FROM facts WHERE id = 'a'", as_of=day(2), known_at="second").count()
        tx.rollback()


@pytest.mark.parametrize(
    ("statement", "given", "kind", "message"),
    [
        (f"INSERT INTO facts {THEN} SELECT * FROM facts", {}, Invalid, "which is written to"),
        (f"UPDATE facts {THEN} SET v = 1", {}, Invalid, "which is written to"),
        (f"DELETE FROM facts {THEN} WHERE v = 1", {}, Invalid, "which is written to"),
        ("MERGE INTO facts VERSION AS OF 2 USING plain s ON facts.id = s.id"
         " WHEN MATCHED THEN DELETE", {}, Invalid, "which is written to"),
        ("UPDATE facts FOR PORTION OF SYSTEM_TIME FROM '2024-01-01' TO '2025-01-01' SET v = 1", {},
         Unsupported, "FOR PORTION OF"),
        ("DELETE FROM plain for portion of valid_time FROM '2024-01-01' TO '2025-01-01'", {},
         Invalid, "no key and event time"),
        ("INSERT INTO plain VALUES ('x', 'y')", {"as_of": day(1)}, Invalid, "reads no table"),
        ("INSERT INTO plain VALUES ('x', 'y')", {"known_at": 1}, Invalid, "reads no table"),
        ("INSERT INTO plain SELECT * FROM plain", {"as_of": day(1)}, Invalid, "has an event time"),
        ("UPDATE plain SET name = 'x'", {"known_at": 1}, Invalid, "known_at= given to UPDATE"),
        ("DELETE FROM plain", {"as_of": day(1), "known_at": 1}, Invalid, "as_of= and known_at="),
        ("CREATE TABLE x (i INTEGER)", {"as_of": day(1)}, Invalid, "as_of= given to CREATE TABLE"),
        ("CREATE VIEW x AS SELECT * FROM facts", {"as_of": day(1)}, Invalid, "CREATE VIEW"),
        ("DROP TABLE plain", {"known_at": 1}, Invalid, "known_at= given to DROP TABLE"),
        (f"CREATE VIEW x AS SELECT * FROM plain {THEN}", {}, Invalid, "main.plain has no key"),
        (f"CREATE TABLE x AS SELECT * FROM facts {THEN} {THEN}", {}, Invalid, "two moments"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_changes_nothing(
    untouched: Facts,
    statement: str,
    given: dict[str, Any],
    kind: type[TidelakeError],
    message: str,
) -> None:
    before = len(untouched.lake.snapshots())
    with pytest.raises(kind, match=message) as caught:
        untouched.lake.sql(statement, **given)
    assert caught.value.hint
    assert len(untouched.lake.snapshots()) == before


def test_views_made_by_sql_keep_their_clauses(place: Facts) -> None:
    place.lake.sql(f"CREATE VIEW that_day AS SELECT id, v FROM facts {THEN} AS f WHERE v > 1")
    assert "FOR VALID_TIME" in place.lake.view("that_day").sql
    assert place.rows("SELECT * FROM that_day") == pairs(state(day(2.5), 3))
    assert place.rows("SELECT * FROM that_day AS t FOR VALID_TIME AS OF '2024-01-01'") == pairs(
        state(day(2.5), 3)
    )
