"""A table of facts that grows at random: by Tidelake and by DuckDB, with upkeep in between."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

import duckdb

import tidelake
from tidelake.testing.faces import lake_of


def day(n: int) -> datetime:
    return datetime(2024, 3, n)


def fact(name: str, when: int, value: float | None = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "ts": day(when), "v": value, **more}


@dataclass
class Growth:
    """`t` has the columns `name` (its key), `ts`, `v` and `gone`."""

    t: tidelake.Table
    duck: duckdb.DuckDBPyConnection
    chance: Random
    step: int = 0

    def go(self, steps: int) -> None:
        self.t.put([fact(name, n, n) for name in "abc" for n in (2, 5)])
        for self.step in range(steps):
            OPERATIONS[self.chance.choice(list(OPERATIONS))](self)

    def facts(self) -> list[dict[str, Any]]:
        return [fact(self.name(), self.chance.randint(1, 9), self.step) for _ in range(3)]

    def name(self) -> str:
        return self.chance.choice("abc")

    def every(self, n: int) -> str:
        return f"v % {n} = {self.step % n}"

    def insert(self, facts: list[dict[str, Any]]) -> None:
        values = ", ".join(f"('{f['name']}', {f['v']}, '{f['ts']}')" for f in facts)
        self.duck.execute(f"INSERT INTO t(name, v, ts) VALUES {values}")

    def commit(self) -> None:
        with lake_of(self.t).transaction() as tx:
            tx.table("t").put(self.facts())
            tx.table("t").delete(self.every(3))
            tx.table("t").end(self.name(), at=day(self.chance.randint(1, 9)))

    def expire(self) -> None:
        """What is tagged stays, so that there are holes."""
        lake = lake_of(self.t)
        if self.step % 2:
            lake.tag(f"step {self.step}")
        elif len(lake.snapshots()) > 12:
            lake.expire(keep_last=self.chance.randint(4, 8))

    def rollback(self) -> None:
        self.t.rollback(self.chance.choice(lake_of(self.t).snapshots()[2:]).snapshot_id)

    def call(self, function: str) -> None:
        self.duck.execute(f"CALL ducklake_{function}")


OPERATIONS: dict[str, Callable[[Growth], Any]] = {
    "put": lambda g: g.t.put(g.facts()),
    "put one": lambda g: g.t.put(g.facts()[0]),
    "files": lambda g: g.t.append(g.facts() * 5),
    "duck": lambda g: g.insert(g.facts()),
    "duck files": lambda g: g.insert(g.facts() * 5),
    "end": lambda g: g.t.end(g.name(), at=day(1 + g.step % 9)),
    "commit": Growth.commit,
    "delete": lambda g: g.t.delete(g.every(7)),
    "duck delete": lambda g: g.duck.execute(f"DELETE FROM t WHERE {g.every(5)} AND name = 'a'"),
    "update": lambda g: g.t.update({"v": "v + 100", "ts": "ts + INTERVAL 1 DAY"}, g.every(5)),
    "other key": lambda g: g.t.update({"name": f"'{g.name()}'"}, g.every(6)),
    "duck update": lambda g: g.duck.execute(
        f"UPDATE t SET v = v + 1, name = '{g.name()}' WHERE {g.every(7)}"
    ),
    "compact": lambda g: g.t.compact(),
    "flush": lambda g: g.call("flush_inlined_data('lake')"),
    "merge": lambda g: g.call("merge_adjacent_files('lake')"),
    "rewrite": lambda g: g.call("rewrite_data_files('lake', delete_threshold => 0.01)"),
    "expire": Growth.expire,
    "rollback": Growth.rollback,
}
