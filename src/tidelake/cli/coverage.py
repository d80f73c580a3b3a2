"""How much there is: `coverage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.coverage_options import coverage_of, range_options, until_now
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.watch import repeat, watch_option

if TYPE_CHECKING:
    from tidelake.coverage.answer import Coverage

_TOO_LITTLE = 2


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@range_options
@click.option("--all", "merged", flag_value="all", help="What all entities cover at once.")
@click.option("--any", "merged", flag_value="any", help="What at least one entity covers.")
@click.option(
    "--fail-under",
    type=float,
    metavar="RATIO",
    help=f"End with {_TOO_LITTLE} if any entity covers less than this, from 0 to 1. Without --end"
    " the range then ends now.",
)
@watch_option
@as_of_option
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
    watch: float | None,
    as_of: str | None,
    known_at: str | None,
    **asked: Any,
) -> None:
    """Show which buckets of time a table has rows in.

    Show which buckets of time TABLE has rows in, entity by entity: a strip in a terminal,
    numbers elsewhere.

    \b
    Example:
        tidelake coverage prices
        tidelake coverage prices --entity ACME --start 2024-03-01 \\
            --end 2024-04-01 --json
        tidelake coverage prices --sessions "09:30-16:00 America/New_York"
        tidelake coverage prices --as-of 2024-03-15T14:30:00 --known-at eod
        tidelake coverage prices --watch 10
        tidelake coverage prices --start "now - 7d" --end "now - 1h" \\
            --fail-under 0.99
    """
    from tidelake.cli.render.coverage import as_dict, print_coverage, shortfall

    _check_gate(fail_under, watch)
    found: Coverage | None = None

    def show() -> None:
        nonlocal found
        chosen = lake.table(table)
        chosen = chosen if as_of is None else chosen.as_of(as_of)
        wanted = dict(asked)
        if fail_under is not None and asked["end"] is None:
            wanted["end"] = until_now(chosen, asked["calendar"])
        found = coverage_of(chosen, **wanted)
        if merged is not None:
            found = found.all if merged == "all" else found.any
        if options.as_json:
            render.document(as_dict(found))
        else:
            print_coverage(found)

    with options.lake(known_at) as lake:
        repeat(show, watch)
    if fail_under is not None and found is not None and (problem := shortfall(found, fail_under)):
        click.echo(problem, err=True)
        context.exit(_TOO_LITTLE)


def _check_gate(fail_under: float | None, watch: float | None) -> None:
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise click.UsageError(f"--fail-under is a ratio from 0 to 1, not {fail_under:g}")
    if fail_under is not None and watch is not None:
        raise click.UsageError("--watch does not go with --fail-under: `wait` waits")
