"""Functions of the lake in SQL give what Python's calls give, wherever a table can stand."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tidelake
from tests.sql.two_clocks import Facts
from tidelake import Calendar
from tidelake.coverage.frame import Intervals
from tidelake.coverage.values.series import Series
from tidelake.errors import Denied, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.sql.calls import FUNCTIONS
from tidelake.sql.rowwise import is_whole
from tidelake.sql.text import read


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    yield from filled(tmp_path_factory.mktemp("functions"))


def filled(path: Path, **options: Any) -> Iterator[Facts]:
    made = Facts(path)
    made.fill()
    t = made.lake.table("facts")
    t.set_coverage("1d", entity=["id"])
    made.lake.tag("covered")
    t.append([{"id": "c", "ts": datetime(2024, 1, 12), "v": 7, "gone": False}])
    made.lake.create_view("dated", "SELECT id, ts FROM facts")
    if not options:
        yield made
    else:
        other = Facts(path, **options)
        yield other
        other.lake.close()
    made.lake.close()


def seconds(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Lengths of time are seconds in SQL."""
    return tuple(v.total_seconds() if isinstance(v, timedelta) else v for v in row)


def rows(table: Any) -> list[tuple[Any, ...]]:
    found = table.to_arrow()
    listed = zip(*(c.to_pylist() for c in found.columns), strict=True)
    return sorted((seconds(row) for row in listed), key=repr)


def windows(table: tidelake.Table, *found: Any) -> Intervals:
    return Intervals(Series.of(table.info, 0), [each for each in found if each is not None])


def missing(table: tidelake.Table, *given: Any, **named: Any) -> Intervals:
    return windows(table, *(each for batch in table.missing(*given, **named) for _, each in batch))


@dataclass(frozen=True)
class Told:
    """A table that Python gives otherwise."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.table


def reached(table: tidelake.Table, entity: Any, name: str = "id") -> Told:
    found = table.complete_through_each(entity)
    listed = {name: [k for (k,) in found], "complete_through": list(found.values())}
    return Told(pa.table(listed))


BERLIN = Calendar.sessions("09:00", "17:00", tz="Europe/Berlin")
CASES: dict[str, Any] = {
    "history('facts', key => 'a')": lambda t: t.history("a"),
    "history('facts', {'id': 'b'})": lambda t: t.history({"id": "b"}),
    "history('facts', key => 'a', known_at => 'second')": lambda t: t.known_at("second").history(
        "a"
    ),
    "HISTORY('main.facts', lower('A'), as_of := DATE '2024-01-04')": lambda t: t.as_of(
        "2024-01-04"
    ).history("a"),
    "changes('facts')": lambda t: t.changes(),
    "changes('facts', since => 'second')": lambda t: t.changes("second"),
    "changes('facts', 4, 5)": lambda t: t.changes(4, 5),
    "changes_of_belief('facts', since => 4, as_of => '2024-01-04')": lambda t: t.as_of(
        "2024-01-04"
    ).changes_of_belief(4),
    "diff('facts', 4, 6)": lambda t: t.diff(4, 6).rows,
    "diff('facts', a => 'second')": lambda t: t.diff("second").rows,
    "coverage('facts')": lambda t: t.coverage(),
    "coverage('facts', ['a', 'c'], start => '2024-01-01', end => DATE '2024-01-09')": lambda t: (
        t.coverage(["a", "c"], "2024-01-01", "2024-01-09")
    ),
    "coverage('facts', known_at => 'covered', calendar => 'weekdays')": lambda t: t.coverage(
        known_at="covered", calendar=Calendar.weekdays()
    ),
    "gaps('facts', start => TIMESTAMP '2024-01-01', calendar => '09:00-17:00 Europe/Berlin')": (
        lambda t: t.gaps(start=datetime(2024, 1, 1), calendar=BERLIN)
    ),
    "gaps('facts', entity => 'b', min_length => 2)": lambda t: t.gaps(2, "b"),
    "missing('facts', end => '2024-02-01', max_length => 3)": lambda t: missing(
        t, end="2024-02-01", max_length=3
    ),
    "last_complete_window('facts', 2, entity => 'a')": lambda t: windows(
        t, t.last_complete_window(2, "a")
    ),
    "complete_through('facts', entity => ['a', 'c'])": lambda t: reached(t, ["a", "c"]),
    "last_complete_window('facts', 99)": lambda t: windows(t),
    "asof_join('facts', 'facts')": lambda t: tidelake.asof_join(t, t),
    "asof_join('FROM facts WHERE v > 1', 'facts', on => 'id', left_time => 'ts', "
    "tolerance => '2 days',"
    " direction => 'forward', allow_exact_matches => false)": lambda t: tidelake.asof_join(
        t.scan(where="v > 1"),
        t,
        "id",
        "ts",
        tolerance="2d",
        direction="forward",
        allow_exact_matches=False,
    ),
    "asof_join('facts', ['facts'], age => true, known_at => 'second')": lambda t: (
        tidelake.asof_join(t, [t], age=True, known_at="second")
    ),
}


@pytest.mark.parametrize("call", CASES)
def test_what_python_gives(place: Facts, call: str) -> None:
    expected = rows(CASES[call](place.lake.table("facts")))
    assert rows(place.lake.sql(f"FROM {call}")) == expected
    assert place.lake.sql(f"SELECT count(*) AS n FROM {call} AS x").to_arrow()["n"].to_pylist() == [
        len(expected)
    ]


def test_snapshots_are_the_log(place: Facts) -> None:
    log = place.lake.log()
    found = place.lake.sql("FROM snapshots()").to_arrow().to_pylist()
    assert [(e.snapshot_id, e.operation, list(e.tables), e.inserted) for e in log] == [
        (each["snapshot_id"], each["operation"], each["tables"], each["inserted"]) for each in found
    ]
    own = place.lake.sql("SELECT snapshot_id FROM snapshots('facts') ORDER BY 1").to_arrow()
    assert own["snapshot_id"].to_pylist() == [
        e.snapshot_id for e in place.lake.table("facts").log()
    ]


def test_the_files_of_a_table(place: Facts) -> None:
    files = place.lake.table("facts").files()
    found = place.lake.sql("SELECT path, rows FROM table_files('facts') ORDER BY path").to_arrow()
    assert found.to_pylist() == sorted(
        ({"path": f.path, "rows": f.rows} for f in files), key=lambda row: row["path"]
    )
    assert place.lake.sql("FROM table_files('facts', known_at => 'second')").count() == 2


def test_names_are_shown(place: Facts) -> None:
    lake = place.lake
    lake.sql("CREATE SCHEMA IF NOT EXISTS other")
    lake.sql("CREATE TABLE IF NOT EXISTS other.x (a BIGINT)")
    shown = lake.sql("show tables;").to_arrow()["name"].to_pylist()
    here = [name.removeprefix("main.") for name in lake.tables() + lake.views()]
    assert shown == sorted(name for name in here if "." not in name)
    found = rows(lake.sql("SHOW ALL TABLES"))
    assert ("other", "x", "table") in found
    assert ("main", "seen", "view") in found
    assert rows(lake.sql("SELECT kind FROM tables() WHERE name = 'seen'")) == [("view",)]


def test_tags_are_listed(place: Facts) -> None:
    found = place.lake.sql("FROM tags() ORDER BY snapshot_id, name").to_dicts()
    made = sorted(place.lake.tags(), key=lambda tag: (tag.snapshot_id, tag.name))
    names = ("name", "snapshot_id", "created_at", "author", "message")
    assert found == [{name: getattr(each, name) for name in names} for each in made] != []


def test_explain_tells_what_is_read(place: Facts) -> None:
    query = "EXPLAIN SELECT id FROM facts WHERE v = 40"
    ((row,), told) = (place.lake.sql(query).to_arrow().to_pylist(), place.lake.sql(query).explain())
    scanned = place.lake.table("facts").scan(where="v = 40").explain()
    assert (row["table"], row["files"], row["total_files"]) == ("main.facts", 1, 4)
    assert (told[0].files, told[0].total_files, told[0].pruned) == (
        scanned.files,
        scanned.total_files,
        scanned.pruned,
    )
    assert row["skipped"]
    state = place.lake.sql(
        "EXPLAIN SELECT * FROM facts FOR VALID_TIME AS OF '2024-01-03' JOIN plain USING (id)"
    )
    assert [each["as_of"] for each in state.to_arrow().to_pylist()][1:] == [None]
    assert state.count() == 2


@pytest.mark.parametrize(
    ("query", "tables"),
    {
        "FROM facts FOR VALID_TIME ALL": ["facts"],
        "FROM facts FOR SYSTEM_TIME ALL": ["facts"],
        "FROM facts FOR VALID_TIME AS OF '2024-01-03' FOR SYSTEM_TIME ALL": ["facts"],
        "FROM history('facts', key => 'a')": ["facts"],
        "FROM changes('facts', since => 4)": ["facts"],
        "FROM diff('facts', 4)": ["facts"],
        "FROM changes_of_belief('facts', since => 'covered', as_of => '2024-01-20')": ["facts"] * 2,
        "FROM asof_join('facts', 'facts')": ["facts"] * 2,
        "FROM asof_join('dated', ['facts'], left_time => 'ts', known_at => 'ts')": ["facts"] * 2,
        """FROM asof_join((SELECT id, ts FROM facts JOIN plain USING (id)),
           {'x': (SELECT id, ts FROM facts WHERE v > 1), 'y': 'facts'}, on => 'id',
           left_time => 'ts', right_time => 'ts')""": ["facts", "plain", "facts", "facts"],
        "FROM plain JOIN history('facts', key => 'a') USING (id)": ["plain", "facts"],
    }.items(),
)
def test_what_is_read_for_functions_and_ranges_is_told_too(
    place: Facts, query: str, tables: list[str]
) -> None:
    found = place.lake.sql(f"EXPLAIN {query}")
    told = found.to_dicts()
    assert [each["table"] for each in told] == [f"main.{name}" for name in tables]
    assert all(0 < each["completeness"] < 1 for each in told if each["table"] == "main.facts")
    assert all(each["files"] + each["inlined_rows"] > 0 for each in told)
    assert all(each["files"] <= each["total_files"] for each in told)
    assert found.count() == len(tables)


def test_all_that_is_read_is_expected_up_to_the_same_moment(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db", data_path=f"{tmp_path}/d/") as lake:
        settings = {"key": "k", "event_time": "ts", "entity": "k", "bucket": "1ms"}
        t = lake.create_table("t", "k VARCHAR, ts TIMESTAMP", **settings)
        t.append([{"k": "a", "ts": datetime.now(UTC).replace(tzinfo=None)}])
        query = (
            "EXPLAIN SELECT * FROM t, t FOR VALID_TIME ALL AS u, t FOR SYSTEM_TIME ALL AS v,"
            " history('t', key => 'a') AS w, changes('t') AS x, asof_join('t', 't') AS y"
        )
        told = [row["completeness"] for row in lake.sql(query).to_dicts()]
        assert len(told) == 7
        assert len(set(told)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        *("INSERT INTO plain VALUES ('z', 'Z')", "UPDATE facts SET v = 1", "DELETE FROM facts"),
        *("CALL compact('facts')", "CREATE TABLE z (a INT)", "DROP TABLE facts"),
        "MERGE INTO facts t USING facts s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ],
)
def test_only_queries_are_explained(place: Facts, statement: str) -> None:
    before = place.lake.snapshots()[-1].snapshot_id
    verb = statement.split()[0]
    with pytest.raises(Unsupported, match=f"EXPLAIN of {verb} is not supported") as told:
        place.lake.sql(f"EXPLAIN {statement}")
    assert type(told.value) is Unsupported
    assert place.lake.snapshots()[-1].snapshot_id == before


def test_every_function_is_tried() -> None:
    tried = {call.partition("(")[0].lower() for call in CASES}
    alone = {"across_tenants", "snapshots", "table_files", "tables", "tags"}
    assert tried | alone == FUNCTIONS


def test_where_a_table_can_stand(place: Facts) -> None:
    lake = place.lake
    joined = lake.sql(
        "SELECT h.v, s.operation FROM history('facts', key => $key) h"
        " JOIN snapshots() s ON s.time = h.known_from"
        " WHERE h.v IN (SELECT v FROM changes('facts', since => $since)) ORDER BY ALL",
        {"key": "a", "since": 4},
    )
    assert {row[0] for row in rows(joined)} == {20, 40}
    twice = "WITH h AS (FROM history('facts', key => 'a')) SELECT count(*) FROM h a, h b"
    assert rows(lake.sql(twice)) == [(lake.table("facts").history("a").count() ** 2,)]
    named = lake.sql("SELECT history.v FROM history('facts', key => 'c') ORDER BY 1")
    assert rows(named)


def test_moments_of_the_whole_query(place: Facts) -> None:
    lake, t = place.lake, place.lake.table("facts")
    then = lake.sql("FROM history('facts', key => 'a')", known_at="second")
    assert rows(then) == rows(t.known_at("second").history("a"))
    state = lake.sql("FROM coverage('facts')", as_of="2024-01-03")
    assert rows(state) == rows(t.as_of("2024-01-03").coverage())


def test_in_views_writes_and_transactions(place: Facts) -> None:
    lake = place.lake
    lake.create_view("lived", "SELECT id, v, valid_from FROM history('facts', key => 'b')")
    expected = [(row[0], row[2], row[4]) for row in rows(lake.table("facts").history("b"))]
    assert rows(lake.sql("FROM lived")) == sorted(expected, key=repr)
    lake.sql("CREATE TABLE kept AS FROM gaps('facts', end => '2024-01-20')")
    assert rows(lake.table("kept")) == rows(lake.table("facts").gaps(end="2024-01-20"))
    with lake.transaction() as tx:
        tx.sql("DELETE FROM kept")
        assert rows(tx.sql("SELECT count(*) FROM coverage('facts')")) == [(3,)]
        tx.sql("INSERT INTO kept FROM gaps('facts', end => '2024-01-20')")
    assert rows(lake.table("kept")) == rows(lake.table("facts").gaps(end="2024-01-20"))


BAD: list[tuple[str, type[TidelakeError], str]] = [
    ("FROM history('nothing', key => 1)", NotFound, "nothing"),
    ("FROM history('facts')", Invalid, "key"),
    ("FROM history('facts', kee => 1)", Invalid, "key"),
    ("FROM changes(5)", Invalid, "no name of a table"),
    ("SELECT * FROM facts f, history('facts', key => f.id)", Unsupported, "looks at rows"),
    ("FROM history('facts', key => (SELECT 'a'))", (Denied, Unsupported), "history"),  # type: ignore[list-item]
    ("FROM history('facts', key => read_text('/etc/passwd'))", Denied, "read_text"),
    ("FROM history('facts', key => 'a'::INTEGER)", Invalid, "history"),
    ("FROM history('facts', key => TIMESTAMP 'infinity')", Invalid, "no value for"),
    ("FROM changes('facts', since => 99)", NotFound, "99"),
    ("FROM changes_of_belief('facts', since => 4)", Invalid, "as of when"),
    ("FROM coverage('plain')", Invalid, "plain"),
    ("FROM coverage('facts', calendar => 'full moon')", Invalid, "full moon"),
    ("FROM history('facts', key => 'a') FOR SYSTEM_TIME AS OF 3", Invalid, "follows no table"),
]


@pytest.mark.parametrize(("query", "kind", "words"), BAD)
def test_what_is_refused(place: Facts, query: str, kind: type[TidelakeError], words: str) -> None:
    with pytest.raises(kind) as told:
        place.lake.sql(query).to_arrow()
    assert words in str(told.value)
    assert told.value.hint


def test_in_a_sandbox(tmp_path: Path) -> None:
    for other in filled(tmp_path, sandbox=True):
        t = other.lake.table("facts")
        query = "SELECT id, v FROM history('facts', key => upper('A').lower())"
        assert len(rows(other.lake.sql(query))) == t.history("a").count()
        with pytest.raises(Denied):
            other.lake.sql("FROM history('facts', key => getenv('HOME'))").to_arrow()


@pytest.mark.slow
def test_a_tenant_asks_about_its_own(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/c.db", data_path=f"{tmp_path}/d/") as lake:
        acme, bolt = lake.create_tenant("acme"), lake.create_tenant("bolt")
        for each in (acme, bolt):
            each.create_table("t", "id BIGINT").append([{"id": 1}])
        both = lake.sql("SELECT tenant, count(*) AS n FROM across_tenants('t') GROUP BY ALL")
        assert rows(both) == [("acme", 1), ("bolt", 1)]
        assert lake.sql("FROM across_tenants('t', tenants => ['acme'])").count() == 1
        with pytest.raises(Denied):
            acme.sql("FROM across_tenants('t')")
        bolt.create_table("secret", "id BIGINT").append([{"id": 1}])
        assert acme.sql("FROM changes('t')").count() == 1
        assert acme.sql("FROM snapshots()").count() == len(acme.log())
        for name in ("secret", "bolt.secret", "bolt.t"):
            with pytest.raises(NotFound):
                acme.sql(f"FROM changes('{name}')").to_arrow()


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        ("SELECT * FROM changes('facts')", True),
        ("SELECT count(*), max(v) FROM changes('facts') GROUP BY id ORDER BY ALL", True),
        ("FROM changes('facts') WHERE v > 1", False),
        ("FROM changes('facts') ORDER BY v LIMIT 2", False),
        ("WITH c AS (FROM changes('facts')) SELECT * FROM c JOIN c AS d USING (id)", False),
        ("SELECT *, (SELECT max(i) FROM range(3) r(i) WHERE i < v) FROM changes('facts')", False),
        ("FROM changes('facts') JOIN facts USING (id)", False),
        ("FROM changes('facts') UNION ALL FROM changes('facts')", False),
    ],
)
def test_rows_that_pass_are_not_kept_and_can_be_asked_for_again(
    place: Facts, query: str, passes: bool
) -> None:
    assert read(query).is_passage is passes
    asked = place.lake.sql(query).to_duckdb()
    first, again = asked.fetchall(), asked.filter("true").fetchall()
    assert first
    assert sorted(first, key=repr) == sorted(again, key=repr)


@pytest.mark.parametrize(
    ("query", "whole"),
    [
        ("FROM changes('facts')", True),
        ("SELECT * FROM changes('facts') AS c", True),
        ("SELECT c.* FROM changes('facts') AS c", False),
        ("FROM changes('facts') AS c(a, b)", False),
        ("FROM changes('facts') WITH ORDINALITY", False),
        ("FROM changes('facts') TABLESAMPLE 50%", False),
        ("SELECT DISTINCT * FROM changes('facts')", False),
        ("FROM changes('facts') LIMIT 1", False),
        ("FROM changes('facts') ORDER BY ALL", False),
        ("SELECT *, 1 FROM changes('facts')", False),
        ("SELECT * EXCLUDE (v) FROM changes('facts')", False),
        ("SELECT * EXCLUDE (c.v) FROM changes('facts') AS c", False),
        ("SELECT * RENAME (v AS w) FROM changes('facts')", False),
        ("SELECT * REPLACE (1 AS v) FROM changes('facts')", False),
        ("SELECT COLUMNS('v') FROM changes('facts')", False),
        ("FROM changes('facts') WHERE true", False),
        ("FROM (FROM changes('facts'))", False),
        ("WITH c AS (FROM changes('facts')) FROM c", False),
        ("FROM changes('facts') UNION ALL FROM changes('facts')", False),
    ],
)
def test_which_queries_ask_for_all_of_one_relation(query: str, whole: bool) -> None:
    assert is_whole(read(query).node) is whole


@pytest.mark.parametrize("form", ["FROM {}", "SELECT * FROM {} AS c"])
def test_all_of_one_relation_is_what_python_gives(place: Facts, form: str) -> None:
    """To the type, and in the same order."""
    t = place.lake.table("facts")
    for call, known in {
        "history('facts', 'a')": t.history("a"),
        "changes('facts', since => 2)": t.changes(2),
        "diff('facts', 3)": t.diff(3).rows,
        "facts FOR SYSTEM_TIME ALL": t.versions(),
        "facts FOR VALID_TIME ALL": t.between(),
    }.items():
        asked = place.lake.sql(form.format(call))
        assert asked.to_arrow() == known.to_arrow()
        assert asked.to_batches().read_all() == known.to_batches().read_all()
        assert asked.count() == known.count()
        assert asked.to_duckdb().columns == known.to_duckdb().columns


def test_rows_that_pass_tell_what_went_wrong(tmp_path: Path) -> None:
    with tidelake.connect(f"sqlite:///{tmp_path}/lake.db", f"{tmp_path}/data") as lake:
        lake.set_option("data_inlining_row_limit", 0)
        done = lake.create_table("t", "id INTEGER").append([{"id": 1}])
        Path(lake.table("t").files()[0].path).unlink()
        with pytest.raises(TidelakeError, match="data"):
            lake.sql(f"SELECT * FROM changes('t', since => {done.snapshot_id - 1})").to_arrow()


def test_rows_of_a_view_are_kept_where_they_are_joined(place: Facts) -> None:
    lake = place.lake
    lake.create_view("passing", "SELECT * FROM changes('facts')")
    count = lake.sql("SELECT count(*) AS n FROM passing").to_arrow()["n"].to_pylist()
    joined = lake.sql(
        "SELECT count(*) AS n FROM passing a JOIN passing b USING (rowid, snapshot_id)"
    )
    assert joined.to_arrow()["n"].to_pylist()[0] >= count[0] > 0
    some = lake.sql("SELECT id FROM changes('facts') WHERE change_type = 'insert'")
    frame = tidelake.asof_join(
        lake.sql("SELECT id, ts FROM changes('facts')"), lake.table("facts"), left_time="ts"
    )
    assert some.to_arrow().num_rows > 0
    assert frame.to_arrow().num_rows == count[0]
    lake.drop("passing")


def test_rows_of_a_range_pass_and_those_behind_a_view_are_kept(place):
    lake = place.lake
    every = "facts FOR SYSTEM_TIME ALL"
    assert read(f"SELECT * FROM {every}").is_passage
    assert not read(f"SELECT * FROM {every} WHERE true").is_passage
    assert not read(f"SELECT * FROM {every} AS a, {every} AS b").is_passage
    asked, known = lake.sql(f"SELECT * FROM {every}"), rows(lake.table("facts").versions())
    assert rows(asked) == known
    assert rows(asked) == known
    lake.create_view("pairs", "SELECT count(*) AS n FROM facts AS a, facts AS b")
    lake.create_view("same", "SELECT a.* FROM facts AS a WHERE true")
    assert rows(lake.sql("SELECT * FROM pairs FOR SYSTEM_TIME ALL")) == [(len(known) ** 2,)]
    both = rows(lake.sql("SELECT * FROM same FOR SYSTEM_TIME ALL"))
    lake.drop("pairs")
    lake.drop("same")
    assert both == known
