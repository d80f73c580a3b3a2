"""Random histories of a table of facts, with rollups made anywhere, by Tidelake and by DuckDB."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

import duckdb

import tidelake

_START = datetime(2024, 1, 1)
_KEYS = 6
_HOURS = 48

Answer = list[tuple[Any, ...]]


class Trial:
    """A lake that one seed decides about. Every step may fail as the two writers' rules say; what
    must hold is that rollups change no answer."""

    def __init__(
        self,
        seed: int,
        lake: tidelake.Lake,
        duck: duckdb.DuckDBPyConnection,
        *,
        ends: bool = False,
    ) -> None:
        self.random = Random(seed)
        self.lake = lake
        self.duck = duck
        self.added = 0
        self.steps: list[str] = []
        self.used = 0
        self.ends: dict[str, Any] = {"valid_to": "until"} if ends else {}
        schema = "id INTEGER, ts TIMESTAMP, v INTEGER, gone BOOLEAN, until TIMESTAMP"
        kinds = {"key": ["id"], "event_time": "ts", "tombstone": "gone", **self.ends}
        self.table = lake.create_table("facts", schema, **kinds)
        if self.random.random() < 0.5:
            lake.set_option("data_inlining_row_limit", 0)

    def step(self) -> None:
        weights = {
            self._append: 6,
            self._roll_up: 5,
            self._delete: 2,
            self._update: 2,
            self._duck_insert: 2,
            self._duck_delete: 1.5,
            self._duck_update: 1.5,
            self._compact: 1,
            self._duck_merge: 1,
            self._duck_rewrite: 1,
            self._duck_flush: 1,
            self._expire: 1,
            self._duck_expire: 0.4,
            self._add_column: 0.5,
            self._drop_column: 0.4,
            self._tag: 0.5,
            self._roll_back: 0.4,
            self._overwrite: 0.3,
            self._settings: 0.2,
            self._cleanup: 0.3,
        }
        (chosen,) = self.random.choices(list(weights), list(weights.values()))
        self.steps.append(chosen.__name__)
        try:
            chosen()
        except (tidelake.errors.Conflict, tidelake.errors.NotFound) as error:
            self.steps[-1] += f" ({type(error).__name__})"

    def check(self, pairs: int = 4) -> None:
        """As of some moments and known at some snapshots: the same with rollups and without."""
        known = [s.snapshot_id for s in self.lake.snapshots()]
        first = self.lake.table("facts").snapshots()[0].snapshot_id
        for _ in range(pairs):
            at = self.random.choice([known[-1], *(k for k in known if k >= first)])
            moment = self._moment()
            table = self.lake.known_at(at).table("facts")
            try:
                with_them = self._answer(table, moment)
            except tidelake.errors.Invalid:
                continue
            self.used += table.scan(as_of=moment).explain().rollup is not None
            without = self._answer(table, moment, "snapshot_id")  # which no rollup knows
            assert with_them == without, (self.steps, moment, at)

    def _answer(self, table: tidelake.Table, moment: datetime, *extra: str) -> Answer:
        columns = [*table.schema.names, *extra]
        rows = table.scan(columns, as_of=moment).to_arrow().to_pylist()
        names = table.schema.names
        return sorted(tuple((name, row[name]) for name in names) for row in rows)

    def _moment(self) -> datetime:
        return _START + timedelta(hours=self.random.randint(-1, _HOURS + 1))

    def _facts(self, most: int = 6) -> list[dict[str, Any]]:
        found = []
        for _ in range(self.random.randint(1, most)):
            self.added += 1
            key = self.random.randrange(_KEYS)
            start = _START + timedelta(hours=self.random.randint(0, _HOURS))
            found.append(
                {
                    "id": key,
                    "ts": start,
                    "v": self.added,
                    "gone": self.random.random() < 0.2,
                    "until": self._end_of(start),
                }
            )
        return found

    def _end_of(self, start: datetime) -> datetime | None:
        """Some facts have no end, a few end when they begin."""
        hours = self.random.choice([None, 0, 2, 8, 24]) if self.ends else None
        return None if hours is None else start + timedelta(hours=hours)

    def _where(self) -> str:
        if self.random.random() < 0.5:
            return f"id = {self.random.randrange(_KEYS)}"
        return f"v % 5 = {self.random.randrange(5)}"

    def _append(self) -> None:
        self.table.append(self._facts(self.random.choice([2, 20])))

    def _roll_up(self) -> None:
        if self.random.random() < 0.2:
            self.table.rollup(every=self.random.choice(["12h", "1d"]), keep=2)
        else:
            self.table.rollup(as_of=self._moment())

    def _delete(self) -> None:
        self.table.delete(self._where())

    def _update(self) -> None:
        self.table.update({"v": "v + 1000"}, where=self._where())

    def _overwrite(self) -> None:
        self.table.overwrite(self._facts())

    def _compact(self) -> None:
        self.table.compact()

    def _expire(self) -> None:
        self.lake.expire(keep_last=self.random.choice([1, 3, 8]))

    def _tag(self) -> None:
        self.lake.tag(f"tag{len(self.lake.tags())}")

    def _roll_back(self) -> None:
        before = self.table.snapshots()
        self.table.rollback(self.random.choice(before[-4:]).snapshot_id)

    def _settings(self) -> None:
        stone = self.random.choice(["gone", None])
        self.table.set_event_time("ts", key=["id"], tombstone=stone, **self.ends)

    def _add_column(self) -> None:
        name = f"c{self.added}_{len(self.steps)}"
        self.table.evolve(add={name: "INTEGER"})

    def _drop_column(self) -> None:
        extra = [name for name in self.table.schema.names if name.startswith("c")]
        if extra:
            self.table.evolve(drop=[self.random.choice(extra)])

    def _cleanup(self) -> None:
        self.lake.cleanup(older_than="0 seconds")

    def _duck_insert(self) -> None:
        for row in self._facts(3):
            until = "NULL" if row["until"] is None else f"TIMESTAMP '{row['until']}'"
            values = f"{row['id']}, TIMESTAMP '{row['ts']}', {row['v']}, {row['gone']}, {until}"
            self._duck(f"INSERT INTO facts (id, ts, v, gone, until) VALUES ({values})")

    def _duck_delete(self) -> None:
        self._duck(f"DELETE FROM facts WHERE {self._where()}")

    def _duck_update(self) -> None:
        self._duck(f"UPDATE facts SET v = v + 1000 WHERE {self._where()}")

    def _duck_merge(self) -> None:
        self._duck("CALL ducklake_merge_adjacent_files('lake')")

    def _duck_rewrite(self) -> None:
        self._duck("CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.0)")

    def _duck_flush(self) -> None:
        self._duck("CALL ducklake_flush_inlined_data('lake')")

    def _duck_expire(self) -> None:
        ids = [s.snapshot_id for s in self.lake.snapshots()][:-1]
        gone = [each for each in ids if self.random.random() < 0.3]
        if gone:
            self._duck(f"CALL ducklake_expire_snapshots('lake', versions => {gone})")
            self._duck("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
            self._duck("CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)")

    def _duck(self, sql: str) -> None:
        try:
            self.duck.execute(sql)
        except duckdb.Error as error:
            self.steps[-1] += f" ({type(error).__name__})"


def run(
    seed: int,
    lake: tidelake.Lake,
    duck: duckdb.DuckDBPyConnection,
    steps: int,
    *,
    ends: bool = False,
) -> Trial:
    trial = Trial(seed, lake, duck, ends=ends)
    for _ in range(steps):
        trial.step()
        trial.check()
    return trial
