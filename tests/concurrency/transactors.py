"""Processes that read and write in transactions, and tell what they saw."""

import random
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import duckdb

import tidelake
from tests.concurrency.dependencies import Done
from tidelake.errors import Conflict
from tidelake.testing.place import Place

KEYS = 4
DUCK = "duck"
_LISTS = 2


def table_of(key: int) -> str:
    return f"list{key % _LISTS}"


def prepare(place: Place) -> None:
    with place.open() as lake:
        for number in range(_LISTS):
            lake.create_table(f"list{number}", "k INT, v BIGINT, pad VARCHAR")
        counters = [{"k": key, "n": 0} for key in range(KEYS)]
        lake.create_table("counter", "k INT, n BIGINT").append(counters)
        lake.create_table("movement", "account INT, amount BIGINT, who INT")
        lake.table("movement").append([{"account": a, "amount": 20, "who": 0} for a in (0, 1)])


def orders(lake: tidelake.Lake) -> dict[int, list[int]]:
    """The lists as they are now, in the order in which their rows were committed."""
    found: dict[int, list[int]] = {}
    for key in range(KEYS):
        scan = lake.table(table_of(key)).scan(["v", "snapshot_id", "rowid"], f"k = {key}")
        rows = sorted((row["rowid"], row["v"]) for row in scan.to_arrow().to_pylist())
        found[key] = [value for _, value in rows]
    return found


@dataclass(frozen=True)
class Work:
    """How many transactions a process does, at which level; `who` makes its numbers its own."""

    who: int
    times: int
    level: str
    seed: int = 0

    def numbers(self) -> range:
        return range(self.who * 1_000_000 + 1, self.who * 1_000_000 + 1 + self.times)


def transact(place: Place, work: Work) -> list[Done]:
    """Read some lists and a counter, add to some of them; again if it was a Conflict."""
    random_ = random.Random(work.seed * 1000 + work.who)
    done = []
    with place.open() as lake:
        for number in work.numbers():
            landed = None
            while landed is None:
                with suppress(Conflict):
                    landed = _transaction(lake, work.level, number, random_)
            done.append(landed)
    return done


def _transaction(lake: tidelake.Lake, level: str, number: int, random_: random.Random) -> Done:
    read = random_.sample(range(KEYS), random_.randint(1, 3))
    added = random_.sample(range(KEYS), random_.randint(1, 2))
    counter = random_.randrange(KEYS)
    raised = [counter] if random_.random() < 0.3 else []
    with lake.transaction(isolation=level) as tx:
        lists = {key: _values(tx, key, sql=random_.random() < 0.5) for key in read}
        counters = {counter: _count(tx, counter)}
        for key in added:
            rows = [{"k": key, "v": number, "pad": "p"}]
            if random_.random() < 0.2:  # a file
                rows += [{"k": -1, "v": number, "pad": "x"}] * 15
            tx.table(table_of(key)).append(rows)
        for key in raised:
            tx.sql(f"UPDATE counter SET n = {counters[key] + 1} WHERE k = {key}")
        if random_.random() < 0.1:
            raise Conflict("second thoughts: nobody may see this")
    return Done(number, level, lists, added, counters, raised)


def _values(tx: Any, key: int, *, sql: bool) -> list[int]:
    name = table_of(key)
    if sql:
        rows = tx.sql(f"SELECT v FROM {name} WHERE k = {key}").to_arrow()
    else:
        rows = tx.table(name).scan(["v"], f"k = {key}").to_arrow()
    return [int(value) for value in rows["v"].to_pylist()]


def _count(tx: Any, key: int) -> int:
    return int(tx.table("counter").scan(["n"], f"k = {key}").to_arrow()["n"][0].as_py())


def duck_transact(place: Place, work: Work) -> list[Done]:
    """DuckDB reads lists and adds to them; what it fails to commit has not happened."""
    random_ = random.Random(work.seed * 1000 + work.who)
    done = []
    with place.duck() as duck:
        duck.execute("USE lake")
        for number in work.numbers():
            keys = random_.sample(range(KEYS), random_.randint(1, 3))
            try:
                duck.execute("BEGIN")
                lists = {key: _duck_values(duck, key) for key in keys}
                for key in keys:
                    duck.execute(f"INSERT INTO {table_of(key)} VALUES ({key}, {number}, 'd')")
                duck.execute("COMMIT")
            except duckdb.Error:
                with suppress(duckdb.Error):
                    duck.execute("ROLLBACK")
                continue
            done.append(Done(number, DUCK, lists, keys))
    return done


def _duck_values(duck: Any, key: int) -> list[int]:
    rows = duck.execute(f"SELECT v FROM {table_of(key)} WHERE k = {key}").fetchall()
    return [row[0] for row in rows]


def withdraw(place: Place, work: Work) -> int:
    """Take from one of two accounts as long as both together have enough; how often it was."""
    random_ = random.Random(work.seed * 1000 + work.who)
    taken = 0
    with place.open() as lake:
        for _ in work.numbers():
            landed = None
            while landed is None:
                with suppress(Conflict):
                    landed = _withdrawal(lake, work, random_.randrange(2), random_.randint(5, 15))
            taken += landed
    return taken


def _withdrawal(lake: tidelake.Lake, work: Work, account: int, amount: int) -> int:
    with lake.transaction(isolation=work.level) as tx:
        rows = [tx.table("movement").scan(["amount"], f"account = {a}").to_arrow() for a in (0, 1)]
        total = sum(sum(each["amount"].to_pylist()) for each in rows)
        if total >= amount:
            row = {"account": account, "amount": -amount, "who": work.who}
            tx.table("movement").append([row])
    return int(total >= amount)


def duck_deposit(place: Place, work: Work) -> int:
    """DuckDB pays in, without looking; how often it was."""
    paid = 0
    with place.duck() as duck:
        for number in work.numbers():
            with suppress(duckdb.Error):
                duck.execute(f"INSERT INTO lake.movement VALUES ({number % 2}, 7, {work.who})")
                paid += 1
    return paid
