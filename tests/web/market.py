"""A lake to look at: prices with two clocks, sensors with coverage, and who is who.

Commits are dated back, so that system time is as long as event time.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import tidelake
from tidelake.testing.place import Place

START = datetime(2024, 3, 1)
DAYS = 24
SYMBOLS = ("ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX")
SENSORS = tuple(f"buoy-{number:02}" for number in range(1, 13))
LATE = {5: (2, 3), 11: (3, 5), 16: (8, 10), 22: (15, 18)}
"""On which day facts of which earlier days came late."""
RATINGS = {
    1: [("ACME", 0, "BBB"), ("BOLT", 0, "A"), ("CRUX", 0, "BB")],
    6: [("ACME", 6, "A"), ("CRUX", 5, "B")],
    11: [("ACME", 3, "BBB+")],
    14: [("ACME", 14, "AA"), ("BOLT", 12, "AA")],
    18: [("ACME", 10, "A+")],
    21: [("ACME", 21, "AAA"), ("CRUX", 16, "BB+")],
}
"""On which day it became known of whom since which day how good it is."""
_PAUSES = {"buoy-03": (5, 9), "buoy-07": (2, 20), "buoy-11": (14, 15)}


def make(place: Place, days: int = DAYS) -> tidelake.Lake:
    """The lake, made anew and left open."""
    lake = place.open()
    lake.set_option("data_inlining_row_limit", 4)
    times = list(_write(lake, days))
    _date(place, lake, times)
    lake.close()
    return place.open()


def _write(lake: tidelake.Lake, days: int) -> Iterator[datetime]:
    """Write the lake; gives when every commit is to have been made."""
    random = Random(7)
    prices = _tables(lake)
    yield from (START - timedelta(days=1, minutes=6 - each) for each in range(6))
    ratings, graded = lake.table("ratings"), dict(RATINGS)
    readings = lake.table("readings")
    for day in range(days):
        evening = START + timedelta(days=day, hours=17)
        rows = list(_prices(random, day))
        held = [row for row in rows if row["symbol"] == "CRUX"] if day == 9 else []
        prices.append(
            [row for row in rows if row not in held], author="feed", message=f"day {day + 1}"
        )
        yield evening
        readings.append(list(_readings(day)), author="buoys")
        yield evening + timedelta(hours=2)
        if day in graded:
            for symbol, since, grade in graded[day]:
                fact = {"symbol": symbol, "since": START + timedelta(days=since), "grade": grade}
                ratings.put(fact, author="desk")
                yield evening + timedelta(hours=2, minutes=30)
        if day in LATE:
            prices.append(list(_restated(random, *LATE[day])), author="feed", message="restated")
            yield evening + timedelta(hours=3)
        if day == 13:
            prices.append(list(_late(9)), author="feed", message="CRUX of the 10th, late")
            yield evening + timedelta(hours=3)
        if day == 17:
            fix = {"symbol": "ACME", "ts": START + timedelta(days=6, hours=16), "price": 88.5}
            prices.put({**fix, "venue": "XNYS"}, author="desk", message="a correction of the 7th")
            yield evening + timedelta(hours=3)
            lake.tag("month-end-draft")
        if day == 19:
            lake.sql("DELETE FROM readings WHERE sensor = 'buoy-09' AND value > 14.8")
            yield evening + timedelta(hours=3)
            readings.append(list(_filled()), author="buoys", message="buoy-03 from its memory")
            yield evening + timedelta(hours=4)
        if day == 20:
            prices.end("FLUX", at=START + timedelta(days=20, hours=18), message="delisted")
            yield evening + timedelta(hours=3)


def _tables(lake: tidelake.Lake) -> tidelake.Table:
    """Six commits."""
    companies = lake.create_table("companies", "symbol VARCHAR NOT NULL, name VARCHAR")
    companies.append([{"symbol": each, "name": f"{each.title()} Incorporated"} for each in SYMBOLS])
    prices = lake.create_table(
        "prices",
        "symbol VARCHAR, ts TIMESTAMP, price DOUBLE, gone BOOLEAN",
        key="symbol",
        event_time="ts",
        tombstone="gone",
        comment="closing and intraday prices",
    )
    prices.evolve(add={"venue": "varchar"})
    lake.create_table(
        "ratings",
        "symbol VARCHAR, since TIMESTAMP, grade VARCHAR",
        key="symbol",
        event_time="since",
    )
    lake.create_table(
        "readings",
        "sensor VARCHAR, ts TIMESTAMP, value DOUBLE",
        entity="sensor",
        event_time="ts",
        bucket="1h",
        partition_by=["month(ts)"],
    )
    return prices


def _prices(random: Random, day: int) -> Iterator[dict[str, Any]]:
    for number, symbol in enumerate(SYMBOLS):
        for hour in range(9, 17):
            ts = START + timedelta(days=day, hours=hour)
            price = round(40 + 22 * number + day * (1 - number / 4) + random.uniform(-2, 2), 2)
            yield {"symbol": symbol, "ts": ts, "price": price, "venue": "XNYS"}


def _restated(random: Random, first: int, last: int) -> Iterator[dict[str, Any]]:
    """What two of them had cost on earlier days, once more."""
    for day in range(first, last + 1):
        for row in _prices(random, day):
            if row["symbol"] in ("DUNE", "ECHO") and row["ts"].hour % 3 == 0:
                yield row


def _late(day: int) -> Iterator[dict[str, Any]]:
    for hour in range(9, 17):
        ts = START + timedelta(days=day, hours=hour)
        yield {"symbol": "CRUX", "ts": ts, "price": 90.0 + hour / 10, "venue": "XNAS"}


def _readings(day: int) -> Iterator[dict[str, Any]]:
    for number, sensor in enumerate(SENSORS):
        first, last = _PAUSES.get(sensor, (99, 99))
        for hour in range(24):
            ts = START + timedelta(days=day, hours=hour)
            if first <= day < last or (number + day * 24 + hour) % 97 == 0:
                continue
            yield {"sensor": sensor, "ts": ts, "value": round(9 + number / 2 + hour / 12, 2)}


def _filled() -> Iterator[dict[str, Any]]:
    for hour in range(36):
        yield {"sensor": "buoy-03", "ts": START + timedelta(days=7, hours=hour), "value": 8.5}


def _date(place: Place, lake: tidelake.Lake, times: list[datetime]) -> None:
    """Write down that the commits were made at these times, and the lake a little before."""
    numbers = [each.snapshot_id for each in lake.snapshots()]
    dated = [times[0] - timedelta(minutes=1), *times]
    assert dated == sorted(dated)
    assert len(numbers) == len(dated), (len(numbers), len(dated))
    told = [
        (f"{time.isoformat(sep=' ')}+00", number)
        for time, number in zip(dated, numbers, strict=True)
    ]
    if place.kind == "sqlite":
        lake.close()
        for time, number in told:
            place.catalog(
                "UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?", time, number
            )
        return
    import psycopg

    with psycopg.connect(place.url) as connection:
        for time, number in told:
            connection.execute(
                "UPDATE ducklake_snapshot SET snapshot_time = %s WHERE snapshot_id = %s",
                (time, number),
            )
