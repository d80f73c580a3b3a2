"""Series for the benchmark of coverage: bitmaps of files of which only the metadata exists."""

import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ENTITIES = 10_000
MONTHS = 12
FILES = 10_000
START = datetime(2024, 1, 1)
DDL = "sensor VARCHAR, ts TIMESTAMP, a DOUBLE, b BIGINT, c VARCHAR"
SERIES = {"entity": "sensor", "event_time": "ts", "bucket": "1m"}
_FEW = 10
_PATTERNS = 500
_LONGEST_OUTAGE = 600
_AT_ONCE = 64


def month(number: int) -> datetime:
    return START.replace(year=START.year + number // 12, month=number % 12 + 1)


def sensor(number: int) -> str:
    return f"sensor-{number:05}"


def empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def new_lake(folder: Path) -> Any:
    """Empty, and without rows in the catalog: every append is a file."""
    import tidelake

    empty(folder)
    lake = tidelake.connect(f"sqlite:///{folder}/lake.db")
    lake.set_option("data_inlining_row_limit", 0)
    return lake


def year(folder: Path, missing: Callable[[random.Random, int, int], Any]) -> Any:
    """A year of minutes of all entities, a file a month; of each month's bitmaps, one of some
    hundred is drawn for every entity."""
    lake = new_lake(folder)
    table = lake.create_table("ticks", DDL, **SERIES)
    for number in range(MONTHS):
        table.append([{"sensor": sensor(0), "ts": month(number)}])
    drawn = random.Random(7)
    keep = Keep(lake, table)
    for number, file_id in enumerate(keep.file_ids()):
        first, end = keep.bucket(month(number)), keep.bucket(month(number + 1))
        patterns = [_all(first, end) - missing(drawn, first, end) for _ in range(_PATTERNS)]
        keep.put({file_id: [(n, drawn.choice(patterns)) for n in range(ENTITIES)]})
    return lake


def outages(drawn: random.Random, first: int, end: int) -> Any:
    """Up to three in a month, of up to ten hours."""
    from tidelake.coverage.values.bitmaps import Buckets

    found = Buckets()
    for _ in range(drawn.randrange(4)):
        at = drawn.randrange(first, end)
        found.add_range(at, min(end, at + drawn.randrange(1, _LONGEST_OUTAGE)))
    return found


def at_random(drawn: random.Random, first: int, end: int) -> Any:
    """One minute in a hundred."""
    from tidelake.coverage.values.bitmaps import Buckets

    return Buckets(drawn.sample(range(first, end), (end - first) // 100))


def _all(first: int, end: int) -> Any:
    from tidelake.coverage.values.bitmaps import Buckets

    found = Buckets()
    found.add_range(first, end)
    return found


def hours(folder: Path) -> Any:
    """A file an hour, in each of which a few entities have every minute."""
    lake = new_lake(folder)
    table = lake.create_table("ticks", DDL, **SERIES)
    table.append([{"sensor": sensor(0), "ts": START, "a": 0.5, "b": 1, "c": "x"}])
    lake.close()
    _copy_file(folder / "lake.db")
    lake = _opened(folder)
    keep = Keep(lake, lake.table("ticks"))
    ids = keep.file_ids()
    for place in range(0, FILES, _AT_ONCE):
        found = {}
        for number in range(place, min(place + _AT_ONCE, FILES)):
            first = keep.bucket(START + timedelta(hours=number))
            hour = _all(first, first + 60)
            found[ids[number]] = [(entity, hour) for entity in range(_FEW)]
        keep.put(found)
    return lake


def _opened(folder: Path) -> Any:
    import tidelake

    return tidelake.connect(f"sqlite:///{folder}/lake.db")


def _copy_file(catalog: Path) -> None:
    """The only file of a lake once for every hour; in none of them is there anything."""
    with sqlite3.connect(catalog) as connection:
        for table in ("ducklake_data_file", "ducklake_file_column_stats"):
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                marks = ", ".join("?" * len(row))
                copies = [_copied(table, row, number) for number in range(1, FILES)]
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", copies)
        connection.execute("UPDATE ducklake_snapshot SET next_file_id = next_file_id + ?", (FILES,))
    connection.close()


def _copied(table: str, row: Sequence[Any], number: int) -> Sequence[Any]:
    hour = str(START + timedelta(hours=number))
    same = [hour if value == str(START) else value for value in row[1:]]
    if table == "ducklake_data_file":
        same[4] = f"{number}-{same[4]}"
    return [row[0] + number, *same]


class Keep:
    """Writes down what files cover, in place of what is known of them."""

    def __init__(self, lake: Any, table: Any) -> None:
        from tidelake.coverage.layouts import Scope
        from tidelake.coverage.values.series import Series

        self._lake = lake
        self._series = Series.of(table.info, 0)
        self._scope = Scope(table.info.id, self._series.number)

    def file_ids(self) -> list[int]:
        sql = "SELECT data_file_id FROM ducklake_data_file ORDER BY data_file_id"
        with self._lake.session.reading() as reader:
            return [row[0] for row in reader.rows(sql)]

    def bucket(self, moment: datetime) -> int:
        clock = self._series.clock
        return clock.id(clock.number(self._series.position(moment, "moment")))

    def put(self, found: dict[int, list[tuple[int, Any]]]) -> None:
        from tidelake.coverage import records as coverage
        from tidelake.coverage.values.bitmaps import pieces
        from tidelake.coverage.values.piece import FileCoverage

        kept = [
            FileCoverage(
                file_id, 0, tuple(p for n, ids in each for p in pieces(self._text(n), ids))
            )
            for file_id, each in found.items()
        ]
        with self._lake.session.database.writing() as writer:
            coverage.put(writer, self._scope, kept)

    def _text(self, number: int) -> str:
        return self._series.text((sensor(number),))
