"""Whatever somebody else does in between: a serializable transaction whose answer would be another
now does not commit."""

from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest

import tidelake
from tidelake.errors import Conflict

WORDS = ["", "a", "b", "ab", "zz", None]
PARTITIONS = [[], [], ["k"], ["bucket(3, k)"], ["s"]]
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 60))]


def condition(random: Random, depth: int = 0) -> str:
    k, x = random.randint(-2, 8), random.choice(["0.5", "-1.0", "'nan'::DOUBLE", "3"])
    word = random.choice(["a", "b", "z", ""])
    leaf = random.choice(
        [
            f"k = {k}",
            f"k < {k}",
            f"k BETWEEN {k} AND {k + 2}",
            f"k IN ({k}, {k + 3})",
            f"s = '{word}'",
            f"s >= '{word}'",
            f"s LIKE '{word}%'",
            "s IS NULL",
            "b",
            "b IS NOT TRUE",
            f"x > {x}",
            f"x = {x}",
            f"k % 3 = {k % 3}",
            f"coalesce(s, '') = '{word}'",
            f"NOT coalesce(b, false) AND k > {k}",
            f"rowid > {k * 5}",
        ]
    )
    if depth > 1 or random.random() < 0.4:
        return leaf
    other = condition(random, depth + 1)
    return random.choice([f"({leaf} AND {other})", f"({leaf} OR {other})", f"(NOT ({leaf}))"])


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    low = random.randint(-3, 8)
    return [
        {
            "k": random.choice([None, low, low + random.randint(0, 2)]),
            "s": random.choice(WORDS),
            "x": random.choice([None, 0.5, -1.0, 3.0, float("nan"), float("inf")]),
            "b": random.choice([None, True, False]),
        }
        for _ in range(count)
    ]


def disturb(random: Random, lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection) -> str:
    t, where = lake.table("t"), condition(random)
    word = random.choice(WORDS) or ""
    k = random.randint(-2, 8)
    doings = {
        "few": lambda: t.append(rows(random, random.randint(1, 4))),
        "many": lambda: t.append(rows(random, 25)),
        "delete": lambda: t.delete(where),
        "update": lambda: lake.sql(f"UPDATE t SET s = '{word}', k = k + 1 WHERE k = {k}"),
        "overwrite": lambda: t.overwrite(rows(random, 12)),
        "compact": lambda: lake.compact(),
        "evolve": lambda: t.set_comment(f"{random.random()}"),
        "duck few": lambda: duck.execute(f"INSERT INTO lake.t VALUES ({k}, '{word}', 1, true)"),
        "duck many": lambda: duck.execute(
            f"INSERT INTO lake.t SELECT {k}, 'a' || range, range, false FROM range(30)"
        ),
        "duck delete": lambda: duck.execute(f"DELETE FROM lake.t WHERE k = {k}"),
        "duck update": lambda: duck.execute(f"UPDATE lake.t SET x = 3 WHERE k = {k}"),
        "duck flush": lambda: duck.execute("CALL ducklake_flush_inlined_data('lake')"),
        "duck merge": lambda: duck.execute("CALL ducklake_merge_adjacent_files('lake')"),
    }
    name = random.choice(list(doings))
    doings[name]()
    return name


def answer(lake: tidelake.Lake, where: str) -> Counter[str]:
    found = lake.table("t").scan(["k", "s", "x", "b", "rowid"], where).to_arrow().to_pylist()
    return Counter(map(repr, found))


def committed(tx: Any) -> bool:
    try:
        tx.commit()
    except Conflict:
        return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_no_answer_is_outdated(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, seed: int
) -> None:
    random = Random(seed)
    by = random.choice(PARTITIONS)
    lake.create_table("t", "k INT, s VARCHAR, x DOUBLE, b BOOLEAN", partition_by=by)
    lake.create_table("target", "n INT")
    for _ in range(random.randint(1, 4)):
        lake.table("t").append(rows(random, random.choice([2, 30])))
    asked = [condition(random) for _ in range(12)]
    begun = [lake.transaction(isolation="serializable") for _ in asked]
    seen = []
    for number, (where, tx) in enumerate(zip(asked, begun, strict=True)):
        seen.append(answer(tx, where))
        tx.table("target").append([{"n": number}])
    done = [disturb(random, lake, duck) for _ in range(random.randint(1, 4))]
    outdated = {n for n, where in enumerate(asked) if answer(lake, where) != seen[n]}
    let_through = {n for n, tx in enumerate(begun) if committed(tx)}
    assert let_through & outdated == set(), (done, [asked[n] for n in let_through & outdated])
    there = {row["n"] for row in lake.table("target").to_arrow().to_pylist()}
    assert there == let_through
    if set(done) <= {"compact", "duck merge", "evolve"}:
        assert len(let_through) == len(asked)
