"""The end of a key: `end`."""

from __future__ import annotations

import click

from tidelake.cli import lake_names
from tidelake.cli.program import Options, commit_options, global_options, pass_options
from tidelake.cli.row_options import key_of
from tidelake.model.terms import CommitTerms


@click.command()
@click.argument("table", shell_complete=lake_names.tables)
@click.argument("key", nargs=-1, required=True)
@click.option("--at", metavar="TIME", required=True, help="From when on (UTC without a zone).")
@commit_options
@global_options
@pass_options
def end(options: Options, table: str, key: tuple[str, ...], at: str, terms: CommitTerms) -> None:
    """End KEY of TABLE. From a moment of event time on it is no longer there. A key of several
    columns is given as NAME=VALUE pairs. The table must have a tombstone.

    \b
    Example:
        tidelake end quotes ACME --at 2024-03-12T17:00:00
        tidelake end positions account=7 symbol=ACME --at 2024-03-12 \\
            --message "sold"
    """
    options.write(
        lambda lake: lake.table(table).end(key_of(lake.table(table), key), at=at, **terms)
    )
