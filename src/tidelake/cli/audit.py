"""Who did what: `audit`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options

_SHOWN = 50
_COLUMNS = ("time", "actor", "action", "table", "snapshot_id", "rows", "detail", "tenant")


@click.command()
@click.option("--since", metavar="TIME", help="From a time on, in UTC unless it has a zone.")
@click.option("--until", metavar="TIME", help="Before a time.")
@click.option("--action", help="Only this, such as erase, append or expire.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"The newest N, 0 for all [default: {_SHOWN}; all with --json].",
)
@global_options
@pass_options
def audit(
    options: Options, since: str | None, until: str | None, action: str | None, limit: int | None
) -> None:
    """Show who did what and when.

    Show who did what and when, newest last: commits, and actions without a commit, such as
    erasures, tags, expiry, cleanup and tenants.

    \b
    Example:
        tidelake audit --limit 20
        tidelake audit --action erase --json
    """
    wanted = limit if limit is not None else (0 if options.as_json else _SHOWN)
    with options.lake() as lake:
        found = lake.audit(since=since, until=until, action=action, limit=wanted or None)
    if options.as_json:
        render.document({"events": [asdict(each) for each in found]})
    else:
        rows = [
            [f"{each.time:%Y-%m-%d %H:%M:%S}", *(getattr(each, name) for name in _COLUMNS[1:])]
            for each in found
        ]
        render.grid(_COLUMNS, rows)
