"""What is missing: `gaps`."""

from __future__ import annotations

from typing import Any

import click

from tidelake.cli import lake_names, render
from tidelake.cli.coverage_options import coverage_of, length, range_options
from tidelake.cli.program import Options, global_options, known_at_option, pass_options
from tidelake.cli.render.stream import SHOWN
from tidelake.cli.row_options import limit_option


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@range_options
@click.option(
    "--min-length",
    metavar="LENGTH",
    help="Only gaps of this length or longer: a number of buckets, or 15m.",
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
    """List the stretches of time that a table has no rows in.

    List the gaps of TABLE: stretches of time, from a start until before an end, without rows
    of an entity.

    \b
    Example:
        tidelake gaps prices --min-length 15m
        tidelake gaps prices --entity ACME --start 2024-03-01 --end 2024-04-01 \\
            --json
    """
    from tidelake.cli.render.coverage import plain_row, print_gaps

    with options.lake(known_at) as lake:
        found = coverage_of(lake.table(table), **asked)
    listed = found.gaps if min_length is None else found.gaps_of(length(min_length))
    wanted = limit if limit is not None else (0 if options.as_json else SHOWN)
    shown = listed.to_arrow().slice(0, wanted or None)
    more = len(shown) < len(listed)
    if options.as_json:
        rows = [plain_row(row) for row in shown.to_pylist()]
        render.document({"table": found.table, "gaps": rows, "complete": not more})
        return
    print_gaps(shown, more=more)
