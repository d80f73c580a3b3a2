"""What a part of the benchmark found, as text and as JSON."""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """One number against its target; `value` is None when it could not be measured."""

    what: str
    value: float | None
    target: float
    at_most: bool = True
    unit: str = "x"

    @property
    def passed(self) -> bool | None:
        if self.value is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    @property
    def word(self) -> str:
        return {True: "PASS", False: "MISS", None: "NOT MEASURED"}[self.passed]

    def row(self) -> list[str]:
        sign = "<=" if self.at_most else ">="
        value = "-" if self.value is None else f"{_figures(self.value)} {self.unit}"
        return [self.word, self.what, value, f"{sign} {self.target:g} {self.unit}"]


def _figures(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


@dataclass(frozen=True)
class Curve:
    """How numbers grow with something: `name` is that of its picture, a line is a peer or a way."""

    name: str
    title: str
    across: str
    upward: str
    lines: dict[str, list[tuple[float, float]]]


@dataclass
class Part:
    """A table of measurements, remarks on how they were made, and the verdicts."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    curves: list[Curve] = field(default_factory=list)

    def text(self) -> str:
        lines = [self.title, "=" * len(self.title), "", *aligned([self.header, *self.rows]), ""]
        lines += [*(f"- {note}" for note in self.notes), ""]
        return "\n".join([*lines, *aligned([verdict.row() for verdict in self.verdicts]), ""])

    def json(self) -> dict[str, Any]:
        verdicts = [{**asdict(verdict), "result": verdict.word} for verdict in self.verdicts]
        return {"title": self.title, "numbers": self.numbers, "verdicts": verdicts}


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        numeric = place > 0 and cell[:1] in "0123456789-"
        yield cell.rjust(width) if numeric else cell.ljust(width)


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.1f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"


def machine() -> dict[str, Any]:
    """The machine in general words, how busy it was, and the versions of all who took part."""
    import os
    from importlib.metadata import version

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        **{name: version(name) for name in _MEASURED},
    }


def _processor() -> str:
    """As Linux calls it, or whatever else is known."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


_MEASURED = ("tidelake", "duckdb", "pyarrow", "deltalake", "pyiceberg", "pyspark")
