"""Short histories of facts under odd keys and names, each compared with a plain list, at its end
alone: so there can be very many. What a plain read says of each snapshot is taken for granted."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import tidelake
from tests.join.pairs import chosen
from tidelake.model.names import quote
from tidelake.testing import canonical
from tidelake.testing.histories.kinds import SCALARS, arrow, literal
from tidelake.testing.place import Place

KEYS = ("VARCHAR", "DOUBLE", "DATE", "DECIMAL(9,2)", "UUID", "BLOB", "TIMESTAMPTZ", "BIGINT")
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMP_S")
NAMES = ('odd "t"', "valid_from", "known_to", "snapshot_id", "file_index", "a.b", "select", "key")
ZEROS = (0.0, -0.0, 1.5)
START = datetime(2024, 3, 1)
STEPS = (
    *["append"] * 6,
    *["delete", "update", "update", "portion", "merge", "transaction", "transaction"],
    *["compact", "rollup", "rollup", "rename", "rollback", "duck", "duck"],
)
Row = tuple[Any, ...]
Period = tuple[Row, int, int | None]


@dataclass(frozen=True)
class Fact:
    """A row, its id, and what it says: about which key, since and until when, and whether that is
    no more. Moments are nanoseconds since 1970."""

    id: int
    row: Row
    key: Row
    since: int
    until: int | None
    ends: bool

    def holds(self, moment: int) -> bool:
        return self.since <= moment and (self.until is None or self.until > moment)


@dataclass(frozen=True)
class Then:
    """All facts of a snapshot."""

    facts: list[Fact]

    def winners(self, moment: int) -> dict[Row, Fact]:
        """The oracle: of each key the fact that holds, tombstones too."""
        found: dict[Row, Fact] = {}
        for fact in sorted(self.facts, key=lambda each: (each.since, each.id)):
            if fact.holds(moment):
                found[fact.key] = fact
        return found

    def as_of(self, moment: int) -> Counter[Row]:
        return Counter(fact.row for fact in self.winners(moment).values() if not fact.ends)

    def periods(self) -> Iterator[Period]:
        """When each fact held."""
        for key in {fact.key for fact in self.facts}:
            own = Then([fact for fact in self.facts if fact.key == key])
            edges = {edge for fact in own.facts for edge in (fact.since, fact.until)} - {None}
            held: tuple[Fact, int] | None = None
            for edge in sorted(edge for edge in edges if edge is not None):
                now = own.winners(edge).get(key)
                if held is not None and held[0] is not now:
                    yield held[0].row, held[1], edge
                    held = None
                if held is None and now is not None and not now.ends:
                    held = now, edge
            if held is not None:
                yield held[0].row, held[1], None


class Short:
    """One history, by its seed."""

    def __init__(self, place: Place, seed: int, duck: duckdb.DuckDBPyConnection | None) -> None:
        self.chance, self.duck = Random(seed), duck
        self.lake = place.open()
        self.then: dict[int, Then] = {}
        self._create()

    def _create(self) -> None:
        chance = self.chance
        names = chance.sample(NAMES, 5)
        self.time, self.gone, self.end, self.value = names[:4]
        self.key = names[4:] if chance.random() < 0.7 else [names[4], "k"]
        kind = chance.choice(TIMES)
        self.kinds: dict[str, Any] = {name: chance.choice(KEYS) for name in self.key}
        self.kinds |= {self.time: kind, self.gone: "BOOLEAN", self.end: kind, self.value: "INTEGER"}
        self.ends_itself = chance.random() < 0.4
        self.lake.set_option("data_inlining_row_limit", chance.choice(["0", "3", "40"]))
        self.table = self.lake.create_table(
            "t",
            ", ".join(f"{quote(name)} {self.kinds[name]}" for name in self.kinds),
            key=self.key,
            event_time=self.time,
            tombstone=self.gone,
            valid_to=self.end if self.ends_itself else None,
            sort_by=[quote(self.key[0])] if chance.random() < 0.2 else [],
        )
        self.first = self.table.snapshots()[-1].snapshot_id

    def _moment(self) -> datetime:
        return START + timedelta(days=self.chance.randint(-1, 6))

    def _any(self, name: str) -> Any:
        kind = self.kinds[name]
        if name == self.value:
            return self.chance.randint(0, 9)
        if name == self.gone:
            return self.chance.random() < 0.2
        if name not in (self.time, self.end):
            return self.chance.choice(ZEROS if kind == "DOUBLE" else SCALARS[kind][1][:3])
        if name == self.end and self.chance.random() < 0.6:
            return None
        moment = self._moment()
        if kind == "DATE":
            return moment.date()
        return moment.replace(tzinfo=UTC) if kind == "TIMESTAMPTZ" else moment

    def _rows(self, count: int) -> pa.Table:
        return pa.table(
            {
                name: pa.array([self._any(name) for _ in range(count)], arrow(kind))
                for name, kind in self.kinds.items()
            }
        )

    def _literal(self, name: str) -> str:
        return literal(self.kinds[name], self._any(name))

    def _where(self) -> str:
        name = self.chance.choice([*self.key, self.time, self.value])
        return f"{quote(name)} {self.chance.choice(['=', '<=', '>'])} {self._literal(name)}"

    def step(self) -> None:
        getattr(self, f"_{self.chance.choice(STEPS)}")(self.table)
        self.record()

    def record(self) -> None:
        for snapshot in self.lake.snapshots():
            if self.first <= (at := snapshot.snapshot_id) and at not in self.then:
                self.then[at] = self._read(self.lake.known_at(at).table("t"))

    def _read(self, table: tidelake.Table) -> Then:
        names = table.schema.names
        found = table.scan(columns=["rowid", *names]).to_arrow()
        columns = [canonical.values(found[name]) for name in found.column_names]
        facts = []
        for number, *row in zip(*columns, strict=True):
            told = dict(zip(names, row, strict=True))
            facts.append(
                Fact(
                    number,
                    tuple(row),
                    tuple(0.0 if told[name] == "-0.0" else told[name] for name in self.key),
                    self._nanoseconds(told[self.time]),
                    self._nanoseconds(told[self.end]) if self.ends_itself else None,
                    told[self.gone] is True,
                )
            )
        return Then(facts)

    def _nanoseconds(self, value: Any) -> Any:
        days = self.kinds[self.time] == "DATE" and value is not None
        return value * 86_400 * 10**9 if days else value

    def _append(self, table: tidelake.Table) -> None:
        table.append(self._rows(self.chance.randint(1, 8)))

    def _delete(self, table: tidelake.Table) -> None:
        table.delete(self._where())

    def _update(self, table: tidelake.Table) -> None:
        name = self.chance.choice([self.value, self.time, *self.key])
        table.update({name: self._literal(name)}, where=self._where())

    def _portion(self, table: tidelake.Table) -> None:
        """Within it the new value holds, and elsewhere what held before."""
        low, high = sorted([self._moment(), self._moment() + timedelta(days=3)])
        before, where = self._read(table), f"{quote(self.key[0])} = {self._literal(self.key[0])}"
        table.update({self.value: "77"}, where, portion=(low, high))
        meant = {fact.key for fact in self._read(self.lake.table("t")).facts} & self._keys(where)
        place = list(self.kinds).index(self.value)
        for moment in (low, high - timedelta(seconds=1), high, low - timedelta(seconds=1)):
            at, wanted = nanoseconds(moment), Counter[Row]()
            for key, fact in before.winners(at).items():
                row = list(fact.row)
                if key in meant and low <= moment < high:
                    row[place] = 77
                wanted[self._timeless(row)] += not fact.ends
            found = self._read(table).as_of(at)
            told = Counter(self._timeless(row) for row in found.elements())
            assert told == +wanted, (moment, where, low, high)

    def _keys(self, where: str) -> set[Row]:
        rows = self.table.scan(columns=self.key, where=where).to_arrow()
        columns = [canonical.values(rows[name]) for name in self.key]
        return {
            tuple(0.0 if value == "-0.0" else value for value in row)
            for row in zip(*columns, strict=True)
        }

    def _timeless(self, row: list[Any] | Row) -> Row:
        pairs = zip(self.kinds, row, strict=True)
        return tuple(value for name, value in pairs if name not in (self.time, self.end))

    def _merge(self, table: tidelake.Table) -> None:
        table.merge(self._rows(1), on=[*self.key, self.time])

    def _transaction(self, _table: tidelake.Table) -> None:
        with self.lake.transaction() as tx:
            for _ in range(self.chance.randint(2, 4)):
                own = tx.table("t")
                self.chance.choice([self._append, self._delete, self._update, self._merge])(own)
                moment = self._moment()
                self._same(f"inside as of {moment}", self._read(own), moment, own)

    def _compact(self, table: tidelake.Table) -> None:
        table.compact()

    def _rollup(self, table: tidelake.Table) -> None:
        table.rollup(as_of=self._moment())

    def _rename(self, table: tidelake.Table) -> None:
        free = next(name for name in NAMES if name not in self.kinds)
        if free == "file_index" and self.value != "file_index":
            table.evolve(rename={quote(self.value): quote(free)})
            self.kinds = {free if n == self.value else n: k for n, k in self.kinds.items()}
            self.value = free
            self.then.clear()
            self.first = table.snapshots()[-1].snapshot_id

    def _rollback(self, table: tidelake.Table) -> None:
        if self.then:
            table.rollback(to=self.chance.choice(sorted(self.then)))

    def _duck(self, _table: tidelake.Table) -> None:
        """A transaction of DuckDB's that writes rows and takes some of them back."""
        if self.duck is None:
            return
        names = ", ".join(map(quote, self.kinds))
        rows = ", ".join(
            f"({', '.join(self._literal(name) for name in self.kinds)})"
            for _ in range(self.chance.choice([2, 12]))
        )
        self.duck.execute("BEGIN")
        self.duck.execute(f"INSERT INTO lake.t ({names}) VALUES {rows}")
        self.duck.execute(f"DELETE FROM lake.t WHERE {self._where()}")
        self.duck.execute("COMMIT")

    def compare(self) -> None:
        self.record()
        times = {each.snapshot_id: each.time for each in self.lake.snapshots()}
        for _ in range(3):
            at, moment = self.chance.choice(sorted(self.then)), self._moment()
            here = self.table.known_at(at if self.chance.random() < 0.5 else times[at])
            self._same(f"at {at} as of {moment}", self.then[at], moment, here)
        found = canonical_periods(here.between().to_arrow(), self._nanoseconds)
        assert found == Counter(self.then[at].periods()), f"between at {at}"
        versions = self.table.versions().to_arrow(), lambda then: Counter(f.row for f in then.facts)
        self._told_at_each(times, "versions", *versions)
        answers = self.table.as_of(moment).versions().to_arrow()
        state = nanoseconds(moment)
        self._told_at_each(times, f"as of {moment}", answers, lambda then: then.as_of(state))
        self._follow()
        self._join()

    def _same(self, what: str, then: Then, moment: datetime, table: tidelake.Table) -> None:
        found = canonical.rows(table.as_of(moment).to_arrow())
        assert Counter(found) == then.as_of(nanoseconds(moment)), what

    def _told_at_each(
        self,
        times: dict[int, datetime],
        what: str,
        told: pa.Table,
        wanted: Callable[[Then], Counter[Row]],
    ) -> None:
        """What is told of all snapshots is what each of them says."""
        *columns, known_from, known_to = (canonical.values(column) for column in told.columns)
        rows = list(zip(zip(*columns, strict=True), known_from, known_to, strict=True))
        for at, then in self.then.items():
            now = nanoseconds(times[at])
            found = Counter(
                row for row, came, went in rows if came <= now and went_after(went, now)
            )
            assert found == wanted(then), f"{what} at {at}"

    def _follow(self) -> None:
        """Changes, applied to the rows of one snapshot, make those of another."""
        first, last = sorted(self.chance.choices(sorted(self.then), k=2))
        rows = {fact.id: fact.row for fact in self.then[first].facts}
        told = self.table.changes(first, last).to_arrow()
        _, _, ids, kinds, *columns = (canonical.values(column) for column in told.columns)
        for number, kind, row in zip(ids, kinds, zip(*columns, strict=True), strict=True):
            if kind in ("insert", "update_postimage"):
                assert number not in rows, (first, last, number)
                rows[number] = row
            else:
                assert rows.pop(number) == row, (first, last, number)
        assert rows == {fact.id: fact.row for fact in self.then[last].facts}, (first, last)

    def _join(self) -> None:
        """Each left row with what was known at its own snapshot."""
        left = self._rows(6).select([*self.key, self.time])
        known = self.chance.choices(sorted(self.then), k=6)
        left = left.append_column("known!", pa.array(known, pa.int64()))
        direction = self.chance.choice(["backward", "forward", "nearest"])
        joined = tidelake.asof_join(
            left, self.table, left_time=self.time, known_at="known!", direction=direction
        )
        found = joined.to_arrow()
        own = len(left.column_names)
        assert [canonical.values(column) for column in found.columns[:own]] == [
            canonical.values(column) for column in left.columns
        ]
        place = list(self.kinds).index(self.value)
        wanted = [
            None if fact is None else fact.row[place]
            for fact in map(self._match, left.to_pylist(), [direction] * 6)
        ]
        assert found[self.value].to_pylist() == wanted, (direction, left.to_pylist())

    def _match(self, row: dict[str, Any], direction: str) -> Fact | None:
        table = pa.table({n: pa.array([row[n]], arrow(self.kinds[n])) for n in self.key})
        (key,) = zip(*(canonical.values(column) for column in table.columns), strict=True)
        key = tuple(0.0 if value == "-0.0" else value for value in key)
        now, before, after = nanoseconds(row[self.time]), [], []
        facts = [fact for fact in self.then[row["known!"]].facts if fact.key == key]
        facts = [fact for fact in facts if fact.until is None or fact.until > fact.since]
        facts.sort(key=lambda fact: fact.id)
        for place, each in enumerate(facts):
            if each.holds(now):
                before.append((each.since, place))
            if each.since >= now:
                after.append((each.since, -place))
        clocks: list[dict[str, Any]] = [{"t": fact.since, "fact": fact} for fact in facts]
        found = chosen({"t": now}, clocks, ("t", "t"), direction, before, after, None)
        fact: Fact | None = None if found is None else found["fact"]
        return None if fact is None or fact.ends else fact


def went_after(went: int | None, now: int) -> bool:
    return went is None or went > now


def nanoseconds(moment: date) -> int:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000


def canonical_periods(found: pa.Table, clock: Callable[[Any], Any]) -> Counter[Period]:
    *columns, valid_from, valid_to = (canonical.values(column) for column in found.columns)
    rows = zip(*columns, strict=True)
    return Counter(zip(rows, map(clock, valid_from), map(clock, valid_to), strict=True))


def run(place: Place, seed: int, duck: duckdb.DuckDBPyConnection | None = None) -> None:
    short = Short(place, seed, duck)
    try:
        for _ in range(short.chance.randint(2, 8)):
            short.step()
        short.compare()
    finally:
        short.lake.close()
