"""What is drawn of a thing: a few facts, a few rows, a picture. All of it is text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

MOST_ROWS = 20
MOST_LINES = 40
MOST_COLUMNS = 30
LONGEST = 200


def printable(text: str) -> str:
    """On one line, and without what could command a terminal."""
    line = " ".join(text.split("\n"))
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)


def cell_text(value: object) -> str:
    """A value as it is cell_text: cut where it is long, and all on one line."""
    if value is None:
        return "NULL"
    text = printable((value if isinstance(value, str) else str(value))[: LONGEST + 1])
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of texts. `more`: there are others, which are not cell_text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: bool = False

    @staticmethod
    def of(columns: Sequence[str], rows: Iterable[Sequence[object]], most: int = MOST_ROWS) -> Grid:
        taken: list[tuple[str, ...]] = []
        wide = len(columns) > MOST_COLUMNS
        for row in rows:
            if len(taken) == most:
                return Grid(_headed(columns, wide), tuple(taken), more=True)
            cells = tuple(map(cell_text, row[:MOST_COLUMNS]))
            taken.append((*cells, "…") if wide else cells)
        return Grid(_headed(columns, wide), tuple(taken))


def _headed(columns: Sequence[str], wide: bool) -> tuple[str, ...]:
    names = tuple(map(cell_text, columns[:MOST_COLUMNS]))
    return (*names, "…") if wide else names


@dataclass(frozen=True, slots=True)
class Sheet:
    """`picture` is SVG that is safe already; all else is escaped by whoever shows it."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    grid: Grid | None = None
    picture: str | None = None
    note: str | None = None
    lines: tuple[str, ...] = ()

    @staticmethod
    def of(title: object, **facts: object) -> Sheet:
        """With the facts that are not None, by their names."""
        told = ((name.replace("_", " "), value) for name, value in facts.items())
        given = tuple((name, cell_text(value)) for name, value in told if value is not None)
        return Sheet(cell_text(title), given)

    def with_grid(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Sheet:
        return replace(self, grid=Grid.of(columns, rows))

    def with_lines(self, lines: Sequence[str]) -> Sheet:
        """Text as it stands, the first of many lines."""
        shown = tuple(printable(line[:LONGEST]) for line in lines[:MOST_LINES])
        more = len(lines) - len(shown)
        return replace(self, lines=(*shown, f"… and {more:,} more lines") if more else shown)

    def with_note(self, note: str) -> Sheet:
        return replace(self, note=note)

    def with_picture(self, picture: str | None) -> Sheet:
        return replace(self, picture=picture)
