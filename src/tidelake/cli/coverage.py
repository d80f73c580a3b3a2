"""How much there is, and what is missing: `coverage` and `gaps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import coverage_options, render
from tidelake.cli.program import (
    Function,
    Options,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.row_options import limit_option
from tidelake.coverage.values.axis import span_of, spelled_alike
from tidelake.coverage.values.picture import counted, name_of, percent

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage

_TOO_LITTLE = 2
_SHOWN = 50


def _range_options(function: Function) -> Function:
    """Which part of which series is looked at, and what is expected of it."""
    for option in (
        click.option("--holidays", metavar="FILE", help="Days without rows, one date on a line."),
        click.option(
            "--sessions",
            metavar="'HH:MM-HH:MM [ZONE]'",
            help="Expect rows in this time of weekdays only [zone: UTC].",
        ),
        click.option("--weekdays", is_flag=True, help="Expect rows from Monday to Friday only."),
        click.option(
            "--end",
            metavar="TIME",
            help="Until before this: a time, `now` or `now - 1h` [default: after the last row].",
        ),
        click.option(
            "--start",
            metavar="TIME",
            help="From this on: a time, `now` or `now - 7d` [default: the first row].",
        ),
        click.option(
            "--entity",
            "entities",
            metavar="VALUE",
            multiple=True,
            help="Only this one; of several columns A=X,B=Y or JSON. May be given again.",
        ),
    ):
        function = option(function)
    return function


@click.command()
@click.argument("table")
@_range_options
@click.option("--all", "merged", flag_value="all", help="What all entities cover at once.")
@click.option("--any", "merged", flag_value="any", help="What at least one entity covers.")
@click.option(
    "--fail-under",
    type=float,
    metavar="RATIO",
    help=f"End with {_TOO_LITTLE} if any entity covers less than this, from 0 to 1. Without --end"
    " the range then ends now.",
)
@known_at_option
@global_options
@click.pass_context
@pass_options
def coverage(
    options: Options,
    context: click.Context,
    /,
    table: str,
    merged: str | None,
    fail_under: float | None,
    known_at: str | None,
    **asked: Any,
) -> None:
    """Show which buckets of time TABLE has rows in, entity by entity: a strip in a terminal,
    numbers elsewhere.

    \b
    Example:
        tidelake coverage prices
        tidelake coverage prices --entity ACME --start 2024-03-01 --end 2024-04-01 --json
        tidelake coverage prices --sessions "09:30-16:00 America/New_York"
        tidelake coverage prices --start "now - 7d" --end "now - 1h" --fail-under 0.99
    """
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise click.UsageError(f"--fail-under is a ratio from 0 to 1, not {fail_under:g}")
    with options.lake(known_at) as lake:
        if fail_under is not None and asked["end"] is None:
            asked["end"] = coverage_options.until_now(lake.table(table))
        found = coverage_options.coverage(lake.table(table), **asked)
    if merged is not None:
        found = found.all if merged == "all" else found.any
    if options.as_json:
        each = [_told(row) for row in found.to_arrow().to_pylist()]
        render.document({**_told(_summary(found)), "each": each})
    else:
        _print(found)
    if fail_under is not None and (problem := _too_little(found, fail_under)):
        click.echo(problem, err=True)
        context.exit(_TOO_LITTLE)


def _too_little(found: Coverage, least: float) -> str | None:
    """Which entity covers less than that, the worst of all; None if each covers enough."""
    ratios = {entity: one.ratio for entity, one in found.each.items()} or {(): found.ratio}
    below = {entity: ratio for entity, ratio in ratios.items() if ratio < least}
    if not below:
        return None
    worst = min(below, key=lambda entity: below[entity])
    whose = f"{name_of(worst)}: " if worst else ""
    start, end = found.start, found.end
    span = "" if start is None or end is None else f" of {span_of(start, end)}"
    others = f"; {counted(len(below) - 1, 'other')} too" if len(below) > 1 else ""
    said = f"{percent(below[worst])}{span} is covered, less than {least * 100:g} %"
    return f"{whose}{said}{others}"


@click.command()
@click.argument("table")
@_range_options
@click.option(
    "--min-length",
    metavar="LENGTH",
    help="Only gaps as long as that: a number of buckets, or a time such as 15m.",
)
@limit_option
@known_at_option
@global_options
@pass_options
def gaps(
    options: Options,
    /,
    table: str,
    min_length: str | None,
    limit: int | None,
    known_at: str | None,
    **asked: Any,
) -> None:
    """List the gaps of TABLE: stretches of time, from a start until before an end, without rows
    of an entity.

    \b
    Example:
        tidelake gaps prices --min-length 15m
        tidelake gaps prices --entity ACME --start 2024-03-01 --end 2024-04-01 --json
    """
    with options.lake(known_at) as lake:
        found = coverage_options.coverage(lake.table(table), **asked)
    listed = (
        found.gaps if min_length is None else found.gaps_of(coverage_options.length(min_length))
    )
    wanted = limit if limit is not None else (0 if options.as_json else _SHOWN)
    shown = listed.to_arrow().slice(0, wanted or None)
    more = len(shown) < len(listed)
    if options.as_json:
        rows = [_told(row) for row in shown.to_pylist()]
        render.document({"table": found.table, "gaps": rows, "complete": not more})
        return
    _listing(shown)
    render.line(f"({counted(len(shown), 'gap')}{'; there are more: use --limit' if more else ''})")


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
        and _told({"start": longest.start, "end": longest.end, "buckets": longest.buckets}),
    }


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has it: moments as text, lengths of time in seconds."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, date) else value


def _column(name: str, values: Sequence[Any]) -> list[Any]:
    """All values of a column in one form."""
    if name == "ratio" and all(isinstance(value, float) for value in values):
        return [percent(value) for value in values]
    moments = [value for value in values if isinstance(value, date)]
    if moments:
        texts = iter(spelled_alike(moments))
        return [next(texts) if isinstance(value, date) else value for value in values]
    return [str(value) if isinstance(value, timedelta) else value for value in values]


def _print(found: Coverage) -> None:
    """The picture for people, numbers for programs and files."""
    console = render.console()
    if console.is_terminal:
        console.print(found)
    else:
        render.line(found.heading)
        _listing(found.to_arrow())


def _listing(frame: Any) -> None:
    names = frame.column_names
    columns = [_column(name, frame[name].to_pylist()) for name in names]
    render.listing(names, list(zip(*columns, strict=True)))
