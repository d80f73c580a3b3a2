"""A year of per-minute prices as a vendor delivers them: in files, four times, and not faultlessly.

Made from a seed, so everybody gets the same files. Every delivery brings a file for each day, and
with them what every feed brings sooner or later: gaps, rows and files that come twice, files that
come late, prices that are put right months afterwards, and records that are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

SYMBOLS = ("ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX", "GRIT", "HAZE")
YEAR, DELIVERIES, MINUTES = 2024, 4, 390
HOLIDAYS = (
    *("2024-01-01", "2024-01-15", "2024-02-19", "2024-03-29", "2024-05-27"),
    *("2024-06-19", "2024-07-04", "2024-09-02", "2024-11-28", "2024-12-25"),
)
_ZONE = ZoneInfo("America/New_York")
_HEADER = "symbol,ts,price,volume,sent\n"


class Bar(NamedTuple):
    symbol: str
    minute: datetime
    price: float
    volume: int

    def line(self, sent: datetime) -> str:
        return f"{self.symbol},{self.minute},{self.price:.2f},{self.volume},{sent}\n"


@dataclass(frozen=True)
class Market:
    """So many symbols, for so many days of the year."""

    symbols: int = 8
    days: int = 252

    def deliver(self, number: int, folder: Path) -> int:
        """Put the files of delivery 1, 2, 3 or 4 into a folder; how many they are."""
        folder.mkdir(parents=True, exist_ok=True)
        files = dict(self._files(number))
        for name, lines in files.items():
            (folder / name).write_text(_HEADER + "".join(lines))
        return len(files)

    def quarter(self, number: int) -> list[date]:
        """The trading days that delivery 1, 2, 3 or 4 is about."""
        days = trading_days()[: self.days]
        return days[len(days) * (number - 1) // DELIVERIES : len(days) * number // DELIVERIES]

    def _files(self, number: int) -> Iterator[tuple[str, list[str]]]:
        days = self.quarter(number)
        late = days[len(days) // 2]
        for day in days:
            if day != late:
                yield f"{day}.csv", self._day(day, first=day == days[0])
        yield f"{days[1]}-again.csv", self._day(days[1])  # the same file, twice
        if number > 1:
            before = self.quarter(number - 1)
            missed = before[len(before) // 2]
            yield f"{missed}-late.csv", self._day(missed)
            yield f"{before[-1]}-restated.csv", self._restated(before[-1], days[-1])

    def _day(self, day: date, *, first: bool = False) -> list[str]:
        sent = datetime.combine(day, time(22))
        lines = [bar.line(sent) for bar in self._traded(day) if not _is_lost(bar, day)]
        return [*lines, lines[0], *_nonsense(day, sent)] if first else lines

    def _restated(self, day: date, sent: date) -> list[str]:
        """The last hour of ACME, a quarter later: it had cost 3 % less."""
        bars = [bar for bar in self._traded(day) if bar.symbol == SYMBOLS[0]]
        later = datetime.combine(sent, time(22))
        return [bar._replace(price=bar.price * 0.97).line(later) for bar in bars[-60:]]

    def _traded(self, day: date) -> Iterator[Bar]:
        opening = datetime.combine(day, time(9, 30), _ZONE).astimezone(ZoneInfo("UTC"))
        minutes = [opening.replace(tzinfo=None) + timedelta(minutes=n) for n in range(MINUTES)]
        for place, symbol in enumerate(SYMBOLS[: self.symbols]):
            random = Random(f"{symbol} {day}")
            price = 40 + 25 * place + day.timetuple().tm_yday / 30
            for minute in minutes:
                price = max(price + random.gauss(0, 0.04), 1)
                yield Bar(symbol, minute, price, random.randrange(1, 100) * 100)


def trading_days() -> list[date]:
    year = (date(YEAR, 1, 1) + timedelta(days=n) for n in range(366))
    return [day for day in year if day.weekday() < 5 and str(day) not in HOLIDAYS]


def _is_lost(bar: Bar, day: date) -> bool:
    """BOLT's feed breaks off for an hour on every 9th; ACME drops minutes on every 20th."""
    minute = bar.minute
    if bar.symbol == "BOLT":
        return day.day == 9 and minute.hour == 16
    return bar.symbol == "ACME" and day.day == 20 and minute.minute == 7


def _nonsense(day: date, sent: datetime) -> list[str]:
    """Two records that cannot be read, and two that can be read and cannot be true."""
    return [
        f"ACME,{day} 15:00:00,n/a,100,{sent}\n",
        "ACME,soon\n",
        f"BOLT,{day} 15:00:00,-7.25,100,{sent + timedelta(hours=1)}\n",
        f"BOLT,{day} 03:00:00,7.25,100,{sent + timedelta(hours=1)}\n",
    ]
