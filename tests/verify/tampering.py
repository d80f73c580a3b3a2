"""A lake with all that Tidelake keeps in a catalog, changes of single cells of it, and all that
can be asked of it then."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tidelake
from tests.delta.logs import Log
from tidelake.testing.place import Place

WRONG: list[Any] = [
    None,
    "",
    "x",
    "0",
    "-1",
    "[",
    "{}",
    "[1]",
    "null",
    '{"a": [}',
    "int99",
    "decimal(99,1)",
    "9999-99-99 00:00:00",
    "2024-01-01",
    "99999999999999999999999",
    "a\0b",
    "'",
    "..",
    "/",
    "é" * 300,
    0,
    1,
    -1,
    -(2**63),
    2**63 - 1,
    2**31,
    1.5,
    float("inf"),
    b"\xff\xfe",
    b"",
    b"7",
]

Question = Callable[[tidelake.Lake], Any]


def build(folder: Path) -> None:
    """Something of everything, once."""
    log = Log(folder / "theirs")
    log.begin([("x", "integer")])
    log.commit(log.add({"x": pa.array([1, 2], pa.int32())}))
    with Place.at("sqlite", folder).open() as lake:
        _plain(lake, folder)
        _in_time(lake)
        tidelake.import_delta(lake, str(log.root), "imported", mode="full-history")
        lake.tag("first", known_at=3, author="me", message="why")
        with lake.consumer("billing", since=2) as consumer:
            consumer.poll()
        lake.reindex()
        lake.verify(deep=True, fingerprint=True)


def _plain(lake: tidelake.Lake, folder: Path) -> None:
    lake.create_schema("side")
    t = lake.create_table(
        "t",
        "id INTEGER NOT NULL, v VARCHAR DEFAULT 'd', n STRUCT(a INTEGER, l DOUBLE[]),"
        " m MAP(VARCHAR, INTEGER)",
        comment="said",
        sort_by="id DESC",
    )
    for start in (0, 50):
        rows = [
            {"id": i, "v": f"v{i}", "n": {"a": i, "l": [0.5]}, "m": {"k": i}}
            for i in range(start, start + 50)
        ]
        t.append(rows)
    t.delete("id IN (3, 4)")
    t.evolve(rename={"v": "w"}, add={"more": "BIGINT"}, comment={"id": "number"})
    t.append([{"id": 500, "w": "x"}])
    t.append([{"id": 501, "w": None}])
    t.delete("id = 500")
    t.delete("id = 20")
    lake.create_view("seen", "SELECT id FROM t", columns=["number"])
    lake.create_table("gone", "i INTEGER")
    lake.drop("gone")
    p = lake.create_table("side.p", "k VARCHAR, d DATE, x DOUBLE", partition_by=["k", "year(d)"])
    p.append([{"k": f"k{i % 2}", "d": "2024-01-02", "x": i / 4} for i in range(40)])
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32())}), folder / "m.parquet")
    lake.create_table("mapped", "a INTEGER").add_files([str(folder / "m.parquet")])
    mirrored = lake.create_table("shown", "id INTEGER, s VARCHAR")
    lake.mirror("shown", "delta")
    mirrored.append([{"id": i, "s": "x"} for i in range(40)])
    mirrored.delete("id = 7")
    mirrored.append([{"id": 100, "s": "y"}])


def _in_time(lake: tidelake.Lake) -> None:
    e = lake.create_table(
        "e",
        "sym VARCHAR, ts TIMESTAMP, v DOUBLE, over BOOLEAN",
        key="sym",
        event_time="ts",
        tombstone="over",
        entity="sym",
        bucket="1m",
    )
    for half in (0, 20):
        moments = [datetime(2024, 1, 1, 10, half + i) for i in range(20)]
        e.append([{"sym": f"s{i % 3}", "ts": m, "v": 1.0} for i, m in enumerate(moments)])
    e.rollup(as_of="2024-01-01T10:30:00")
    e.append([{"sym": "s0", "ts": datetime(2024, 1, 1, 10, 50), "v": 2.0}])


def cells(catalog: sqlite3.Connection) -> list[tuple[str, str]]:
    """Tables that have rows, and their columns."""
    names = [row[0] for row in catalog.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    return [
        (name, column[1])
        for name in names
        if name.startswith(("ducklake_", "tidelake_"))
        and catalog.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        for column in catalog.execute(f'PRAGMA table_info("{name}")')
    ]


def tamper(place: Path, chance: random.Random) -> str:
    """Change a cell; what was done."""
    with closing(sqlite3.connect(place)) as catalog, catalog:
        listed = cells(catalog)
        table = chance.choice(sorted({name for name, _ in listed}))
        column = chance.choice([column for name, column in listed if name == table])
        value = chance.choice(WRONG)
        (count,) = catalog.execute(f'SELECT count(*) FROM "{table}"').fetchone()
        row = chance.randrange(count)
        where = f'rowid = (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {row})'
        try:
            catalog.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', [value])
        except sqlite3.IntegrityError:
            return "nothing"
        return f"{table}.{column} of row {row} is {value!r}"


def questions() -> Iterator[tuple[str, Question]]:
    """Whatever a lake can be asked for or told, by name."""
    t = "2024-01-01T10:15:00"
    yield "tables", lambda lake: (lake.tables(), lake.views(), lake.schemas(), lake.macros())
    yield "snapshots", lambda lake: [str(each) for each in lake.snapshots()]
    yield "log", lambda lake: [str(each) for each in lake.log(50)]
    yield "tags", lambda lake: lake.tags()
    yield "consumers", lambda lake: lake.consumers()
    yield "known_at tag", lambda lake: lake.known_at("first").tables()
    yield "known_at time", lambda lake: lake.known_at(datetime.now(UTC)).tables()
    for name in ("t", "side.p", "mapped", "shown", "e", "imported"):
        yield f"read {name}", lambda lake, name=name: lake.table(name).to_arrow()
        yield f"show {name}", lambda lake, name=name: _shown(lake.table(name))
        yield f"count {name}", lambda lake, name=name: lake.table(name).count()
        yield (
            f"history {name}",
            lambda lake, name=name: [str(each) for each in lake.table(name).snapshots()],
        )
        yield (
            f"changes {name}",
            lambda lake, name=name: lake.table(name).changes(since=0).to_arrow(),
        )
        yield f"diff {name}", lambda lake, name=name: _diff(lake, name)
        yield f"compact {name}", lambda lake, name=name: lake.table(name).compact()
    yield "where", lambda lake: lake.table("t").scan(where="id > 7 AND w = 'v9'").to_arrow()
    yield "where p", lambda lake: lake.table("side.p").scan(where="k = 'k1' AND x > 3").to_arrow()
    yield "sql", lambda lake: lake.sql("SELECT count(*) FROM seen JOIN t ON number = id").to_arrow()
    yield "as_of", lambda lake: lake.table("e").as_of(t).to_arrow()
    yield "as_of later", lambda lake: lake.table("e").as_of("2024-01-01T10:45:00").to_arrow()
    yield "history of", lambda lake: lake.table("e").history(key="s0").to_arrow()
    yield (
        "coverage",
        lambda lake: str(
            lake.table("e").coverage(entity="s1", start="2024-01-01T10:00", end="2024-01-01T11:00")
        ),
    )
    yield "rollups", lambda lake: [str(each) for each in lake.table("e").rollups()]
    yield "mirrors", lambda lake: [str(each) for each in lake.mirrors()]
    yield "mirror status", lambda lake: str(lake.mirrored("shown").status)
    yield "mirror diff", lambda lake: str(lake.mirrored("shown").diff())
    yield "mirror sync", lambda lake: lake.mirrored("shown").sync()
    yield "consumer", lambda lake: _poll(lake)
    yield "append t", lambda lake: lake.table("t").append([{"id": 900}])
    yield "delete t", lambda lake: lake.table("t").delete("id = 11")
    yield "append p", lambda lake: lake.table("side.p").append([{"k": "k0", "d": None, "x": 1.0}])
    yield (
        "append e",
        lambda lake: lake.table("e").append(
            [{"sym": "s9", "ts": datetime(2024, 1, 2), "v": 2.0, "over": None}]
        ),
    )
    yield "append shown", lambda lake: lake.table("shown").append([{"id": i} for i in range(30)])
    yield "evolve", lambda lake: lake.table("t").evolve(add={"again": "INTEGER"})
    yield (
        "resume",
        lambda lake: tidelake.import_delta(
            lake, _root(lake), "imported", mode="full-history", resume=True
        ),
    )
    yield "rollback", lambda lake: lake.table("t").rollback(to=6)
    yield "verify", lambda lake: str(lake.verify())
    yield "verify deep", lambda lake: str(lake.verify(deep=True))
    yield "reindex", lambda lake: lake.reindex()
    yield "compact", lambda lake: lake.compact()
    yield "rollup", lambda lake: lake.table("e").rollup(as_of="2024-01-01T10:40:00")
    yield "expire", lambda lake: lake.expire(keep_last=3, dry_run=True, force=True)
    yield "cleanup", lambda lake: lake.cleanup(dry_run=True)


def _shown(table: tidelake.Table) -> object:
    return repr(table), table.schema, str(table.scan().explain()), table.scan().files()


def _diff(lake: tidelake.Lake, name: str) -> object:
    first = lake.table(name).snapshots()[0].snapshot_id
    return str(lake.table(name).diff(first, lake.snapshots()[-1].snapshot_id))


def _poll(lake: tidelake.Lake) -> None:
    with lake.consumer("billing") as consumer:
        consumer.poll()


def _root(lake: tidelake.Lake) -> str:
    return str(Path(lake.data_path).parent / "theirs")


def fresh(template: Path, folder: Path) -> Path:
    """The lake again, where it was when it was made."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return folder / "lake.db"
