"""What is in the lake: `tables`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, known_at_option, pass_options


@click.command()
@known_at_option
@global_options
@pass_options
def tables(options: Options, known_at: str | None) -> None:
    """List the tables and views.

    \b
    Example:
        tidelake tables
        tidelake tables --known-at eod-friday --json
    """
    with options.lake(known_at) as lake:
        found = [{"name": name, "kind": "table"} for name in lake.tables()]
        found += [{"name": name, "kind": "view"} for name in lake.views()]
    if options.as_json:
        render.document({"tables": found})
    elif found:
        render.grid(["name", "kind"], [[each["name"], each["kind"]] for each in found])
    else:
        render.line("The lake has no tables.")
