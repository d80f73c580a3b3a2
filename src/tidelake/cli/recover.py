"""A lake from the Delta logs of a lost one: `recover`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options


@click.command()
@click.option(
    "--from",
    "places",
    metavar="PATH",
    multiple=True,
    help="Where logs are [default: anywhere under the data path]. May be given again.",
)
@click.option("--no-history", is_flag=True, help="Only as they were published last.")
@click.option("--dry-run", is_flag=True, help="Say what would be recovered, and recover nothing.")
@global_options
@pass_options
def recover(options: Options, places: tuple[str, ...], no_history: bool, dry_run: bool) -> None:
    """Restore mirrored tables of a lost lake from their Delta logs.

    Restore the mirrored tables of a lost lake from their Delta logs, with the snapshots that
    the logs tell of, into a new and empty catalog.

    \b
    Example:
        tidelake init --catalog sqlite:///new.db --data-path lake_data \\
            --share-data-path
        tidelake recover --catalog sqlite:///new.db
    """
    with options.writable() as lake:
        found = lake.recover(places or None, history=not no_history, dry_run=dry_run)
    if options.as_json:
        render.document(asdict(found))
        return
    names = ("table", "version", "rows", "files", "since", "root")
    shown = [(e.table, e.version, e.rows, e.files, e.since, e.root) for e in found.tables]
    render.grid(names, shown)
    for each in found.tables:
        if each.note is not None:
            render.line(f"{each.table} begins with version {each.first_version}: {each.note}")
    for skipped in found.skipped:
        render.line(f"not recovered: {skipped.root}: {skipped.reason}")
