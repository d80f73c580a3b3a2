"""When rows are expected: `calendar`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.coverage_options import calendar_options, entities_of, entity_option
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.coverage.values.picture import name_of
from tidelake.drawing.amounts import quantity
from tidelake.model.terms import CommitTerms

if TYPE_CHECKING:
    from tidelake.coverage.values.calendar import Calendar
    from tidelake.coverage.values.calendars import Calendars


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@calendar_options
@entity_option
@click.option(
    "--drop", is_flag=True, help="Remove all calendars; with --entity, only those of the entity."
)
@commit_options
@global_options
@pass_options
def calendar(
    options: Options,
    table: str,
    calendar: Calendar | None,
    entities: tuple[str, ...],
    drop: bool,
    terms: CommitTerms,
) -> None:
    """Show or set when rows of a table are expected.

    Show or set when rows of TABLE are expected: for all its entities, or with --entity for
    these alone. The table keeps the calendar. It holds for all coverage that names no other.

    \b
    Example:
        tidelake calendar prices --exchange XNYS
        tidelake calendar prices --sessions "08:00-16:30 Europe/London" \\
            --entity BOLT
        tidelake calendar prices
        tidelake calendar prices --drop
    """
    if drop and calendar is not None:
        raise click.UsageError("give a calendar or --drop")
    if not drop and calendar is None:
        if entities:
            raise click.UsageError("--entity goes with a calendar or --drop")
        with options.lake() as lake:
            _show(options, table, lake.table(table).calendars)
        return
    options.write(
        lambda lake: lake.table(table).set_calendar(
            calendar, entity=entities_of(lake.table(table), entities), **terms
        )
    )


def _show(options: Options, table: str, found: Calendars) -> None:
    from tidelake.coverage.values.calendar_json import calendar_json

    default = None if found.default is None else calendar_json(found.default)
    own = [(entity, calendar_json(each)) for entity, each in found.own.items()]
    if options.as_json:
        listed = [{"entity": list(map(_plain, entity)), "calendar": each} for entity, each in own]
        render.document({"table": table, "default": default, "own": listed})
        return
    render.line(f"all entities: {_told(default)}")
    for entity, each in own:
        render.line(f"{name_of(entity)}: {_told(each)}")


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else str(value)


def _told(said: dict[str, Any] | None) -> str:
    """A rule on one line."""
    if said is None:
        return "nobody has said when rows are expected"
    if "sessions" in said:
        opens, closes = (each[:5] for each in said["sessions"])
        days = ",".join(_DAYS[day] for day in said["days"])
        many = len(said["holidays"])
        holidays = f", but for {quantity(many, 'holiday')}" if many else ""
        return f"{opens}-{closes} {said['tz']} on {days}{holidays}"
    ((kind, value),) = ((key, each) for key, each in said.items() if key != "clock")
    if kind in ("and", "or", "minus"):
        return f"({_told(value[0])}) {kind} ({_told(value[1])})"
    if kind == "exchange":
        return f"when {value} trades"
    return {"always": "at all times"}.get(kind, f"a list of {kind}")


_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
