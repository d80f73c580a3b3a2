"""Random histories of one table: all writes and all maintenance, by us and by DuckDB."""

from contextlib import suppress
from random import Random

import duckdb
import pyarrow as pa

import tidelake
from tests.history.feed import snapshot_ids

FLUSH = "CALL ducklake_flush_inlined_data('lake')"
MERGE = "CALL ducklake_merge_adjacent_files('lake')"
REWRITE = "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)"

OURS = ["append", "delete", "update", "merge", "overwrite", "rollback", "compact", "expire"]
SHAPES = ["add", "rename", "drop", "partition"]
THEIRS = [
    "INSERT INTO t (id) SELECT unnest({ids})",
    "DELETE FROM t WHERE {where}",
    "UPDATE t SET n = coalesce(n, 0) + 1 WHERE {where}",
    FLUSH,
    MERGE,
    REWRITE,
    "CALL ducklake_expire_snapshots('lake', versions => [{old}])",
]


def grown(
    lake: tidelake.Lake, duck: duckdb.DuckDBPyConnection, random: Random, steps: int
) -> list[str]:
    """Let `t` live; what was done to it."""
    lake.create_table("t", "id BIGINT, n INTEGER")
    chosen = ["append", *random.choices([*OURS, *OURS, *SHAPES, *THEIRS, *THEIRS], k=steps)]
    for step in chosen:
        where = random.choice(
            ["id % 2 = 0", "id % 3 = 1", "id % 5 = 2", "id % 13 = 3", "id % 40 = 7"]
        )
        snapshots = [snapshot.snapshot_id for snapshot in lake.snapshots()]
        ids = [10 * snapshots[-1] + n for n in range(random.choice([1, 3, 12, 30]))]
        if step in OURS:
            _write(lake, step, ids, where, random)
        elif step in SHAPES:
            _evolve(lake, step, snapshots[-1])
        else:
            old = random.choice(snapshots[:-1])
            # DuckDB cannot rewrite while there are catalog rows without a newer column.
            with suppress(*([duckdb.TransactionException] if step == REWRITE else [])):
                duck.execute(step.format(ids=ids, where=where, old=old))
    return chosen


def _write(lake: tidelake.Lake, step: str, ids: list[int], where: str, random: Random) -> None:
    t = lake.table("t")
    data = pa.table({"id": pa.array(ids, pa.int64())})
    match step:
        case "append":
            t.append(data)
        case "delete":
            t.delete(where)
        case "update":
            t.update({"n": "coalesce(n, 0) + 1"}, where=where)
        case "merge":
            t.merge(pa.table({"id": pa.array([n - 15 for n in ids], pa.int64())}), on="id")
        case "overwrite":
            t.overwrite(data)
        case "rollback":
            t.rollback(to=random.choice(snapshot_ids(lake)))
        case "compact":
            t.compact()
        case "expire":
            lake.expire(keep_last=random.choice([3, 8]))


def _evolve(lake: tidelake.Lake, step: str, number: int) -> None:
    t = lake.table("t")
    more = t.schema.names[2:]
    match step:
        case "add":
            t.evolve(add={f"c{number}": "INTEGER DEFAULT 5"})
        case "rename" if more:
            t.evolve(rename={more[-1]: f"r{number}"})
        case "drop" if more:
            t.evolve(drop=more[0])
        case "partition":
            t.set_partitioning([] if t.partitioning else ["n"])


def numbers(start: int, end: int, v: str = "a") -> pa.Table:
    ids = range(start, end)
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [v] * len(ids)})


def written(lake: tidelake.Lake) -> None:
    """Inserts, updates and deletes, in files and in the catalog."""
    t = lake.create_table("t", "id BIGINT, v VARCHAR")
    t.append(numbers(0, 40))
    t.append(numbers(100, 104))
    t.update({"v": "'few'"}, where="id IN (1, 101)")
    t.update({"v": "'many'"}, where="id < 30")
    t.delete("id IN (2, 102)")
    t.delete("id BETWEEN 3 AND 20")
    t.merge(numbers(25, 45, "merged"), on="id")
    t.append(numbers(200, 240))
    t.delete("id >= 200")
