"""What came late, after any mix of changes: against the rows of both snapshots."""

from datetime import datetime, timedelta
from random import Random

import pytest

import tidelake
from tidelake.coverage.values.series import Series
from tidelake.errors import Invalid
from tidelake.model.names import quote

DAY = datetime(2024, 1, 1)
BUCKETS = ["1m", "5m", "1h", "1d"]


def change(t: tidelake.Table, chance: Random) -> None:
    clock, symbol = (t.schema.columns[n].name for n in (1, 0))
    what = chance.choice(["append"] * 4 + ["delete", "overwrite", "bucket", "rename", "compact"])
    rows = [
        {symbol: chance.choice("abc"), clock: DAY + timedelta(minutes=chance.randrange(200))}
        for _ in range(chance.choice([3, 30]))
    ]
    if what == "append":
        t.append(rows)
    elif what == "delete":
        start = DAY + timedelta(minutes=chance.randrange(200))
        t.delete(f"{quote(clock)} BETWEEN '{start}' AND '{start + timedelta(minutes=50)}'")
    elif what == "overwrite":
        t.overwrite(rows)
    elif what == "bucket":
        entity = chance.choice([(), symbol])
        t.set_coverage(chance.choice(BUCKETS), entity=entity, event_time=clock)
    elif what == "rename":
        t.evolve(
            rename={clock: chance.choice(["ts", "at", "time"])} if clock != "ts" else {clock: "at"}
        )
    else:
        t.compact()


def by_rows(t: tidelake.Table, of: Series) -> set[tuple]:
    """Entities and ids of buckets, by reading all rows."""
    names = {column.id: column.name for column in t.schema}
    columns = [names[column.id] for column in of.columns]
    rows = t.scan(columns).to_arrow().to_pylist()
    found = set()
    for row in rows:
        *entity, moment = (row[name] for name in columns)
        found.add((tuple(entity), of.clock.id(of.clock.number(of.position(moment, "ts")))))
    return found


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_came_late_is_what_the_rows_say(lake, seed):
    chance = Random(seed)
    t = lake.create_table("t", "symbol VARCHAR, ts TIMESTAMP")
    first = lake.snapshots()[-1].snapshot_id
    t.append([{"symbol": "a", "ts": DAY}])
    t.set_coverage("1m", entity="symbol", event_time="ts")
    for _ in range(12):
        change(t, chance)
    now = t.coverage()
    of = now._series
    there = by_rows(t, of)
    for known in range(first, lake.snapshots()[-1].snapshot_id + 1):
        late = now.diff(known)
        found = {(entity, bucket) for entity, ids in late._extent.buckets.items() for bucket in ids}
        assert found == there - by_rows(t.known_at(known), of), f"known at {known}"
        assert (late.start, late.end, late.entities) == (now.start, now.end, now.entities)
    with pytest.raises(Invalid, match="not kept"):
        t.known_at(first).coverage()
