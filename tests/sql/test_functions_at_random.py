"""Functions of the lake in SQL over random histories: always what Python's calls give."""

from collections.abc import Iterator
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tests.event_time.growth import Growth, day
from tests.sql.test_functions import missing, reached, rows, windows
from tidelake.sql.calls import FUNCTIONS
from tidelake.testing.faces import lake_of
from tidelake.testing.place import Place

Duck = duckdb.DuckDBPyConnection
LISTS = {"snapshots", "table_files", "tables", "tags"}
ELSEWHERE = {"across_tenants"}
"""What other tests compare, with tenants."""


def grown(lake: tidelake.Lake, duck: Duck, seed: int, steps: int) -> tidelake.Table:
    t = lake.create_table(
        "t",
        "name VARCHAR, v INTEGER, gone BOOLEAN, ts TIMESTAMP",
        key="name",
        event_time="ts",
        tombstone="gone",
        entity="name",
        bucket="1d",
        overlap="allow",
    )
    Growth(t, duck, Random(seed)).go(steps)
    return t


def asked(t: tidelake.Table, lake: tidelake.Lake, chance: Random) -> Iterator[tuple[str, Any]]:
    """Calls in SQL, each with what Python gives."""
    ids = [each.snapshot_id for each in lake.snapshots() if each.snapshot_id > 1]
    one, other = sorted(chance.choices(ids, k=2))
    key, when = chance.choice("abcx"), day(chance.randint(1, 9))
    n, end = chance.randint(1, 3), day(chance.randint(5, 12))
    yield f"history('t', key => '{key}')", t.history(key)
    yield f"history('t', '{key}', known_at => {one})", t.known_at(one).history(key)
    yield f"history('t', '{key}', as_of => TIMESTAMP '{when}')", t.as_of(when).history(key)
    yield f"changes('t', since => {one}, until => {other})", t.changes(one, other)
    yield "changes('t')", t.changes()
    yield (
        f"changes_of_belief('t', {one}, as_of => TIMESTAMP '{when}', known_at => {other})",
        t.as_of(when).known_at(other).changes_of_belief(one),
    )
    yield f"diff('t', {other}, {one})", t.diff(other, one).rows
    yield f"diff('t', {one})", t.diff(one).rows
    yield f"coverage('t', known_at => {one})", t.coverage(known_at=one)
    yield f"coverage('t', as_of => '{when}')", t.as_of(when).coverage()
    yield f"gaps('t', '{key}', end => TIMESTAMP '{end}')", t.gaps(entity=key, end=end)
    yield f"gaps('t', min_length => {n})", t.gaps(n)
    yield f"missing('t', end => TIMESTAMP '{end}')", missing(t, end=end)
    yield f"complete_through('t', entity => ['a', '{key}'])", reached(t, ["a", key], "name")
    yield from joins(t, ids, chance)
    yield (
        f"last_complete_window('t', {n}, entity => '{key}', end => '{end}')",
        windows(t, t.last_complete_window(n, key, end)),
    )


def joins(t: tidelake.Table, ids: list[int], chance: Random) -> Iterator[tuple[str, Any]]:
    """Point-in-time joins of labels, as a query, with the table."""
    made = [
        (chance.choice("abcx"), day(chance.randint(1, 10)), chance.choice(ids)) for _ in range(8)
    ]
    labels = ", ".join(f"('{key}', TIMESTAMP '{when}', {seen})" for key, when, seen in made)
    left = f"SELECT * FROM (VALUES {labels}) AS l(name, made, seen)"
    direction, exact = chance.choice(["backward", "forward", "nearest"]), chance.random() < 0.7
    for known in ("seen", chance.choice(ids), None):
        said = {"seen": ", known_at => 'seen'", None: ""}.get(known, f", known_at => {known}")
        yield (
            f"asof_join(({left}), ['t'], left_time => 'made', direction => '{direction}',"
            f" allow_exact_matches => {exact}, age => true{said})",
            tidelake.asof_join(
                lake_of(t).sql(left),
                [t],
                left_time="made",
                direction=direction,
                allow_exact_matches=exact,
                age=True,
                known_at=known,
            ),
        )


def ranges(t: tidelake.Table, ids: list[int], chance: Random) -> Iterator[tuple[str, Any]]:
    """The table over ranges of one time, of the other, and of both."""
    start, end = day(chance.randint(1, 5)), day(chance.randint(6, 10))
    first, last = chance.choice(ids[:-1]), ids[-1]
    valid, system = f"FOR VALID_TIME FROM '{start}' TO '{end}'", "FOR SYSTEM_TIME ALL"
    yield f"t {valid}", t.between(start, end)
    yield f"t FOR VALID_TIME ALL FOR SYSTEM_TIME AS OF {first}", t.known_at(first).between()
    yield f"t {system}", t.versions()
    yield f"t FOR SYSTEM_TIME FROM {first} TO {last}", t.versions(first, last)
    yield (
        f"t {valid} FOR SYSTEM_TIME FROM {first} TO {last}",
        t.between(start, end).versions(first, last),
    )
    yield f"t {system} FOR VALID_TIME AS OF '{end}'", t.as_of(end).versions()


def compare(here: tidelake.Lake, t: tidelake.Table, chance: Random, *, some: bool = False) -> None:
    """`here` is asked in SQL, and the table in Python."""
    lake = lake_of(t)
    cases = list(asked(t, lake, chance))
    tried = {call.partition("(")[0] for call, _ in cases}
    assert tried | LISTS | ELSEWHERE == FUNCTIONS
    ids = [each.snapshot_id for each in lake.snapshots() if each.snapshot_id > 1]
    cases += ranges(t, ids, chance) if len(ids) > 1 else ()
    for call, expected in cases[::4] if some else cases:
        found = here.sql(f"FROM {call}")
        assert rows(found) == rows(expected), call
    compare_lists(here, t)


def compare_lists(here: tidelake.Lake, t: tidelake.Table) -> None:
    lake = lake_of(t)
    for call, log in (("snapshots()", lake.log()), ("snapshots('t')", t.log())):
        found = here.sql(f"SELECT * FROM {call} ORDER BY snapshot_id").to_arrow().to_pylist()
        told = [
            (e.snapshot_id, e.time, e.operation, list(e.tables), e.inserted, e.updated, e.deleted)
            for e in log
        ]
        names = ("snapshot_id", "time", "operation", "tables", "inserted", "updated", "deleted")
        assert [tuple(each[name] for name in names) for each in found] == told
    files = here.sql("SELECT path, rows, bytes, has_deletes FROM table_files('t')").to_arrow()
    assert sorted(map(repr, files.to_pylist())) == sorted(
        repr({"path": f.path, "rows": f.rows, "bytes": f.bytes, "has_deletes": f.has_deletes})
        for f in t.files()
    )
    assert rows(here.sql("FROM tables()")) == [("main", "t", "table")]


@pytest.mark.parametrize(
    ("seed", "steps"),
    [(1, 7), *(pytest.param(n, 40, marks=pytest.mark.slow) for n in range(2, 20))],
)
def test_what_python_gives(lake: tidelake.Lake, duck: Duck, seed: int, steps: int) -> None:
    t = grown(lake, duck, seed, steps)
    compare(lake, t, Random(seed))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("seed", "steps"), [(5, 10), *(pytest.param(n, 30, marks=pytest.mark.slow) for n in (6, 7))]
)
def test_what_python_gives_on_spark(
    place: Place, lake: tidelake.Lake, duck: Duck, spark: Any, seed: int, steps: int
) -> None:
    t = grown(lake, duck, seed, steps)
    with place.open(engine="spark", spark=spark) as on_spark:
        compare(on_spark, t, Random(seed), some=steps < 30)
