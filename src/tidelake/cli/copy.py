"""Tables from one lake to another: `copy`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import lake_names, render
from tidelake.cli.program import (
    Options,
    global_options,
    known_at_option,
    pass_options,
    signature_options,
)


@click.command()
@click.argument("tables", nargs=-1, required=True, shell_complete=lake_names.tables)
@click.option("--to", "target", metavar="URL", required=True, help="The catalog of the other lake.")
@click.option(
    "--to-data-path",
    metavar="PATH",
    help="The data path of the other lake, to check that it is the one you mean.",
)
@click.option("--as", "new", metavar="NAME", help="The name there, of one table.")
@known_at_option
@signature_options
@global_options
@pass_options
def copy(
    options: Options,
    /,
    tables: tuple[str, ...],
    target: str,
    to_data_path: str | None,
    new: str | None,
    known_at: str | None,
    author: str | None,
    message: str | None,
) -> None:
    """Copy tables into another lake, which must exist.

    Each becomes a new table with the rows that it has now, or had at --known-at, and with its
    columns, comments, layout, key, event time and coverage. All come in one snapshot there. Their
    history stays here: `tidelake backup` and `tidelake restore` move a lake with its past.

    \b
    Example:
        tidelake copy prices --to sqlite:///other.db
        tidelake copy prices --to sqlite:///other.db --as prices_before \\
            --known-at 2
    """
    from tidelake.lake.connect import connect
    from tidelake.lake.table_copy import copy_tables

    if new is not None and len(tables) > 1:
        raise click.UsageError("--as is the name of one table")
    names = [(name, new or name) for name in tables]
    with (
        options.lake(known_at) as source,
        connect(target, to_data_path, create=False) as lake,
        lake.transaction(author=author, message=message) as tx,
    ):
        done = list(copy_tables(source, tx, names))
    assert tx.result is not None
    landed = tx.result.snapshot_id
    if options.as_json:
        render.document({"snapshot_id": landed, "tables": [asdict(each) for each in done]})
        return
    for each in done:
        rows = f"{each.rows:,} {'row' if each.rows == 1 else 'rows'}"
        render.line(f"{each.copied_from} -> {each.name}: {rows} of snapshot {each.snapshot_id}")
    render.line(f"snapshot {landed} of {lake.url}")
