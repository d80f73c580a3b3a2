"""What was answered about a key: `history`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names
from tidelake.cli.program import (
    Options,
    as_of_option,
    global_options,
    known_at_option,
    pass_options,
)
from tidelake.cli.render.stream import print_rows
from tidelake.cli.row_options import key_of, limit_option


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.argument("key", nargs=-1, required=True)
@limit_option
@as_of_option
@known_at_option
@global_options
@pass_options
def history(
    options: Options,
    table: str,
    key: tuple[str, ...],
    limit: int | None,
    as_of: str | None,
    known_at: str | None,
) -> None:
    """Print every answer that the lake ever gave about a key.

    Print every answer that the lake ever gave about KEY in TABLE. Each row has the event times
    for which it was the answer (valid_from, valid_to), and the system times at which it was
    (known_from, known_to). Give a key of several columns as NAME=VALUE pairs.

    \b
    Example:
        tidelake history prices ACME
        tidelake history prices ACME --as-of 2024-03-15T14:30:00 --json
        tidelake history positions account=7 symbol=ACME --known-at eod-friday
    """
    with options.lake(known_at) as lake:
        found = lake.table(table)
        chosen = found if as_of is None else found.as_of(as_of)
        print_rows(chosen.history(key_of(found, key)), limit, options.as_json)
