"""SQL that names moments: every spelling, order and place, against states worked out by hand and
put into plain DuckDB tables."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pytest

import tidelake
from tests.sql.two_clocks import Facts, day, pairs, periods, state
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    made = Facts(tmp_path_factory.mktemp("clocks"))
    made.fill()
    yield made
    made.lake.close()


SYSTEM = [
    "FOR SYSTEM_TIME AS OF {id}",
    "FOR SYSTEM_TIME AS OF 'second'",
    "FOR SYSTEM_TIME AS OF '{time}'",
    "FOR SYSTEM_TIME AS OF TIMESTAMPTZ '{time}'",
    "FOR SYSTEM_VERSION AS OF {id}",
    "FOR VERSION AS OF {id}",
    "FOR TIMESTAMP AS OF '{time}'",
    "VERSION AS OF {id}",
    "VERSION AS OF 'second'",
    "TIMESTAMP AS OF '{time}'",
    "TIMESTAMP AS OF CAST('{time}' AS TIMESTAMPTZ)",
    "AT (VERSION => {id})",
    "AT (TIMESTAMP => '{time}')",
    "AT (TIMESTAMP => '{time}'::TIMESTAMPTZ)",
    "at\n(version=>{id})",
    "version /* of the lake */ as of {id}",
]
VALID = [
    "FOR VALID_TIME AS OF '2024-01-03 12:00:00'",
    "FOR VALID_TIME AS OF '2024-01-03T12:00:00Z'",
    "FOR VALID_TIME AS OF '2024-01-03T14:00:00+02:00'",
    "FOR VALID_TIME AS OF TIMESTAMP '2024-01-03 12:00:00'",
    "FOR VALID_TIME AS OF TIMESTAMPTZ '2024-01-03 12:00:00+00'",
    "FOR VALID_TIME AS OF TIMESTAMP WITH TIME ZONE '2024-01-03 12:00:00+00'",
    "FOR VALID_TIME AS OF CAST('2024-01-03 12:00' AS TIMESTAMP)",
    "FOR VALID_TIME AS OF '2024-01-03 12:00:00'::TIMESTAMP",
    "FOR VALID_TIME AS OF ('2024-01-03 12:00:00')",
    "FOR VALID_TIME AS OF DATE '2024-01-03' + INTERVAL 12 HOUR",
    "FOR VALID_TIME AS OF DATE '2024-01-03' + INTERVAL '12' HOURS",
    "FOR VALID_TIME AS OF TIMESTAMP '2024-01-04' - INTERVAL '12 hours'",
    "FOR VALID_TIME AS OF date_trunc('day', TIMESTAMP '2024-01-03 18:00') + INTERVAL (12) HOUR",
    "FOR VALID_TIME AS OF TIMESTAMP '2024-01-03 13:00:00' AT TIME ZONE 'Europe/Berlin'",
    "for valid_time as of '2024-01-03 12:00:00'",
    "For\n-- FOR VALID_TIME AS OF '1999-01-01'\n\tValid_Time /**/ as   Of\n'2024-01-03 12:00:00'",
    "VALID_TIME AS OF '2024-01-03 12:00:00'",
]


def spelled(clause: str, place: Facts) -> str:
    snapshot = place.lake.snapshots()[place.snapshots[2]]
    return clause.format(id=snapshot.snapshot_id, time=snapshot.time.isoformat())


@pytest.mark.parametrize("clause", VALID)
def test_spellings_of_valid_time(place: Facts, clause: str) -> None:
    expected = pairs(state(day(2.5), 3))
    assert expected == [("a", 20), ("b", 25)]
    for after in ("", "AS x", "x"):
        assert place.rows(f"SELECT id, v FROM facts {clause} {after}") == expected
    assert place.rows(f"SELECT x.id, x.v FROM main.facts x {clause}") == expected


@pytest.mark.parametrize("clause", SYSTEM)
def test_spellings_of_system_time(place: Facts, clause: str) -> None:
    own = spelled(clause, place)
    assert place.rows(f"SELECT count(*) FROM facts {own}") == [(6,)]
    assert place.rows(f"SELECT count(x.v) FROM facts AS x {own}") == [(5,)]


@pytest.mark.parametrize("system", SYSTEM)
def test_both_clocks_in_any_order_around_the_alias(place: Facts, system: str) -> None:
    expected = pairs(state(day(2.5), 2))
    assert expected == [("a", 20), ("b", 2)]
    valid, own = VALID[SYSTEM.index(system)], spelled(system, place)
    for tail in (
        f"{valid} {own}",
        f"{own} {valid}",
        f"{valid} AS x {own}",
        f"{own} x {valid}",
        f"AS x {own} {valid}",
        f"x {valid} {own}",
    ):
        assert place.rows(f"SELECT id, v FROM facts {tail} WHERE v > 1") == expected, tail


@pytest.mark.parametrize("moment", [day(0), day(1), day(1) - timedelta(microseconds=1), day(99)])
def test_the_moment_itself_is_included(place: Facts, moment: datetime) -> None:
    query = f"SELECT id, v FROM facts FOR VALID_TIME AS OF TIMESTAMP '{moment}'"
    assert place.rows(query) == pairs(state(moment, 3))


TEMPLATES = [
    "SELECT id, v FROM {0:facts}",
    "SELECT x.id, x.v, x.ts FROM {0:x} WHERE x.v > 2",
    "SELECT id FROM {0:x} WHERE v < 30 AND id <> 'b'",
    "SELECT x.id, x.v, y.v FROM {0:x} JOIN {1:y} ON x.id = y.id WHERE x.v < y.v OR x.v > 10",
    "SELECT x.id, x.v, y.v FROM {0:x} LEFT JOIN {1:y} USING (id) WHERE y.v IS NULL OR y.v < 30",
    "SELECT x.id, y.id, y.v FROM {0:x} FULL JOIN {1:y} ON x.id = y.id AND x.v = y.v",
    "SELECT x.id, y.v FROM {0:x}, {1:y} WHERE x.id = y.id AND y.v >= 3",
    "SELECT id, v FROM {0:x} EXCEPT SELECT id, v FROM {1:y}",
    "SELECT id, v FROM {0:x} WHERE v > 2 UNION ALL SELECT id, v FROM {1:y} WHERE v < 25",
    "SELECT id FROM {0:x} WHERE EXISTS (SELECT 1 FROM {1:y} WHERE y.id = x.id AND y.v <> x.v)",
    "SELECT id FROM {0:x} WHERE v NOT IN (SELECT v FROM {1:y} WHERE v IS NOT NULL)",
    "SELECT id, (SELECT max(v) FROM {1:y} WHERE y.id = x.id) AS m FROM {0:x}",
    "WITH facts AS (SELECT * FROM {0:facts}) SELECT id, v FROM facts WHERE v > 3",
    "WITH p AS (SELECT id, v FROM {0:x}), q AS (SELECT * FROM p, LATERAL (SELECT p.v + 1 AS w))"
    " SELECT q.id, q.w, y.v FROM q JOIN {1:y} ON y.id = q.id",
    "SELECT * FROM (SELECT id, v FROM {0:x} WHERE v < 30) s JOIN {1:y} ON s.v <= y.v",
    "SELECT x.id, l.w FROM {0:x}, LATERAL (SELECT sum(y.v) AS w FROM {1:y} WHERE y.v <= x.v) l",
    "SELECT v, count(*) AS n FROM (SELECT * FROM {0:x} UNION ALL SELECT * FROM {1:y}) u GROUP BY v",
    "SELECT id, v FROM {0:x} WHERE ts > TIMESTAMP '2024-01-03' AND v > 3",
    "SELECT id, v FROM {0:x} WHERE ts < TIMESTAMP '2024-01-03'",
    "SELECT id FROM {0:x} QUALIFY row_number() OVER (ORDER BY v DESC, id) = 1",
    "FROM {0:x} SELECT id, v ORDER BY v",
    "SELECT a.id, b.v FROM {0:a} ASOF JOIN {1:b} ON a.id = b.id AND a.ts >= b.ts WHERE b.v > 2",
    "SELECT r.id, r.w FROM {0:r(id, t, w, g)} WHERE w > 2",
]


class Reference:
    """How a template names a table: with its clauses, or as a table that holds the state."""

    def __init__(self, *words: str, before: str = "", after: str = "") -> None:
        self.name, self.before, self.after = " ".join(words), before, after

    def __format__(self, alias: str) -> str:
        return f"{self.name} {self.before} AS {alias} {self.after}"


@pytest.mark.parametrize("seed", range(3))
def test_queries_at_random_moments_are_queries_of_the_states_then(place: Facts, seed: int) -> None:
    chance = random.Random(seed)
    for template in TEMPLATES:
        plain = duckdb.connect()
        ours, theirs = [], []
        for number in range(2):
            moment, commits = day(chance.choice([1, 2, 2.5, 3.5, 4, 5, 6, 7])), chance.randint(1, 3)
            valid = f"FOR VALID_TIME AS OF TIMESTAMP '{moment}'"
            system = chance.choice(["VERSION AS OF {}", "AT (VERSION => {})"])
            clauses = [valid, system.format(place.snapshots[commits])]
            chance.shuffle(clauses)
            cut = chance.randint(0, 2)
            before, after = " ".join(clauses[:cut]), " ".join(clauses[cut:])
            ours.append(Reference("facts", before=before, after=after))
            plain.execute(f"CREATE TABLE s{number} (id TEXT, ts TIMESTAMP, v INTEGER, gone BOOL)")
            if rows := state(moment, commits):
                plain.executemany(f"INSERT INTO s{number} VALUES (?, ?, ?, ?)", rows)
            theirs.append(Reference(f"s{number}"))
        truth = sorted(plain.execute(template.format(*theirs)).fetchall(), key=repr)
        assert place.rows(template.format(*ours)) == truth, template.format(*ours)


def test_words_in_quotes_names_and_comments_are_no_clauses(place: Facts) -> None:
    quoted = "'x FOR VALID_TIME AS OF ''2024-01-01'' AT (VERSION => 1)'"
    assert place.rows(f"SELECT {quoted} AS y FROM plain /* VERSION AS OF 1 */") == 3 * [
        ("x FOR VALID_TIME AS OF '2024-01-01' AT (VERSION => 1)",)
    ]
    odd = 'SELECT "FOR VALID_TIME AS OF", "of" FROM (SELECT 1 AS "FOR VALID_TIME AS OF", 2 AS of)'
    assert place.rows(odd) == [(1, 2)]
    names = "SELECT version AS of, timestamp AS at FROM (SELECT 1 AS version, 2 AS timestamp)"
    assert place.rows(names) == [(1, 2)]
    assert place.rows("SELECT DISTINCT x.version AS of FROM (SELECT 5 AS version) x") == [(5,)]
    assert place.rows("SELECT DISTINCT ON (1) version AS of FROM (SELECT 5 AS version)") == [(5,)]
    assert place.rows("SELECT 1 AS version, version AS of UNION (SELECT 2, 3)") == [(1, 1), (2, 3)]
    assert place.rows("SELECT [valid_time FOR valid_time IN [1, 2]]") == [([1, 2],)]
    assert place.rows("SELECT [version FOR version, n IN [1, 2] IF n > 1]") == [([2],)]
    pivoted = "SELECT a FROM (SELECT id AS version, 1 AS n FROM plain)"
    assert place.rows(f"{pivoted} PIVOT (sum(n) FOR version IN ('a', 'b'))") == [(1,)]
    assert place.rows("SELECT valid_time.id FROM plain AS valid_time WHERE id = 'a'") == [("a",)]
    assert place.rows('SELECT "version".id FROM plain "version" VERSION AS OF 2') == []
    assert place.rows("SELECT $$FOR VALID_TIME AS OF$$, e'VERSION AS OF'") == [
        ("FOR VALID_TIME AS OF", "VERSION AS OF")
    ]


def test_clauses_hold_through_views_and_those_inside_win(place: Facts) -> None:
    def then(moment: datetime, commits: int) -> list[tuple[Any, ...]]:
        return [row for row in pairs(state(moment, commits)) if row[1] < 30]

    valid, second = "FOR VALID_TIME AS OF '2024-01-03 12:00'", f"VERSION AS OF {place.snapshots[2]}"
    assert place.rows(f"SELECT * FROM seen {valid}") == then(day(2.5), 3)
    assert place.rows(f"SELECT * FROM fixed {valid}") == pairs(state(day(2), 3))
    with pytest.raises(NotFound, match="seen"):
        place.rows(f"SELECT * FROM seen {valid} {second}")
    assert place.rows(f"SELECT n.id FROM nested AS n {valid}") == [("a",), ("b",)]
    with place.lake.transaction() as tx:
        tx.create_view("only_plain", "SELECT * FROM plain")
        with pytest.raises(Invalid, match=r"no table behind view main\.only_plain has an event"):
            tx.sql(f"SELECT * FROM only_plain {valid}")
        tx.rollback()


def test_moments_for_a_whole_query(place: Facts) -> None:
    second = place.snapshots[2]
    query = "SELECT id, v FROM facts"
    assert place.rows(query, as_of="2024-01-03T12:00:00Z") == pairs(state(day(2.5), 3))
    assert place.rows(query, as_of=day(2.5), known_at="second") == pairs(state(day(2.5), 2))
    assert place.rows(query, as_of=date(2024, 1, 3), known_at=second) == pairs(state(day(2), 2))
    assert place.rows("SELECT count(*) FROM facts", known_at=second) == [(6,)]
    own = f"{query} FOR VALID_TIME AS OF '2024-01-05' VERSION AS OF {place.snapshots[3]}"
    assert place.rows(own, as_of=day(1), known_at=1) == pairs(state(day(4), 3))
    half = f"{query} FOR VALID_TIME AS OF '2024-01-05'"
    assert place.rows(half, as_of=day(1), known_at=second) == pairs(state(day(4), 2))
    joined = "SELECT f.id, name FROM facts f JOIN plain USING (id)"
    assert place.rows(joined, as_of=day(1)) == [("a", "A")]
    assert place.rows("SELECT * FROM fixed", as_of=day(9)) == pairs(state(day(2), 3))
    for reads in ("SELECT * FROM plain", "SELECT 1", "SELECT * FROM range(3)"):
        with pytest.raises(Invalid, match=r"no table .* has an event time"):
            place.rows(reads, as_of=day(1))


def test_an_explicit_moment_may_be_later_than_the_default_but_not_than_a_pin(
    place: Facts,
) -> None:
    later = f"SELECT count(*) FROM facts VERSION AS OF {place.snapshots[3]}"
    assert place.rows(later, known_at=place.snapshots[1]) == [(9,)]
    pinned = place.lake.known_at(place.snapshots[1])
    with pytest.raises(Denied, match="pinned"):
        pinned.sql(later)
    with pytest.raises(Denied, match="pinned"):
        pinned.sql("SELECT 1 FROM facts", known_at=place.snapshots[3])


def test_now_is_one_moment_in_a_query(place: Facts) -> None:
    query = "SELECT count(*) FROM facts FOR VALID_TIME AS OF {} x"
    for moment in ("now()", "CURRENT_TIMESTAMP", "current_date", "now() - INTERVAL 1 DAY"):
        assert place.rows(query.format(moment)) == [(len(state(day(99), 3)),)]
    both = "SELECT 1 FROM facts FOR VALID_TIME AS OF now() a, facts FOR VALID_TIME AS OF now() b"
    moments = [plan.as_of for plan in place.lake.sql(both).tables.values()]
    assert moments[0] == moments[1]
    assert datetime.fromtimestamp(moments[0] / 1e9, UTC).year >= 2026


def test_conditions_on_values_never_change_the_winner_but_keys_skip_files(place: Facts) -> None:
    valid = "FOR VALID_TIME AS OF '2024-01-05'"
    for condition in ("v < 40", "v = 4", "ts < TIMESTAMP '2024-01-05'", "gone", "v IS NULL"):
        inside = place.rows(f"SELECT id, v FROM facts {valid} WHERE {condition}")
        around = f"SELECT id, v FROM (SELECT * FROM facts {valid}) s WHERE {condition}"
        assert inside == place.rows(around), condition
    assert place.rows(f"SELECT id FROM facts {valid} WHERE v = 4") == []
    assert place.rows(f"SELECT id FROM seen {valid} WHERE v < 30") == [("b",), ("c",)]
    plan = place.lake.sql(f"SELECT id FROM facts {valid} WHERE id = 'a' AND v = 4").tables
    assert "\"id\" = 'a'" in str(plan["facts"].parts[0].where).replace("id =", '"id" =')


ERRORS: list[tuple[str, type[TidelakeError], str]] = [
    ("facts FOR VALID_TIME AS OF '2024-01-01' FOR VALID_TIME AS OF '2024-01-01'", Invalid, "two"),
    ("facts AT (VERSION => 2) FOR SYSTEM_TIME AS OF 2", Invalid, "two moments of system time"),
    ("facts VERSION AS OF 2 AS x TIMESTAMP AS OF '2024-01-01'", Invalid, "two moments"),
    ("plain FOR VALID_TIME AS OF '2024-01-01'", Invalid, "main.plain has no key and event time"),
    ("facts FOR VALID_TIME AS OF 'soon'", Invalid, "'soon' is not a time"),
    ("facts FOR VALID_TIME AS OF 5", Invalid, "names no time"),
    ("facts FOR VALID_TIME AS OF NULL", Unsupported, "cannot tell"),
    ("facts FOR VALID_TIME AS OF ts", Unsupported, "cannot tell the moment"),
    ("facts FOR VALID_TIME AS OF (SELECT max(ts) FROM facts)", Unsupported, "cannot tell"),
    ("facts FOR VALID_TIME AS OF read_text('x')", Unsupported, "cannot tell the moment"),
    ("facts FOR VALID_TIME AS OF 5 + 5", Invalid, "5 \\+ 5"),
    ("facts FOR VALID_TIME AS OF TIMESTAMP 'infinity'", Invalid, "out of range"),
    ("facts FOR VALID_TIME AS OF DATE 'infinity' + INTERVAL 1 DAY", Invalid, "VALID_TIME"),
    ("facts FOR VALID_TIME AS OF", Invalid, "ends where a moment should stand"),
    ("facts FOR VALID_TIME '2024-01-01'", Invalid, "must be followed by AS OF"),
    ("facts FOR VALID_TIME FROM '2024-01-01'", Invalid, "has no TO"),
    ("facts FOR VALID_TIME BETWEEN '2024-01-01' TO '2025-01-01'", Invalid, "has no AND"),
    ("facts FOR VALID_TIME FROM '2025-01-01' TO '2024-01-01'", Invalid, "is after"),
    ("facts FOR VALID_TIME CONTAINED IN ('2024-01-01', '2025-01-01')", Unsupported, "CONTAINED"),
    ("plain FOR VALID_TIME ALL", Invalid, "plain"),
    ("facts FOR SYSTEM_VERSION ALL", Unsupported, "FOR SYSTEM_VERSION ALL"),
    ("facts FOR SYSTEM_TIME CONTAINED IN (1, 2)", Unsupported, "CONTAINED"),
    ("facts FOR SYSTEM_TIME FROM 3 AND 4", Invalid, "has no TO"),
    ("facts FOR SYSTEM_TIME FROM 4 TO 3", Invalid, "later"),
    ("facts FOR SYSTEM_TIME ALL FOR SYSTEM_TIME AS OF 2", Invalid, "two moments of system time"),
    ("facts FOR SYSTEM_TIME AS OF TRUE", Unsupported, "cannot tell"),
    ("facts VERSION AS OF now()", Invalid, "not a snapshot id, nor a tag"),
    ("facts VERSION AS OF '2024-01-01'", Invalid, "not a snapshot id, nor a tag"),
    ("facts AT (VERSION => 2, 3)", Invalid, "cannot read"),
    ("facts VERSION AS OF 999", NotFound, "999"),
    ("(SELECT * FROM facts) x FOR VALID_TIME AS OF '2024-01-01'", Invalid, "follows no table"),
    ("range(3) FOR VALID_TIME AS OF '2024-01-01'", Invalid, "follows no table"),
    ("facts CROSS FOR VALID_TIME AS OF '2024-01-01' JOIN plain", Invalid, "follows no table"),
    ("nowhere FOR VALID_TIME AS OF '2024-01-01'", NotFound, "main.nowhere"),
]  # fmt: skip


HELD = "id, v, valid_from, valid_to"
BOUNDS = [(None, None), (2, 4), (2.2, 2.3), (4, 4), (0, 1), (0, 1.5), (5, 9), (7, 8), (3, None)]


@pytest.mark.parametrize("commits", [1, 2, 3])
@pytest.mark.parametrize(("start", "end"), BOUNDS)
def test_ranges_of_valid_time(
    place: Facts, start: float | None, end: float | None, commits: int
) -> None:
    low, high = (None if each is None else day(each) for each in (start, end))
    expected = periods(low, high, commits)
    table = place.lake.table("facts").known_at(place.snapshots[commits])
    found = table.between(low, high).to_arrow().select(HELD.split(", "))
    listed = zip(*(column.to_pylist() for column in found.columns), strict=True)
    assert sorted(listed, key=repr) == expected
    version = f"VERSION AS OF {place.snapshots[commits]}"
    if low is None:
        clause = "FOR VALID_TIME ALL"
    elif high is None:
        return
    else:
        clause = f"FOR VALID_TIME FROM TIMESTAMP '{low}' TO '{high}'"
    for text in (f"facts {clause} {version} f", f"facts f {version} {clause}"):
        assert place.rows(f"SELECT {HELD} FROM {text}") == expected


def test_a_closed_range_of_valid_time(place: Facts) -> None:
    """BETWEEN takes in what begins at its end, as SQL has it."""
    closed = place.rows(
        f"SELECT {HELD} FROM facts FOR VALID_TIME BETWEEN ? AND ?", [day(2), day(4)]
    )
    assert closed == periods(day(2), day(4) + timedelta(microseconds=1), 3)
    assert len(closed) > len(periods(day(2), day(4), 3))


def test_ranges_where_tables_can_stand(place: Facts) -> None:
    lake, clause = place.lake, "FOR VALID_TIME FROM '2024-01-03' TO '2024-01-05'"
    joined = f"SELECT p.name, f.valid_from FROM facts {clause} f JOIN plain p USING (id)"
    expected = periods(day(2), day(4), 3)
    assert place.rows(joined) == sorted(((r[0].upper(), r[2]) for r in expected), key=repr)
    of_view = place.rows(f"SELECT id, name FROM nested {clause}")
    low = [row for row in expected if row[1] < 30]
    assert of_view == sorted(((row[0], row[0].upper()) for row in low), key=repr)
    with lake.transaction() as tx:
        tx.sql("INSERT INTO facts VALUES ('z', '2024-01-04', 9, false)")
        found = tx.sql(f"SELECT valid_to FROM facts {clause} WHERE id = 'z'").to_arrow()
        assert found["valid_to"].to_pylist() == [None]
        tx.rollback()
    with pytest.raises(Invalid):
        lake.table("plain").between("2024-01-01", "2024-02-01")
    with pytest.raises(Invalid, match="is after"):
        lake.table("facts").between("2024-02-01", "2024-01-01")


@pytest.mark.parametrize(("source", "kind", "message"), ERRORS)
def test_what_cannot_be_asked_says_so(
    place: Facts, source: str, kind: type[TidelakeError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        place.rows(f"SELECT * FROM {source}")
    assert caught.value.hint


def test_names_of_the_querys_own_have_no_past(place: Facts) -> None:
    with pytest.raises(Invalid, match="a name of the query's own"):
        place.rows("WITH q AS (SELECT 1) SELECT * FROM q FOR VALID_TIME AS OF '2024-01-01'")


def test_a_recursive_name_is_not_a_table(place: Facts) -> None:
    query = "WITH RECURSIVE facts AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM facts WHERE n < 4)"
    assert place.rows(f"{query} SELECT max(n) FROM facts") == [(4,)]


def test_conditions_that_see_other_rows_or_names_skip_no_files(place: Facts) -> None:
    """What a sample, a positional or an as-of join takes depends on all rows; and an alias may
    call another column so."""
    lake = place.lake
    renamed = "SELECT count(*) FROM facts AS f(v, ts, id, gone) WHERE id > 100"
    assert place.rows(renamed) == [(0,)]
    paired = "SELECT a.v, b.v FROM facts a POSITIONAL JOIN facts b WHERE a.v = 40"
    assert place.rows(paired) == [(40, 40)]
    for query in (
        renamed,
        paired,
        "SELECT 1 FROM facts a ASOF JOIN facts b ON a.ts >= b.ts WHERE b.v = 40",
        "SELECT 1 FROM facts TABLESAMPLE 2 ROWS WHERE v = 40",
    ):
        plans = lake.sql(query).tables.values()
        files = [len(plan.files) + len(plan.inlined) for plan in plans]
        whole = lake.sql("SELECT 1 FROM facts").tables["facts"]
        assert set(files) == {len(whole.files) + len(whole.inlined)}, query


def test_a_sample_of_a_view_is_a_sample(place: Facts) -> None:
    assert place.rows("SELECT count(*) FROM (SELECT * FROM nested TABLESAMPLE 1 ROWS)") == [(1,)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("FROM day_facts {}", [("A", date(2024, 1, 1), 1)]),
        ("TABLE day_facts {}", [("A", date(2024, 1, 1), 1)]),
        ('SELECT v FROM "day_facts" {};', [(1,)]),
        (
            "SELECT v FROM main.day_facts {} WHERE main.day_facts.v > 0 AND day_facts.id = 'A'",
            [(1,)],
        ),
        ("SELECT x.v FROM day_facts AS x, day_facts AS y {} WHERE x.v = y.v", [(1,)]),
        ("SELECT d.v FROM (day_facts d {} JOIN day_facts e USING (id))", [(1,), (1,)]),
        ("SELECT b FROM day_facts AS f(a, b, v) {} WHERE a = 'A'", [(date(2024, 1, 1),)]),
        ("SELECT * FROM day_facts {} PIVOT (sum(v) FOR id IN ('A'))", [(date(2024, 1, 1), 1)]),
        ("SELECT v FROM day_facts {} TABLESAMPLE 100 PERCENT", [(1,)]),
        ("SELECT v FROM day_facts {} x SEMI JOIN day_facts y ON x.v < y.v", [(1,)]),
        (
            "WITH RECURSIVE r AS (SELECT v FROM day_facts {} UNION ALL"
            " SELECT r.v + f.v FROM r JOIN day_facts f {} ON r.v < 3) SELECT v FROM r",
            [(1,), (2,), (3,)],
        ),
    ],
)
def test_wherever_a_table_can_stand(
    other: tidelake.Lake, query: str, rows: list[tuple[Any, ...]]
) -> None:
    found = other.sql(query.replace("{}", "FOR VALID_TIME AS OF '2024-01-01 23:00'")).to_arrow()
    assert sorted(zip(*(c.to_pylist() for c in found.columns), strict=True)) == rows


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tidelake.Lake]:
    """Event times of other types."""
    path = tmp_path_factory.mktemp("other")
    with tidelake.connect(f"sqlite:///{path}/c.db", data_path=f"{path}/d/") as lake:
        for name, kind, first in (
            ("day_facts", "DATE", "2024-01-01"),
            ("exact_facts", "TIMESTAMP_NS", "2024-01-01 00:00:00.123456789"),
            ("zoned_facts", "TIMESTAMPTZ", "2024-01-01 00:00:00+02"),
        ):
            columns = f"id VARCHAR NOT NULL, ts {kind} NOT NULL, v INTEGER"
            lake.create_table(name, columns, key=["id"], event_time="ts")
            lake.sql(f"INSERT INTO {name} VALUES ('A', '{first}', 1), ('A', '2024-01-02', 2)")
        yield lake


@pytest.mark.parametrize(
    ("table", "moment", "rows"),
    [
        ("day_facts", "'2023-12-31 23:59:59.999999'", []),
        ("day_facts", "TIMESTAMP '2024-01-02' - INTERVAL 1 MICROSECOND", [1]),
        ("day_facts", "'2024-01-02'::DATE - 1", [1]),
        ("day_facts", "DATE '2024-01-02'", [2]),
        ("exact_facts", "'2024-01-01 00:00:00.123456788'", []),
        ("exact_facts", "TIMESTAMP_NS '2024-01-01 00:00:00.123456789'", [1]),
        ("zoned_facts", "'2023-12-31 21:59:59.999999'", []),
        ("zoned_facts", "TIMESTAMP '2023-12-31 22:00:00'", [1]),
        ("zoned_facts", "TIMESTAMPTZ '2024-01-01 03:00:00+05:00'", [1]),
    ],
)
def test_other_types_of_event_time(
    other: tidelake.Lake, table: str, moment: str, rows: list[int]
) -> None:
    found = other.sql(f"SELECT v FROM {table} FOR VALID_TIME AS OF {moment} AS f").to_arrow()
    assert found["v"].to_pylist() == rows
