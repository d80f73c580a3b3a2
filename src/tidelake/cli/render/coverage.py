"""What `coverage` and `gaps` say: pictures and listings for people, plain values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tidelake.cli import render
from tidelake.coverage.values.axis import short_texts, span_of
from tidelake.coverage.values.picture import name_of, percent
from tidelake.drawing.amounts import quantity

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage


def as_dict(found: Coverage) -> dict[str, Any]:
    """All of it, as `--json` prints it."""
    each = [plain_row(row) for row in found.to_arrow().to_pylist()]
    return {**plain_row(_summary(found)), "each": each}


def _summary(found: Coverage) -> dict[str, Any]:
    longest = found.longest_gap
    return {
        "table": found.table,
        "bucket": found.bucket,
        "start": found.start,
        "end": found.end,
        "entities": len(found.entities),
        "expected": found.expected,
        "covered": found.covered,
        "ratio": found.ratio,
        "complete": found.is_complete,
        "gaps": len(found.gaps),
        "longest_gap": longest
        and plain_row({"start": longest.start, "end": longest.end, "buckets": longest.buckets}),
    }


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has it: moments as text, lengths of time in seconds."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, date) else value


def print_coverage(found: Coverage) -> None:
    """The picture for people, numbers for programs and files."""
    console = render.console()
    if console.is_terminal:
        console.print(found)
    else:
        render.line(found.heading)
        _listing(found.to_arrow())


def print_gaps(gaps: Any, *, more: bool) -> None:
    """`more`: there are others."""
    _listing(gaps)
    render.line(f"({quantity(len(gaps), 'gap')}{'; there are more: use --limit' if more else ''})")


def _listing(frame: Any) -> None:
    names = frame.column_names
    columns = [_column(name, frame[name].to_pylist()) for name in names]
    render.grid(names, list(zip(*columns, strict=True)))


def _column(name: str, values: Sequence[Any]) -> list[Any]:
    """All values of a column in one form."""
    if name == "ratio" and all(isinstance(value, float) for value in values):
        return [percent(value) for value in values]
    moments = [value for value in values if isinstance(value, date)]
    if moments:
        texts = iter(short_texts(moments))
        return [next(texts) if isinstance(value, date) else value for value in values]
    return [str(value) if isinstance(value, timedelta) else value for value in values]


def shortfall(found: Coverage, least: float) -> str | None:
    """Which entity covers less than that, the worst of all; None if each covers enough."""
    ratios = {entity: one.ratio for entity, one in found.each.items()} or {(): found.ratio}
    below = {entity: ratio for entity, ratio in ratios.items() if ratio < least}
    if not below:
        return None
    worst = min(below, key=lambda entity: below[entity])
    whose = f"{name_of(worst)}: " if worst else ""
    start, end = found.start, found.end
    span = "" if start is None or end is None else f" of {span_of(start, end)}"
    others = f"; {quantity(len(below) - 1, 'other')} too" if len(below) > 1 else ""
    said = f"{percent(below[worst])}{span} is covered, less than {least * 100:g} %"
    return f"{whose}{said}{others}"
