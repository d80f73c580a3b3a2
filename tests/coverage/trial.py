"""A series on trial: whatever is done to it, by whom, what it covers is what its rows say, at
every snapshot that is left, to whoever asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb

import tidelake
from tests.coverage import doings
from tests.coverage.doings import Doing, the_table
from tests.coverage.oracle import by_rows, differences, is_series
from tidelake.coverage import records as coverage
from tidelake.coverage import series_in_use as series
from tidelake.errors import Conflict, Invalid, NotFound, TidelakeError, Unsupported
from tidelake.testing.duck import duck_connection
from tidelake.testing.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = (*["ours"] * 8, *["transaction"] * 3, *["duck"] * 7, *["upkeep"] * 5)
REFUSED = (Conflict, Invalid, NotFound, Unsupported)


class Trial:
    """Three lakes are open where they can be, of which one may only read: each remembers what it
    was told before."""

    def __init__(self, place: Place, seed: int, spark: "SparkSession | None" = None) -> None:
        self.place = place
        self.log: list[str] = []
        self._spark = spark
        self._lakes: dict[str, tidelake.Lake] = {}
        self._connection: duckdb.DuckDBPyConnection | None = None
        place.data.parent.mkdir(parents=True, exist_ok=True)
        plain = spark is not None
        self._do("first", lambda lake, chance, _: doings.create(lake, chance, plain=plain), seed)

    def lake(self, which: str = "writer") -> tidelake.Lake:
        if self.place.exclusive:
            self._leave_duck()
            which = "writer"
        if which not in self._lakes:
            given: dict[str, Any] = {"read_only": True} if which == "reader" else {}
            if which == "writer" and self._spark is not None:
                given = {"engine": "spark", "spark": self._spark}
            self._lakes[which] = self.place.open(**given)
        return self._lakes[which]

    @property
    def duck(self) -> duckdb.DuckDBPyConnection:
        if self.place.exclusive:
            self._leave_lakes()
        if self._connection is None:
            self._connection = duck_connection()
            self._connection.execute("SET threads = 1")
            self._connection.execute(f"ATTACH '{self.place.ducklake}' AS lake")
            self._connection.execute("USE lake")
        return self._connection

    def _leave_duck(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _leave_lakes(self) -> None:
        for lake in self._lakes.values():
            lake.close()
        self._lakes.clear()

    def close(self) -> None:
        self._leave_lakes()
        self._leave_duck()

    def step(self, kind: str, seed: int) -> None:
        chance = Random(seed)
        getattr(self, f"_{kind}")(chance)
        self.compare(chance)

    def _ours(self, chance: Random) -> None:
        self._do("writer", doings.ours(chance), chance.randrange(1 << 30))

    def _upkeep(self, chance: Random) -> None:
        doing = chance.choice(doings.UPKEEP)
        self._do(chance.choice(["writer", "other"]), doing, chance.randrange(1 << 30))

    def _do(self, who: str, doing: Doing, seed: int) -> None:
        with self._explained(doing.__name__):
            try:
                said = doing(self.lake(who), Random(seed), self.place.data.parent)
                self.log.append(f"{who}: {said}")
            except REFUSED as error:
                self.log.append(f"{who}: {doing.__name__} refused: {error}")

    def _transaction(self, chance: Random) -> None:
        self.log.append("begin")
        with self._explained("transaction"):
            try:
                with self.lake().transaction() as tx:
                    for _ in range(chance.randint(2, 4)):
                        said = doings.ours(chance)(tx, chance, self.place.data.parent)
                        self.log.append(f"  {said}")
                        self._expect(tx.table(the_table(tx).name), [tx], "inside")
                self.log.append("commit")
            except REFUSED as error:
                self.log.append(f"refused: {error}")

    def _duck(self, chance: Random) -> None:
        lake = self.lake()
        ids = [snapshot.snapshot_id for snapshot in lake.snapshots()]
        folder = self.place.data.parent
        statements = doings.by_duckdb(the_table(lake), ids, chance, folder)
        try:
            for statement in statements:
                self.log.append(f"duck: {statement}")
                self.duck.execute(statement).fetchall()
        except duckdb.Error as error:
            self.log.append(f"  refused: {str(error)[:200]}")
            self._leave_duck()

    def compare(self, chance: Random, *, everything: bool = False) -> None:
        """Now, and at some of the snapshots that are left, or at all."""
        with self._explained("compare"):
            rows = self.lake("other")
            ids = [snapshot.snapshot_id for snapshot in rows.snapshots()]
            some = ids if everything else chance.sample(ids, min(2, len(ids)))
            for at in {*some, ids[-1]}:
                for name in rows.known_at(at).tables():
                    table = rows.table(name) if at == ids[-1] else rows.known_at(at).table(name)
                    self._expect(table, self._askers(at, chance, everything), f"at {at}")

    def verify(self) -> None:
        """What is kept is right, and once a snapshot has been expired nothing is kept in vain."""
        lake = self.lake("other")
        with self._explained("verify"):
            wrong = [
                p for p in lake.verify(deep=True).problems if p.check in ("coverage", "unchecked")
            ]
            assert not wrong, "\n".join([*self.log, *map(str, wrong)])
            lake.expire(keep_last=len(lake.snapshots()))
            with lake.session.reading() as reader:
                assert not coverage.strays(reader), "\n".join(self.log)
                assert not series.idle(reader, lake.data_path), "\n".join(self.log)

    def _askers(self, at: int, chance: Random, everything: bool) -> list[tidelake.Lake]:
        which = ["other", "reader", "writer"]
        if not everything or self._spark is not None:
            which = [chance.choice(which)]
        return [self.lake(each).known_at(at) for each in which]

    def _expect(self, table: tidelake.Table, askers: list[tidelake.Lake], label: str) -> None:
        if not is_series(table):
            return
        wanted = by_rows(table)
        for lake in askers:
            found = differences(lake.table(table.name), wanted, label)
            if found:
                raise AssertionError("\n".join([*self.log, *found]))

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (TidelakeError, duckdb.Error) as error:
            raise AssertionError("\n".join([*self.log, f"{what}: {error!r}"])) from error


def run(place: Place, seed: int, length: int, spark: "SparkSession | None" = None) -> Trial:
    """A history by its seed; at its end every snapshot is asked of, and `verify` finds nothing
    wrong with what is kept. Answers are remembered however little they cost."""
    chance = Random(seed)
    trial = Trial(place.tuned(many_pieces=0), seed, spark)
    try:
        for _ in range(length):
            kind = chance.choice(KINDS)
            if kind != "duck" or place.ducklake is not None:
                trial.step(kind, chance.randrange(1 << 30))
        trial.compare(chance, everything=True)
        trial.verify()
    finally:
        trial.close()
    return trial
