"""A table in detail: `show`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import Options, global_options, known_at_option, pass_options
from tidelake.cli.render import describe

_LAST = 5


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@known_at_option
@global_options
@pass_options
def show(options: Options, table: str, known_at: str | None) -> None:
    """Describe TABLE: columns, layout, size and latest snapshots.

    \b
    Example:
        tidelake show prices
        tidelake show analytics.prices --known-at 12 --json
    """
    with options.lake(known_at) as newest:
        # Pinned, so that all parts of the answer speak of the same moment.
        lake = newest.known_at(newest.snapshots()[-1].snapshot_id)
        facts = describe.table(lake, table, last=_LAST)
    if options.as_json:
        render.document(facts)
    else:
        describe.print_table(facts)
